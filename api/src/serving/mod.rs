//! What a request needs, without HTTP: who may ask, what is known, and the answer.
//!
//! Everything a check touches is in memory: [`Access`] and the intel snapshot are loaded at the start,
//! reloaded when the store says that they changed, and swapped whole.

mod access;
mod cache;
mod catalogue;
mod chain_watch;
mod check;
mod confirmed;
mod key_use;
mod record;
mod refresh;
mod screen;
mod touched;

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use arc_swap::ArcSwap;
use assay_limiter::InProcess;
use assay_store::{IntelSnapshot, Store};

pub use access::{Access, Caller, Denied};
pub use cache::{Assessed, CacheStatus, Freshness};
pub use catalogue::{Catalogue, catalogue};
pub use check::CheckOutcome;
pub use confirmed::Confirmed;
pub use key_use::KeyUse;
pub use record::Recorder;
pub use refresh::{LoadError, Refresher};
pub use screen::{Screened, screen, subject as screen_subject};

use crate::{chains::reader::Chains, system::Clock};

/// The state that all requests share.
#[derive(Debug)]
pub struct Service {
    /// Tells the time.
    pub clock: Clock,
    /// How often each tenant may ask.
    pub limiter: InProcess,
    /// When keys were last used, written now and then.
    pub key_use: KeyUse,
    /// What was charged and answered, written every second.
    pub recorder: Recorder,
    /// When what is in memory was last seen to be what the store holds.
    pub confirmed: Confirmed,
    /// What is asked for beyond checks: usage and kept answers.
    pub store: Arc<dyn Store>,
    access: ArcSwap<Access>,
    intel: ArcSwap<IntelSnapshot>,
    chains: ArcSwap<Chains>,
    touched: ArcSwap<touched::Touched>,
    cache: cache::ResultCache,
    draining: AtomicBool,
    /// Whether the store answered the last time it was asked.
    store_reachable: AtomicBool,
}

impl Service {
    /// Loads everything from `store`.
    ///
    /// # Errors
    ///
    /// Where the store fails or its manifests do not resolve.
    pub async fn load(
        store: Arc<dyn Store>,
        clock: Clock,
        cache_bytes: u64,
    ) -> Result<Arc<Self>, LoadError> {
        let access = refresh::load_access(&*store).await?;
        let intel = IntelSnapshot::load(&*store, None).await?;
        let chains = Chains::of(&store, &access.directory).await?;
        let confirmed = Confirmed::at(clock.now());
        Ok(Arc::new(Self {
            clock,
            confirmed,
            limiter: InProcess::default(),
            key_use: KeyUse::default(),
            recorder: Recorder::default(),
            store,
            access: ArcSwap::from_pointee(access),
            intel: ArcSwap::from_pointee(intel),
            chains: ArcSwap::from_pointee(chains),
            touched: ArcSwap::default(),
            cache: cache::ResultCache::new(cache_bytes),
            draining: AtomicBool::new(false),
            store_reachable: AtomicBool::new(true),
        }))
    }

    /// Who may ask, as it is now.
    pub fn access(&self) -> Arc<Access> {
        self.access.load_full()
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
