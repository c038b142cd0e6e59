//! Sorted runs: entries by a hash or a number, written once, in order, and merged later.
//!
//! Entries whose keys are scattered would each touch a page of their own in an ordered table. So those of a
//! batch of blocks are sorted and written as one run, in full pages; eight runs of a level are merged into
//! one of the next level, in slices, so that no batch waits for a merge. A reader looks into all runs: a few
//! for every eightfold of the chain.
//!
//! A chain family says what its runs hold: a [`RunKind`] for each type of [`RunEntry`].

mod entry;
mod filter;
mod manifest;
mod merge;
mod page;
mod read;
#[cfg(test)]
mod tests;

use std::fmt::Debug;

use crate::ColumnsError;

pub use entry::{NumberByHash, RunEntry};
pub use filter::{Filter, Filters};
pub use manifest::RunManifest;
pub use merge::{MergeSlice, UnfinishedFilters, maintain};
pub use page::write;
pub use read::{Cursors, fill_filters, find_all};

/// What the runs of a chain family hold.
pub trait RunKind: Copy + Eq + Debug + 'static {
    /// All kinds.
    const ALL: &'static [Self];

    /// The number by which it is stored.
    fn number(self) -> u8;

    /// True if its entries are [`NumberByHash`].
    fn is_hashed(self) -> bool;

    /// True if most hashes that are looked up are in no run of the kind. At most one kind of a family is so.
    fn is_mostly_new(self) -> bool;

    /// Goes on with a merge of runs of this kind: by [`MergeSlice::merge_entries`] with the type of its entries.
    ///
    /// # Errors
    ///
    /// Returns an error if the table fails.
    fn merge(self, slice: MergeSlice<'_, '_, Self>) -> Result<bool, ColumnsError>;
}
