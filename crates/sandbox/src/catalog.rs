//! The addresses and the transaction of each outcome on a chain.

use assay_address::{ChainId, LedgerKind};
use assay_engine::account::transaction_text;
use schemars::JsonSchema;
use serde::Serialize;

use crate::Outcome;

/// Outcomes of the sandbox on one blockchain.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SandboxCatalog {
    /// Identifier of the blockchain.
    pub blockchain: ChainId,
    /// The outcomes, each with what chooses it.
    pub outcomes: Vec<OutcomeEntry>,
}

/// An outcome with the addresses and the transaction that choose it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct OutcomeEntry {
    /// Name: a verdict, a circumstance, or the code of a problem. New names may be added.
    pub outcome: String,
    /// HTTP status of a check.
    pub status: u16,
    /// Description in one sentence.
    pub description: String,
    /// Addresses that choose the outcome, one of each form; none for outcomes of transfers only.
    pub addresses: Vec<String>,
    /// Transaction that chooses the outcome in a check of a transfer; null on blockchains without such checks.
    pub transaction: Option<String>,
}

/// Returns the outcomes on a chain.
#[must_use]
pub fn catalog(chain: ChainId) -> SandboxCatalog {
    let has_transfers = chain.info().has_graph();
    let outcomes = Outcome::ALL.into_iter().filter(|it| it.has_addresses || has_transfers);
    let entry = |outcome: Outcome| {
        let addresses =
            if outcome.has_addresses { outcome.mark().addresses(chain) } else { Vec::new() };
        OutcomeEntry {
            outcome: outcome.name.to_owned(),
            status: outcome.status(),
            description: outcome.description.to_owned(),
            addresses: addresses.iter().map(ToString::to_string).collect(),
            transaction: has_transfers.then(|| written(chain, outcome)),
        }
    };
    SandboxCatalog { blockchain: chain, outcomes: outcomes.map(entry).collect() }
}

/// The outcome's transaction as the chain writes it.
fn written(chain: ChainId, outcome: Outcome) -> String {
    match chain.info().ledger {
        LedgerKind::Account => transaction_text(chain, outcome.transaction()),
        LedgerKind::Utxo(_) | LedgerKind::ListsOnly => outcome.transaction().to_string(),
    }
}
