//! Chain graphs: the recorded transactions of a chain, with owners and statistics, from which flows are
//! read.
//!
//! Each chain has a graph of its own: a folder in the data directory (`chains/btc.graph`). It can be recorded
//! again from the chain at any time and needs no backup. Many programs read a graph; one at a time writes it.
//!
//! Rows are append-only and numbered in the order of the chain, so that the same blocks give the same
//! rows, with or without a reorganisation in between.
//!
//! - [`Graph`], [`GraphView`]: the contract of reading, for callers
//! - [`run_query`]: the loop that runs a query over a view, or over another source
//! - [`EmbeddedGraphs`]: the graphs in a data directory, and their writers
//! - [`utxo`]: graphs of chains with unspent outputs: embedded, and in memory, which is the reference
//!
//! The contract as tests is in `tests/conformance`, which compares a graph with the reference.

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

pub use directory::{EmbeddedGraphs, GraphCopy, PartialCopy};
pub use error::GraphError;
pub use utxo::{GraphWriter, RecordedOutput, RecordedOutputs, compositions, memory};
pub use view::{GraphView, ReadSource, ViewSource, blocking, read_outputs, run_query};

/// The most blocks that a reorganisation may replace.
pub const MAX_REORGANIZATION_DEPTH: u64 = 100;

/// The first and the newest block of a graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GraphTip {
    /// Height of its first block. Outputs of earlier blocks are unknown.
    pub start: u64,
    /// Its newest block.
    pub block: BlockRef,
    /// Time at which a source last confirmed that this is the newest block it knows.
    pub verified_at: Timestamp,
    /// True if it holds demo data.
    pub sample: bool,
}

/// Place of a transaction in the chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TransactionRef {
    /// Identifier.
    pub txid: Txid,
    /// Height of its block.
    pub height: u64,
    /// Time of its block.
    pub time: Timestamp,
}

/// An owner's cluster: the owners that are connected to it by co-spends, itself included.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClusterRef {
    /// Identifier: the member that appeared first on the chain.
    pub id: ScriptOwner,
    /// The member to which the others were joined. The root of a larger cluster stays when a smaller one is
    /// joined to it.
    pub root: ScriptOwner,
    /// Number of members.
    pub size: u64,
}

/// A cluster with some of its members.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredCluster {
    /// Identifier: the member that appeared first on the chain.
    pub id: ScriptOwner,
    /// Number of members, those that are not among `members` included.
    pub size: u64,
    /// Time of the first block in which a member appears.
    pub first_seen: Timestamp,
    /// Members, as many as were asked for.
    pub members: Vec<StoredClusterMember>,
}

/// A member of a cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredClusterMember {
    /// The owner.
    pub owner: ScriptOwner,
    /// Its statistics.
    pub statistics: Statistics,
    /// The reason why it is a member; `None` for the root, to which the others were joined.
    pub evidence: Option<ClusterEvidence>,
}

/// An owner that shares its cluster with others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Membership {
    /// The owner.
    pub owner: ScriptOwner,
    /// Identifier of its cluster.
    pub cluster: ScriptOwner,
}

/// The co-spend that connects a member, and those joined to it before, with the others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClusterEvidence {
    /// The member itself or one joined to it before, an input of the transaction.
    pub member: ScriptOwner,
    /// The owner that is spent together with it.
    pub with: ScriptOwner,
    /// The transaction.
    pub transaction: TransactionRef,
    /// True if the transaction cannot be one of several parties, such as a `PayJoin`.
    pub is_conclusive: bool,
    /// A second transaction that spends members of both sides together, where the first one may be a
    /// `PayJoin`.
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

/// A chain's graph for reading. Each call reads the newest state; a [view](Graph::view) always the same one.
#[async_trait]
pub trait Graph: std::fmt::Debug + Send + Sync {
    /// A view of the newest state; `None` without blocks.
    async fn view(self: Arc<Self>) -> Result<Option<Arc<dyn GraphView>>, GraphError>;

    /// Its first and newest block; `None` without blocks.
    async fn tip(&self) -> Result<Option<GraphTip>, GraphError>;

    /// The blocks from height `from` to height `to`, both included, newest last.
    async fn blocks(&self, from: u64, to: u64) -> Result<Vec<BlockRef>, GraphError>;

    /// The work of the blocks above height `above`, up to the recorded height `to`, together. `None` if that of one of
    /// them is not known, or if one is not recorded.
    async fn work(&self, above: u64, to: u64) -> Result<Option<u128>, GraphError>;

    /// A transaction with the `largest` largest entries of both sides; `None` if it is not recorded.
    async fn transaction(
        &self,
        txid: &Txid,
        largest: u32,
    ) -> Result<Option<TransactionView>, GraphError>;

    /// The first `most` owners that appear, on either side, in blocks above `height`; each once.
    async fn owners_in_blocks_above(
        &self,
        height: u64,
        most: u32,
    ) -> Result<Vec<ScriptOwner>, GraphError>;

    /// Passes every block from height `from` to height `to` to `each`, in order, as it was recorded.
    async fn each_block(
        &self,
        from: u64,
        to: u64,
        each: &mut (dyn FnMut(ResolvedBlock) + Send),
    ) -> Result<(), GraphError>;

    /// The cluster of each owner, in the order of the request; `None` for owners that never appeared.
    async fn clusters(&self, owners: &[ScriptOwner])
    -> Result<Vec<Option<ClusterRef>>, GraphError>;

    /// An owner's cluster, with the first `most` members: the root, those that connect the owner with it, the
    /// owner itself, and then in the order of the tree: those that were joined to the root, by time, those
    /// that were joined to these, and so on. The owner is among them, however few are asked for. `None` if it
    /// never appeared.
    async fn cluster(
        &self,
        owner: &ScriptOwner,
        most: u32,
    ) -> Result<Option<StoredCluster>, GraphError>;

    /// The co-spends that connect an owner with each of `others`, in the order from the owner to the other one:
    /// each spends an address of the one before. `None` for an owner of another cluster, and for one that more
    /// than `most` co-spends connect.
    async fn connections(
        &self,
        owner: &ScriptOwner,
        others: &[ScriptOwner],
        most: u32,
    ) -> Result<Vec<Option<Vec<ClusterEvidence>>>, GraphError>;

    /// The roots of the clusters that blocks above `height` joined or confirmed, those before and after, in
    /// the order in which they appeared on the chain. `None` if there are more than `most` such co-spends.
    async fn clusters_changed_above(
        &self,
        height: u64,
        most: u32,
    ) -> Result<Option<Vec<ScriptOwner>>, GraphError>;

    /// Passes each owner that shares its cluster with others to `each`, in the order in which they appeared
    /// on the chain, until `each` breaks off.
    async fn each_member(
        &self,
        each: &mut (dyn FnMut(Membership) -> ControlFlow<()> + Send),
    ) -> Result<(), GraphError>;

    /// SHA-256 over all rows in order, statistics included: equal exactly for equal states,
    /// regardless of the implementation and of the sequence of changes.
    async fn fingerprint(&self) -> Result<[u8; 32], GraphError>;
}

/// Options of a writer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WriterOptions {
    /// Height of the first block, for a graph without blocks.
    pub start: u64,
    /// True if the graph holds demo data, for a graph without blocks.
    pub sample: bool,
    /// True to leave out indexes until [`GraphWriter::build_indexes`].
    pub backfill: bool,
}
