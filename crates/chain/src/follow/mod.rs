//! Ingesting: records a chain's blocks in a graph, first as a backfill, then through reorganisations.
//!
//! Every batch of blocks is one transaction that contains the cursor. If the program ends at any
//! point, the graph holds the chain up to some block, and the next run continues from there.
//!
//! - [`begin`]: compares the source with the graph, and opens the graph's writer
//! - [`run`]: the stage that records blocks up to the source's newest one
//! - [`followed`]: follows a chain until the program stops
//! - [`record`]: batches of blocks
//! - [`request`]: the parameters and the report of an ingest
//! - [`reader`]: the source, on threads of its own

mod begin;
mod error;
mod followed;
mod reader;
mod record;
mod request;
mod run;
#[cfg(test)]
mod tests;

use assay_graph::EmbeddedGraphs;
use assay_system::Clock;
use assay_telemetry::stage;
use tracing::Instrument;

pub use self::{
    error::{IngestError, RefusedBranch, UnconnectedBlock},
    followed::FollowedChain,
    request::{IngestObserver, IngestReport, IngestRequest, Reorganization},
};

use self::begin::begin;
use crate::{
    BlockSource,
    stage::{self, Schedule},
};

/// Ingests a chain.
///
/// # Errors
///
/// Returns an error if the source returns invalid data or fails permanently, or the store fails. An
/// ingest that follows the chain waits for a source that is unavailable.
pub async fn ingest(
    graphs: &EmbeddedGraphs,
    source: Box<dyn BlockSource>,
    request: IngestRequest,
    clock: &Clock,
    observer: &dyn IngestObserver,
) -> Result<IngestReport, IngestError> {
    let stage = stage!("ingest", chain = request.chain.info().id);
    let mut run = begin(graphs, source, request, clock, observer).instrument(stage).await?;
    stage::run(&mut run, &Schedule { poll: request.follow, ..Schedule::default() }).await?;
    Ok(run.finish()?)
}
