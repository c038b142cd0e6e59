//! Sanctions lists: what a publication holds, and the readers, one module a format.
//!
//! - [`ofac_advanced`], [`ofac_enhanced`]: OFAC's own formats; the same facts give the same entries
//! - [`table`], [`lines`]: plain listings as CSV and as JSON lines
//! - [`read`]: any of them, by [`Format`]

mod column;
mod error;
mod format;
pub mod lines;
mod ofac;
pub mod ofac_advanced;
pub mod ofac_enhanced;
mod rows;
pub mod table;

use assay_engine::evidence::ListingEntry;
use jiff::civil::Date;

pub use self::{
    error::ListError,
    format::{Format, ReadError, read},
};

/// The most that a publication may hold of the file in memory, in bytes.
const MOST_KEPT: usize = 64 * 1024 * 1024;
/// The most addresses that a publication may list; OFAC's has fewer than a thousand.
const MOST_ENTRIES: usize = 100_000;

/// One publication of one or more sanctions lists, as far as crypto addresses go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Publication {
    /// Date of issue.
    pub published_on: Date,
    /// Every address with its entity, in the file's order; no two are the same.
    pub entries: Vec<ListingEntry>,
    /// What could not be taken in, with the reason.
    pub rejected: Vec<Rejected>,
    /// How many parties the publication lists, with and without addresses.
    pub parties: u64,
}

/// A row that could not be taken in.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Rejected {
    /// Where: the party and the row.
    pub place: String,
    /// Why.
    pub reason: String,
}
