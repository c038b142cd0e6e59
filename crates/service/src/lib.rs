//! What a request needs, without HTTP: who may ask, what is known, and the answer.
//!
//! Everything a check touches is in memory: [`Access`] and the intel snapshot are loaded at the start,
//! reloaded when the store says that they changed, and swapped whole.

mod access;
pub mod background;
mod cache;
mod catalogue;
mod chain_watch;
pub mod chains;
mod check;
mod confirmed;
mod databases;
pub mod dead_keys;
mod detached_tasks;
mod key_use;
pub mod keys;
mod limits;
pub mod manifests;
mod record;
mod refresh;
pub mod revocations;
mod screen;
mod touched;
mod write;

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use arc_swap::ArcSwap;
use assay_intel::IntelSnapshot;
use assay_limiter::Limiter;
use assay_redis::RedisClient;
use assay_tenancy::key::Scope;
use jiff::Timestamp;
use tokio::sync::Notify;

pub use access::{Access, Caller, Denied};
pub use cache::{Assessed, CacheStatus, Freshness, SharedAnswers};
pub use catalogue::{Catalogue, catalogue};
pub use check::CheckOutcome;
pub use confirmed::Confirmed;
pub use databases::Databases;
pub use key_use::KeyUse;
pub use limits::SharedLimits;
pub use record::{Backlog, Recorder};
pub use refresh::{LoadError, Refresher};
pub use screen::{Screened, screen, subject as screen_subject};
pub use write::write_regularly;

use assay_system::Clock;

use crate::chains::registry::Chains;

/// The state that all requests share.
#[derive(Debug)]
pub struct Service {
    /// Tells the time.
    pub clock: Clock,
    /// How often each tenant may ask.
    pub limiter: Limiter,
    /// When keys were last used, written now and then.
    pub key_use: KeyUse,
    /// What was charged and answered, written twice a second.
    pub recorder: Recorder,
    /// When what is in memory was last seen to be what the store holds.
    pub confirmed: Confirmed,
    /// What is asked for beyond checks: usage and kept answers; chains.
    pub databases: Databases,
    /// Keys that somebody said are dead.
    pub dead_keys: dead_keys::DeadKeys,
    /// Asks for a look at the store before it is time for one.
    pub look_again: Notify,
    /// How old what is in memory may be.
    pub bounds: Bounds,
    /// Requests for background work, and the number of jobs.
    pub background: background::runner::Background,
    redis: Option<RedisClient>,
    access: ArcSwap<Access>,
    intel: ArcSwap<IntelSnapshot>,
    chains: ArcSwap<Chains>,
    touched: ArcSwap<touched::Touched>,
    cache: cache::ResultCache,
    detached_tasks: detached_tasks::DetachedTasks,
    draining: AtomicBool,
    /// Whether the store answered the last time it was asked.
    store_reachable: AtomicBool,
}

/// How old what is in memory may be, where it cannot be confirmed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// Keys, tenants, plans, limits and policies: beyond, nobody is let in.
    pub key_data_age: Duration,
    /// Lists and labels: beyond, nothing is allowed.
    pub intel_age: Duration,
}

impl Service {
    /// Loads everything from `databases`.
    ///
    /// # Errors
    ///
    /// Where the store fails or its manifests do not resolve.
    pub async fn load(
        databases: Databases,
        clock: Clock,
        cache_bytes: u64,
        bounds: Bounds,
        redis: Option<(RedisClient, String)>,
        limiter: Limiter,
    ) -> Result<Arc<Self>, LoadError> {
        let confirmed = Confirmed::at(Instant::now());
        let access = refresh::load_access(&*databases.store).await?;
        let intel = IntelSnapshot::load(&*databases.store, None).await?;
        let chains = Chains::of(&databases, &access.directory).await?;
        Ok(Arc::new(Self {
            clock,
            confirmed,
            limiter,
            key_use: KeyUse::default(),
            recorder: Recorder::new(assay_system::random_u128()),
            databases,
            dead_keys: dead_keys::DeadKeys::default(),
            look_again: Notify::new(),
            bounds,
            background: background::runner::Background::default(),
            redis: redis.as_ref().map(|(link, _)| link.clone()),
            access: ArcSwap::from_pointee(access),
            intel: ArcSwap::from_pointee(intel),
            chains: ArcSwap::from_pointee(chains),
            touched: ArcSwap::default(),
            cache: cache::ResultCache::new(
                cache_bytes,
                redis.map(|(link, prefix)| SharedAnswers::new(link, prefix)),
            ),
            detached_tasks: detached_tasks::DetachedTasks::default(),
            draining: AtomicBool::new(false),
            store_reachable: AtomicBool::new(true),
        }))
    }

    /// Who may ask, as it is now.
    pub fn access(&self) -> Arc<Access> {
        self.access.load_full()
    }

    /// Who presents a key for something that needs `scope`.
    ///
    /// # Errors
    ///
    /// Why they are denied.
    pub fn authenticate(
        &self,
        presented: &str,
        scope: Scope,
        now: Timestamp,
    ) -> Result<Caller, Denied> {
        self.alive(self.access.load().authenticate(presented, scope, now)?)
    }

    /// A caller as it is now: for what goes on longer than a request should trust one look at a key.
    ///
    /// # Errors
    ///
    /// Why the caller is denied by now.
    pub fn renew(&self, caller: &Caller, scope: Scope, now: Timestamp) -> Result<Caller, Denied> {
        self.alive(self.access.load().renew(caller, scope, now)?)
    }

    fn alive(&self, caller: Caller) -> Result<Caller, Denied> {
        if self.dead_keys.contains(&caller.key) { Err(Denied::InvalidKey) } else { Ok(caller) }
    }

    /// Whether it could not be confirmed for too long who may ask.
    pub fn is_key_data_stale(&self) -> bool {
        self.confirmed.key_data_age(Instant::now()) > self.bounds.key_data_age
    }

    /// Whether it could not be confirmed for too long what lists and labels say.
    pub fn is_intel_stale(&self) -> bool {
        self.confirmed.intel_age(Instant::now()) > self.bounds.intel_age
    }

    /// What reaches Redis, where there is to be one.
    pub const fn redis(&self) -> Option<&RedisClient> {
        self.redis.as_ref()
    }

    /// What lists and labels say, as it is now.
    pub fn intel(&self) -> Arc<IntelSnapshot> {
        self.intel.load_full()
    }

    /// The chains that can be read, as it is now.
    pub fn chains(&self) -> Arc<Chains> {
        self.chains.load_full()
    }

    /// Says that the program is about to stop: it is no longer ready.
    pub fn start_draining(&self) {
        self.draining.store(true, Ordering::Relaxed);
    }

    /// Whether the program is about to stop.
    pub fn is_draining(&self) -> bool {
        self.draining.load(Ordering::Relaxed)
    }

    /// Whether the store answered the last time it was asked.
    pub fn store_reachable(&self) -> bool {
        self.store_reachable.load(Ordering::Relaxed)
    }
}
