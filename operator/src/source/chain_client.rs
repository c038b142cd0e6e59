//! Client of chain servers, which reads the state of their graphs.

use std::{
    collections::BTreeMap,
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
};

use assay_address::ChainId;
use assay_chain_protocol::{
    ChainServerCredentials, ServerSet,
    client::{ServerUrl, choice::newest},
    message::ServerState,
};
use jiff::Timestamp;

use super::branches::{self, StayingServer};
use crate::conditions::ConditionState;

/// The rate above which a server must be reading earlier blocks, in blocks per second. No chain produces new blocks as
/// fast.
const SYNCING_RATE: f64 = 0.1;

/// The state of a chain's graph, reported by its chain servers.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ObservedChain {
    /// The height of the newest block of any server.
    pub(super) height: u64,
    /// The time in the header of the newest block of any server.
    pub(super) time: Timestamp,
    /// The blocks per second that the fastest server reads, while it reads earlier blocks.
    pub(super) blocks_per_second: Option<f64>,
    /// The largest size of the graph on the disk of a server, in bytes.
    pub(super) bytes: u64,
    /// The condition about the branches of the servers.
    pub(super) branches: ConditionState,
}

/// A client of the chain servers of all chains, with persistent connections.
#[derive(Debug)]
pub(crate) struct ChainClient {
    credentials: ChainServerCredentials,
    servers: Mutex<BTreeMap<(ChainId, String), Arc<ServerSet>>>,
}

impl ChainClient {
    /// A client that authenticates with the token in a file. Servers refuse a client without a token.
    pub(crate) fn new(token: Option<PathBuf>) -> Self {
        let credentials = ChainServerCredentials { token, authorities: None };
        Self { credentials, servers: Mutex::default() }
    }

    /// The state of a chain's graph, reported by the servers behind a URL. `None` if no server answers, or no server
    /// has a block yet.
    pub(super) async fn state(&self, chain: &str, url: &str) -> Option<ObservedChain> {
        self.credentials.token.as_ref()?;
        let chain: ChainId = chain.parse().ok()?;
        let servers = self.servers(chain, url)?;
        servers.refresh().await;
        let candidates = servers.states();
        let difference = servers.difference();
        // Servers that disagree with nobody in the majority have no newest block together.
        let highest = difference.as_ref().and_then(|difference| {
            let newest = difference.branches.iter().map(|branch| branch.newest);
            newest.max_by_key(|block| block.height)
        });
        let block = newest(&candidates).map(|newest| newest.block).or(highest)?;
        let staying = candidates.iter().filter_map(|candidate| {
            let refused = candidate.state.as_ref()?.refused_branch?;
            Some(StayingServer { address: candidate.address, refused })
        });
        let staying: Vec<StayingServer> = staying.collect();
        let states: Vec<&ServerState> =
            candidates.iter().filter_map(|candidate| candidate.state.as_ref()).collect();
        let rates = states.iter().filter_map(|state| state.blocks_per_second);
        let rate = rates.filter(|rate| *rate >= SYNCING_RATE).max_by(f64::total_cmp);
        Some(ObservedChain {
            height: block.height,
            time: block.time,
            blocks_per_second: rate,
            bytes: states.iter().map(|state| state.bytes).max().unwrap_or(0),
            branches: branches::condition(difference.as_ref(), &staying),
        })
    }

    fn servers(&self, chain: ChainId, url: &str) -> Option<Arc<ServerSet>> {
        let parsed = ServerUrl::parse(url)?;
        let mut all = self.servers.lock().unwrap_or_else(PoisonError::into_inner);
        let new = || Arc::new(ServerSet::new(chain, vec![parsed], self.credentials.clone()));
        Some(Arc::clone(all.entry((chain, url.to_owned())).or_insert_with(new)))
    }
}

#[cfg(test)]
#[expect(clippy::needless_pass_by_value, reason = "fixtures read better without borrows")]
mod tests {
    use axum::{
        Json, Router,
        http::{HeaderMap, StatusCode, header::AUTHORIZATION},
        routing::get,
    };
    use serde_json::{Value, json};
    use tokio::net::TcpListener;

    use super::*;

    const TOKEN: &str = "the token of chain servers in tests";

    /// The URL of a chain server of `btc` with a state, and [`TOKEN`].
    async fn server(state: Value) -> String {
        let bearer = format!("Bearer {TOKEN}");
        let answer = async move |headers: HeaderMap| {
            let is_allowed = headers.get(AUTHORIZATION).is_some_and(|shown| *shown == *bearer);
            is_allowed.then(|| Json(state.clone())).ok_or(StatusCode::UNAUTHORIZED)
        };
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let app = Router::new().route("/chain/v1/btc/state", get(answer));
        tokio::spawn(axum::serve(listener, app).into_future());
        format!("http://{address}")
    }

    fn state(newest: Value, blocks_per_second: Value) -> Value {
        json!({
            "release": "1", "lists": 7, "newest": newest, "bytes": 1_234_567,
            "blocks_per_second": blocks_per_second, "is_draining": false, "traces": 0,
        })
    }

    fn block(height: u64) -> Value {
        let time = "2026-11-22T01:00:00Z";
        let hash = "0".repeat(64);
        let block = json!({"height": height, "hash": hash, "parent": hash, "time": time});
        json!({"block": block, "verified_at": time, "start": 0, "sample": false})
    }

    #[tokio::test]
    async fn the_state_of_a_chain_is_what_its_servers_say() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), TOKEN).unwrap();
        let client = ChainClient::new(Some(file.path().to_owned()));
        let ask =
            async |newest, rate| client.state("btc", &server(state(newest, rate)).await).await;
        let wanted = ObservedChain {
            height: 9,
            time: "2026-11-22T01:00:00Z".parse().unwrap(),
            blocks_per_second: Some(250.5),
            bytes: 1_234_567,
            branches: branches::condition(None, &[]),
        };
        assert_eq!(ask(block(9), json!(250.5)).await, Some(wanted.clone()));
        let followed = Some(ObservedChain { blocks_per_second: None, ..wanted });
        assert_eq!(ask(block(9), json!(0.002)).await, followed, "it has the earlier blocks");
        assert_eq!(ask(block(9), Value::Null).await, followed, "it follows nothing");
        assert_eq!(ask(Value::Null, Value::Null).await, None, "it has no block yet");

        let url = server(state(block(9), Value::Null)).await;
        assert_eq!(client.state("btc", "http://127.0.0.1:1").await, None, "nobody is there");
        assert_eq!(ChainClient::new(None).state("btc", &url).await, None, "it has no token");
    }
}
