//! The contract of chain readers: a chain's data about a subject, for every kind of source.

use std::fmt::Debug;

use assay_engine::{
    address::CanonicalAddress,
    evidence::{ActivityFacts, AssetActivity, ChainFacts, ChainState, Tip, Unavailable},
    policy::Policy,
    trace::TraceRules,
    utxo::{History, Statistics},
};
use assay_graph::GraphError;
use assay_intel::IntelSnapshot;
use assay_store::StoreError;
use async_trait::async_trait;
use jiff::Timestamp;

use super::transfer::{TransferError, TransferRead, TransferRequest};

/// A chain could not be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A graph failed.
    #[error(transparent)]
    Graph(#[from] GraphError),
}

/// A question for the flows of a subject.
#[derive(Clone, Copy, Debug)]
pub struct TraceRequest<'a> {
    /// The address.
    pub subject: &'a CanonicalAddress,
    /// The bounds of the trace.
    pub rules: TraceRules,
    /// The policy that says which listings and labels end a flow.
    pub policy: &'a Policy,
    /// Listings and labels.
    pub intel: &'a IntelSnapshot,
    /// The current time.
    pub now: Timestamp,
}

/// A chain's data about a subject.
#[derive(Clone, Debug)]
pub struct Traced {
    /// The facts for the assessment.
    pub state: ChainState,
    /// Identifies the state of the chain; `None` if the chain was not read.
    pub revision: Option<String>,
}

impl Traced {
    pub(super) fn facts(facts: ChainFacts, revision: String) -> Self {
        Self { state: ChainState::Followed(Box::new(facts)), revision: Some(revision) }
    }

    pub(super) const fn unavailable(reason: Unavailable) -> Self {
        Self { state: ChainState::Unavailable(reason), revision: None }
    }

    pub(super) const fn not_followed() -> Self {
        Self { state: ChainState::NotFollowed, revision: None }
    }
}

/// A chain as a source of flows.
#[async_trait]
pub trait ChainReader: Debug + Send + Sync {
    /// Traces the flows of a subject. A chain without data is no error: the answer states it.
    ///
    /// # Errors
    ///
    /// Returns an error if the database fails.
    async fn trace(&self, request: TraceRequest<'_>) -> Result<Traced, ReadError>;

    /// Reads one transfer with the flows that count for its direction.
    ///
    /// # Errors
    ///
    /// Returns an error if the chain does not have the transfer or cannot be read, or if the transfer cannot
    /// be assessed.
    async fn transfer(&self, request: TransferRequest<'_>) -> Result<TransferRead, TransferError>;

    /// The latest block that was ingested. `None` if there is none yet, or the reader ingests no blocks.
    ///
    /// # Errors
    ///
    /// Returns an error if the database fails.
    async fn latest_block(&self) -> Result<Option<Tip>, ReadError>;
}

/// The activity of a subject in its whole history.
pub(super) fn activity(subject: &CanonicalAddress, history: &History) -> ActivityFacts {
    let Statistics { first_seen, last_seen, transactions_in, transactions_out, received, sent } =
        history.statistics;
    ActivityFacts {
        first_seen,
        last_seen,
        transfers_in: transactions_in,
        transfers_out: transactions_out,
        amounts: vec![AssetActivity {
            asset: subject.chain().info().asset.to_owned(),
            received,
            sent,
            balance: received.saturating_sub(sent),
        }],
    }
}
