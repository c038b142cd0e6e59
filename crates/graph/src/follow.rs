//! Running a trace over a source of flows.

use std::collections::BTreeMap;

use assay_engine::{
    evidence::Direction,
    trace::{ReadRequest, ReadResponse, Trace},
};
use tokio::try_join;

use super::FlowSource;
use crate::GraphError;

/// Number of transactions in one request: a whole level at the default budget.
pub const BATCH: usize = 4_096;

/// Runs a trace to its end, reading at most `batch` transactions at a time.
///
/// # Errors
///
/// Returns an error if the source fails.
pub async fn follow(
    source: &dyn FlowSource,
    trace: &mut Trace<'_>,
    batch: usize,
) -> Result<(), GraphError> {
    loop {
        let wants = trace.read_request();
        if wants.is_empty() {
            return Ok(());
        }
        let entries = [Direction::Source, Direction::Destination]
            .map(|way| trace.entries_per_transaction(way));
        let supply = read(source, &wants, entries, batch).await?;
        trace.resume(&supply);
    }
}

async fn read(
    source: &dyn FlowSource,
    wants: &ReadRequest,
    [of_origins, of_destinations]: [u32; 2],
    batch: usize,
) -> Result<ReadResponse, GraphError> {
    let batch = batch.max(1);
    let origins = async {
        let mut read = BTreeMap::new();
        for some in wants.origins.chunks(batch) {
            let found = source.origins(some, of_origins).await?;
            read.extend(some.iter().copied().zip(found));
        }
        Ok::<_, GraphError>(read)
    };
    let destinations = async {
        let mut read = BTreeMap::new();
        for some in wants.destinations.chunks(batch) {
            let found = source.destinations(some, of_destinations).await?;
            read.extend(some.iter().copied().zip(found));
        }
        Ok::<_, GraphError>(read)
    };
    let (origins, destinations) = try_join!(origins, destinations)?;
    Ok(ReadResponse { origins, destinations })
}
