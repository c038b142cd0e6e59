//! Fetching lists and labels on their schedule, so that nothing goes stale by itself. In a cluster, jobs
//! do that and servers leave it alone (`--feeds off`).

use std::{collections::HashMap, sync::Arc, time::Duration};

use assay_intel::{
    formats,
    import::{ImportError, ImportOutcome, ImportRequest, import},
};
use assay_telemetry::stage;
use assay_tenancy::{Name, directory::Feed, manifest::Schedule};
use jiff::{SignedDuration, Timestamp};
use tracing::Instrument;

use crate::Service;

/// How often it is looked whether something is due.
const TICK: Duration = Duration::from_secs(2);
/// Longest time for fetching one.
const FETCH_TIME: Duration = Duration::from_mins(5);
/// How long to wait after the first failure; after each further one twice as long...
const FIRST_WAIT: SignedDuration = SignedDuration::from_secs(60);
/// ...up to this.
const LONGEST_WAIT: SignedDuration = SignedDuration::from_hours(1);

/// What happened to a feed so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Attempts {
    /// When it last went well, as far as this program knows.
    succeeded: Option<Timestamp>,
    /// Failures since then.
    failures: u32,
    /// When the last one was.
    failed: Option<Timestamp>,
}

/// Fetches what is due, for ever.
pub async fn run(service: Arc<Service>) {
    let mut attempts: HashMap<Name, Attempts> = HashMap::new();
    let mut ticks = tokio::time::interval(TICK);
    loop {
        ticks.tick().await;
        let access = service.access();
        attempts.retain(|name, _| access.directory.feeds.contains_key(name));
        for feed in access.directory.feeds.values() {
            let so_far = attempts.entry(feed.name.clone()).or_default();
            let now = service.clock.now();
            if !feed.spec.suspended
                && is_due(&feed.schedule, verified(&service, feed), *so_far, now)
            {
                *so_far = fetch(&service, feed, *so_far, now).await;
            }
        }
    }
}

/// When the source was last verified, whoever did that.
fn verified(service: &Service, feed: &Feed) -> Option<Timestamp> {
    let intel = service.intel();
    let source = intel.sources().iter().find(|source| source.id.as_str() == feed.name.as_str());
    source.map(|source| source.fetched_at)
}

/// Whether a feed is to be fetched at `now`: it never was, or its schedule came round since.
fn is_due(
    schedule: &Schedule,
    verified: Option<Timestamp>,
    so_far: Attempts,
    now: Timestamp,
) -> bool {
    if let Some(failed) = so_far.failed {
        let doublings = so_far.failures.saturating_sub(1).min(16);
        let wait = FIRST_WAIT.checked_mul(1 << doublings).unwrap_or(LONGEST_WAIT).min(LONGEST_WAIT);
        if now < failed.saturating_add(wait).unwrap_or(Timestamp::MAX) {
            return false;
        }
    }
    match verified.max(so_far.succeeded) {
        None => true,
        Some(last) => schedule.next_after(last).is_some_and(|next| next <= now),
    }
}

async fn fetch(service: &Service, feed: &Feed, so_far: Attempts, now: Timestamp) -> Attempts {
    let source = feed.name.as_str();
    match import_feed(service, feed, now).instrument(stage!("import", source)).await {
        Ok(outcome) => {
            tracing::info!(source, outcome, "fetched");
            Attempts { succeeded: Some(now), failures: 0, failed: None }
        }
        Err(error) => {
            tracing::error!(source, %error, "failed to fetch; it is tried again");
            let failures = so_far.failures.saturating_add(1);
            Attempts { failures, failed: Some(now), ..so_far }
        }
    }
}

/// Fetches a feed and says what came of it, in a word.
async fn import_feed(
    service: &Service,
    feed: &Feed,
    now: Timestamp,
) -> Result<&'static str, ImportError> {
    let spec = &feed.spec;
    let source = feed.name.as_str().parse()?;
    let format = formats::by_id(spec.format.as_str())?;
    let mut request = ImportRequest::new(spec.location.clone(), format, source, FETCH_TIME);
    request.options.accept_digest.clone_from(&spec.accept_digest);
    let outcome = import(&*service.databases.store, &request, now, || {}).await?;
    let is_imported = matches!(outcome, ImportOutcome::Imported(_));
    Ok(if is_imported { "imported" } else { "unchanged" })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Timestamp {
        format!("2026-11-21T{text}:00Z").parse().unwrap()
    }

    #[test]
    fn a_feed_is_due_at_once_and_then_by_its_schedule() {
        let schedule = Schedule::parse("0 */6 * * *").unwrap();
        let due = |verified: Option<&str>, so_far, now: &str| {
            is_due(&schedule, verified.map(at), so_far, at(now))
        };
        let nothing = Attempts::default();
        assert!(due(None, nothing, "03:00"), "it was never fetched");
        assert!(!due(Some("01:00"), nothing, "05:59"));
        assert!(due(Some("01:00"), nothing, "06:00"));
        assert!(due(Some("01:00"), nothing, "23:00"), "the program was not running at six");
        let succeeded = Attempts { succeeded: Some(at("06:00")), ..nothing };
        assert!(!due(Some("01:00"), succeeded, "06:01"), "an older file verifies nothing");
    }

    #[test]
    fn failures_are_tried_again_ever_more_slowly() {
        let schedule = Schedule::parse("0 0 1 1 *").unwrap();
        let due = |failures, now: &str| {
            let so_far = Attempts { failures, failed: Some(at("03:00")), succeeded: None };
            is_due(&schedule, None, so_far, at(now))
        };
        assert!(!due(1, "03:00") && due(1, "03:01"));
        assert!(!due(3, "03:03") && due(3, "03:04"));
        assert!(!due(40, "03:59") && due(40, "04:00"), "an hour at most");
    }
}
