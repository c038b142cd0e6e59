//! The graph of an account chain, with its ledgers for the present lists and labels.
//!
//! The ledgers are computed anew beside the checks when the parties at which money ends change; until then checks use the
//! earlier ones and say so.

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use assay_address::ChainId;
use assay_engine::account::AccountAddress;
use assay_graph::{
    EmbeddedGraphs, GraphError,
    account::{AccountGraphView, AccountSnapshot, RebuildStep, RecordedState},
};
use assay_intel::IntelSnapshot;
use jiff::civil::Date;
use tokio::sync::Mutex;

use super::named::NamedAccounts;
use crate::large::beside_others_if;

/// The newest state of one chain, shared by all checks.
#[derive(Debug)]
pub(super) struct AccountState {
    chain: ChainId,
    graphs: Arc<EmbeddedGraphs>,
    named: Mutex<Option<Arc<NamedAccounts>>>,
    symbols: Mutex<KeptSymbols>,
    computing: Arc<Mutex<()>>,
    /// Most transactions that the computing in progress is to book yet.
    left: Arc<AtomicU64>,
}

/// Tickers that tokens outside the table of scored assets bear, with their digest.
type KeptSymbols = ([u8; 32], Arc<BTreeMap<AccountAddress, String>>);

/// One state as a check reads it.
#[derive(Clone)]
pub(super) struct CheckState {
    /// Description of the recorded transfers.
    pub(super) recorded: RecordedState,
    /// Transactions and ledgers.
    pub(super) accounts: Arc<dyn AccountGraphView>,
    /// Tickers that tokens outside the table of scored assets bear, by contract.
    pub(super) lookalikes: Arc<BTreeMap<AccountAddress, String>>,
    /// The accounts that lists and labels name now.
    pub(super) named: Arc<NamedAccounts>,
    /// Revision of the ends for which the ledgers were computed.
    pub(super) revision: String,
    /// True if lists and labels name other ends now.
    pub(super) is_outdated: bool,
}

/// Returns the accounts of a chain with their ledgers for lists and labels of a day; `None` without transfers. Ledgers for
/// other lists and labels are computed anew before the call returns.
///
/// # Errors
///
/// Returns an error if the transfers cannot be read, or if another program appends to them.
pub async fn present_ledgers(
    chain: ChainId,
    graphs: Arc<EmbeddedGraphs>,
    intel: &IntelSnapshot,
    today: Date,
) -> Result<Option<Arc<dyn AccountGraphView>>, GraphError> {
    let named = Arc::new(NamedAccounts::of(chain, intel, today));
    let is_present = |snapshot: &AccountSnapshot| snapshot.ends_revision() == named.revision;
    let Some(snapshot) = graphs.account_snapshot(chain)? else { return Ok(None) };
    if is_present(&snapshot) {
        return Ok(Some(Arc::new(snapshot)));
    }
    drop(snapshot);
    compute((chain, Arc::clone(&graphs)), Arc::clone(&named), false, |_| {}).await?;
    let snapshot = graphs.account_snapshot(chain)?.filter(is_present);
    let snapshot = snapshot.ok_or(GraphError::Conflict(chain))?;
    Ok(Some(Arc::new(snapshot)))
}

impl AccountState {
    pub(super) fn new(chain: ChainId, graphs: Arc<EmbeddedGraphs>) -> Self {
        Self {
            chain,
            graphs,
            named: Mutex::default(),
            symbols: Mutex::default(),
            computing: Arc::default(),
            left: Arc::new(AtomicU64::new(u64::MAX)),
        }
    }

    /// Returns the graphs of the data directory.
    pub(super) fn graphs(&self) -> &EmbeddedGraphs {
        &self.graphs
    }

    /// Returns the graphs of the data directory, to be shared.
    pub(super) const fn shared_graphs(&self) -> &Arc<EmbeddedGraphs> {
        &self.graphs
    }

    /// Returns the newest state of the graph, whatever its ledgers rest on; `None` without transfers.
    pub(super) fn snapshot(&self) -> Result<Option<AccountSnapshot>, GraphError> {
        self.graphs.account_snapshot(self.chain)
    }

    /// Returns the newest state, with what lists and labels name on a day; `None` without transfers.
    pub(super) async fn on_day(
        self: &Arc<Self>,
        intel: &IntelSnapshot,
        today: Date,
    ) -> Result<Option<CheckState>, GraphError> {
        let mut kept = self.named.lock().await;
        let is_named = |named: &&Arc<NamedAccounts>| {
            (named.generation, named.today) == (intel.generation(), today)
        };
        let named = if let Some(named) = kept.as_ref().filter(is_named) {
            Arc::clone(named)
        } else {
            let found = beside_others_if(true, || NamedAccounts::of(self.chain, intel, today));
            Arc::clone(kept.insert(Arc::new(found)))
        };
        drop(kept);
        let Some(snapshot) = self.graphs.account_snapshot(self.chain)? else { return Ok(None) };
        let revision = snapshot.ends_revision().to_owned();
        let is_outdated = revision != named.revision;
        if is_outdated {
            self.compute_beside(Arc::clone(&named));
        }
        let lookalikes = self.symbols_of(&snapshot).await?;
        let recorded = *snapshot.recorded();
        let accounts = Arc::new(snapshot);
        Ok(Some(CheckState { recorded, accounts, lookalikes, named, revision, is_outdated }))
    }

    /// Returns the symbols of a state, which are read again only if others are recorded.
    async fn symbols_of(
        &self,
        snapshot: &AccountSnapshot,
    ) -> Result<Arc<BTreeMap<AccountAddress, String>>, GraphError> {
        let mut kept = self.symbols.lock().await;
        let digest = snapshot.symbols_digest();
        if kept.0 != digest {
            *kept = (digest, Arc::new(snapshot.lookalike_symbols()?));
        }
        Ok(Arc::clone(&kept.1))
    }

    /// Computes the ledgers for other ends, unless this is in progress.
    fn compute_beside(self: &Arc<Self>, named: Arc<NamedAccounts>) {
        let Ok(turn) = Arc::clone(&self.computing).try_lock_owned() else { return };
        let (chain, graphs, left) = (self.chain, Arc::clone(&self.graphs), Arc::clone(&self.left));
        tokio::spawn(async move {
            let done = compute((chain, graphs), named, true, |transactions| {
                left.store(transactions, Ordering::Relaxed);
            });
            match done.await {
                Ok(()) => {}
                // Another program appends blocks or computes the ledgers: a later check tries again.
                Err(error @ (GraphError::Busy(_) | GraphError::Conflict(_))) => {
                    tracing::debug!(%chain, %error, "ledgers are not computed yet");
                    tokio::time::sleep(WAIT).await;
                }
                Err(error) => {
                    tracing::error!(%chain, %error, "failed to compute ledgers");
                    tokio::time::sleep(AFTER_FAILURE).await;
                }
            }
            left.store(u64::MAX, Ordering::Relaxed);
            drop(turn);
        });
    }

    /// Number of transactions whose ledgers are to be computed for the present lists and labels, at most: all, until their
    /// computing has begun.
    pub(super) fn behind(&self, state: &CheckState) -> u64 {
        let all = state.recorded.transactions;
        if state.is_outdated { all.min(self.left.load(Ordering::Relaxed)) } else { 0 }
    }
}

/// Time before the next attempt after a failure, such as a full disk.
const AFTER_FAILURE: Duration = Duration::from_mins(1);
/// Time between attempts while another program appends blocks.
const WAIT: Duration = Duration::from_secs(1);

/// Computes the ledgers of a chain for other ends. With `waits`, it waits while another program appends blocks. `tell` is told
/// the number of transactions that are left.
async fn compute(
    (chain, graphs): (ChainId, Arc<EmbeddedGraphs>),
    named: Arc<NamedAccounts>,
    waits: bool,
    tell: impl Fn(u64),
) -> Result<(), GraphError> {
    let of = Arc::clone(&named);
    let begun = blocking(move || graphs.rebuild_ledgers(chain, &of.ends)).await?;
    let Some(mut rebuild) = begun else { return Ok(()) };
    let mut blocks = 0;
    loop {
        let (kept, step) = blocking(move || {
            let step = rebuild.advance();
            Ok((rebuild, step))
        })
        .await?;
        rebuild = kept;
        tell(rebuild.left());
        match step {
            Ok(RebuildStep::Booked(booked)) => blocks += booked,
            Ok(RebuildStep::Finished) => break,
            Err(GraphError::Busy(_)) if waits => tokio::time::sleep(WAIT).await,
            Err(error) => return Err(error),
        }
    }
    tracing::info!(%chain, blocks, revision = named.revision, "computed ledgers for other lists and labels");
    Ok(())
}

/// Runs work that blocks its thread.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, GraphError> + Send + 'static,
) -> Result<T, GraphError> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|error| Err(GraphError::Backend(Box::new(error))))
}
