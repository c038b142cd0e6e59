//! The beginning of an ingest.

use assay_graph::WriterOptions;
use assay_system::Clock;

use super::{
    error::IngestError,
    family::{GraphFamily, SourceOf},
    reader::Reader,
    request::{IngestObserver, IngestReport, IngestRequest},
    run::Run,
};
use crate::SourceError;

/// Number of missing blocks from which on a backfill without indexes is faster.
const BACKFILL_FROM: u64 = 5_000;

/// Compares the source with the graph and opens the writer.
pub(super) async fn begin<'a, F: GraphFamily>(
    graphs: &F,
    source: Box<SourceOf<F::Graph>>,
    request: IngestRequest,
    clock: &'a Clock,
    observer: &'a dyn IngestObserver,
) -> Result<Run<'a, F::Graph>, IngestError> {
    let reader = Reader::new(source);
    let newest = reader.tip().await?;
    let first = reader.first().await?;
    let start = request.from.unwrap_or(first);
    let known = graphs.tip(request.chain).await?;
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
    Ok(Run {
        request,
        start: options.start,
        reader,
        graph: graphs.open(request.chain, options)?,
        clock,
        observer,
        report: IngestReport::default(),
        lags: false,
        batch: 16,
    })
}
