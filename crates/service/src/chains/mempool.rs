//! Sources of the unconfirmed transactions of followed chains.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use assay_address::ChainId;
use assay_chain::{
    SourceError,
    location::{self, BlockLocation},
    mempool::{MempoolEntry, MempoolSource},
};
use assay_engine::utxo::Txid;
use assay_telemetry::request::run_on_thread;
use tokio::{
    sync::Semaphore,
    time::{Instant, timeout_at},
};

/// Largest number of requests to one source at a time. A source that answers slowly holds up no more threads.
const AT_ONCE: usize = 8;

/// Time for all requests of one check, while which the caller waits.
pub(super) const TIME: Duration = Duration::from_secs(5);

/// Error of reading a mempool.
#[derive(Debug, thiserror::Error)]
pub enum MempoolError {
    /// The source failed, or its answer is invalid.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// The source did not answer in time, or is busy with other requests.
    #[error("it did not answer in time")]
    Timeout,
}

/// Source of the unconfirmed transactions of one chain.
#[derive(Debug)]
pub struct Mempool {
    source: Arc<dyn MempoolSource>,
    permits: Arc<Semaphore>,
}

impl Mempool {
    /// Returns the mempool of a source.
    #[must_use]
    pub fn new(source: Arc<dyn MempoolSource>) -> Self {
        Self { source, permits: Arc::new(Semaphore::new(AT_ONCE)) }
    }

    /// Returns the state of each of these transactions, in their order.
    ///
    /// # Errors
    ///
    /// Returns an error if the source does not answer until `deadline`, or answers with invalid data.
    pub async fn entries(
        &self,
        txids: Vec<Txid>,
        deadline: Instant,
    ) -> Result<Vec<MempoolEntry>, MempoolError> {
        let permit = timeout_at(deadline, Arc::clone(&self.permits).acquire_owned()).await;
        let Ok(Ok(permit)) = permit else { return Err(MempoolError::Timeout) };
        let source = Arc::clone(&self.source);
        let asked = run_on_thread(move || {
            let entries = source.entries(&txids);
            drop(permit);
            entries
        });
        match timeout_at(deadline, asked).await {
            Ok(Ok(entries)) => Ok(entries?),
            Ok(Err(_)) | Err(_) => Err(MempoolError::Timeout),
        }
    }
}

/// Mempools by chain, shared by what follows chains and what reads them.
#[derive(Clone, Debug, Default)]
pub struct Mempools(Arc<Mutex<BTreeMap<ChainId, Arc<Mempool>>>>);

impl Mempools {
    /// Returns the mempool of a chain; `None` if this program follows the chain from no node or Esplora server.
    #[must_use]
    pub fn get(&self, chain: ChainId) -> Option<Arc<Mempool>> {
        self.lock().get(&chain).cloned()
    }

    /// Opens the mempool of a followed chain, which is read until the result is dropped; `None` if the location has no
    /// mempool. A location that cannot be opened is reported where the chain is followed.
    #[must_use]
    pub fn open(&self, chain: ChainId, location: &BlockLocation) -> Option<OpenMempool> {
        let source = location::mempool(chain, location).ok().flatten()?;
        Some(self.add(chain, source))
    }

    /// Adds the source of a chain, which is read until the result is dropped.
    #[must_use]
    pub fn add(&self, chain: ChainId, source: Arc<dyn MempoolSource>) -> OpenMempool {
        let mempool = Arc::new(Mempool::new(source));
        self.lock().insert(chain, Arc::clone(&mempool));
        OpenMempool { mempools: self.clone(), chain, mempool }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<ChainId, Arc<Mempool>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Mempool that is read until this is dropped.
#[derive(Debug)]
pub struct OpenMempool {
    mempools: Mempools,
    chain: ChainId,
    mempool: Arc<Mempool>,
}

impl Drop for OpenMempool {
    fn drop(&mut self) {
        let mut mempools = self.mempools.lock();
        // The chain may be followed from another source by now.
        if mempools.get(&self.chain).is_some_and(|current| Arc::ptr_eq(current, &self.mempool)) {
            mempools.remove(&self.chain);
        }
    }
}
