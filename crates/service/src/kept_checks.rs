//! Kept answers of a tenant: one by its identifier, and pages of those that meet conditions.
//!
//! Both read the answers that are not written yet too, and neither shows one that is older than the plan's retention.

use assay_store::{
    StoreError,
    checks::{CheckPage, CheckQuery},
    usage::KeptCheck,
};
use assay_telemetry::stage;
use jiff::{SignedDuration, Timestamp};
use tracing::Instrument as _;

use crate::{Caller, Service};

impl Service {
    /// Finds a kept answer of the caller's tenant; `None` if there is none, or its retention is over.
    ///
    /// # Errors
    ///
    /// Returns an error if the store fails.
    pub async fn kept_check(
        &self,
        caller: &Caller,
        id: &str,
        now: Timestamp,
    ) -> Result<Option<KeptCheck>, StoreError> {
        let tenant = &caller.tenant.name;
        let mut found = self.recorder.unwritten_check(tenant, id);
        if found.is_none() {
            let read = self.databases.store.kept_check(tenant, id);
            found = read.instrument(stage!("read_kept_answer")).await?;
        }
        let kept = caller.tenant.plan.retention.checks;
        // Older answers may not be purged yet.
        let in_time = |check: &KeptCheck| {
            let age = now.duration_since(check.made_at).as_secs();
            u64::try_from(age).unwrap_or(0) <= kept.seconds()
        };
        Ok(found.filter(in_time))
    }

    /// Finds a page of kept answers of the caller's tenant. The conditions of the query are those of the caller, except
    /// that nothing older than the plan's retention is found.
    ///
    /// # Errors
    ///
    /// Returns an error if the store fails.
    pub async fn find_checks(
        &self,
        caller: &Caller,
        mut query: CheckQuery,
        now: Timestamp,
    ) -> Result<CheckPage, StoreError> {
        let kept = caller.tenant.plan.retention.checks.seconds();
        let kept = SignedDuration::from_secs(i64::try_from(kept).unwrap_or(i64::MAX));
        let oldest = now.saturating_sub(kept).unwrap_or(Timestamp::MIN);
        let from = query.filter.from.map_or(oldest, |from| from.max(oldest));
        query.filter.from = Some(from);

        let tenant = &caller.tenant.name;
        // Answers that are written between both reads are found by both.
        let unwritten = self.recorder.unwritten_checks(tenant, &query);
        let read = self.databases.store.find_checks(tenant, &query);
        let page = read.instrument(stage!("find_kept_checks")).await?;
        Ok(page.with_unwritten(unwritten, query.limit))
    }
}
