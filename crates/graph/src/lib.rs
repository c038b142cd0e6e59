//! Chain graphs: the recorded transactions of a chain, with owners and statistics, from which flows are traced.
//!
//! Each chain has a graph of its own: a folder in the data directory (`chains/btc.graph`). A graph can be ingested
//! again from the chain at any time and needs no backup. Many programs read a graph; one program at a time writes it.
//!
//! Rows are append-only and numbered in the order of the chain, so that the same blocks give the same rows, with or
//! without a reorganization in between.
//!
//! - [`Graph`], [`GraphView`]: the interface for reading
//! - [`run_query`]: runs a query over a view or another source
//! - [`EmbeddedGraphs`]: the graphs in a data directory, and their writers
//! - [`account`]: recorded transfers of account chains
//! - [`utxo`]: graphs of UTXO chains: the embedded graph, and the reference in memory
//!
//! The tests in `tests/conformance` compare the embedded graph with the reference.

pub mod account;
mod directory;
mod error;
pub mod utxo;
mod view;
mod work;

use std::{ops::ControlFlow, sync::Arc};

use assay_engine::{
    facts::CoSpend,
    ledger::{BlockRef, Statistics},
    utxo::{ResolvedBlock, ScriptOwner, TransactionView, Txid},
};
use async_trait::async_trait;
use jiff::Timestamp;

pub use directory::{EmbeddedGraphs, GraphCopy, PartialCopy, SourceProblem, SourceProblemKind};
pub use error::GraphError;
pub use utxo::{GraphWriter, RecordedOutput, RecordedOutputs, compositions, memory};
pub use view::{GraphView, ReadSource, ViewSource, blocking, read_outputs, run_query};

/// Maximum number of blocks that a reorganization may replace.
pub const MAX_REORGANIZATION_DEPTH: u64 = 100;

/// The first and the newest block of a graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GraphTip {
    /// Height of the graph's first block. Outputs of earlier blocks are unknown.
    pub start: u64,
    /// The newest block.
    pub block: BlockRef,
    /// Time at which a source last confirmed the newest block.
    pub verified_at: Timestamp,
    /// True if the graph holds demo data.
    pub sample: bool,
}

/// A transaction's identifier, with the height and time of its block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TransactionRef {
    /// Identifier.
    pub txid: Txid,
    /// Height of the transaction's block.
    pub height: u64,
    /// Time of the transaction's block.
    pub time: Timestamp,
}

/// A reference to an owner's cluster: all owners that co-spends connect with the owner, the owner included.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClusterRef {
    /// Identifier: the member that appeared first on the chain.
    pub id: ScriptOwner,
    /// The root member of the cluster's tree. When two clusters are joined, the larger cluster's root stays the root.
    pub root: ScriptOwner,
    /// Number of members.
    pub size: u64,
}

/// A cluster with some of its members.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredCluster {
    /// Identifier: the member that appeared first on the chain.
    pub id: ScriptOwner,
    /// Number of all members, also those missing from `members`.
    pub size: u64,
    /// Time of the first block in which a member appears.
    pub first_seen: Timestamp,
    /// Members, up to the requested number.
    pub members: Vec<StoredClusterMember>,
}

/// A member of a cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredClusterMember {
    /// The owner.
    pub owner: ScriptOwner,
    /// Statistics of the owner.
    pub statistics: Statistics,
    /// The co-spend that made the owner a member; `None` for the root.
    pub evidence: Option<ClusterEvidence>,
}

/// An owner in a cluster of several members.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Membership {
    /// The owner.
    pub owner: ScriptOwner,
    /// Identifier of the owner's cluster.
    pub cluster: ScriptOwner,
}

/// The co-spend that connects a member's part of the cluster with the rest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClusterEvidence {
    /// An owner on the member's side whose output the transaction spends.
    pub member: ScriptOwner,
    /// The owner on the other side whose output the transaction spends.
    pub with: ScriptOwner,
    /// The transaction.
    pub transaction: TransactionRef,
    /// True if one party must have made the transaction: it cannot be a `PayJoin` or the like.
    pub is_conclusive: bool,
    /// A second transaction that spends outputs of both sides together, if the first transaction may be a `PayJoin`.
    pub confirmed_by: Option<TransactionRef>,
}

impl From<&ClusterEvidence> for CoSpend {
    fn from(evidence: &ClusterEvidence) -> Self {
        Self {
            transaction: evidence.transaction.txid.to_string(),
            time: evidence.transaction.time,
            is_conclusive: evidence.is_conclusive,
            confirmed_by: evidence.confirmed_by.map(|place| place.txid.to_string()),
        }
    }
}

/// A chain's graph for reading. Each call reads the newest state, each call of a [view](Graph::view) the same state.
#[async_trait]
pub trait Graph: std::fmt::Debug + Send + Sync {
    /// Opens a view of the newest state; `None` without blocks.
    async fn view(self: Arc<Self>) -> Result<Option<Arc<dyn GraphView>>, GraphError>;

    /// The graph's first and newest block; `None` without blocks.
    async fn tip(&self) -> Result<Option<GraphTip>, GraphError>;

    /// The blocks from height `from` to height `to`, both included, newest last.
    async fn blocks(&self, from: u64, to: u64) -> Result<Vec<BlockRef>, GraphError>;

    /// The work of the blocks above height `above`, up to the recorded height `to`, together. `None` if a block is not
    /// recorded or its work is not known.
    async fn work(&self, above: u64, to: u64) -> Result<Option<u128>, GraphError>;

    /// A transaction with its `largest` largest inputs and outputs; `None` if the transaction is not recorded.
    async fn transaction(
        &self,
        txid: &Txid,
        largest: u32,
    ) -> Result<Option<TransactionView>, GraphError>;

    /// The first `most` owners of inputs or outputs in blocks above `height`, each once.
    async fn owners_in_blocks_above(
        &self,
        height: u64,
        most: u32,
    ) -> Result<Vec<ScriptOwner>, GraphError>;

    /// Passes every recorded block from height `from` to height `to` to `each`, in order.
    async fn each_block(
        &self,
        from: u64,
        to: u64,
        each: &mut (dyn FnMut(ResolvedBlock) + Send),
    ) -> Result<(), GraphError>;

    /// The cluster of each owner, in the order of the request; `None` for owners that never appeared.
    async fn clusters(&self, owners: &[ScriptOwner])
    -> Result<Vec<Option<ClusterRef>>, GraphError>;

    /// An owner's cluster with its first `most` members: the root, the members between root and owner, the owner, and
    /// then further members level by level from the root, each level by time. The owner and the members up to the root
    /// are always included. `None` if the owner never appeared.
    async fn cluster(
        &self,
        owner: &ScriptOwner,
        most: u32,
    ) -> Result<Option<StoredCluster>, GraphError>;

    /// The co-spends that connect an owner with each of `others`, in the order from the owner to the other. `None` for
    /// an owner of another cluster, and for a connection of more than `most` co-spends.
    async fn connections(
        &self,
        owner: &ScriptOwner,
        others: &[ScriptOwner],
        most: u32,
    ) -> Result<Vec<Option<Vec<ClusterEvidence>>>, GraphError>;

    /// The roots, before and after, of the clusters that co-spends in blocks above `height` joined or confirmed, in the
    /// order of the chain. `None` if there are more than `most` such co-spends.
    async fn clusters_changed_above(
        &self,
        height: u64,
        most: u32,
    ) -> Result<Option<Vec<ScriptOwner>>, GraphError>;

    /// Passes each owner in a cluster of several members to `each`, in the order of the chain, until `each` returns
    /// `Break`.
    async fn each_member(
        &self,
        each: &mut (dyn FnMut(Membership) -> ControlFlow<()> + Send),
    ) -> Result<(), GraphError>;

    /// The revision of the trace ends for which the newest compositions (origin breakdowns) were computed; `None`
    /// without compositions.
    fn newest_compositions(&self) -> Option<compositions::TraceEndsRevision> {
        None
    }

    /// SHA-256 over all rows in order, statistics included. Equal states have equal fingerprints in every
    /// implementation and after any sequence of changes.
    async fn fingerprint(&self) -> Result<[u8; 32], GraphError>;
}

/// Options of a writer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WriterOptions {
    /// Height of the first block of a new graph.
    pub start: u64,
    /// True if a new graph is to hold demo data.
    pub sample: bool,
    /// True to postpone indexes until [`GraphWriter::build_indexes`].
    pub backfill: bool,
}
