//! Request for the data of a subject, and the data that a reader of any kind returns.

use assay_address::{CanonicalAddress, ChainId};
use assay_chain_protocol::AskError;
use assay_engine::{
    account::IssuerFreeze,
    evidence::{ActivityFacts, AssetActivity, BehaviorFacts, ChainFacts, ChainState, Unavailable},
    facts::{Cluster, Counterparties, Facts, PossibleOwner},
    ledger::Statistics,
    policy::Policy,
    reading::ViewError,
    trace::TraceRules,
};
use assay_graph::GraphError;
use assay_intel::IntelSnapshot;
use assay_store::StoreError;
use jiff::Timestamp;

use super::messages::types::InvalidAnswer;

/// Error of reading a chain.
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
    /// The chain servers did not answer the question for new blocks.
    #[error("the chain servers of {0} did not return the addresses in new blocks in time")]
    Changes(ChainId),
    /// A chain server gave an answer that this program does not understand.
    #[error(transparent)]
    Answer(#[from] InvalidAnswer),
}

impl ReadError {
    /// Returns the reason that an answer states for unavailable data.
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

/// Request for the flows of a subject.
#[derive(Clone, Copy, Debug)]
pub struct TraceRequest<'a> {
    /// The address.
    pub subject: &'a CanonicalAddress,
    /// The bounds of the trace.
    pub rules: TraceRules,
    /// The policy that decides which listings and labels end a flow.
    pub policy: &'a Policy,
    /// Listings and labels.
    pub intel: &'a IntelSnapshot,
    /// The current time.
    pub now: Timestamp,
}

/// A chain's data about a subject.
#[derive(Clone, Debug)]
pub struct SubjectData {
    /// The facts for the assessment.
    pub state: ChainState,
    /// Identifies the state of the chain; `None` if the chain was not read.
    pub revision: Option<String>,
    /// The subject's cluster; `None` if clusters of the chain were not read.
    pub cluster: Option<Cluster>,
    /// The subject's strongest counterparties.
    pub counterparties: Counterparties,
    /// Addresses that may belong to the subject's owner.
    pub possible_owners: Vec<PossibleOwner>,
    /// Freezes of the subject by issuers of tokens.
    pub freezes: Vec<IssuerFreeze>,
}

impl SubjectData {
    pub(super) fn facts(facts: ChainFacts, revision: String) -> Self {
        let state = ChainState::Followed(Box::new(facts));
        Self { revision: Some(revision), ..Self::without_data(state) }
    }

    /// Adds the behavior of the subject's owner if the chain was read.
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

    /// Adds the data to the facts from lists and labels.
    #[must_use]
    pub fn added_to(self, facts: Facts) -> Facts {
        let Self { state, revision, cluster, counterparties, possible_owners, freezes } = self;
        let data_revision = match revision {
            Some(revision) => format!("{}+{revision}", facts.data_revision),
            None => facts.data_revision,
        };
        let labels = facts.labels.and(freezes.iter().filter_map(IssuerFreeze::label));
        Facts {
            chain: state,
            cluster,
            counterparties,
            possible_owners,
            data_revision,
            labels,
            ..facts
        }
    }

    fn without_data(state: ChainState) -> Self {
        let counterparties = Counterparties::default();
        let (possible_owners, freezes) = (Vec::new(), Vec::new());
        Self { state, revision: None, cluster: None, counterparties, possible_owners, freezes }
    }
}

/// Returns the activity of a subject in its whole history.
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
