//! Ingesting: records a chain's blocks in a graph, first as a backfill, then through reorganisations.
//!
//! Every batch of blocks is one transaction that contains the cursor. If the program ends at any
//! point, the graph holds the chain up to some block, and the next run continues from there.
//!
//! - [`begin`]: compares the source with the graph, and opens the graph's writer
//! - [`run`]: the stage that records blocks up to the source's newest one
//! - [`followed`]: follows a chain until the program stops
//! - [`compare`]: comparison of ledgers with the balances that a followed node states
//! - [`record`]: batches of blocks
//! - [`request`]: the parameters and the report of an ingest
//! - [`reader`]: the source, on threads of its own
//! - [`family`]: what a family of chains has of its own: [`utxo`], [`accounts`]

mod accounts;
mod begin;
mod compare;
mod error;
mod family;
mod followed;
mod reader;
mod record;
mod request;
mod run;
#[cfg(test)]
mod tests;
mod utxo;

use assay_graph::EmbeddedGraphs;
use assay_system::Clock;
use assay_telemetry::stage;
use tracing::Instrument;

pub use self::{
    accounts::PresentEnds,
    error::{IngestError, RefusedBranch, UnconnectedBlock},
    followed::FollowedChain,
    request::{IngestObserver, IngestReport, IngestRequest, Reorganization},
};

use self::{
    accounts::AccountGraphs,
    begin::begin,
    family::{GraphFamily, SourceOf},
    utxo::UtxoGraphs,
};
use crate::{
    BlockSource,
    account_source::AccountBlockSource,
    stage::{self, Schedule},
};

/// Ingests a chain with unspent outputs.
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
    ingest_into(&UtxoGraphs(graphs), source, request, clock, observer).await
}

/// Ingests an account chain. The ledgers of a chain without recorded blocks are computed for `ends`.
///
/// # Errors
///
/// Returns the errors of [`ingest`].
pub async fn ingest_accounts(
    (graphs, ends): (&EmbeddedGraphs, &PresentEnds<'_>),
    source: Box<dyn AccountBlockSource>,
    request: IngestRequest,
    clock: &Clock,
    observer: &dyn IngestObserver,
) -> Result<IngestReport, IngestError> {
    ingest_into(&AccountGraphs { graphs, ends }, source, request, clock, observer).await
}

async fn ingest_into<F: GraphFamily>(
    graphs: &F,
    source: Box<SourceOf<F::Graph>>,
    request: IngestRequest,
    clock: &Clock,
    observer: &dyn IngestObserver,
) -> Result<IngestReport, IngestError> {
    let stage = stage!("ingest", chain = request.chain.info().id);
    let mut run = begin(graphs, source, request, clock, observer).instrument(stage).await?;
    stage::run(&mut run, &Schedule { poll: request.follow, ..Schedule::default() }).await?;
    Ok(run.finish()?)
}
