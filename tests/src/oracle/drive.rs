//! Runs the engine's trace over a source of flows.

use std::collections::BTreeMap;

use assay_engine::{
    chain::ChainId,
    evidence::{Direction, FlowFacts},
    trace::{Attribute, ReadRequest, ReadResponse, Trace},
    utxo::{Block, BlockRef, ResolvedBlock, Txid},
};
use assay_graph::{FlowSource, GraphError, follow, memory::MemoryGraph};
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

    /// Result of the engine, which reads from `source`, the blocks, and requests at most `batch`
    /// transactions at once. `None` if the source does not know the subject.
    ///
    /// # Errors
    ///
    /// Returns an error if reading fails.
    pub async fn trace(
        &self,
        source: &dyn FlowSource,
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
        source: &dyn FlowSource,
    ) -> Result<Option<FlowFacts>, GraphError> {
        let attribute = |owner: &_| self.attribution(owner);
        let Some(mut trace) = self.begin(source, &attribute).await? else { return Ok(None) };
        loop {
            let ReadRequest { mut origins, mut destinations } = trace.read_request();
            if origins.is_empty() && destinations.is_empty() {
                return Ok(Some(trace.finish()));
            }
            origins.retain(|txid| haste.reads(txid));
            destinations.retain(|output| haste.reads(&output.txid));
            let read =
                source.origins(&origins, trace.entries_per_transaction(Direction::Source)).await?;
            let origins = origins.into_iter().zip(read).collect();
            let read = source
                .destinations(&destinations, trace.entries_per_transaction(Direction::Destination))
                .await?;
            let destinations = destinations.into_iter().zip(read).collect();
            trace.resume(&ReadResponse { origins, destinations });
        }
    }

    async fn begin<'a>(
        &self,
        source: &dyn FlowSource,
        attribute: &'a Attribute<'a>,
    ) -> Result<Option<Trace<'a>>, GraphError> {
        let history = source.history(&self.subject, self.rules.read_limits()).await?;
        Ok(history.map(|history| {
            Trace::new(self.chain, &self.subject, &history, self.rules, self.today, attribute)
        }))
    }
}
