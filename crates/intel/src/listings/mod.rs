//! Listings: the content of a publication, and the parts that readers of several formats share.

pub(crate) mod column;
pub(crate) mod currency;
pub(crate) mod dates;
pub(crate) mod found;
pub(crate) mod named;
pub(crate) mod ofac;
pub(crate) mod rows;
pub(crate) mod table;

use assay_engine::evidence::ListingEntry;
use jiff::civil::Date;

/// Largest part of a file that is kept in memory, in bytes.
pub(crate) const MAX_KEPT_BYTES: usize = 64 * 1024 * 1024;
/// Largest number of addresses of a publication. OFAC's list has fewer than a thousand addresses.
const MAX_ENTRIES: usize = 100_000;

/// Name of an entity that a row does not name.
pub(crate) const NOT_STATED: &str = "not stated";

/// One publication of one or more sanctions lists, reduced to the parties' crypto addresses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Publication {
    /// Date of issue.
    pub published_on: Date,
    /// Every address with its entity, in the file's order; no two are the same.
    pub entries: Vec<ListingEntry>,
    /// Rows that could not be imported, with the reason.
    pub rejected: Vec<Rejected>,
    /// Rows that were imported without a cell that cannot be read, with the reason: what else is wrong with a row does
    /// not hide its address.
    pub incomplete: Vec<Rejected>,
    /// Number of parties that the publication lists, with and without addresses.
    pub parties: u64,
    /// True if the list names parties and seldom states addresses: a publication without any address is then
    /// plausible if it names parties.
    pub addresses_are_rare: bool,
}

/// A row that could not be imported.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Rejected {
    /// Position in the input, such as `labels.csv, line 2`.
    pub position: String,
    /// Reason for the rejection.
    pub reason: String,
}

impl std::fmt::Display for Rejected {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{}: {}", self.position, self.reason)
    }
}
