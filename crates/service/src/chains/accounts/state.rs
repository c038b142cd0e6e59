//! The transfers of a chain in memory, with the ledgers for the present lists and labels.
//!
//! The transfers are read again when the file has more of them. The ledgers are computed anew when the parties at which
//! money ends change; until then checks use the earlier ones and say so.

use std::{collections::BTreeMap, sync::Arc};

use assay_address::ChainId;
use assay_engine::account::AccountAddress;
use assay_graph::{
    EmbeddedGraphs, GraphError,
    account::{AccountGraphView, AccountTransactions, MemoryAccounts, RecordedState},
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
    kept: Mutex<KeptState>,
    computing: Arc<Mutex<()>>,
}

#[derive(Clone, Debug, Default)]
struct KeptState {
    transfers: Option<Arc<Transfers>>,
    named: Option<Arc<NamedAccounts>>,
    ledgers: Option<Arc<Ledgers>>,
}

/// Transfers in memory.
#[derive(Debug)]
struct Transfers {
    recorded: RecordedState,
    transactions: Arc<AccountTransactions>,
    /// Tickers that tokens outside the table of scored assets bear, by contract.
    lookalikes: Arc<BTreeMap<AccountAddress, String>>,
}

/// Ledgers for one state of transfers and ends.
#[derive(Debug)]
struct Ledgers {
    digest: [u8; 32],
    revision: String,
    accounts: Arc<MemoryAccounts>,
}

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

/// Returns the accounts of a chain with their ledgers for lists and labels of a day; `None` without transfers.
///
/// # Errors
///
/// Returns an error if the transfers cannot be read.
pub async fn present_ledgers(
    chain: ChainId,
    graphs: Arc<EmbeddedGraphs>,
    intel: &IntelSnapshot,
    today: Date,
) -> Result<Option<Arc<dyn AccountGraphView>>, GraphError> {
    let state = Arc::new(AccountState::new(chain, graphs));
    Ok(state.on_day(intel, today).await?.map(|state| state.accounts))
}

impl AccountState {
    pub(super) fn new(chain: ChainId, graphs: Arc<EmbeddedGraphs>) -> Self {
        Self { chain, graphs, kept: Mutex::default(), computing: Arc::default() }
    }

    /// Returns the description of the recorded transfers; `None` without transfers.
    pub(super) fn recorded(&self) -> Result<Option<RecordedState>, GraphError> {
        Ok(self.graphs.recorded_transfers(self.chain)?.map(|recorded| *recorded.state()))
    }

    /// Returns the state for lists and labels of a day; `None` without transfers. The first state is computed before the
    /// call returns, a later one beside the calls.
    pub(super) async fn on_day(
        self: &Arc<Self>,
        intel: &IntelSnapshot,
        today: Date,
    ) -> Result<Option<CheckState>, GraphError> {
        let mut kept = self.kept.lock().await;
        let Some(recorded) = self.recorded()? else {
            *kept = KeptState::default();
            return Ok(None);
        };
        if kept.transfers.as_ref().is_none_or(|known| known.recorded.digest != recorded.digest) {
            let state = Arc::clone(self);
            let read = blocking(move || state.read()).await?;
            *kept = KeptState { transfers: read.map(Arc::new), ..KeptState::default() };
        }
        let Some(transfers) = kept.transfers.clone() else { return Ok(None) };
        let is_named = |named: &Arc<NamedAccounts>| {
            (named.generation, named.today) == (intel.generation(), today)
        };
        let named = if let Some(named) = kept.named.clone().filter(is_named) {
            named
        } else {
            let found = beside_others_if(true, || {
                let view = MemoryAccounts::unbooked(Arc::clone(&transfers.transactions));
                NamedAccounts::of(self.chain, &view, intel, today)
            });
            Arc::clone(kept.named.insert(Arc::new(found)))
        };
        let ledgers = match kept.ledgers.clone() {
            Some(ledgers) if ledgers.digest == transfers.recorded.digest => ledgers,
            _ => {
                let (transfers, named) = (Arc::clone(&transfers), Arc::clone(&named));
                let computed = blocking(move || Ok(Ledgers::compute(&transfers, &named))).await?;
                Arc::clone(kept.ledgers.insert(Arc::new(computed)))
            }
        };
        drop(kept);
        let is_outdated = ledgers.revision != named.revision;
        if is_outdated {
            self.compute_beside(transfers.clone(), Arc::clone(&named));
        }
        Ok(Some(CheckState {
            recorded: transfers.recorded,
            accounts: Arc::<MemoryAccounts>::clone(&ledgers.accounts),
            lookalikes: Arc::clone(&transfers.lookalikes),
            named,
            revision: ledgers.revision.clone(),
            is_outdated,
        }))
    }

    /// Computes the ledgers for other ends, unless this is in progress.
    fn compute_beside(self: &Arc<Self>, transfers: Arc<Transfers>, named: Arc<NamedAccounts>) {
        let Ok(turn) = Arc::clone(&self.computing).try_lock_owned() else { return };
        let state = Arc::clone(self);
        tokio::spawn(async move {
            let chain = state.chain;
            let of = Arc::clone(&transfers);
            match blocking(move || Ok(Ledgers::compute(&of, &named))).await {
                Ok(computed) => {
                    let mut kept = state.kept.lock().await;
                    let is_present = |known: &Arc<Transfers>| Arc::ptr_eq(known, &transfers);
                    if kept.transfers.as_ref().is_some_and(is_present) {
                        kept.ledgers = Some(Arc::new(computed));
                    }
                }
                Err(error) => tracing::error!(%chain, %error, "failed to compute ledgers"),
            }
            drop(turn);
        });
    }

    fn read(&self) -> Result<Option<Transfers>, GraphError> {
        let Some(recorded) = self.graphs.recorded_transfers(self.chain)? else { return Ok(None) };
        let mut transactions = AccountTransactions::new(self.chain);
        for transaction in recorded.transactions() {
            transactions.push(transaction?);
        }
        let transactions = Arc::new(transactions);
        let lookalikes = Arc::new(recorded.lookalike_symbols()?);
        Ok(Some(Transfers { recorded: *recorded.state(), transactions, lookalikes }))
    }
}

impl Ledgers {
    fn compute(transfers: &Transfers, named: &NamedAccounts) -> Self {
        let ends = named.ends.iter().map(|(account, end)| (*account, *end));
        let accounts = MemoryAccounts::compute(Arc::clone(&transfers.transactions), ends);
        let (digest, revision) = (transfers.recorded.digest, named.revision.clone());
        Self { digest, revision, accounts: Arc::new(accounts) }
    }
}

/// Runs work that blocks its thread.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, GraphError> + Send + 'static,
) -> Result<T, GraphError> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|error| Err(GraphError::Backend(Box::new(error))))
}
