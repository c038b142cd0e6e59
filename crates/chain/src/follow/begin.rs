//! The beginning of an ingest.

use assay_graph::{EmbeddedGraphs, WriterOptions};
use assay_system::Clock;

use super::{
    error::IngestError,
    reader::Reader,
    request::{IngestObserver, IngestReport, IngestRequest},
    run::Run,
};
use crate::{BlockSource, SourceError};

/// Number of missing blocks from which on a backfill without indexes is faster.
const BACKFILL_FROM: u64 = 5_000;

/// Compares the source with the graph and opens the writer.
pub(super) async fn begin<'a>(
    graphs: &EmbeddedGraphs,
    source: Box<dyn BlockSource>,
    request: IngestRequest,
    clock: &'a Clock,
    observer: &'a dyn IngestObserver,
) -> Result<Run<'a>, IngestError> {
    let reader = Reader::new(source);
    let newest = reader.tip().await?;
    let first = reader.ask(|source| source.first()).await?;
    let start = request.from.unwrap_or(first);
    let known = match graphs.graph(request.chain)? {
        Some(graph) => graph.tip().await?,
        None => None,
    };
    let next = known.map_or(start, |tip| tip.block.height + 1);
    if first > next {
        return Err(IngestError::Missing { next, first });
    }
    // The last requested block is below the first one to record.
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
    let writer = graphs.writer(request.chain, options)?;
    let graph = graphs.graph(request.chain)?.ok_or(IngestError::Reader)?;
    Ok(Run {
        request,
        start: options.start,
        backfill: options.backfill,
        reader,
        writer,
        graph,
        clock,
        observer,
        report: IngestReport::default(),
        batch: 16,
    })
}
