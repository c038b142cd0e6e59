//! Failures of the last attempts to fetch sources.

use std::collections::BTreeMap;

use assay_engine::assessment::AssessedSource;
use assay_store::Store;
use jiff::Timestamp;
use serde::Serialize;

use super::feeds;

/// A server's last attempt to fetch a source, which failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FetchFailure {
    /// Time of the failure.
    pub failed_at: Timestamp,
    /// The error.
    pub last_error: String,
}

/// Failures of the last attempts to fetch sources, by the name of the source.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FetchFailures(BTreeMap<String, FetchFailure>);

impl FetchFailures {
    /// Reads the failures; none if the store does not show its jobs: a role that may read sources may have no right to
    /// jobs.
    pub async fn read(store: &dyn Store) -> Self {
        let jobs = store.jobs(Some(feeds::KIND)).await.unwrap_or_default();
        let failed = jobs.into_iter().filter_map(|job| {
            let failure = FetchFailure { failed_at: job.finished_at?, last_error: job.last_error? };
            Some((job.id.key, failure))
        });
        Self(failed.collect())
    }

    /// Returns the failure of a source that was not verified since.
    #[must_use]
    pub fn of(&self, source: &AssessedSource) -> Option<&FetchFailure> {
        let is_newer =
            |failed_at| source.fetched_at.is_none_or(|fetched_at| failed_at > fetched_at);
        self.0.get(source.id.as_str()).filter(|failure| is_newer(failure.failed_at))
    }

    /// Returns all failures with the names of their sources.
    pub fn all(&self) -> impl Iterator<Item = (&str, &FetchFailure)> {
        self.0.iter().map(|(name, failure)| (name.as_str(), failure))
    }

    /// True if no attempt failed.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}
