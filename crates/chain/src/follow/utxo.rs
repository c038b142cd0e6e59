//! Ingest into the graphs of chains with unspent outputs.

use std::{sync::Arc, time::Instant};

use assay_address::ChainId;
use assay_engine::{
    ledger::BlockRef,
    utxo::{Block, OutPoint, ResolvedBlock},
};
use assay_graph::{
    EmbeddedGraphs, Graph, GraphError, GraphTip, GraphWriter, WriterOptions, account::SourceNotes,
};
use jiff::Timestamp;

use super::{
    IngestError, IngestObserver,
    family::{GraphFamily, IngestGraph, IngestSource},
};
use crate::{
    BlockSource, SourceError,
    resolve::{Resolver, outputs_to_look_up},
};

/// The graphs of chains with unspent outputs.
pub(super) struct UtxoGraphs<'g>(pub(super) &'g EmbeddedGraphs);

impl GraphFamily for UtxoGraphs<'_> {
    type Graph = UtxoGraph;

    fn all(&self) -> &EmbeddedGraphs {
        self.0
    }

    async fn tip(&self, chain: ChainId) -> Result<Option<GraphTip>, GraphError> {
        match self.0.graph(chain)? {
            Some(graph) => graph.tip().await,
            None => Ok(None),
        }
    }

    fn open(&self, chain: ChainId, options: WriterOptions) -> Result<UtxoGraph, GraphError> {
        let writer = self.0.writer(chain, options)?;
        let graph = self.0.graph(chain)?.ok_or(GraphError::Conflict(chain))?;
        let WriterOptions { start, backfill, .. } = options;
        Ok(UtxoGraph { chain, is_complete: start == 0, backfill, writer, graph })
    }
}

impl IngestSource<Block> for dyn BlockSource {
    /// Returns nothing: blocks of these chains are never final.
    fn stated(&mut self) -> Result<SourceNotes, SourceError> {
        Ok(SourceNotes::default())
    }
}

/// A graph of a chain with unspent outputs.
pub(super) struct UtxoGraph {
    chain: ChainId,
    /// True if the graph begins with the chain's first block.
    is_complete: bool,
    /// True until the indexes are built.
    backfill: bool,
    writer: GraphWriter,
    graph: Arc<dyn Graph>,
}

impl IngestGraph for UtxoGraph {
    type Block = Block;
    type Source = dyn BlockSource;

    const BATCH_ENTRIES: usize = 60_000;
    const HEADERS_PROVE_WORK: bool = true;

    fn newest(&self) -> Option<BlockRef> {
        self.writer.tip().map(|tip| tip.block)
    }

    fn highest(&self) -> u64 {
        self.writer.highest()
    }

    fn finalized(&self) -> Option<u64> {
        None
    }

    async fn blocks(&mut self, from: u64, to: u64) -> Result<Vec<BlockRef>, GraphError> {
        self.graph.blocks(from, to).await
    }

    fn note(&mut self, _: SourceNotes) -> Result<(), GraphError> {
        Ok(())
    }

    fn append(
        &mut self,
        blocks: Vec<Block>,
        reorganizable_from: u64,
        at: Timestamp,
    ) -> Result<(), IngestError> {
        let outputs = self.writer.outputs(&outputs_to_look_up(&blocks))?;
        let recorded = |outpoint: &OutPoint| outputs.get(outpoint);
        let mut resolver = Resolver::new(self.chain, self.is_complete)?;
        let records: Vec<ResolvedBlock> = blocks
            .into_iter()
            .map(|block| resolver.resolve(block, &recorded))
            .collect::<Result<_, _>>()?;
        Ok(self.writer.append(&records, &outputs, reorganizable_from, at)?)
    }

    fn roll_back(&mut self, height: u64) -> Result<(), GraphError> {
        self.writer.roll_back(height)
    }

    fn confirm(&mut self, at: Timestamp) -> Result<(), GraphError> {
        self.writer.verified(at)
    }

    fn complete(&mut self, observer: &dyn IngestObserver) -> Result<(), GraphError> {
        if self.backfill {
            observer.notice("all blocks are in; building indexes");
            let begun = Instant::now();
            self.writer.build_indexes()?;
            self.backfill = false;
            observer.notice(&format!("indexes built in {} s", begun.elapsed().as_secs()));
        }
        Ok(())
    }
}
