//! A check: the subject's facts, assessed by the tenant's policy, or an answer that may be repeated.

use std::sync::Arc;

use assay_engine::{address::CanonicalAddress, assess};
use assay_telemetry::stage;
use jiff::{SignedDuration, Timestamp};

use super::{
    AgeLimits, Assessed, CacheStatus, Caller, Service,
    cache::{CacheKey, Data},
};
use crate::chains;

/// An answer, with its use of the cache.
#[derive(Clone, Debug)]
pub struct CheckOutcome {
    /// The answer.
    pub assessed: Arc<Assessed>,
    /// Use of the cache: hit, miss or bypass.
    pub cache: CacheStatus,
    /// For how long it may still be repeated.
    pub time_to_live: SignedDuration,
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
    ) -> Result<CheckOutcome, serde_json::Error> {
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
            address: subject.clone(),
        };
        let invalidated_addresses = self.invalidated_addresses.load_full();
        let data = Data::of(&intel, &invalidated_addresses);
        let known = self.cache.known(&key, data, age_limits, now);
        let (assessed, cache) = if let Some(known) = known {
            (known, CacheStatus::Hit)
        } else {
            let (service, tenant) = (Arc::clone(self), Arc::clone(tenant));
            let requester = Arc::clone(self);
            let assessing = async move {
                let data = Data::of(&intel, &invalidated_addresses);
                let assess = async || {
                    let (policy, subject) = (&tenant.policy, &key.address);
                    let mut facts = chains::facts(&chains, &intel, policy, subject, now).await;
                    facts.intel_stale = key.intel_stale;
                    requester.complete_later(subject, policy, &facts.chain, now);
                    let assess = || assess(subject, &facts, policy, now);
                    let assessment = stage!("assess").in_scope(assess);
                    let assessed = Assessed::new(&assessment, now, data.generation)?;
                    Ok(assessed.with_cluster(facts.cluster.as_ref()))
                };
                service.cache.get(&key, data, age_limits, now, assess).await
            };
            self.detached_tasks.run(assessing).await?
        };
        let left = lifetime.saturating_sub(assessed.age(now)).max(SignedDuration::ZERO);
        let holds = assessed.valid_until.map(|until| until.duration_since(now));
        let time_to_live = holds.map_or(left, |holds| holds.min(left));
        Ok(CheckOutcome { assessed, cache, time_to_live })
    }
}
