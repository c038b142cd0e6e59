//! Copy of a neighbor's graph to an empty server: one state in parts, then compared by its fingerprint.

use std::{net::SocketAddr, time::Duration};

use assay_address::ChainId;
use assay_chain_protocol::{
    AskError, ServerSet,
    message::{
        CopyAnswer, CopyFingerprintAnswer, CopyFingerprintQuestion, CopyPartQuestion, CopyQuestion,
        PART_BYTES, RefusalCode, ServerState,
    },
};
use assay_graph::{EmbeddedGraphs, GraphError, GraphTip, blocking};
use tokio::time::{Instant, sleep};

/// Time limit for finding a neighbor before the chain is read from its source.
const LOOKED_FOR: Duration = Duration::from_secs(20);
/// Time limit for finding a neighbor once a part of its graph is copied.
const ABSENT_FOR: Duration = Duration::from_mins(10);
/// Pause before the next attempt.
const AGAIN: Duration = Duration::from_secs(2);
/// Number of attempts without a byte of progress before the chain is read from its source.
const ATTEMPTS: u32 = 10;
/// Time limit for a part.
const PART_TIMEOUT: Duration = Duration::from_mins(1);
/// Time limit for a fingerprint, for which the neighbor reads its whole graph.
const FINGERPRINT_TIMEOUT: Duration = Duration::from_hours(12);
/// Interval between log lines.
const LOG_INTERVAL: Duration = Duration::from_secs(30);

/// Reason for which an empty server was not filled.
#[derive(Debug, thiserror::Error)]
enum FillError {
    /// A neighbor does not answer.
    #[error(transparent)]
    Ask(#[from] AskError),
    /// The graph cannot be written, or differs from the neighbor's.
    #[error(transparent)]
    Graph(#[from] GraphError),
    /// No neighbor has a graph.
    #[error("no neighbor has the graph")]
    NoNeighbor,
    /// The fingerprint has an unknown form.
    #[error("the neighbor gave no fingerprint: `{0}`")]
    Fingerprint(String),
}

impl FillError {
    /// True if the neighbor is busy with other servers.
    fn is_busy(&self) -> bool {
        matches!(self, Self::Ask(error) if error.refusal() == Some(RefusalCode::Busy))
    }
}

/// Fills an empty server from a neighbor, if one has a graph. Afterwards the server has a whole graph, or none.
pub(super) async fn fill(graphs: &EmbeddedGraphs, chain: ChainId, neighbors: &ServerSet) {
    let begun = Instant::now();
    // The last time at which a neighbor answered.
    let mut answered = begun;
    let mut failed = 0;
    let mut received = 0;
    loop {
        neighbors.refresh().await;
        match attempt(graphs, chain, neighbors, &mut received).await {
            Ok(None) => return,
            Ok(Some(tip)) => {
                let (height, seconds) = (tip.block.height, begun.elapsed().as_secs());
                tracing::info!(%chain, height, seconds, "filled from a neighbor");
                return;
            }
            Err((error, has_progressed)) => {
                let is_none = matches!(error, FillError::NoNeighbor);
                if has_progressed || error.is_busy() {
                    (answered, failed) = (Instant::now(), 0);
                } else if !is_none {
                    failed += 1;
                }
                // A short absence of the neighbor does not abort hours of copying.
                let patience = if received > 0 { ABSENT_FOR } else { LOOKED_FOR };
                let is_over =
                    if is_none { answered.elapsed() >= patience } else { failed >= ATTEMPTS };
                if is_over {
                    tracing::warn!(%chain, %error, "not filled from a neighbor: the chain is read from its source");
                    graphs.discard_partial_copy(chain);
                    return;
                }
                if is_none {
                    tracing::debug!(%chain, "looking for a neighbor");
                } else {
                    tracing::warn!(%chain, %error, received, "filling was interrupted; going on");
                }
                sleep(AGAIN).await;
            }
        }
    }
}

/// Copies from one neighbor as long as it answers. `None` if the server has a graph already.
async fn attempt(
    graphs: &EmbeddedGraphs,
    chain: ChainId,
    neighbors: &ServerSet,
    received: &mut u64,
) -> Result<Option<GraphTip>, (FillError, bool)> {
    let before = *received;
    let filled = from_neighbor(graphs, chain, neighbors, received).await;
    filled.map_err(|error| (error, *received > before))
}

async fn from_neighbor(
    graphs: &EmbeddedGraphs,
    chain: ChainId,
    neighbors: &ServerSet,
    received: &mut u64,
) -> Result<Option<GraphTip>, FillError> {
    let Some((address, CopyAnswer { held, bytes, newest })) =
        held_state(graphs, chain, neighbors).await?
    else {
        return Err(FillError::NoNeighbor);
    };
    let Some(mut filling) = blocking(|| graphs.begin_copy(chain, &held, PART_BYTES as u64))? else {
        return Ok(None);
    };
    *received = filling.received();
    let (height, from) = (newest.height, filling.received());
    tracing::info!(%chain, neighbor = %address, bytes, from, height, "filling from a neighbor");
    let mut logged_at = Instant::now();
    while filling.received() < bytes {
        let question = CopyPartQuestion { held: held.clone(), offset: filling.received() };
        let part = neighbors.copy_part_from(address, PART_TIMEOUT, question).await?;
        if part.is_empty() {
            break;
        }
        blocking(|| filling.add(&part))?;
        *received = filling.received();
        if logged_at.elapsed() >= LOG_INTERVAL {
            logged_at = Instant::now();
            tracing::info!(%chain, received = filling.received(), bytes, "filling from a neighbor");
        }
    }
    let question = CopyFingerprintQuestion { held };
    let CopyFingerprintAnswer { fingerprint } =
        neighbors.ask_server(address, FINGERPRINT_TIMEOUT, &question).await?;
    let mut expected = [0; 32];
    hex::decode_to_slice(&fingerprint, &mut expected)
        .map_err(|_| FillError::Fingerprint(fingerprint))?;
    Ok(Some(blocking(|| graphs.finish_copy(filling, expected))?))
}

/// Returns a neighbor and a state that it holds: the partly copied state if a neighbor still holds it.
async fn held_state(
    graphs: &EmbeddedGraphs,
    chain: ChainId,
    neighbors: &ServerSet,
) -> Result<Option<(SocketAddr, CopyAnswer)>, FillError> {
    let states = neighbors.states();
    let with_blocks = states.iter().filter(|it| {
        let has_blocks = |state: &ServerState| state.newest.is_some() && !state.is_draining;
        !it.is_excluded && it.state.as_ref().is_some_and(has_blocks)
    });
    let addresses: Vec<SocketAddr> = with_blocks.map(|it| it.address).collect();
    if let Some(known) = graphs.partial_copy_origin(chain) {
        for address in &addresses {
            let question = CopyQuestion { held: Some(known.clone()) };
            match neighbors.ask_server(*address, PART_TIMEOUT, &question).await {
                Ok(answer) => return Ok(Some((*address, answer))),
                Err(error) if error.refusal() == Some(RefusalCode::NotFound) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
    let mut last = None;
    for address in addresses {
        match neighbors.ask_server(address, PART_TIMEOUT, &CopyQuestion { held: None }).await {
            Ok(answer) => return Ok(Some((address, answer))),
            Err(error) => last = Some(error),
        }
    }
    last.map_or(Ok(None), |error| Err(error.into()))
}
