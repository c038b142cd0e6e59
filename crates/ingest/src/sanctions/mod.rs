//! Sanctions lists: what a publication holds, and the readers, one module a format.

pub mod ofac_advanced;

use assay_engine::evidence::ListingEntry;
use jiff::civil::Date;

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
