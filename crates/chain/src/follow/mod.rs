//! Blocks into a graph: backfill, then following the chain through its reorganisations.
//!
//! Every batch of blocks is one transaction with the cursor in it, so that whatever ends the program,
//! the graph holds a whole beginning of the chain and goes on from there.
//!
//! - [`run`]: step by step to where the source stands
//! - [`record`]: batches of blocks into the graph
//! - [`reader`]: the source, asked from threads of its own

mod error;
mod reader;
mod record;
mod run;
#[cfg(test)]
mod tests;

use std::time::Duration;

use assay_engine::chain::ChainId;
use assay_graph::{GraphStore, WriterOptions};
use assay_telemetry::stage;
use serde::Serialize;
use tracing::Instrument;

use crate::{BlockSource, SourceError};

pub use error::IngestError;

use assay_system::Clock;

use self::{reader::Reader, run::Run};

/// Blocks behind from which on it pays to load first and index afterwards.
const BACKFILL_FROM: u64 = 5_000;

/// What to ingest.
#[derive(Clone, Copy, Debug)]
pub struct IngestRequest {
    /// The chain.
    pub chain: ChainId,
    /// The first block; the first that the source has where left out.
    pub from: Option<u64>,
    /// The last block; the newest where left out.
    pub to: Option<u64>,
    /// How often to look for new blocks once the newest is reached; `None` ends there.
    pub follow: Option<Duration>,
    /// Whether the chain is made up.
    pub sample: bool,
}

/// What was ingested.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct IngestReport {
    /// Blocks recorded.
    pub blocks: u64,
    /// Their transactions.
    pub transactions: u64,
    /// The height of the newest block that is recorded now.
    pub tip: Option<u64>,
    /// Reorganisations met: the last height that stayed, and how many blocks went.
    pub reorganisations: Vec<(u64, u64)>,
}

/// Is told how ingesting goes.
pub trait Watch: Send + Sync {
    /// Blocks up to `height` are recorded, of a chain that reaches to `target`.
    fn reached(&self, height: u64, target: u64, blocks: u64);
    /// Something that a person should know.
    fn notice(&self, message: &str);
}

/// Ingests a chain.
///
/// # Errors
///
/// Where the source gives something that cannot be true, or fails for good; and where the store does.
/// A source that is away for a while is waited for where the chain is followed.
pub async fn ingest(
    graphs: &dyn GraphStore,
    source: Box<dyn BlockSource>,
    request: IngestRequest,
    clock: &Clock,
    watch: &dyn Watch,
) -> Result<IngestReport, IngestError> {
    let stage = stage!("ingest", chain = request.chain.info().id);
    let begun = begin(graphs, source, request, clock, watch).instrument(stage);
    begun.await?.finish().await
}

/// Looks where the source and the graph stand, and makes everything ready.
async fn begin<'a>(
    graphs: &dyn GraphStore,
    source: Box<dyn BlockSource>,
    request: IngestRequest,
    clock: &'a Clock,
    watch: &'a dyn Watch,
) -> Result<Run<'a>, IngestError> {
    let reader = Reader::new(source);
    let newest = reader.tip().await?;
    let first = reader.ask(|source| source.first()).await?;
    let start = request.from.unwrap_or(first);
    let known = match graphs.graph(request.chain).await? {
        Some(graph) => graph.tip().await?,
        None => None,
    };
    let next = known.map_or(start, |tip| tip.block.height + 1);
    if first > next {
        return Err(IngestError::Missing { next, first });
    }
    // Nothing of what is asked for can be recorded.
    if let (None, Some(to)) = (known, request.to.filter(|to| *to < next)) {
        return Err(IngestError::Missing { next: to, first: next });
    }
    if known.is_none() && newest.height < start && request.follow.is_none() {
        return Err(SourceError::NoBlock { height: start, tip: newest.height }.into());
    }
    let target = request.to.map_or(newest.height, |to| to.min(newest.height));
    let options = WriterOptions {
        start: request.from.or(known.map(|tip| tip.start)).unwrap_or(start),
        sample: request.sample,
        backfill: target.saturating_sub(next) >= BACKFILL_FROM,
    };
    let writer = graphs.writer(request.chain, options).await?;
    let graph = graphs.graph(request.chain).await?.ok_or(IngestError::Reader)?;
    Ok(Run {
        request,
        start: options.start,
        backfill: options.backfill,
        reader,
        writer,
        graph,
        clock,
        watch,
        report: IngestReport::default(),
        batch: 16,
    })
}
