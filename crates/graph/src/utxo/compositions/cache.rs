//! A cache of recent compositions (origin breakdowns): most outputs are spent soon.

use super::calculation::ComputedComposition;

/// Number of cached compositions (origin breakdowns).
const CACHED_COMPOSITIONS: usize = 1 << 16;

/// A cache of compositions (origin breakdowns), by the last bits of the transactions' numbers.
pub(super) struct CompositionCache(Vec<Option<(u64, ComputedComposition)>>);

impl CompositionCache {
    pub(super) fn new() -> Self {
        Self(vec![None; CACHED_COMPOSITIONS])
    }

    /// The composition (origin breakdown) of a transaction; `None` if it is not cached.
    pub(super) fn get(&self, transaction: u64) -> Option<&ComputedComposition> {
        let (number, made) = self.0.get(slot(transaction))?.as_ref()?;
        (*number == transaction).then_some(made)
    }

    pub(super) fn put(&mut self, transaction: u64, made: ComputedComposition) {
        if let Some(slot) = self.0.get_mut(slot(transaction)) {
            *slot = Some((transaction, made));
        }
    }
}

/// The index of a transaction in the cache.
fn slot(transaction: u64) -> usize {
    usize::try_from(transaction).unwrap_or(0) % CACHED_COMPOSITIONS
}
