//! Compositions that are kept in memory: most outputs are spent soon.

use super::calculation::ComputedComposition;

/// Compositions that are kept.
const CACHED_COMPOSITIONS: usize = 1 << 16;

/// Compositions of transactions, by the last bits of their numbers.
pub(super) struct CompositionCache(Vec<Option<(u64, ComputedComposition)>>);

impl CompositionCache {
    pub(super) fn new() -> Self {
        Self(vec![None; CACHED_COMPOSITIONS])
    }

    /// What a transaction is made of, if that is kept.
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

/// The place of a transaction among those that are kept.
fn slot(transaction: u64) -> usize {
    usize::try_from(transaction).unwrap_or(0) % CACHED_COMPOSITIONS
}
