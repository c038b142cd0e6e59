//! Runs the engine's trace over a source of flows.

use std::collections::{BTreeMap, BTreeSet};

use assay_engine::{
    chain::ChainId,
    evidence::FlowFacts,
    trace::{Attribute, ENTRIES_PER_TRANSACTION, ReadRequest, ReadResponse, Trace},
    utxo::{Block, BlockRef, ResolvedBlock, ScriptOwner, Txid},
};
use assay_graph::{BATCH, Graph, GraphError, clusters_of_history, follow, memory::MemoryGraph};
use futures_util::FutureExt;
use jiff::Timestamp;

use super::Case;

/// The chains of several cases, one after the other, by the chain that they stand for. They have
/// only pools in common, so that each case's answer is the same in the long chain.
#[must_use]
pub fn one_after_another(cases: &[Case]) -> BTreeMap<ChainId, Vec<ResolvedBlock>> {
    let mut chains: BTreeMap<ChainId, Vec<ResolvedBlock>> = BTreeMap::new();
    for case in cases {
        let chain = chains.entry(case.chain).or_default();
        for block in &case.blocks {
            let (height, parent) = chain
                .last()
                .map_or((0, [0; 32]), |last| (last.reference.height + 1, last.reference.hash));
            let reference = BlockRef { height, parent, ..block.reference };
            let transactions = block.transactions.clone();
            chain.push(ResolvedBlock::assume(Block { reference, transactions }));
        }
    }
    chains
}

/// Too little time: transactions whose identifier begins with a byte below this one are not read.
#[derive(Clone, Copy, Debug, Default)]
pub struct Haste(pub u8);

impl Haste {
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

    /// Result of the engine, which reads from `source`, the blocks, and requests at most `batch`
    /// transactions at once. `None` if the source does not know the subject.
    ///
    /// # Errors
    ///
    /// Returns an error if reading fails.
    pub async fn trace(
        &self,
        source: &dyn Graph,
        batch: usize,
    ) -> Result<Option<FlowFacts>, GraphError> {
        let attribute = |owner: &_| self.attribution(owner);
        let Some(mut trace) = self.begin(source, &attribute).await? else { return Ok(None) };
        follow(source, &mut trace, batch).await?;
        Ok(Some(trace.finish()))
    }

    /// Result of the engine without the data that [`Haste`] leaves out.
    ///
    /// # Errors
    ///
    /// Returns an error if reading fails.
    pub async fn trace_in(
        &self,
        haste: Haste,
        source: &dyn Graph,
    ) -> Result<Option<FlowFacts>, GraphError> {
        let attribute = |owner: &_| self.attribution(owner);
        let Some(mut trace) = self.begin(source, &attribute).await? else { return Ok(None) };
        loop {
            let ReadRequest { mut origins, mut destinations, .. } = trace.read_request().clone();
            if origins.is_empty() && destinations.is_empty() {
                return Ok(Some(trace.finish()));
            }
            origins.retain(|txid| haste.reads(txid));
            destinations.retain(|output| haste.reads(&output.txid));
            let most = ENTRIES_PER_TRANSACTION;
            let origins = source.origins_ahead(&origins, most, 0).await?;
            let destinations = source.destinations_ahead(&destinations, most, 0).await?;
            let mut response = ReadResponse { origins, destinations, clusters: vec![] };
            let owners = trace.owners_to_look_up(&response);
            let clusters = source.clusters(&owners).await?;
            response.clusters = owners
                .iter()
                .zip(clusters)
                .map(|(owner, found)| {
                    (owner.clone(), found.map_or(owner.clone(), |found| found.id))
                })
                .collect();
            trace.resume(&response);
        }
    }

    async fn begin<'a>(
        &self,
        source: &dyn Graph,
        attribute: &'a Attribute<'a>,
    ) -> Result<Option<Trace<'a>>, GraphError> {
        let Some(history) = source.history(&self.subject, self.rules.read_limits()).await? else {
            return Ok(None);
        };
        let clusters = clusters_of_history(source, &self.subject, &history, BATCH).await?;
        let Self { chain, subject, rules, today, .. } = self;
        Ok(Some(Trace::new(*chain, subject, &history, clusters, *rules, *today, attribute)))
    }
}
