//! The contract of chain readers: a chain's data about a subject, for every kind of source.

use std::{collections::HashMap, fmt::Debug};

use assay_address::{CanonicalAddress, ChainId};
use assay_chain_protocol::AskError;
use assay_engine::{
    evidence::{
        ActivityFacts, AssetActivity, BehaviorFacts, ChainFacts, ChainState, Tip, Unavailable,
    },
    facts::{Cluster, Counterparties, DifferingBranches, Facts, PossibleOwner},
    ledger::{BlockId, BlockRef, OwnHistory, Statistics, TransactionNumber},
    policy::Policy,
    reading::ViewError,
    trace::TraceRules,
    utxo::Txid,
};
use assay_graph::{GraphError, GraphTip};
use assay_intel::IntelSnapshot;
use assay_store::StoreError;
use async_trait::async_trait;
use jiff::Timestamp;

use super::{
    changes::Changes,
    forms::TransactionWithForms,
    messages::types::InvalidAnswer,
    transfer::{TransferError, TransferRead, TransferRequest},
};

/// A chain could not be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A graph failed.
    #[error(transparent)]
    Graph(#[from] GraphError),
    /// No chain server answered.
    #[error(transparent)]
    Servers(#[from] AskError),
    /// Chain servers do not tell of new blocks.
    #[error("the chain servers of {0} did not tell the addresses in new blocks in time")]
    Changes(ChainId),
    /// A chain server gave an answer that this program does not understand.
    #[error(transparent)]
    Answer(#[from] InvalidAnswer),
}

impl ReadError {
    /// The reason for which the chain's data is not available, as an answer states it.
    #[must_use]
    pub(super) const fn unavailable(&self) -> Unavailable {
        match self {
            Self::Servers(AskError::BranchesDiffer(_)) => Unavailable::BranchesDiffer,
            _ => Unavailable::Unreadable,
        }
    }
}

impl From<ViewError> for ReadError {
    fn from(error: ViewError) -> Self {
        Self::Graph(error.into())
    }
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
    /// The subject's cluster; `None` if clusters of the chain were not read.
    pub cluster: Option<Cluster>,
    /// The subject's strongest counterparties.
    pub counterparties: Counterparties,
    /// Addresses that may be of its owner.
    pub possible_owners: Vec<PossibleOwner>,
}

impl Traced {
    pub(super) fn facts(facts: ChainFacts, revision: String) -> Self {
        let state = ChainState::Followed(Box::new(facts));
        Self { revision: Some(revision), ..Self::without_data(state) }
    }

    /// The data with the behavior of the subject's owner, where the chain was read.
    pub(super) fn with_behavior(mut self, behavior: BehaviorFacts) -> Self {
        if let ChainState::Followed(facts) = &mut self.state {
            facts.behavior = Some(behavior);
        }
        self
    }

    pub(super) fn unavailable(reason: Unavailable) -> Self {
        Self::without_data(ChainState::Unavailable(reason))
    }

    pub(super) fn not_followed() -> Self {
        Self::without_data(ChainState::NotFollowed)
    }

    /// The facts from lists and labels together with those from the chain.
    #[must_use]
    pub fn added_to(self, facts: Facts) -> Facts {
        let Self { state, revision, cluster, counterparties, possible_owners } = self;
        let data_revision = match revision {
            Some(revision) => format!("{}+{revision}", facts.data_revision),
            None => facts.data_revision,
        };
        Facts { chain: state, cluster, counterparties, possible_owners, data_revision, ..facts }
    }

    fn without_data(state: ChainState) -> Self {
        let counterparties = Counterparties::default();
        let possible_owners = Vec::new();
        Self { state, revision: None, cluster: None, counterparties, possible_owners }
    }
}

/// A recorded block, with the work of the blocks above it as far as that is known.
pub type BranchBlock = (BlockRef, Option<u128>);

/// A history with the identifiers of its transactions.
#[derive(Clone, Debug)]
pub struct NamedHistory {
    /// The history.
    pub history: OwnHistory,
    /// The identifiers.
    pub names: HashMap<TransactionNumber, Txid>,
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

    /// The flows of a subject at their largest weight, if they are known without a trace: an assessment by them is no
    /// lower than one by [`trace`](Self::trace).
    ///
    /// # Errors
    ///
    /// Returns an error if the database fails.
    async fn flows_at_most(&self, _of: TraceRequest<'_>) -> Result<Option<Traced>, ReadError> {
        Ok(None)
    }

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

    /// The blocks since a known one. `None` if there are none yet, or the reader ingests no blocks.
    ///
    /// # Errors
    ///
    /// Returns an error if the database fails.
    async fn changes(&self, _since: Option<BlockRef>) -> Result<Option<Changes>, ReadError> {
        Ok(None)
    }

    /// The first and the newest block that are recorded. `None` without any.
    ///
    /// # Errors
    ///
    /// Returns an error if the database fails.
    async fn tip(&self) -> Result<Option<GraphTip>, ReadError> {
        Ok(None)
    }

    /// True if a block is recorded, on the branch that counts.
    ///
    /// # Errors
    ///
    /// Returns an error if the database fails.
    async fn has(&self, _block: BlockId) -> Result<bool, ReadError> {
        Ok(false)
    }

    /// The recorded blocks at some heights up to `newest`, each with the work of the blocks above it. `None` if `newest`
    /// is not on the chain.
    ///
    /// # Errors
    ///
    /// Returns an error if the database fails.
    async fn branch_blocks(
        &self,
        _newest: BlockId,
        _heights: &[u64],
    ) -> Result<Option<Vec<BranchBlock>>, ReadError> {
        Ok(None)
    }

    /// A transaction with its largest inputs and outputs, and its forms. `None` if the chain does not have it.
    ///
    /// # Errors
    ///
    /// Returns an error if the chain cannot be read.
    async fn transaction(
        &self,
        _txid: &Txid,
        _largest: u32,
    ) -> Result<Option<TransactionWithForms>, ReadError> {
        Ok(None)
    }

    /// What an address received and sent, by the transactions of its largest transfers in each direction. `None` if it
    /// never appeared.
    ///
    /// # Errors
    ///
    /// Returns an error if the database fails.
    async fn history(
        &self,
        _subject: &CanonicalAddress,
        _transfers: u32,
    ) -> Result<Option<NamedHistory>, ReadError> {
        Ok(None)
    }

    /// The cluster of an address.
    ///
    /// # Errors
    ///
    /// Returns an error if the database fails.
    async fn cluster(
        &self,
        subject: &CanonicalAddress,
        _intel: &IntelSnapshot,
    ) -> Result<Cluster, ReadError> {
        Ok(Cluster::alone(subject.clone()))
    }

    /// A difference between the servers that the chain is read from; `None` while they have one branch.
    fn differing_branches(&self) -> Option<DifferingBranches> {
        None
    }
}

/// The activity of a subject in its whole history.
pub(super) fn activity(subject: &CanonicalAddress, statistics: &Statistics) -> ActivityFacts {
    let Statistics { first_seen, last_seen, transactions_in, transactions_out, received, sent } =
        *statistics;
    ActivityFacts {
        first_seen,
        last_seen,
        transfers_in: transactions_in,
        transfers_out: transactions_out,
        amounts: vec![AssetActivity {
            asset: subject.chain().info().native().code.to_owned(),
            received,
            sent,
            balance: received.saturating_sub(sent),
        }],
    }
}
