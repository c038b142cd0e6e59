//! Writing a graph: the part that is the same in every backend. The writer decides; a backend looks rows
//! up and writes them.

use std::collections::{HashMap, HashSet};

use assay_engine::{
    cluster::CoSpend,
    utxo::{OutPoint, ResolvedBlock, ScriptOwner, Statistics, TxOut, Txid},
};
use async_trait::async_trait;
use jiff::Timestamp;

use super::{
    cache::Cache,
    cluster::{ClusterCache, Forest, RecordedLink},
    plan::{self, LookupRequest, LookupResponse, WritePlan},
    rows::{InputRow, InputSource},
    state::GraphState,
};
use crate::{GraphError, GraphTip, GraphWriter};

/// Bytes of memory for outputs: most are spent soon after they were created.
const OUTPUT_BYTES: usize = 48 << 20;
/// Bytes of memory for owners.
const OWNER_BYTES: usize = 48 << 20;
/// Bytes of memory for clusters.
const CLUSTER_BYTES: usize = 48 << 20;
/// Bytes of an owner on the heap: witness programs.
const OWNER_HEAP: usize = 48;

/// A recorded output.
#[derive(Clone, Debug)]
pub struct RecordedOutput {
    /// The number of its transaction.
    pub transaction: i64,
    /// The output.
    pub output: TxOut,
}

/// A backend's side of a [`Writer`]: looks rows up and writes them. At most one recorder of a graph exists
/// at a time, and it alone changes the graph.
#[async_trait]
pub trait Recorder: std::fmt::Debug + Send + Sync {
    /// The graph's state.
    async fn state(&mut self) -> Result<GraphState, GraphError>;

    /// The largest transaction number of each identifier that is recorded.
    async fn transactions(&mut self, txids: Vec<Txid>) -> Result<HashMap<Txid, i64>, GraphError>;

    /// The owners that are recorded, with their numbers and statistics.
    async fn owners(
        &mut self,
        owners: Vec<&ScriptOwner>,
    ) -> Result<HashMap<ScriptOwner, (i64, Statistics)>, GraphError>;

    /// The outputs that are recorded, spent or not; of the largest transaction number if several
    /// transactions share the identifier.
    async fn outputs(
        &mut self,
        outpoints: Vec<OutPoint>,
    ) -> Result<Vec<(OutPoint, RecordedOutput)>, GraphError>;

    /// The outputs among these that are spent. An output is named by its transaction's number and its
    /// index.
    async fn spent(&mut self, outputs: Vec<(i64, u32)>) -> Result<Vec<(i64, u32)>, GraphError>;

    /// The links of clusters from these owners up to their roots, and the newest link to each root, which
    /// has its cluster's size. An owner without any is a cluster of its own.
    async fn links(&mut self, owners: Vec<i64>) -> Result<Vec<RecordedLink>, GraphError>;

    /// Writes a plan that was made for the state `before`, in one transaction.
    ///
    /// # Errors
    ///
    /// Returns [`GraphError::Conflict`] if the graph is not in that state any more;
    /// [`GraphError::SpentTwice`] if an input spends a recorded output that is spent already, which
    /// is checked once indexes are built.
    async fn record(&mut self, before: &GraphState, plan: &WritePlan) -> Result<(), GraphError>;

    /// Rolls back the blocks above `height`, in one transaction: deletes their rows and those of the owners
    /// that first appear in them, and restores statistics from the oldest undo entries above `height`. All
    /// of the blocks can be rolled back.
    ///
    /// # Errors
    ///
    /// Returns [`GraphError::Conflict`] if the graph is not in the state `before` any more.
    async fn roll_back(&mut self, before: &GraphState, height: u64) -> Result<(), GraphError>;

    /// Records when a source confirmed the tip: the later one of this and the recorded time.
    async fn verified(&mut self, at: Timestamp) -> Result<(), GraphError>;

    /// Builds the indexes for reading and the unique index of spent outputs, if they are missing.
    ///
    /// # Errors
    ///
    /// Returns [`GraphError::SpentTwice`] if two inputs spend the same output.
    async fn build_indexes(&mut self) -> Result<(), GraphError>;
}

/// A writer of a graph over a backend's [`Recorder`].
#[derive(Debug)]
pub struct Writer {
    recorder: Box<dyn Recorder>,
    state: GraphState,
    /// Outputs that were not spent.
    outputs: Cache<OutPoint, RecordedOutput>,
    owners: Cache<ScriptOwner, (i64, Statistics)>,
    clusters: ClusterCache,
    /// True if a change failed, so that it may or may not have been written.
    unsure: bool,
}

impl Writer {
    /// A writer over `recorder`, whose graph is read for its state.
    ///
    /// # Errors
    ///
    /// Returns an error if the state cannot be read.
    pub async fn new(mut recorder: Box<dyn Recorder>) -> Result<Self, GraphError> {
        Ok(Self {
            state: recorder.state().await?,
            recorder,
            outputs: Cache::within(OUTPUT_BYTES, OWNER_HEAP),
            owners: Cache::within(OWNER_BYTES, OWNER_HEAP),
            clusters: ClusterCache::within(CLUSTER_BYTES),
            unsure: false,
        })
    }

    /// Reads the graph's state again if a change may or may not have been written.
    async fn settle(&mut self) -> Result<(), GraphError> {
        if self.unsure {
            self.forget();
            self.state = self.recorder.state().await?;
            self.unsure = false;
        }
        Ok(())
    }

    fn forget(&mut self) {
        self.outputs.clear();
        self.owners.clear();
        self.clusters.clear();
    }

    /// Looks up the recorded rows that blocks name.
    async fn known(
        &mut self,
        lookup_request: LookupRequest<'_>,
        co_spends: &[Option<CoSpend<'_>>],
    ) -> Result<LookupResponse, GraphError> {
        let mut known = LookupResponse::default();
        let mut missing = HashSet::new();
        for output in lookup_request.outputs {
            match self.outputs.get(&output) {
                Some(found) => {
                    known.transactions.insert(output.txid, found.transaction);
                }
                None => {
                    missing.insert(output.txid);
                }
            }
        }
        missing.retain(|txid| !known.transactions.contains_key(txid));
        if !missing.is_empty() {
            let missing = missing.into_iter().collect();
            known.transactions.extend(self.recorder.transactions(missing).await?);
        }
        let mut missing = Vec::new();
        for owner in lookup_request.owners {
            match self.owners.get(owner) {
                Some(found) => {
                    known.owners.insert(owner.clone(), found);
                }
                None => missing.push(owner),
            }
        }
        if !missing.is_empty() {
            known.owners.extend(self.recorder.owners(missing).await?);
        }
        let joined = co_spends.iter().flatten().flat_map(|co_spend| &co_spend.owners);
        let joined = joined.filter_map(|owner| known.owners.get(*owner)).map(|(number, _)| *number);
        known.clusters = self.clusters_of(joined.collect()).await?;
        Ok(known)
    }

    /// Looks up the clusters of owners.
    async fn clusters_of(&mut self, owners: HashSet<i64>) -> Result<Forest, GraphError> {
        let (mut forest, missing) = self.clusters.forest(&owners);
        if !missing.is_empty() {
            for found in self.recorder.links(missing.iter().copied().collect()).await? {
                forest.add(found);
            }
            self.clusters.remember_looked_up(&forest, &missing);
        }
        Ok(forest)
    }

    /// Names the input that spends an output for the second time, if that is why recording failed.
    async fn explain(
        &mut self,
        error: GraphError,
        blocks: &[ResolvedBlock],
        plan: &WritePlan,
    ) -> GraphError {
        if !matches!(error, GraphError::SpentTwice(_)) {
            return error;
        }
        let outputs = plan.inputs.iter().filter_map(spent_output).collect();
        let Ok(spent) = self.recorder.spent(outputs).await else { return error };
        let spent: HashSet<_> = spent.into_iter().collect();
        let inputs = blocks.iter().flat_map(|block| {
            let transactions = block.transactions.iter();
            transactions
                .flat_map(move |one| one.inputs.iter().map(move |input| (block, one, input)))
        });
        let mut again = inputs
            .zip(&plan.inputs)
            .filter(|(_, row)| spent_output(row).is_some_and(|output| spent.contains(&output)));
        match again.next() {
            Some(((block, transaction, input), _)) => GraphError::SpentBefore {
                chain: self.state.chain,
                txid: transaction.txid,
                height: block.reference.height,
                output: input.outpoint,
            },
            None => error,
        }
    }

    /// Keeps recorded outputs and owners in memory.
    fn remember(&mut self, blocks: &[ResolvedBlock], plan: WritePlan) {
        let transactions = blocks.iter().flat_map(|block| &block.transactions);
        for (transaction, row) in transactions.zip(&plan.transactions) {
            for input in &transaction.inputs {
                self.outputs.remove(&input.outpoint);
            }
            for (output, index) in transaction.outputs.iter().zip(0..) {
                let outpoint = OutPoint { txid: transaction.txid, index };
                let recorded = RecordedOutput { transaction: row.number, output: output.clone() };
                self.outputs.insert(outpoint, recorded);
            }
        }
        for row in plan.new_owners.into_iter().chain(plan.changed_owners) {
            self.owners.insert(row.owner, (row.number, row.statistics));
        }
        self.clusters.remember_written(&plan.links, &plan.confirmations);
        self.state = plan.after;
    }
}

/// The recorded output that a row spends.
const fn spent_output(row: &InputRow) -> Option<(i64, u32)> {
    match row.source {
        InputSource::Recorded { transaction, index } => Some((transaction, index)),
        InputSource::Unrecorded(_) | InputSource::Pool => None,
    }
}

#[async_trait]
impl GraphWriter for Writer {
    fn tip(&self) -> Option<GraphTip> {
        self.state.graph_tip()
    }

    fn highest(&self) -> u64 {
        self.state.highest
    }

    async fn outputs(
        &mut self,
        outpoints: &[OutPoint],
    ) -> Result<HashMap<OutPoint, TxOut>, GraphError> {
        self.settle().await?;
        let mut outputs = HashMap::with_capacity(outpoints.len());
        let mut missing = HashSet::new();
        for outpoint in outpoints {
            match self.outputs.get(outpoint) {
                Some(found) => {
                    outputs.insert(*outpoint, found.output);
                }
                None => {
                    missing.insert(*outpoint);
                }
            }
        }
        if !missing.is_empty() {
            for (outpoint, found) in self.recorder.outputs(missing.into_iter().collect()).await? {
                self.outputs.insert(outpoint, found.clone());
                outputs.insert(outpoint, found.output);
            }
        }
        Ok(outputs)
    }

    async fn transactions(&mut self, txids: HashSet<Txid>) -> Result<HashSet<Txid>, GraphError> {
        self.settle().await?;
        if txids.is_empty() {
            return Ok(txids);
        }
        let found = self.recorder.transactions(txids.into_iter().collect()).await?;
        Ok(found.into_keys().collect())
    }

    async fn append(
        &mut self,
        blocks: &[ResolvedBlock],
        reorganisable_from: u64,
        at: Timestamp,
    ) -> Result<(), GraphError> {
        self.settle().await?;
        self.state.expect_next(blocks)?;
        if blocks.is_empty() {
            return Ok(());
        }
        let co_spends = plan::co_spends(self.state.chain, blocks);
        let known = self.known(plan::lookup_request(blocks), &co_spends).await?;
        let plan = plan::plan(&self.state, blocks, &co_spends, &known, reorganisable_from, at)?;
        self.unsure = true;
        if let Err(error) = self.recorder.record(&self.state, &plan).await {
            // It may have been written nevertheless: the store's answer can get lost.
            let _unreachable = self.settle().await;
            return Err(self.explain(error, blocks, &plan).await);
        }
        self.unsure = false;
        self.remember(blocks, plan);
        Ok(())
    }

    async fn roll_back(&mut self, height: u64) -> Result<(), GraphError> {
        self.settle().await?;
        if self.state.tip.is_none_or(|(tip, _)| tip.height <= height) {
            return Ok(());
        }
        self.state.expect_reversible(height)?;
        self.unsure = true;
        self.recorder.roll_back(&self.state, height).await?;
        self.settle().await
    }

    async fn verified(&mut self, at: Timestamp) -> Result<(), GraphError> {
        self.settle().await?;
        if let Some((_, verified_at)) = &mut self.state.tip {
            self.recorder.verified(at).await?;
            *verified_at = at.max(*verified_at);
        }
        Ok(())
    }

    async fn build_indexes(&mut self) -> Result<(), GraphError> {
        self.recorder.build_indexes().await?;
        self.state.indexed = true;
        Ok(())
    }
}
