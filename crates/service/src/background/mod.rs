//! Background work: jobs of the store's job table, run once for all servers.
//!
//! - [`runner`]: claims jobs and runs them
//! - [`feeds`]: fetching lists and labels on their schedule
//! - [`fetch_failures`]: the sources that could not be fetched
//! - [`histories`]: fetching data that a check could not fetch within its time limit
//! - [`purge`]: deleting data after its retention
//!
//! A new kind of background work is a [`JobKind`] in a file of its own, and a line in [`kinds`].

pub mod feeds;
pub mod fetch_failures;
pub mod histories;
pub mod purge;
pub mod runner;

use std::sync::Arc;

use crate::{Service, revocations::Revocations};
pub use feeds::SourceAccess;
pub use runner::{JobError, JobKind, Runner, RunnerSettings};

/// The kinds of background work of a server.
///
/// Every server completes histories. Only servers with `sources` and with the necessary rights fetch sources and purge
/// old data; in a cluster, cron jobs do both.
#[must_use]
pub fn kinds(
    service: &Arc<Service>,
    revocations: Revocations,
    sources: Option<SourceAccess>,
) -> Vec<Arc<dyn JobKind>> {
    let mut kinds: Vec<Arc<dyn JobKind>> =
        vec![Arc::new(histories::FetchHistory::new(Arc::clone(service)))];
    if let Some(access) = sources {
        kinds.push(Arc::new(feeds::FetchSource::new(Arc::clone(service), access)));
        kinds.push(Arc::new(purge::PurgeExpired::new(Arc::clone(service), revocations)));
    }
    kinds
}

/// Runs background work of these kinds until it is dropped.
pub async fn run(service: Arc<Service>, kinds: Vec<Arc<dyn JobKind>>) {
    let store = Arc::clone(&service.databases.store);
    let worker = format!("{:032x}", assay_system::random_u128());
    let settings = RunnerSettings::default();
    let runner = Runner::new(store, service.clock.clone(), worker, kinds, settings);
    runner.run(&service.background).await;
}
