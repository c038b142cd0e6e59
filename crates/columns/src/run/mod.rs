//! Sorted runs: entries by a hash or a number, written once, in order, and merged later.
//!
//! Entries whose keys are scattered would each touch a page of their own in an ordered table. The writer therefore
//! sorts the entries of a batch of blocks and writes these entries as one run, in full pages. It merges eight runs of a
//! level into one of the next level, in slices, so that no batch waits for a merge: within batches ([`continue_merges`]), or
//! between them ([`merge_slice`]). A reader searches all runs; their number grows with the logarithm of the chain's length.
//!
//! A chain family defines a [`RunKind`] for each type of [`RunEntry`] that its runs hold.

mod backwards;
mod entry;
mod filter;
mod index;
mod manifest;
mod merge;
mod page;
mod read;
mod search;
#[cfg(test)]
mod tests;

use std::fmt::Debug;

use crate::ColumnsError;

pub use backwards::BackwardsCursors;
pub use entry::{NumberByHash, PageEntry, RunEntry};
pub use filter::{Filter, Filters};
pub use index::{IndexReader, recent_key};
pub use manifest::RunManifest;
pub use merge::{MergeSlice, UnfinishedFilters, continue_merges, merge_slice};
pub use page::write;
pub use read::{Cursors, FilterFilling, fill_filters, find_all};
pub use search::WantedKey;

/// A kind of runs of a chain family: the type of their entries.
pub trait RunKind: Copy + Eq + Debug + 'static {
    /// All kinds.
    const ALL: &'static [Self];

    /// Number of the kind in stored keys.
    fn number(self) -> u8;

    /// True if the kind's entries have [hashes](RunEntry::hash), so that its runs have filters.
    fn is_hashed(self) -> bool;

    /// True if most hashes that are looked up are in no run of the kind. At most one kind of a family returns true.
    fn is_mostly_new(self) -> bool;

    /// Continues a merge of runs of this kind: calls [`MergeSlice::merge_entries`] with the type of its entries.
    ///
    /// # Errors
    ///
    /// Returns an error if the table fails.
    fn merge(self, slice: MergeSlice<'_, '_, Self>) -> Result<bool, ColumnsError>;

    /// Fills the filter of a run of this kind: calls [`FilterFilling::fill_from`] with the type of its entries. Called for
    /// hashed kinds only.
    ///
    /// # Errors
    ///
    /// Returns an error if the table fails.
    fn fill(self, filling: FilterFilling<'_, '_, Self>) -> Result<(), ColumnsError> {
        filling.fill_from::<NumberByHash>()
    }
}
