//! A check: the subject's facts, judged by the tenant's policy, or an answer that may be repeated.

use std::sync::Arc;

use assay_engine::{address::CanonicalAddress, assess};
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
    /// Checks one address for a caller.
    ///
    /// # Errors
    ///
    /// Where the assessment cannot be printed, which never happens.
    pub async fn check(
        &self,
        caller: &Caller,
        subject: &CanonicalAddress,
        caller_accepts: Option<SignedDuration>,
        now: Timestamp,
    ) -> Result<CheckOutcome, serde_json::Error> {
        let tenant = &caller.tenant;
        let policy = &tenant.policy;
        let seconds = i64::try_from(tenant.plan.cache_lifetime.seconds()).unwrap_or(i64::MAX);
        let lifetime = SignedDuration::from_secs(seconds);
        let intel = self.intel();
        let chains = self.chains();
        let key = CacheKey {
            tenant: tenant.name.clone(),
            policy_revision: policy.revision().to_owned(),
            chains_revision: chains.revision().to_owned(),
            snapshot_stale: self.is_snapshot_stale(),
            address: subject.clone(),
        };
        let generation = intel.generation();
        let freshness = Freshness { lifetime, caller_accepts };
        let judge = async || {
            let mut facts = chains::facts(&chains, &intel, policy, subject, now).await;
            facts.snapshot_stale = key.snapshot_stale;
            let assessment = stage!("assess").in_scope(|| assess(subject, &facts, policy, now));
            Assessed::new(&assessment, now, generation)
        };
        let touched = self.touched.load_full();
        let data = Data { generation, revision: intel.data_revision(), touched: &touched };
        let (assessed, cache) = self.cache.get(key.clone(), data, freshness, now, judge).await?;
        let left = lifetime.saturating_sub(assessed.age(now)).max(SignedDuration::ZERO);
        let holds = assessed.valid_until.map(|until| until.duration_since(now));
        let time_to_live = holds.map_or(left, |holds| holds.min(left));
        Ok(CheckOutcome { assessed, cache, time_to_live })
    }
}
