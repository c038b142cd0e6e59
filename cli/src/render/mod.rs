//! Drawing for the terminal. Pure: values in, text out; colours are removed further on where nobody would
//! see them.

mod check;
mod flows;
mod import;
mod table;
mod wrap;

pub(crate) use check::check;
pub(crate) use flows::{coins, over_paths};
pub(crate) use import::import_outcome;
pub(crate) use table::{ago, table};
