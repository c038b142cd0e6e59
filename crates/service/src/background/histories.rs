//! Jobs that complete histories that are fetched on demand.
//!
//! A check fetches a history within the time limit of its source. If the time is not enough, the answer is partial, and
//! one job for all servers fetches the rest, which the next check reads from the store.

use std::{sync::Arc, time::Duration};

use assay_address::{CanonicalAddress, ChainId};
use assay_engine::{
    evidence::{ChainState, Unavailable},
    policy::Policy,
    trace::TraceRules,
};
use assay_store::jobs::{Job, JobId, JobOutcome, NewJob, RetryPolicy};
use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::{JobError, JobKind};
use crate::{Service, chains::subject::TraceRequest};

const KIND: &str = "fetch_history";
/// Time limit of one attempt. The next attempt continues from the stored responses.
const ATTEMPT_TIME: Duration = Duration::from_mins(5);

/// Payload of a job: the subject and the policy.
#[derive(Debug, Serialize, Deserialize)]
struct Payload {
    chain: String,
    address: String,
    /// Revision of the policy, which decides where flows end, and thereby which transactions are fetched.
    policy: String,
}

/// The kind of jobs that fetch the history of an address and those of its counterparties.
#[derive(Debug)]
pub struct FetchHistory {
    service: Arc<Service>,
}

impl FetchHistory {
    /// Returns the kind of jobs for the chains of a service.
    #[must_use]
    pub const fn new(service: Arc<Service>) -> Self {
        Self { service }
    }

    fn policy(&self, revision: &str) -> Option<Arc<Policy>> {
        let access = self.service.access();
        let mut policies = access.directory.policies.values();
        policies.find(|policy| &**policy.revision() == revision).cloned()
    }
}

#[async_trait]
impl JobKind for FetchHistory {
    fn name(&self) -> &'static str {
        KIND
    }

    fn retry(&self) -> RetryPolicy {
        RetryPolicy {
            first_delay: SignedDuration::from_secs(30),
            longest_delay: SignedDuration::from_mins(10),
            attempts: Some(5),
        }
    }

    async fn run(&self, job: &Job, now: Timestamp) -> Result<JobOutcome, JobError> {
        let (subject, policy) = read(&job.payload)?;
        let (chains, intel) = (self.service.chains(), self.service.intel());
        // The source or the policy may have been deleted since.
        let (Some(reader), Some(policy)) =
            (chains.read_on_demand(subject.chain()), self.policy(&policy))
        else {
            return Ok(JobOutcome::Obsolete);
        };
        let rules = TraceRules::new(&policy, subject.chain().info());
        let request =
            TraceRequest { subject: &subject, rules, policy: &policy, intel: &intel, now };
        let traced = reader.complete(request, ATTEMPT_TIME).await?;
        if is_incomplete(&traced.state) { Err(JobError::Incomplete) } else { Ok(JobOutcome::Done) }
    }
}

impl Service {
    /// Enqueues the rest of a history that a check could not fetch within its time.
    pub(crate) fn complete_later(
        self: &Arc<Self>,
        subject: &CanonicalAddress,
        policy: &Policy,
        state: &ChainState,
        now: Timestamp,
    ) {
        if !is_incomplete(state) || self.chains().read_on_demand(subject.chain()).is_none() {
            return;
        }
        let job = new(subject, policy, now);
        let service = Arc::clone(self);
        tokio::spawn(async move {
            match service.databases.store.enqueue_job(&job, now).await {
                Ok(_) => service.background.wake.notify_one(),
                Err(error) => {
                    tracing::warn!(%error, "failed to enqueue the rest of a history");
                }
            }
        });
    }
}

/// True if the API may have more of the history.
fn is_incomplete(state: &ChainState) -> bool {
    match state {
        ChainState::Followed(facts) => {
            let histories = facts.flows.histories.as_deref();
            !facts.flows.complete || histories.is_some_and(|histories| histories.continues)
        }
        ChainState::Unavailable(Unavailable::Unreadable) => true,
        _ => false,
    }
}

fn new(subject: &CanonicalAddress, policy: &Policy, now: Timestamp) -> NewJob {
    let (chain, address) = (subject.chain(), subject.as_str());
    let policy = policy.revision();
    // A digest: keys are shown in logs, addresses are not.
    let mut key = hex::encode(Sha256::digest(format!("{chain}/{address}/{policy}")));
    key.truncate(32);
    let payload =
        serde_json::json!({ "chain": chain.as_str(), "address": address, "policy": &**policy });
    NewJob { id: JobId::new(KIND, &key), payload: payload.to_string(), due_at: now }
}

/// Parses the subject and the revision of the policy.
fn read(payload: &str) -> Result<(CanonicalAddress, String), JobError> {
    let Payload { chain, address, policy } =
        serde_json::from_str(payload).map_err(|error| JobError::Payload(error.to_string()))?;
    let chain: ChainId = chain.parse().map_err(|_| JobError::Payload(chain.clone()))?;
    let subject = CanonicalAddress::parse(chain, &address)
        .map_err(|error| JobError::Payload(error.to_string()))?;
    Ok((subject, policy))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_payload_reads_back_as_it_was_written() {
        let text = "1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa";
        let subject = CanonicalAddress::parse(ChainId::BTC, text).unwrap();
        let policy = Policy::default();
        let job = new(&subject, &policy, Timestamp::UNIX_EPOCH);
        let (read_subject, revision) = read(&job.payload).unwrap();
        assert_eq!((read_subject, &*revision), (subject, &**policy.revision()));
        assert!(!job.id.to_string().contains(text), "keys are logged");
        assert!(matches!(read("{}"), Err(JobError::Payload(_))));
    }
}
