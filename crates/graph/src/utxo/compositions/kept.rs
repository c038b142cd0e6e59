//! Compositions that are kept in memory: most outputs are spent soon.

use super::calculation::Made;

/// Compositions that are kept.
const KEPT: usize = 1 << 16;

/// Compositions of transactions, by the last bits of their numbers.
pub(super) struct Kept(Vec<Option<(u64, Made)>>);

impl Kept {
    pub(super) fn new() -> Self {
        Self(vec![None; KEPT])
    }

    /// What a transaction is made of, if that is kept.
    pub(super) fn get(&self, transaction: u64) -> Option<&Made> {
        let (number, made) = self.0.get(slot(transaction))?.as_ref()?;
        (*number == transaction).then_some(made)
    }

    pub(super) fn put(&mut self, transaction: u64, made: Made) {
        if let Some(slot) = self.0.get_mut(slot(transaction)) {
            *slot = Some((transaction, made));
        }
    }
}

/// The place of a transaction among those that are kept.
fn slot(transaction: u64) -> usize {
    usize::try_from(transaction).unwrap_or(0) % KEPT
}
