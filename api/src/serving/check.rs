//! A check: the subject's facts, judged by the tenant's policy, or an answer that may be repeated.

use std::sync::Arc;

use assay_engine::{address::CanonicalAddress, assess, facts::Facts, policy::Policy};
use assay_store::IntelSnapshot;
use jiff::{SignedDuration, Timestamp};

use super::{
    Assessed, CacheStatus, Caller, Freshness, Service,
    cache::{CacheKey, Data},
};
use crate::{chains, telemetry::stage};

/// An answer and how it came about.
#[derive(Clone, Debug)]
pub struct CheckOutcome {
    /// The answer.
    pub assessed: Arc<Assessed>,
    /// How it came about.
    pub cache: CacheStatus,
    /// For how long it may still be repeated.
    pub time_to_live: SignedDuration,
}

impl Service {
    /// What is known of a subject from lists, labels and its chain.
    async fn facts(
        &self,
        intel: &IntelSnapshot,
        policy: &Policy,
        subject: &CanonicalAddress,
        now: Timestamp,
    ) -> Facts {
        let chains = self.chains.load_full();
        chains::facts(&chains, intel, policy, subject, now).await
    }

    /// Checks one address for a caller.
    pub async fn check(
        &self,
        caller: &Caller,
        subject: &CanonicalAddress,
        caller_accepts: Option<SignedDuration>,
        now: Timestamp,
    ) -> CheckOutcome {
        let tenant = &caller.tenant;
        let policy = &tenant.policy;
        let seconds = i64::try_from(tenant.plan.cache_lifetime.seconds()).unwrap_or(i64::MAX);
        let lifetime = SignedDuration::from_secs(seconds);
        let intel = self.intel();
        let key = CacheKey {
            tenant: tenant.name.clone(),
            policy_revision: policy.revision().to_owned(),
            address: subject.clone(),
        };
        let generation = intel.generation();
        let freshness = Freshness { lifetime, caller_accepts };
        let judge = async || {
            let facts = self.facts(&intel, policy, subject, now).await;
            let assessment = stage!("assess").in_scope(|| assess(subject, &facts, policy, now));
            Assessed::new(assessment, now, generation)
        };
        let touched = self.touched.load_full();
        let data = Data { generation, touched: &touched };
        let (assessed, cache) = self.cache.get(key, data, freshness, now, judge).await;
        let left = lifetime.saturating_sub(assessed.age(now)).max(SignedDuration::ZERO);
        let holds = assessed.assessment.valid_until.map(|until| until.duration_since(now));
        CheckOutcome { time_to_live: holds.map_or(left, |holds| holds.min(left)), assessed, cache }
    }
}
