//! The application without HTTP: access, checks, the cache, and background work.
//!
//! Everything that a check reads is in memory: [`Access`] and the intel snapshot are loaded at the start,
//! reloaded when the store announces a change, and replaced as a whole.

mod access;
pub mod administration;
pub mod api_limits;
pub mod background;
mod cache;
mod catalogue;
mod chain_watch;
pub mod chains;
mod check;
mod databases;
mod detached_tasks;
mod evm;
mod freshness;
mod idempotency;
mod invalidated_addresses;
mod kept_checks;
mod key_use;
pub mod keys;
mod large;
mod limits;
pub mod manifests;
mod quota_uses;
pub mod ready_chain_sources;
pub mod ready_sources;
mod receivers;
mod record;
mod refresh;
pub mod revocations;
pub mod revoked_keys;
mod sandbox;
mod screen;
mod source_list;
mod store_clock;
mod tenant_records;
mod unfetched;
mod write;

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use arc_swap::ArcSwap;
use assay_graph::EmbeddedGraphs;
use assay_intel::IntelSnapshot;
use assay_limiter::Limiter;
use assay_redis::RedisClient;
use assay_store::sessions::SessionActor;
use assay_tenancy::{Name, key::Scope};
use jiff::Timestamp;
use tokio::sync::Notify;

pub use access::{Access, Caller, DenialReason};
pub use cache::{AgeLimits, CacheStatus, SerializedAssessment, SharedAnswers};
pub use catalogue::{Catalogue, CatalogueCategory, catalogue};
pub use chains::transfer::TransferError;
pub use check::{CheckError, CheckOutcome};
pub use databases::Databases;
pub use evm::{ChainVerdict, WorstOfChains, on_every_evm_chain, worst_of_chains};
pub use freshness::Freshness;
pub use idempotency::{HeldKey, KeyOutcome};
pub use key_use::KeyUse;
pub use limits::SharedLimits;
pub use quota_uses::QuotaUses;
pub use receivers::Receivers;
pub use record::{Backlog, Recorder};
pub use refresh::{LoadError, Refresher};
pub use sandbox::screen_in_sandbox;
pub use screen::{DecidedBy, Screening, ScreeningResult, subject as screen_subject};
pub use store_clock::StoreClock;
pub use unfetched::never_fetched;
pub use write::write_regularly;

use assay_system::Clock;

use crate::chains::{
    compositions::{CompositionProgress, GraphOwner},
    registry::ChainReaders,
};

/// State that all requests share.
#[derive(Debug)]
pub struct Service {
    /// Clock.
    pub clock: Clock,
    /// Clock of the store, by whose days charges are booked.
    pub store_clock: StoreClock,
    /// Rate limiter.
    pub limiter: Limiter,
    /// Times of the last use of keys, written every 30 s.
    pub key_use: KeyUse,
    /// Charges and kept answers, written twice a second.
    pub recorder: Recorder,
    /// Receivers of withdrawals that tenants checked, written twice a second.
    pub receivers: Receivers,
    /// Use of long windows of limits, written twice a second if this server counts limits by itself.
    pub quota_uses: QuotaUses,
    /// Freshness of data in memory.
    pub freshness: Freshness,
    /// Databases: the store, the chain graphs and the chain servers.
    pub databases: Databases,
    /// Keys whose revocation was published.
    pub revoked_keys: revoked_keys::RevokedKeys,
    /// Signal to refresh before the interval is over.
    pub refresh_requested: Notify,
    /// Limits of the age of data in memory.
    pub bounds: Bounds,
    /// Progress of the compositions (origin breakdowns) of each chain.
    pub compositions: CompositionProgress,
    /// Requests for background work, and the number of jobs.
    pub background: background::runner::Background,
    redis: Option<RedisClient>,
    access: ArcSwap<Access>,
    intel: ArcSwap<IntelSnapshot>,
    chains: ArcSwap<ChainReaders>,
    invalidated_addresses: ArcSwap<invalidated_addresses::InvalidatedAddresses>,
    cache: cache::ResultCache,
    detached_tasks: detached_tasks::DetachedTasks,
    draining: AtomicBool,
    /// True if the last request to the store succeeded.
    store_reachable: AtomicBool,
    /// True if all chains could be read the last time.
    chains_reachable: AtomicBool,
}

/// Limits of the age of data in memory while the database cannot confirm it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// Age of keys, tenants, plans, limits and policies beyond which every request is refused.
    pub key_data_age: Duration,
    /// Age of lists and labels beyond which no verdict is `allow`.
    pub intel_age: Duration,
}

impl GraphOwner for Service {
    fn graphs(&self) -> &Arc<EmbeddedGraphs> {
        &self.databases.graphs
    }

    fn intel(&self) -> Arc<IntelSnapshot> {
        Self::intel(self)
    }

    fn now(&self) -> Timestamp {
        self.clock.now()
    }

    fn progress(&self) -> &CompositionProgress {
        &self.compositions
    }
}

impl Service {
    /// Loads everything from `databases`.
    ///
    /// # Errors
    ///
    /// Returns an error if the store fails or its manifests do not resolve.
    pub async fn load(
        databases: Databases,
        clock: Clock,
        cache_bytes: u64,
        bounds: Bounds,
        redis: Option<(RedisClient, String)>,
        limiter: Limiter,
    ) -> Result<Arc<Self>, LoadError> {
        let asked = Instant::now();
        let freshness = Freshness::confirmed_at(asked);
        let store_clock = StoreClock::default();
        store_clock.set(databases.store.time().await?, asked);
        let access = refresh::load_access(&*databases.store).await?;
        let intel = IntelSnapshot::load(&*databases.store, None).await?;
        let chains = ChainReaders::open(&databases, &access.directory).await?;
        Ok(Arc::new(Self {
            clock,
            store_clock,
            freshness,
            limiter,
            key_use: KeyUse::default(),
            recorder: Recorder::new(assay_system::random_u128()),
            receivers: Receivers::default(),
            quota_uses: QuotaUses::default(),
            databases,
            revoked_keys: revoked_keys::RevokedKeys::default(),
            refresh_requested: Notify::new(),
            bounds,
            compositions: CompositionProgress::default(),
            background: background::runner::Background::default(),
            redis: redis.as_ref().map(|(link, _)| link.clone()),
            access: ArcSwap::from_pointee(access),
            intel: ArcSwap::from_pointee(intel),
            chains: ArcSwap::from_pointee(chains),
            invalidated_addresses: ArcSwap::default(),
            cache: cache::ResultCache::new(
                cache_bytes,
                redis.map(|(link, prefix)| SharedAnswers::new(link, prefix)),
            ),
            detached_tasks: detached_tasks::DetachedTasks::default(),
            draining: AtomicBool::new(false),
            store_reachable: AtomicBool::new(true),
            chains_reachable: AtomicBool::new(true),
        }))
    }

    /// Returns the current key data.
    pub fn access(&self) -> Arc<Access> {
        self.access.load_full()
    }

    /// Authenticates the caller that presents a key, for an operation that needs `scope`.
    ///
    /// # Errors
    ///
    /// Returns the reason for which the caller is denied.
    pub fn authenticate(
        &self,
        presented: &str,
        scope: Scope,
        now: Timestamp,
    ) -> Result<Caller, DenialReason> {
        self.unless_revoked(self.access.load().authenticate(presented, scope, now)?)
    }

    /// Authenticates a caller again, by current key data: for requests that take long.
    ///
    /// # Errors
    ///
    /// Returns the reason for which the caller is denied now.
    pub fn renew(
        &self,
        caller: &Caller,
        scope: Scope,
        now: Timestamp,
    ) -> Result<Caller, DenialReason> {
        self.unless_revoked(self.access.load().renew(caller, scope, now)?)
    }

    /// Returns the caller as whom somebody acts in a session of a tenant, by current key data.
    ///
    /// # Errors
    ///
    /// Returns the reason for which the caller is denied now.
    pub fn caller_of_session(
        &self,
        tenant: &Name,
        actor: &SessionActor,
        now: Timestamp,
    ) -> Result<Caller, DenialReason> {
        let environment = self.intel().environment();
        let access = self.access.load();
        self.unless_revoked(access.caller_of_session(tenant, actor, environment, now)?)
    }

    fn unless_revoked(&self, caller: Caller) -> Result<Caller, DenialReason> {
        if self.revoked_keys.contains(&caller.key) {
            Err(DenialReason::InvalidKey)
        } else {
            Ok(caller)
        }
    }

    /// Says whether key data is older than its limit.
    pub fn is_key_data_stale(&self) -> bool {
        self.freshness.key_data_age(Instant::now()) > self.bounds.key_data_age
    }

    /// Says whether lists and labels are older than their limit.
    pub fn is_intel_stale(&self) -> bool {
        self.freshness.intel_age(Instant::now()) > self.bounds.intel_age
    }

    /// Returns the client of Redis, if Redis is configured.
    pub const fn redis(&self) -> Option<&RedisClient> {
        self.redis.as_ref()
    }

    /// Returns the current index of lists and labels.
    pub fn intel(&self) -> Arc<IntelSnapshot> {
        self.intel.load_full()
    }

    /// Returns the chains that can be read now.
    pub fn chains(&self) -> Arc<ChainReaders> {
        self.chains.load_full()
    }

    /// Announces that the program is about to stop: it is no longer ready.
    pub fn start_draining(&self) {
        self.draining.store(true, Ordering::Relaxed);
    }

    /// Says whether the program is about to stop.
    pub fn is_draining(&self) -> bool {
        self.draining.load(Ordering::Relaxed)
    }

    /// Says whether the last request to the store's database succeeded.
    pub fn store_reachable(&self) -> bool {
        self.store_reachable.load(Ordering::Relaxed)
    }

    /// Says whether charges, answers, receivers, uses of keys and of limits could be written the last time.
    pub fn store_writable(&self) -> bool {
        !self.recorder.is_failing()
            && !self.receivers.is_failing()
            && !self.key_use.is_failing()
            && !self.quota_uses.is_failing()
    }

    /// Says whether all chains could be read the last time: from their servers, and from graphs.
    pub fn chains_reachable(&self) -> bool {
        self.chains_reachable.load(Ordering::Relaxed)
    }
}
