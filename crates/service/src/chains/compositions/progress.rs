//! Progress of the compositions (origin breakdowns) of each chain, for metrics.

use std::{
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use assay_address::ChainId;

/// Progress of the compositions (origin breakdowns) of one chain.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Number of transactions whose compositions (origin breakdowns) are missing under the present lists and labels; of an
    /// account chain, number of all transactions while its ledgers rest on other lists and labels.
    pub behind: u64,
    /// Duration of the last complete pass; `None` before the first one of this program.
    pub last_pass: Option<Duration>,
}

/// Progress of the compositions (origin breakdowns) of all chains.
#[derive(Debug, Default)]
pub struct CompositionProgress(Mutex<BTreeMap<ChainId, Progress>>);

impl CompositionProgress {
    /// Returns the progress of each chain with compositions (origin breakdowns).
    #[must_use]
    pub fn all(&self) -> Vec<(ChainId, Progress)> {
        let chains = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        chains.iter().map(|(chain, progress)| (*chain, *progress)).collect()
    }

    pub(in crate::chains) fn set(&self, chain: ChainId, progress: Progress) {
        // A panic while the lock was held leaves whole values.
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(chain, progress);
    }
}
