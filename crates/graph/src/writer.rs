//! Writing a graph: what is the same in every backend. The order of things is decided here; a backend
//! only looks rows up and writes them.

use std::collections::{HashMap, HashSet};

use assay_engine::utxo::{OutPoint, ResolvedBlock, ScriptOwner, Statistics, TxOut, Txid};
use async_trait::async_trait;
use jiff::Timestamp;

use super::{
    GraphTip, GraphWriter,
    cache::Cache,
    plan::{self, Known, Needs, Plan},
    rows::{InputRow, Spends},
    state::State,
};
use crate::GraphError;

/// Bytes that outputs may take in memory: most are spent soon after they were made.
const OUTPUT_BYTES: usize = 48 << 20;
/// Bytes that owners may take.
const OWNER_BYTES: usize = 48 << 20;
/// Bytes that an owner takes beside itself: witness programs.
const OWNER_HEAP: usize = 48;

/// An output that is recorded.
#[derive(Clone, Debug)]
pub(crate) struct RecordedOutput {
    /// The number of its transaction.
    pub(crate) transaction: i64,
    pub(crate) output: TxOut,
}

/// What a backend does for a writer. Whoever has one is the only one who writes the graph.
#[async_trait]
pub(crate) trait Recorder: std::fmt::Debug + Send + Sync {
    /// Where the graph stands.
    async fn state(&mut self) -> Result<State, GraphError>;

    /// The newest transactions of these identifiers.
    async fn transactions(&mut self, txids: Vec<Txid>) -> Result<HashMap<Txid, i64>, GraphError>;

    /// Owners with their numbers and what they did.
    async fn owners(
        &mut self,
        owners: Vec<&ScriptOwner>,
    ) -> Result<HashMap<ScriptOwner, (i64, Statistics)>, GraphError>;

    /// Recorded outputs, of the newest transaction where there are several of one identifier.
    async fn outputs(
        &mut self,
        outputs: Vec<OutPoint>,
    ) -> Result<Vec<(OutPoint, RecordedOutput)>, GraphError>;

    /// Of outputs, named by the number of their transaction and their place, those that are spent.
    async fn spent(&mut self, outputs: Vec<(i64, u32)>) -> Result<Vec<(i64, u32)>, GraphError>;

    /// Writes what was planned where the graph stood at `before`, in one transaction.
    ///
    /// # Errors
    ///
    /// [`GraphError::Conflict`] where it does not stand there any more.
    async fn record(&mut self, before: &State, plan: &Plan) -> Result<(), GraphError>;

    /// Takes back the blocks above `height`, all of which can be taken back, in one transaction.
    async fn roll_back(&mut self, before: &State, height: u64) -> Result<(), GraphError>;

    /// Notes when the tip was confirmed.
    async fn verified(&mut self, at: Timestamp) -> Result<(), GraphError>;

    /// Builds the indexes that reading needs, where they are missing.
    async fn build_indexes(&mut self) -> Result<(), GraphError>;
}

/// A writer of a graph.
#[derive(Debug)]
pub(crate) struct Writer {
    recorder: Box<dyn Recorder>,
    state: State,
    /// Outputs that were not spent.
    outputs: Cache<OutPoint, RecordedOutput>,
    owners: Cache<ScriptOwner, (i64, Statistics)>,
    /// Whether a change failed, so that it is not known what of it was written.
    unsure: bool,
}

impl Writer {
    pub(crate) async fn new(mut recorder: Box<dyn Recorder>) -> Result<Self, GraphError> {
        Ok(Self {
            state: recorder.state().await?,
            recorder,
            outputs: Cache::within(OUTPUT_BYTES, OWNER_HEAP),
            owners: Cache::within(OWNER_BYTES, OWNER_HEAP),
            unsure: false,
        })
    }

    /// Reads anew where the graph stands, where that is not known.
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
    }

    /// What is recorded of what blocks need.
    async fn known(&mut self, needs: Needs<'_>) -> Result<Known, GraphError> {
        let mut known = Known::default();
        let mut missing = HashSet::new();
        for output in needs.outputs {
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
        for owner in needs.owners {
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
        Ok(known)
    }

    /// Of what the database says cannot be twice, what it is: an output that was spent before.
    async fn explain(
        &mut self,
        error: GraphError,
        blocks: &[ResolvedBlock],
        plan: &Plan,
    ) -> GraphError {
        if !error.is_unique_violation() {
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

    /// Remembers what was recorded.
    fn remember(&mut self, blocks: &[ResolvedBlock], plan: Plan) {
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
        for row in plan.begun.into_iter().chain(plan.changed) {
            self.owners.insert(row.owner, (row.number, row.statistics));
        }
        self.state = plan.after;
    }
}

/// What a row says is spent, where that is recorded.
const fn spent_output(row: &InputRow) -> Option<(i64, u32)> {
    match row.spends {
        Spends::Recorded { transaction, index } => Some((transaction, index)),
        Spends::Elsewhere(_) | Spends::Pool => None,
    }
}

#[async_trait]
impl GraphWriter for Writer {
    fn tip(&self) -> Option<GraphTip> {
        self.state.graph_tip()
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
        let known = self.known(plan::needs(blocks)).await?;
        let plan = plan::plan(&self.state, blocks, &known, reorganisable_from, at)?;
        self.unsure = true;
        if let Err(error) = self.recorder.record(&self.state, &plan).await {
            // It may have been written all the same: the answer, too, can get lost.
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
        let built = self.recorder.build_indexes().await;
        built.map_err(|error| match error {
            error if error.is_unique_violation() => GraphError::SpentTwice(self.state.chain),
            error => error,
        })?;
        self.state.indexed = true;
        Ok(())
    }
}
