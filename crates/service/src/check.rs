//! Check of an address, a transfer or a withdrawal that is not sent yet: gathers the facts and assesses them by the
//! tenant's policy, or repeats a cached answer.

use std::sync::Arc;

use assay_address::CanonicalAddress;
use assay_engine::{
    assess, assess_planned, assess_transfer,
    facts::DifferingBranches,
    planned::{EarlierReceivers, PlannedFacts, PlannedWithdrawal},
    policy::Policy,
    transfer::{TransferDirection, TransferQuery},
};
use assay_intel::IntelSnapshot;
use assay_sandbox::Outcome;
use assay_telemetry::stage;
use jiff::{SignedDuration, Timestamp};

use super::{
    AgeLimits, CacheStatus, Caller, SerializedAssessment, Service,
    cache::{CacheKey, CheckSubject, DataState, PlannedSubject},
};
use crate::{
    chains::{self, ChainReaders, transfer::TransferError},
    large::beside_others_if,
    sandbox,
    unfetched::never_fetched,
};

/// An answer, with its use of the cache.
#[derive(Clone, Debug)]
pub struct CheckOutcome {
    /// The answer.
    pub assessed: Arc<SerializedAssessment>,
    /// Use of the cache: hit, miss or bypass.
    pub cache: CacheStatus,
    /// Remaining time for which the answer may be repeated.
    pub time_to_live: SignedDuration,
}

/// Error of a check.
#[derive(Debug, thiserror::Error)]
pub enum CheckError {
    /// The assessment cannot be serialized, which never happens.
    #[error(transparent)]
    Unserializable(#[from] serde_json::Error),
    /// The transfer cannot be read or assessed.
    #[error(transparent)]
    Transfer(#[from] TransferError),
    /// The subject of a check in the sandbox chose a problem.
    #[error("the sandbox answers `{}`", .0.name)]
    Sandbox(Outcome),
}

impl Service {
    /// Checks one address for a caller. An assessment that was started continues even if this
    /// future is dropped, so that the next caller finds it in the cache.
    ///
    /// # Errors
    ///
    /// Returns an error if the assessment cannot be serialized, which never happens.
    pub async fn check(
        self: &Arc<Self>,
        caller: &Caller,
        subject: &CanonicalAddress,
        caller_accepts: Option<SignedDuration>,
        now: Timestamp,
    ) -> Result<CheckOutcome, CheckError> {
        let subject = CheckSubject::Address(subject.clone());
        self.check_subject(caller, subject, caller_accepts, now).await
    }

    /// Checks one transfer for a caller, as [`Service::check`] checks an address.
    ///
    /// # Errors
    ///
    /// Returns an error if the chain does not have the transfer or cannot be read, or if the transfer cannot be
    /// assessed.
    pub async fn check_transfer(
        self: &Arc<Self>,
        caller: &Caller,
        query: TransferQuery,
        caller_accepts: Option<SignedDuration>,
        now: Timestamp,
    ) -> Result<CheckOutcome, CheckError> {
        let subject = CheckSubject::Transfer(Box::new(query));
        self.check_subject(caller, subject, caller_accepts, now).await
    }

    /// Checks a withdrawal that is not sent yet, as [`Service::check`] checks its receiver.
    ///
    /// # Errors
    ///
    /// Returns an error if the assessment cannot be serialized, which never happens.
    pub async fn check_withdrawal(
        self: &Arc<Self>,
        caller: &Caller,
        withdrawal: PlannedWithdrawal,
        caller_accepts: Option<SignedDuration>,
        now: Timestamp,
    ) -> Result<CheckOutcome, CheckError> {
        let earlier_receivers = if caller.keeps_checks() {
            let store = &*self.databases.store;
            self.receivers.like(store, &caller.tenant.name, &withdrawal.to).await
        } else {
            EarlierReceivers::NotKept
        };
        let subject = PlannedSubject { withdrawal, earlier_receivers };
        let subject = CheckSubject::Planned(Box::new(subject));
        self.check_subject(caller, subject, caller_accepts, now).await
    }

    async fn check_subject(
        self: &Arc<Self>,
        caller: &Caller,
        subject: CheckSubject,
        caller_accepts: Option<SignedDuration>,
        now: Timestamp,
    ) -> Result<CheckOutcome, CheckError> {
        if caller.is_sandbox() {
            return sandbox::check(&subject, now).await;
        }
        let tenant = &caller.tenant;
        let seconds = i64::try_from(tenant.plan.cache_lifetime.seconds()).unwrap_or(i64::MAX);
        let lifetime = SignedDuration::from_secs(seconds);
        let age_limits = AgeLimits { lifetime, caller_accepts };
        let (intel, chains) = (self.intel(), self.chains());
        let key = CacheKey {
            tenant: tenant.name.clone(),
            policy_revision: Arc::clone(tenant.policy.revision()),
            chains_revision: Arc::clone(chains.revision()),
            intel_stale: self.is_intel_stale(),
            differing_branches: chains.differing_branches(subject.chain()),
            subject,
        };
        let invalidated_addresses = self.invalidated_addresses.load_full();
        let data = DataState::new(&intel, &invalidated_addresses, &chains);
        let known = self.cache.find_in_memory(&key, data, age_limits, now);
        let (assessed, cache) = if let Some(known) = known {
            (known, CacheStatus::Hit)
        } else {
            let (service, tenant) = (Arc::clone(self), Arc::clone(tenant));
            let requester = Arc::clone(self);
            let assessing = async move {
                let data = DataState::new(&intel, &invalidated_addresses, &chains);
                let assess = async || {
                    let inputs = AssessmentInputs {
                        chains: &chains,
                        intel: &intel,
                        policy: &tenant.policy,
                        now,
                    };
                    requester.assess(&key, inputs, data.generation).await
                };
                service.cache.get(&key, data, age_limits, now, assess).await
            };
            // Only a new answer needs the memory of this future.
            Box::pin(self.detached_tasks.run(assessing)).await?
        };
        let left = lifetime.saturating_sub(assessed.age(now)).max(SignedDuration::ZERO);
        let holds = assessed.valid_until.map(|until| until.duration_since(now));
        let left = if assessed.has_outdated_compositions() { SignedDuration::ZERO } else { left };
        let time_to_live = holds.map_or(left, |holds| holds.min(left));
        Ok(CheckOutcome { assessed, cache, time_to_live })
    }

    /// Assesses the subject anew.
    async fn assess(
        self: &Arc<Self>,
        key: &CacheKey,
        inputs: AssessmentInputs<'_>,
        generation: u64,
    ) -> Result<SerializedAssessment, CheckError> {
        let AssessmentInputs { chains, intel, policy, now } = inputs;
        match &key.subject {
            CheckSubject::Address(subject) => {
                let mut facts = chains::facts(chains, intel, policy, subject, now).await;
                facts.never_fetched = never_fetched(&self.access().directory, intel);
                facts.intel_stale = key.intel_stale;
                facts.differing_branches = differing(key, facts.differing_branches);
                self.complete_later(subject, policy, &facts.chain, now);
                let assessed = beside_others_if(facts.is_large(), || {
                    let assessment =
                        stage!("assess").in_scope(|| assess(subject, &facts, policy, now));
                    SerializedAssessment::new(&assessment, now, generation)
                })?;
                Ok(assessed.with_cluster(facts.cluster.as_ref()).with_compositions(&facts.chain))
            }
            CheckSubject::Planned(planned) => {
                let to = &planned.withdrawal.to;
                let mut receiver = chains::facts(chains, intel, policy, to, now).await;
                receiver.never_fetched = never_fetched(&self.access().directory, intel);
                receiver.intel_stale = key.intel_stale;
                receiver.differing_branches = differing(key, receiver.differing_branches);
                self.complete_later(to, policy, &receiver.chain, now);
                let from = planned.withdrawal.from.as_ref();
                let sender = from.and_then(|from| intel.address_attribution(from, policy, now).end);
                let facts = PlannedFacts {
                    withdrawal: planned.withdrawal.clone(),
                    receiver,
                    sender,
                    earlier_receivers: planned.earlier_receivers.clone(),
                };
                let assessed = beside_others_if(facts.receiver.is_large(), || {
                    let assessment =
                        stage!("assess").in_scope(|| assess_planned(&facts, policy, now));
                    SerializedAssessment::new(&assessment, now, generation)
                })?;
                let PlannedFacts { receiver, .. } = facts;
                let assessed = assessed.with_cluster(receiver.cluster.as_ref());
                Ok(assessed.with_compositions(&receiver.chain))
            }
            CheckSubject::Transfer(query) => {
                let mut facts =
                    chains::trace::transfer_facts(chains, intel, policy, query, now).await?;
                facts.receiver.never_fetched = never_fetched(&self.access().directory, intel);
                facts.receiver.intel_stale = key.intel_stale;
                let after = facts.receiver.differing_branches;
                facts.receiver.differing_branches = differing(key, after);
                // The origins of a deposit are completed by its next check.
                if query.direction == TransferDirection::Withdrawal {
                    let receiver = facts.transfer.receiver();
                    self.complete_later(receiver, policy, &facts.receiver.chain, now);
                }
                let assessed = beside_others_if(facts.receiver.is_large(), || {
                    let assessment =
                        stage!("assess").in_scope(|| assess_transfer(&facts, policy, now));
                    SerializedAssessment::new(&assessment, now, generation)
                })?;
                Ok(assessed.with_compositions(&facts.receiver.chain))
            }
        }
    }
}

/// Returns the difference between the servers of a chain before or after the chain was read, whichever exists; of two
/// differences, the undecided one.
fn differing(key: &CacheKey, after: Option<DifferingBranches>) -> Option<DifferingBranches> {
    let differing = [key.differing_branches, after].into_iter().flatten();
    differing.min_by_key(|differing| differing.is_decided)
}

/// The data and the policy of an assessment.
#[derive(Clone, Copy)]
struct AssessmentInputs<'a> {
    chains: &'a ChainReaders,
    intel: &'a IntelSnapshot,
    policy: &'a Policy,
    now: Timestamp,
}
