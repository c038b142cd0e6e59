//! Runs the engine's trace over a source of flows.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use assay_address::ChainId;
use assay_engine::{
    evidence::{Direction, FlowFacts},
    ledger::{BlockRef, OwnHistory, OwnerNumber, TransactionNumber},
    reading::{ChainView, LookupResult, ReadRequest, TransactionRead, ViewError, Waypoint},
    trace::{AttributionsByScript, Trace, TraceSubject},
    utxo::{Block, ResolvedBlock, ScriptOwner, Txid},
};
use assay_graph::{
    Graph, GraphError, GraphView, ReadSource, ViewSource,
    memory::{MemoryGraph, transaction_and_index},
    run_query,
};
use async_trait::async_trait;
use futures_util::FutureExt;
use jiff::Timestamp;

use super::Case;

/// Concatenates the chains of cases that imitate the same blockchain. The cases share only shielded pools, so that each
/// case has the same answer in the long chain.
#[must_use]
pub fn concatenated_chains(cases: &[Case]) -> BTreeMap<ChainId, Vec<ResolvedBlock>> {
    let mut chains: BTreeMap<ChainId, Vec<ResolvedBlock>> = BTreeMap::new();
    for case in cases {
        let chain = chains.entry(case.chain).or_default();
        for block in &case.blocks {
            let (height, parent) = chain
                .last()
                .map_or((0, [0; 32]), |last| (last.reference.height + 1, last.reference.hash));
            let reference = BlockRef { height, parent, ..block.reference };
            let transactions = block.transactions.clone();
            chain.push(ResolvedBlock::assume(Block { reference, work: None, transactions }));
        }
    }
    chains
}

/// Simulated timeout: the trace does not read transactions whose identifier begins with a byte below this one.
#[derive(Clone, Copy, Debug, Default)]
pub struct UnreadTransactions(pub u8);

impl UnreadTransactions {
    pub(super) const fn reads(self, txid: &Txid) -> bool {
        txid.as_bytes()[0] >= self.0
    }
}

impl Case {
    /// The chain as a graph in memory.
    #[must_use]
    pub fn in_memory(&self) -> MemoryGraph {
        let start = self.blocks.first().map_or(0, |block| block.reference.height);
        MemoryGraph::new(self.chain, start, true, self.blocks.clone(), Timestamp::UNIX_EPOCH)
    }

    /// The cluster of each owner in the chain.
    ///
    /// # Panics
    ///
    /// Never panics: a read from memory never waits and never fails.
    #[must_use]
    pub fn clusters(&self) -> BTreeMap<ScriptOwner, ScriptOwner> {
        let transactions = self.blocks.iter().flat_map(|block| &block.transactions);
        let owners: BTreeSet<ScriptOwner> = transactions
            .flat_map(|transaction| {
                let spent = transaction.inputs.iter().flat_map(|input| &input.spent);
                spent.chain(&transaction.outputs)
            })
            .map(|output| output.owner.clone())
            .collect();
        let owners: Vec<ScriptOwner> = owners.into_iter().collect();
        let graph = self.in_memory();
        let clusters = graph.clusters(&owners).now_or_never().expect("a read from memory");
        let clusters = clusters.expect("a read from memory").into_iter();
        owners
            .iter()
            .zip(clusters)
            .filter_map(|(owner, cluster)| Some((owner.clone(), cluster?.id)))
            .collect()
    }

    /// Result of the engine, which reads the blocks from `view`: in batches of `batch` transactions or outputs, or
    /// directly if `batch` is `None`. `None` if the view does not know the subject.
    ///
    /// # Errors
    ///
    /// Returns an error if reading fails.
    pub async fn trace(
        &self,
        view: &dyn GraphView,
        batch: Option<usize>,
    ) -> Result<Option<FlowFacts>, GraphError> {
        match batch {
            None => self.trace_of_view(view, &mut ViewSource(view)).await,
            Some(batch) => {
                let (asked, unread) = (HashSet::new(), UnreadTransactions::default());
                self.trace_of_view(view, &mut PiecewiseSource { view, batch, asked, unread }).await
            }
        }
    }

    /// Result of the engine from a graph in memory, if it cannot read the transactions that [`UnreadTransactions`]
    /// selects.
    ///
    /// # Errors
    ///
    /// Returns an error if reading fails.
    pub async fn trace_with_unread(
        &self,
        unread: UnreadTransactions,
        graph: &MemoryGraph,
    ) -> Result<Option<FlowFacts>, GraphError> {
        let mut pieces = PiecewiseSource { view: graph, batch: 7, asked: HashSet::new(), unread };
        self.trace_of_view(graph, &mut pieces).await
    }

    async fn trace_of_view<S: ReadSource<Error = GraphError>>(
        &self,
        view: &dyn GraphView,
        source: &mut S,
    ) -> Result<Option<FlowFacts>, GraphError> {
        let Some(owner) = view.owner_number(&self.subject).await? else { return Ok(None) };
        let limits = self.rules.read_limits();
        let mut history = view.history(owner, limits).await?;
        if !view.read(|view| history.is_whole(view, limits))? {
            view.add_dealings(owner, limits, &self.listed(), &mut history).await?;
        }
        self.trace_over(source, (owner, &history)).await.map(Some)
    }

    /// Result of the engine for a history of the subject, over any source.
    ///
    /// # Errors
    ///
    /// Returns an error if reading fails.
    ///
    /// # Panics
    ///
    /// Panics if the source provides no view.
    pub async fn trace_over<S: ReadSource<Error = GraphError>>(
        &self,
        source: &mut S,
        (owner, history): (OwnerNumber, &OwnHistory),
    ) -> Result<FlowFacts, GraphError> {
        let attributions = AttributionsByScript::new(|owner: &ScriptOwner| self.attribution(owner));
        let (chain, rules, today) = (self.chain, self.rules, self.today);
        let subject = TraceSubject { chain, owner, history, rules, today };
        let mut begun = None;
        source.with_view(&mut |view| begun = Some(Trace::begin(view, subject, &attributions)));
        let mut trace = begun.expect("a view is lent")?;
        run_query(&mut trace, source).await?;
        let (mut trace, mut flows) = (Some(trace), None);
        source.with_view(&mut |view| flows = trace.take().map(|trace| trace.finish(view)));
        Ok(flows.expect("a view is lent")?)
    }
}

/// A source whose view answers only what was fetched before.
struct PiecewiseSource<'v> {
    view: &'v dyn GraphView,
    batch: usize,
    asked: HashSet<Waypoint>,
    unread: UnreadTransactions,
}

#[async_trait]
impl ReadSource for PiecewiseSource<'_> {
    type Error = GraphError;

    fn with_view(&mut self, read: &mut dyn FnMut(&dyn ChainView)) {
        let Self { view, asked, unread, .. } = self;
        view.with_view(&mut |view| read(&PiecewiseView { view, asked, unread: *unread }));
    }

    async fn fetch(&mut self, request: ReadRequest) -> Result<(), GraphError> {
        for transactions in request.transactions.chunks(self.batch) {
            let transactions = transactions.to_vec();
            self.view.fetch(&ReadRequest { transactions, outputs: vec![] }).await?;
        }
        for outputs in request.outputs.chunks(self.batch) {
            let outputs = outputs.to_vec();
            self.view.fetch(&ReadRequest { transactions: vec![], outputs }).await?;
        }
        self.asked.extend(request.transactions.into_iter().map(Waypoint::Transaction));
        self.asked.extend(request.outputs.into_iter().map(Waypoint::Output));
        Ok(())
    }
}

struct PiecewiseView<'v> {
    view: &'v dyn ChainView,
    asked: &'v HashSet<Waypoint>,
    unread: UnreadTransactions,
}

impl ChainView for PiecewiseView<'_> {
    fn look_up(&self, waypoint: Waypoint) -> Result<LookupResult, ViewError> {
        if self.unread.0 > 0 {
            let transaction = match waypoint {
                Waypoint::Transaction(number) => number,
                Waypoint::Output(output) => transaction_and_index(output).0,
            };
            if !self.unread.reads(&self.view.txid(transaction)?) {
                return Ok(LookupResult::Failed);
            }
        }
        if self.asked.contains(&waypoint) {
            self.view.look_up(waypoint)
        } else {
            Ok(LookupResult::Unread)
        }
    }

    fn read(
        &self,
        transaction: TransactionNumber,
        direction: Direction,
        most: u32,
        into: &mut TransactionRead,
    ) -> Result<(), ViewError> {
        self.view.read(transaction, direction, most, into)
    }

    fn cluster_of(&self, owner: OwnerNumber) -> Result<OwnerNumber, ViewError> {
        self.view.cluster_of(owner)
    }

    fn owner(&self, number: OwnerNumber) -> Result<ScriptOwner, ViewError> {
        self.view.owner(number)
    }

    fn txid(&self, number: TransactionNumber) -> Result<Txid, ViewError> {
        self.view.txid(number)
    }
}
