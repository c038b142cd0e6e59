//! Texts for the terminal. Pure: values and a width in, text out; `anstream` removes colours where the
//! output is no terminal.

mod chains;
mod check;
mod cluster;
mod flows;
mod import;
mod page;
mod summary;
mod table;
mod text;
mod trace;
mod tx;

pub(crate) use chains::chains;
pub(crate) use check::{CheckRun, full};
pub(crate) use cluster::{ClusterPage, ClusterRow, cluster};
pub(crate) use import::import_outcome;
pub(crate) use page::Page;
pub(crate) use summary::summary;
pub(crate) use table::table;
pub(crate) use text::{Unit, ago, counted};
pub(crate) use trace::{TracedDirection, TracedEnd, TracedPath, trace};
pub(crate) use tx::{SideRow, SideTable, sections, transaction};
