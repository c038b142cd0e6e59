//! Sorted runs: entries by a hash or an owner, written once, in order, and merged later.
//!
//! Entries whose keys are scattered would each touch a page of their own in an ordered table. So those of a
//! batch of blocks are sorted and written as one run, in full pages; eight runs of a level are merged into
//! one of the next level, in slices, so that no batch waits for a merge. A reader looks into all runs: a few
//! for every eightfold of the chain.
//!
//! Runs hold blocks that cannot be rolled back. Those that can are in ordered tables
//! ([`index`](super::index)), which move into a run later.

mod entry;
mod filter;
mod manifest;
mod merge;
mod page;
mod read;
#[cfg(test)]
mod tests;

pub(super) use entry::{Entry, Hashed, LinkTo, MovedEntry, PartialStatistics};
pub(super) use filter::Filters;
pub(super) use manifest::{Kind, Manifest};
pub(super) use merge::{Unfinished, maintain};
pub(super) use page::write;
pub(super) use read::{Cursors, find_all};
