//! How far the compositions of each chain are, for metrics.

use std::{
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use assay_address::ChainId;

/// How far the compositions of one chain are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Transactions that are to be computed until the compositions are complete under the present lists and labels.
    pub behind: u64,
    /// Time that the last complete pass took; `None` before the first one of this server.
    pub last_pass: Option<Duration>,
}

/// How far the compositions of all chains are.
#[derive(Debug, Default)]
pub struct CompositionProgress(Mutex<BTreeMap<ChainId, Progress>>);

impl CompositionProgress {
    /// The chains whose compositions are kept up to date, with their progress.
    #[must_use]
    pub fn all(&self) -> Vec<(ChainId, Progress)> {
        let chains = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        chains.iter().map(|(chain, progress)| (*chain, *progress)).collect()
    }

    pub(super) fn set(&self, chain: ChainId, progress: Progress) {
        // A panic while the lock was held leaves whole values.
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(chain, progress);
    }
}
