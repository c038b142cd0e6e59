//! Drawing for the terminal. Pure: values in, text out; colours are removed further on where nobody would
//! see them.

mod check;
mod flows;
mod table;

pub(crate) use check::check;
pub(crate) use flows::{coins, over_paths};
pub(crate) use table::{ago, table};
