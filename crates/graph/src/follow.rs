//! Running a trace over a graph.

use assay_engine::{
    trace::{
        Clusters, Destinations, ENTRIES_PER_TRANSACTION, Origins, ReadRequest, ReadResponse, Trace,
    },
    utxo::{History, ScriptOwner},
};
use tokio::try_join;

use crate::{Graph, GraphError, KnownReads};

/// Number of transactions, or owners, in one request.
pub const BATCH: usize = 4_096;

/// Runs a trace to its end, reading at most `batch` transactions or owners at a time.
///
/// # Errors
///
/// Returns an error if the graph fails.
pub async fn follow(
    graph: &dyn Graph,
    trace: &mut Trace<'_>,
    batch: usize,
) -> Result<(), GraphError> {
    follow_known(graph, &mut KnownReads::nothing(), trace, batch).await
}

/// Runs a trace as [`follow`] does, without reading what is known.
///
/// # Errors
///
/// Returns an error if the graph fails.
pub async fn follow_known(
    graph: &dyn Graph,
    known: &mut KnownReads<'_>,
    trace: &mut Trace<'_>,
    batch: usize,
) -> Result<(), GraphError> {
    while !trace.read_request().is_empty() {
        let (mut request, mut response) = (trace.read_request().clone(), ReadResponse::default());
        known.answer(&mut request, &mut response);
        let (origins, destinations) = read(graph, &request, batch).await?;
        known.note(&origins, &destinations);
        response.origins.extend(origins);
        response.destinations.extend(destinations);
        let (clusters, others) = known.clusters(trace.owners_to_look_up(&response));
        response.clusters = self::clusters(graph, &others, batch).await?;
        known.note_clusters(&response.clusters);
        response.clusters.extend(clusters);
        trace.resume(&response);
        if request.is_empty() {
            // Everything was known: the trace waited for nothing, and lets others go on.
            tokio::task::yield_now().await;
        }
    }
    Ok(())
}

/// The clusters of a subject and of all owners in its history, with which a trace begins.
///
/// # Errors
///
/// Returns an error if the graph fails.
pub async fn clusters_of_history(
    graph: &dyn Graph,
    subject: &ScriptOwner,
    history: &History,
    batch: usize,
) -> Result<Clusters, GraphError> {
    let mut owners: Vec<ScriptOwner> = history.owners().cloned().collect();
    owners.push(subject.clone());
    owners.sort();
    owners.dedup();
    Ok(clusters(graph, &owners, batch).await?.into_iter().collect())
}

async fn clusters(
    graph: &dyn Graph,
    owners: &[ScriptOwner],
    batch: usize,
) -> Result<Vec<(ScriptOwner, ScriptOwner)>, GraphError> {
    let mut clusters = Vec::with_capacity(owners.len());
    for some in owners.chunks(batch.max(1)) {
        let found = graph.clusters(some).await?;
        clusters.extend(some.iter().zip(found).map(|(owner, cluster)| {
            (owner.clone(), cluster.map_or_else(|| owner.clone(), |cluster| cluster.id))
        }));
    }
    Ok(clusters)
}

async fn read(
    graph: &dyn Graph,
    request: &ReadRequest,
    batch: usize,
) -> Result<(Origins, Destinations), GraphError> {
    let batch = batch.max(1);
    let most = ENTRIES_PER_TRANSACTION;
    let origins = async {
        let mut read = Origins::new();
        for some in request.origins.chunks(batch) {
            read.extend(graph.origins_ahead(some, most, request.origins_ahead).await?);
        }
        Ok::<_, GraphError>(read)
    };
    let destinations = async {
        let mut read = Destinations::new();
        for some in request.destinations.chunks(batch) {
            read.extend(graph.destinations_ahead(some, most, request.destinations_ahead).await?);
        }
        Ok::<_, GraphError>(read)
    };
    try_join!(origins, destinations)
}
