//! Deletes data after its retention: answers and charges by each tenant's plan, and data that belongs to no tenant. A
//! server deletes such data once a day, and `assay purge` at any time.

use std::sync::Arc;

use assay_engine::policy::Policy;
use assay_store::{
    ControlStore, Store, StoreError,
    control::{KeyRecord, ManifestRecord},
    jobs::{Job, JobId, JobOutcome, NewJob, RetryPolicy},
    sessions::SessionsOver,
    usage::{Purge, PurgeCounts},
};
use assay_tenancy::{
    Directory, Name, Period,
    manifest::{FormerTenantSpec, Kind, RetentionSpec},
};
use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp, civil::Date, tz::TimeZone};

use super::{JobError, JobKind};
use crate::{
    Service,
    revocations::{RevocationError, Revocations},
};

const KIND: &str = "purge";
/// The key of the only purge job.
const KEY: &str = "all";
/// Interval between two purges of old data.
const PURGE_INTERVAL: SignedDuration = SignedDuration::from_hours(24);
/// Retention of data that belongs to no tenant. Fetched histories are used for less than a day; a settled transaction
/// is fetched again when a check needs it. A server that has been silent for this long writes no more usage records.
pub const COMMON_RETENTION: Period = Period::from_seconds(30 * 86_400);

/// Retention of the use of windows of limits after their ends, so that a clock set back by less gives no window twice.
const QUOTA_RETENTION: Period = Period::from_seconds(2 * 86_400);

/// A purge failed. The data that the purge deleted before the failure stays deleted.
#[derive(Debug, thiserror::Error)]
pub enum PurgeError {
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The list of revoked keys could not be written.
    #[error(transparent)]
    Revocation(#[from] RevocationError),
}

impl From<PurgeError> for JobError {
    fn from(error: PurgeError) -> Self {
        match error {
            PurgeError::Store(error) => error.into(),
            PurgeError::Revocation(error) => error.into(),
        }
    }
}

/// The kind of the job that purges old data every day.
#[derive(Debug)]
pub struct PurgeExpired {
    service: Arc<Service>,
    revocations: Revocations,
}

impl PurgeExpired {
    /// Returns the purge of a service's store. The purge adds the keys of forgotten tenants (former tenants whose
    /// retention is over) to `revocations`.
    #[must_use]
    pub const fn new(service: Arc<Service>, revocations: Revocations) -> Self {
        Self { service, revocations }
    }
}

#[async_trait]
impl JobKind for PurgeExpired {
    fn name(&self) -> &'static str {
        KIND
    }

    fn retry(&self) -> RetryPolicy {
        RetryPolicy {
            first_delay: SignedDuration::from_mins(5),
            longest_delay: SignedDuration::from_hours(6),
            attempts: None,
        }
    }

    fn wanted(&self) -> Vec<NewJob> {
        let due_at = Timestamp::UNIX_EPOCH;
        vec![NewJob { id: JobId::new(KIND, KEY), payload: String::new(), due_at }]
    }

    async fn run(&self, _job: &Job, now: Timestamp) -> Result<JobOutcome, JobError> {
        let (store, access) = (&*self.service.databases.store, self.service.access());
        let tenants = purge_tenants(store, &access.directory, None, &self.revocations, now).await?;
        let common = purge_common(store, now).await?;
        let (mut checks, mut usage) = (0_u64, 0_u64);
        for tenant in &tenants {
            checks = checks.saturating_add(tenant.purged.checks);
            usage = usage.saturating_add(tenant.purged.usage);
        }
        let CommonPurged { fetched, jobs } = common;
        tracing::info!(checks, usage, fetched, jobs, "old data purged");
        let next = now.saturating_add(PURGE_INTERVAL).unwrap_or(Timestamp::MAX);
        Ok(JobOutcome::DoneUntil(next))
    }
}

/// Numbers of deleted records of a tenant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TenantPurged {
    /// The tenant.
    pub tenant: Name,
    /// Retention periods of the tenant's data.
    pub retention: RetentionSpec,
    /// The number of rows that were deleted.
    pub purged: PurgeCounts,
    /// True if the tenant had been deleted and its last record is now deleted too.
    pub is_forgotten: bool,
}

/// Numbers of deleted rows that belong to no tenant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CommonPurged {
    /// Records of fetched history.
    pub fetched: u64,
    /// Background jobs that ended.
    pub jobs: u64,
}

/// Deletes answers, receivers and charges that are older than the retention of the tenants' plans, and idempotency keys and
/// sessions whose time is over, of all tenants or of one.
/// Former tenants whose retention is over are forgotten: their keys are revoked, and they cannot be restored.
///
/// # Errors
///
/// Returns an error if the store or the list of revoked keys fails.
pub async fn purge_tenants(
    store: &dyn Store,
    directory: &Directory<Policy>,
    only: Option<&Name>,
    revocations: &Revocations,
    now: Timestamp,
) -> Result<Vec<TenantPurged>, PurgeError> {
    let tenants = directory.tenants.values().map(|tenant| (&tenant.name, tenant.plan.retention));
    let former = directory.former_tenants.iter().map(|(name, former)| (name, former.retention));
    let is_chosen = |name: &Name| only.is_none_or(|chosen| chosen == name);
    let mut all = Vec::new();
    for (name, retention) in tenants.chain(former).filter(|(name, _)| is_chosen(name)) {
        let has_expired = |former: &FormerTenantSpec| former.is_forgotten(now);
        let is_forgotten = directory.former_tenants.get(name).is_some_and(has_expired);
        let expired = expired_data(name, retention, is_forgotten, now);
        let purged = store.purge_tenant(&expired).await?;
        store.purge_receivers(name, expired.checks_before).await?;
        // A later tenant of the same name must not find answers of this one.
        store.purge_keys(name, if is_forgotten { Timestamp::MAX } else { now }).await?;
        let is_former = directory.former_tenants.contains_key(name);
        let over = if is_former { SessionsOver::ALL } else { SessionsOver::at(now) };
        store.purge_sessions(name, over).await?;
        if is_forgotten {
            forget(name, store, revocations, now).await?;
        }
        all.push(TenantPurged { tenant: name.clone(), retention, purged, is_forgotten });
    }
    Ok(all)
}

/// Deletes fetched histories, usage writers, counters of limits and ended jobs that are older than
/// [`COMMON_RETENTION`].
///
/// # Errors
///
/// Returns an error if the store fails.
pub async fn purge_common(store: &dyn Store, now: Timestamp) -> Result<CommonPurged, StoreError> {
    let before = time_before(now, COMMON_RETENTION);
    let fetched = store.purge_fetched(before).await?;
    store.purge_usage_writers(before).await?;
    let jobs = store.purge_jobs(before).await?;
    match store.coordination() {
        Some(coordination) => {
            coordination.purge_quotas().await?;
        }
        None => {
            store.purge_quota_uses(time_before(now, QUOTA_RETENTION)).await?;
        }
    }
    Ok(CommonPurged { fetched, jobs })
}

/// Selects the data of a tenant beyond its retention. Days are counted whole; of a forgotten tenant (a former tenant
/// whose retention is over), the last day is selected, too.
fn expired_data(
    name: &Name,
    retention: RetentionSpec,
    is_forgotten: bool,
    now: Timestamp,
) -> Purge {
    let day = |time: Timestamp| time.to_zoned(TimeZone::UTC).date();
    let usage_before =
        if is_forgotten { Date::MAX } else { day(time_before(now, retention.usage)) };
    Purge { tenant: name.clone(), checks_before: time_before(now, retention.checks), usage_before }
}

/// Forgets a former tenant: its keys are revoked, and it cannot be restored.
///
/// # Errors
///
/// Returns an error if the store or the list of revoked keys fails.
pub async fn forget(
    name: &Name,
    store: &dyn ControlStore,
    revocations: &Revocations,
    now: Timestamp,
) -> Result<(), PurgeError> {
    loop {
        let control = store.control().await?;
        let is_former =
            |record: &ManifestRecord| record.kind == Kind::FormerTenant && record.name == *name;
        // The tenant may have been restored in the meantime.
        if !control.manifests.iter().any(is_former) {
            return Ok(());
        }
        let is_active = |key: &&KeyRecord| key.tenant == *name && key.is_active(now);
        let active: Vec<&KeyRecord> = control.keys.iter().filter(is_active).collect();
        for key in &active {
            store.revoke_key(&key.id, now).await?;
            revocations.append(&key.id, now)?;
        }
        if !active.is_empty() {
            // A key may have been added in the meantime: the manifest is deleted once no key is active.
            continue;
        }
        let former = [(Kind::FormerTenant, name.clone())];
        match store.put_manifests(&[], &former, control.manifests_revision, now).await {
            Err(StoreError::Conflict) => {}
            done => return Ok(done?),
        }
    }
}

fn time_before(now: Timestamp, period: Period) -> Timestamp {
    let seconds = i64::try_from(period.seconds()).unwrap_or(i64::MAX);
    now.saturating_sub(SignedDuration::from_secs(seconds)).unwrap_or(Timestamp::MIN)
}
