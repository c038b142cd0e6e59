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
};
use assay_tenancy::Name;
use jiff::Timestamp;

use super::{
    branches::{self, StayingServer},
    following::{self, AskedServer},
    graphs,
};
use crate::conditions::ConditionState;

/// The rate above which a server must be reading earlier blocks, in blocks per second. No chain produces new blocks as
/// fast.
const SYNCING_RATE: f64 = 0.1;

/// The state of a chain, reported by its chain servers.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ObservedChain {
    /// The newest block of any server; `None` without blocks.
    pub(super) newest: Option<ObservedBlock>,
    /// The blocks per second that the fastest server reads, while it reads earlier blocks.
    pub(super) blocks_per_second: Option<f64>,
    /// Height of the source's newest block, while earlier blocks are read.
    pub(super) source_height: Option<u64>,
    /// The largest size of the graph on the disk of a server, in bytes; `None` if no server can read its graph.
    pub(super) bytes: Option<u64>,
    /// The condition about the branches of the servers; `None` without blocks.
    pub(super) branches: Option<ConditionState>,
    /// The condition about the sources of the servers; `None` if no server can read its graph.
    pub(super) following: Option<ConditionState>,
    /// The condition about the graphs of the servers.
    pub(super) graphs: ConditionState,
}

/// A block of a chain server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ObservedBlock {
    /// Its height.
    pub(super) height: u64,
    /// The time in its header.
    pub(super) time: Timestamp,
}

/// A client of the chain servers of all chains, with persistent connections.
#[derive(Debug)]
pub(crate) struct ChainClient {
    credentials: ChainServerCredentials,
    /// The servers of each source.
    servers: Mutex<BTreeMap<Name, KnownServers>>,
}

/// The servers of a source, with the URLs by which they were found.
type KnownServers = (Vec<ServerUrl>, Arc<ServerSet>);

impl ChainClient {
    /// A client that authenticates with the token in a file. Servers refuse a client without a token.
    pub(crate) fn new(token: Option<PathBuf>) -> Self {
        let credentials = ChainServerCredentials { token, authorities: None };
        Self { credentials, servers: Mutex::default() }
    }

    /// True if the client has a token, without which no server is asked.
    pub(super) const fn can_ask(&self) -> bool {
        self.credentials.token.is_some()
    }

    /// The state of a source's chain, reported by the servers behind some URLs. `None` if no server answers.
    pub(super) async fn state(
        &self,
        source: &Name,
        chain: &str,
        urls: Vec<ServerUrl>,
    ) -> Option<ObservedChain> {
        self.credentials.token.as_ref()?;
        let servers = self.servers(source, chain.parse().ok()?, urls);
        servers.refresh().await;
        let candidates = servers.states();
        let states = candidates.iter().filter_map(|it| Some((it.address, it.state.as_ref()?)));
        let states: Vec<AskedServer<'_>> = states.collect();
        let unreadable = servers.unreadable_graphs();
        if states.is_empty() && unreadable.is_empty() {
            return None;
        }
        let difference = servers.difference();
        // Servers that disagree with nobody in the majority have no newest block together.
        let highest = difference.as_ref().and_then(|difference| {
            let newest = difference.branches.iter().map(|branch| branch.newest);
            newest.max_by_key(|block| block.height)
        });
        let block = newest(&candidates).map(|newest| newest.block).or(highest);
        let staying = states.iter().filter_map(|(address, state)| {
            Some(StayingServer { address: *address, refused: state.refused_branch? })
        });
        let staying: Vec<StayingServer> = staying.collect();
        let rates = states.iter().filter_map(|(_, state)| state.blocks_per_second);
        let rate = rates.filter(|rate| *rate >= SYNCING_RATE).max_by(f64::total_cmp);
        let heights = states.iter().filter_map(|(_, state)| state.source_height);
        Some(ObservedChain {
            // A source that is followed closely has no other height for long.
            source_height: heights.max().filter(|_| rate.is_some()),
            newest: block.map(|block| ObservedBlock { height: block.height, time: block.time }),
            blocks_per_second: rate,
            bytes: states.iter().map(|(_, state)| state.bytes).max(),
            branches: block.map(|_| branches::condition(difference.as_ref(), &staying)),
            following: (!states.is_empty()).then(|| following::condition(&states)),
            graphs: graphs::condition(candidates.len(), &unreadable),
        })
    }

    /// The servers of a source, whose connections stay as long as the URLs do.
    fn servers(&self, source: &Name, chain: ChainId, urls: Vec<ServerUrl>) -> Arc<ServerSet> {
        let mut all = self.servers.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((known, servers)) = all.get(source)
            && (known, servers.chain()) == (&urls, chain)
        {
            return Arc::clone(servers);
        }
        let servers = Arc::new(ServerSet::new(chain, urls.clone(), self.credentials.clone()));
        all.insert(source.clone(), (urls, Arc::clone(&servers)));
        servers
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
        answering(StatusCode::OK, state).await
    }

    /// The URL of a chain server of `btc` with an answer to questions for its state, and [`TOKEN`].
    async fn answering(status: StatusCode, body: Value) -> String {
        let bearer = format!("Bearer {TOKEN}");
        let answer = async move |headers: HeaderMap| {
            let is_allowed = headers.get(AUTHORIZATION).is_some_and(|shown| *shown == *bearer);
            is_allowed.then(|| (status, Json(body.clone()))).ok_or(StatusCode::UNAUTHORIZED)
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
            "blocks_per_second": blocks_per_second, "source_height": 900_000, "is_draining": false, "traces": 0,
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
        let name: Name = "bitcoin".parse().unwrap();
        let behind = |url: &str| vec![ServerUrl::parse(url).unwrap()];
        let ask = async |newest, rate| {
            client.state(&name, "btc", behind(&server(state(newest, rate)).await)).await
        };
        let wanted = ObservedChain {
            newest: Some(ObservedBlock {
                height: 9,
                time: "2026-11-22T01:00:00Z".parse().unwrap(),
            }),
            blocks_per_second: Some(250.5),
            source_height: Some(900_000),
            bytes: Some(1_234_567),
            branches: Some(branches::condition(None, &[])),
            following: Some(following::condition(&[])),
            graphs: graphs::condition(1, &[]),
        };
        assert_eq!(ask(block(9), json!(250.5)).await, Some(wanted.clone()));
        let followed =
            Some(ObservedChain { blocks_per_second: None, source_height: None, ..wanted });
        assert_eq!(ask(block(9), json!(0.002)).await, followed, "it has the earlier blocks");
        assert_eq!(ask(block(9), Value::Null).await, followed, "it follows nothing");
        let empty = ask(Value::Null, Value::Null).await.expect("an answer");
        assert_eq!((empty.newest, empty.branches), (None, None), "it has no block yet");
        assert_eq!(empty.following, Some(following::condition(&[])));

        let url = server(state(block(9), Value::Null)).await;
        let nobody = behind("http://127.0.0.1:1");
        assert_eq!(client.state(&name, "btc", nobody).await, None, "nobody is there");
        let without_token = ChainClient::new(None);
        assert_eq!(without_token.state(&name, "btc", behind(&url)).await, None);
    }

    #[tokio::test]
    async fn a_server_that_cannot_read_its_graph_is_told_with_and_without_a_newest_block() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), TOKEN).unwrap();
        let client = ChainClient::new(Some(file.path().to_owned()));
        let name: Name = "bitcoin".parse().unwrap();
        // Given a server whose graph failed to answer a question, and one that cannot read its newest block,
        let mut failed = state(block(9), Value::Null);
        failed["graph_problem"] = json!("a page is damaged");
        let refused = json!({"code": "failed", "detail": "a page is damaged"});
        for (status, body) in
            [(StatusCode::OK, failed), (StatusCode::INTERNAL_SERVER_ERROR, refused)]
        {
            // when it is asked,
            let url = ServerUrl::parse(&answering(status, body).await).unwrap();
            let told = client.state(&name, "btc", vec![url]).await.expect("an answer");
            // then its graph is the problem, and of its source is told what it stated.
            assert!(!told.graphs.holds, "{status}");
            let message = &told.graphs.message;
            assert!(
                message.contains("1 of 1") && message.contains("a page is damaged"),
                "{message}"
            );
            let states_blocks = status == StatusCode::OK;
            assert_eq!(told.newest.is_some(), states_blocks, "{status}");
            assert_eq!(told.following.is_some(), states_blocks, "{status}");
        }
    }
}
