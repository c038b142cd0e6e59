//! Fetching of lists, labels and prices on their schedules, so that none of them gets stale. In a cluster, cron jobs
//! fetch them, and servers run with `--feeds off`.

use std::{sync::Arc, time::Duration};

use assay_egress::{AllowedSourcePaths, ForbiddenFileError, Networks};
use assay_intel::{
    formats,
    import::{ImportError, ImportOutcome, ImportRequest, ImportedContent, import},
};
use assay_store::jobs::{Job, JobId, JobOutcome, NewJob, RetryPolicy};
use assay_telemetry::stage;
use assay_tenancy::{directory::Feed, manifest::FetchSchedule};
use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp};
use sha2::{Digest, Sha256};
use tracing::Instrument;

use super::{JobError, JobKind};
use crate::Service;

/// The kind of the jobs that fetch sources.
pub const KIND: &str = "fetch_source";
/// Longest time for fetching one source.
const FETCH_TIME: Duration = Duration::from_mins(5);

/// Files and private networks that a server opens for source manifests. The author of a manifest must not gain access
/// to the server's other files or to the server's network.
#[derive(Clone, Debug)]
pub struct SourceAccess {
    /// Local files that a manifest may name.
    pub files: AllowedSourcePaths,
    /// Private networks that a URL may lead to.
    pub networks: Networks,
}

/// Error of fetching a source.
#[derive(Debug, thiserror::Error)]
pub enum FetchSourceError {
    /// The location is a file outside the permitted folders.
    #[error(transparent)]
    Outside(#[from] ForbiddenFileError),
    /// The import failed.
    #[error(transparent)]
    Import(#[from] ImportError),
}

/// The kind of jobs that fetch and import a source.
#[derive(Debug)]
pub struct FetchSource {
    service: Arc<Service>,
    access: SourceAccess,
}

impl FetchSource {
    /// Jobs for the sources of a service.
    #[must_use]
    pub const fn new(service: Arc<Service>, access: SourceAccess) -> Self {
        Self { service, access }
    }

    /// Time at which any program last verified a source.
    fn verified(&self, feed: &Feed) -> Option<Timestamp> {
        let intel = self.service.intel();
        let mut sources = intel.sources().iter().chain(intel.price_sources());
        let source = sources.find(|source| source.id.as_str() == feed.name.as_str());
        source.map(|source| source.fetched_at)
    }
}

#[async_trait]
impl JobKind for FetchSource {
    fn name(&self) -> &'static str {
        KIND
    }

    fn retry(&self) -> RetryPolicy {
        RetryPolicy {
            first_delay: SignedDuration::from_secs(60),
            longest_delay: SignedDuration::from_hours(1),
            attempts: None,
        }
    }

    fn wanted(&self) -> Vec<NewJob> {
        let access = self.service.access();
        let feeds = access.directory.feeds.values().filter(|feed| !feed.spec.suspended);
        feeds.filter_map(|feed| wanted(feed, self.verified(feed))).collect()
    }

    async fn run(&self, job: &Job, now: Timestamp) -> Result<JobOutcome, JobError> {
        let access = self.service.access();
        let mut feeds = access.directory.feeds.values();
        let feed = feeds.find(|feed| feed.name.as_str() == job.id.key && !feed.spec.suspended);
        let Some(feed) = feed else { return Ok(JobOutcome::Obsolete) };
        let due = due_at(&feed.schedule, self.verified(feed));
        // The source may have been imported by hand since, or its schedule may have changed.
        if let Some(due) = due.filter(|due| now < *due) {
            return Ok(JobOutcome::DoneUntil(due));
        }
        let source = feed.name.as_str();
        let importing = import_feed(&self.service, feed, &self.access, now);
        let outcome = importing.instrument(stage!("import", source)).await?;
        tracing::info!(source, outcome, "fetched");
        Ok(feed.schedule.next_after(now).map_or(JobOutcome::Done, JobOutcome::DoneUntil))
    }
}

/// Returns the job of a feed; `None` if its schedule has no further time.
fn wanted(feed: &Feed, verified: Option<Timestamp>) -> Option<NewJob> {
    let due_at = due_at(&feed.schedule, verified)?;
    // The digest of the spec lets a corrected manifest run at once.
    let payload = hex::encode(Sha256::digest(format!("{:?}", feed.spec)));
    Some(NewJob { id: JobId::new(KIND, feed.name.as_str()), payload, due_at })
}

/// Time at which a source is due: now if it was never verified, otherwise the next time of its
/// schedule.
fn due_at(schedule: &FetchSchedule, verified: Option<Timestamp>) -> Option<Timestamp> {
    match verified {
        None => Some(Timestamp::UNIX_EPOCH),
        Some(verified) => schedule.next_after(verified),
    }
}

/// Imports a source. Returns a word for the log that states the outcome.
async fn import_feed(
    service: &Service,
    feed: &Feed,
    access: &SourceAccess,
    now: Timestamp,
) -> Result<&'static str, FetchSourceError> {
    let spec = &feed.spec;
    let source = feed.name.as_str().parse().map_err(ImportError::from)?;
    let format = formats::by_id(spec.format.as_str()).map_err(ImportError::from)?;
    let location = access.files.location(&spec.location)?;
    let mut request = ImportRequest::new(location, format, source, FETCH_TIME);
    request.access.networks = access.networks.clone();
    request.access.credentials =
        spec.credentials_file.as_deref().map(|path| access.files.credentials(path));
    request.options.accept_digest.clone_from(&spec.accept_digest);
    let outcome = import(&*service.databases.store, &request, now, || {}).await?;
    if let ImportOutcome::Imported(ImportedContent::Labels(labels)) = &outcome
        && labels.is_mostly_replaced()
    {
        let (source, removed) = (feed.name.as_str(), labels.change.removed);
        tracing::warn!(source, removed, "more than half of the labels before were replaced");
    }
    let is_imported = matches!(outcome, ImportOutcome::Imported(_));
    Ok(if is_imported { "imported" } else { "unchanged" })
}

#[cfg(test)]
mod tests {
    use assay_store::jobs::{JobClaim, JobStatus};

    use super::*;

    fn at(text: &str) -> Timestamp {
        format!("2026-11-21T{text}:00Z").parse().unwrap()
    }

    #[test]
    fn a_feed_is_due_at_once_and_then_by_its_schedule() {
        let schedule = FetchSchedule::parse("0 */6 * * *").unwrap();
        let due = |verified: Option<&str>, now: &str| {
            due_at(&schedule, verified.map(at)).is_some_and(|due| due <= at(now))
        };
        assert!(due(None, "03:00"), "it was never fetched");
        assert!(!due(Some("01:00"), "05:59"));
        assert!(due(Some("01:00"), "06:00"));
        assert!(due(Some("01:00"), "23:00"), "no server ran at six");
    }

    #[test]
    fn a_server_whose_memory_is_old_does_not_fetch_again() {
        let schedule = FetchSchedule::parse("0 */6 * * *").unwrap();
        let new = |verified: Option<&str>| NewJob {
            id: JobId::new(KIND, "own"),
            payload: String::new(),
            due_at: due_at(&schedule, verified.map(at)).unwrap(),
        };
        let claim = JobClaim { worker: "x".into(), until: at("06:05") };
        let job = Job::new(&new(Some("01:00")), at("06:00")).claimed(&claim, at("06:00")).unwrap();
        let next = schedule.next_after(at("06:00")).unwrap();
        let fetched = job.finished("x", &JobOutcome::DoneUntil(next), at("06:01")).unwrap();
        assert_eq!((&fetched.status, fetched.due_at), (&JobStatus::Pending, at("12:00")));
        for verified in [None, Some("01:00"), Some("06:00")] {
            assert_eq!(fetched.enqueued(&new(verified), at("06:02")), None, "{verified:?}");
        }
    }
}
