//! A fake Esplora server over generated blocks.
//!
//! The server has no mempool. Addresses are those of the main network, because checks use them. The server can simulate
//! the faults of a public one: slow and refused answers, closed connections, lag and incorrect data.
//!
//! - `answers`: answers by path
//! - `ledger`: payments of each script, from the blocks
//! - `shape`: JSON of blocks and transactions
//! - `wire`: a minimal HTTP server

mod answers;
mod ledger;
mod shape;
mod wire;

pub use answers::Reply;

use std::{
    collections::VecDeque,
    fmt,
    sync::{Arc, Mutex, MutexGuard},
    time::Duration,
};

use assay_address::ChainId;
use assay_test_servers::Listener;
use serde_json::Value;

use crate::block_builder::Block;
use ledger::Ledger;

/// A fake Esplora server, stopped when dropped.
#[derive(Debug)]
pub struct Esplora {
    listener: Listener,
    shared: Arc<Shared>,
}

/// Failure of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// Status 429, with an optional `Retry-After` in seconds.
    TooManyRequests(Option<u32>),
    /// Status 500.
    Internal,
    /// The answer ends after half of its body.
    Truncated,
    /// The server closes the connection without an answer.
    Dropped,
    /// Status 200 with an HTML page.
    NotJson,
}

/// Function that changes a correct answer to a path into an incorrect one.
pub type Falsification = fn(path: &str, answer: &mut Value);

/// Behavior of the server.
#[derive(Default)]
pub struct ServerBehavior {
    /// Latency of each answer.
    pub latency: Duration,
    /// Number of the newest blocks that the server hides.
    pub lag: usize,
    /// Failures of the next requests, in order.
    pub next: VecDeque<Failure>,
    /// Failure of every n-th request; 1 means each.
    pub every: Option<(usize, Failure)>,
    /// True if the server serves no merkle proofs, like older versions.
    pub without_proofs: bool,
    /// Falsification of the answers, if any.
    pub falsification: Option<Falsification>,
}

impl fmt::Debug for ServerBehavior {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("ServerBehavior")
            .field("latency", &self.latency)
            .field("lag", &self.lag)
            .field("next", &self.next)
            .field("every", &self.every)
            .field("without_proofs", &self.without_proofs)
            .field("lies", &self.falsification.is_some())
            .finish()
    }
}

#[derive(Debug)]
struct Shared {
    chain: ChainId,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    /// The best chain, from the first block on.
    blocks: Vec<Block>,
    /// Blocks that were replaced.
    stale: Vec<Block>,
    /// Data about the visible blocks.
    ledger: Arc<Ledger>,
    behavior: ServerBehavior,
    requests: Vec<String>,
}

impl Esplora {
    /// Starts a server of `chain` with the blocks of its best chain, from the first block on.
    ///
    /// # Panics
    ///
    /// Panics if the server cannot listen.
    #[must_use]
    pub fn start(chain: ChainId, blocks: Vec<Block>) -> Self {
        let state = State {
            ledger: Arc::new(Ledger::new(chain, &blocks, &[])),
            blocks,
            stale: vec![],
            behavior: ServerBehavior::default(),
            requests: vec![],
        };
        let shared = Arc::new(Shared { chain, state: Mutex::new(state) });
        let server = Arc::clone(&shared);
        let listener = Listener::start(move |stream| wire::serve(stream, &server));
        Self { listener, shared }
    }

    /// URL of the server's API.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}/api", self.listener.address())
    }

    /// Changes the behavior for later requests.
    pub fn set_behavior(&self, change: impl FnOnce(&mut ServerBehavior)) {
        let mut state = self.shared.state();
        change(&mut state.behavior);
        state.rebuild_ledger(self.shared.chain);
    }

    /// Replaces the best chain, by a reorganization or by more blocks.
    pub fn set_blocks(&self, blocks: Vec<Block>) {
        let mut state = self.shared.state();
        let before = std::mem::replace(&mut state.blocks, blocks);
        let replaced = before.into_iter().filter(|old| !state.blocks.contains(old));
        let replaced: Vec<_> = replaced.collect();
        state.stale.extend(replaced);
        state.rebuild_ledger(self.shared.chain);
    }

    /// The requested paths so far, failed requests included.
    #[must_use]
    pub fn requests(&self) -> Vec<String> {
        self.shared.state().requests.clone()
    }

    /// The correct answer to a path.
    #[must_use]
    pub fn answer(&self, path: &str) -> Reply {
        let ledger = Arc::clone(&self.shared.state().ledger);
        answers::answer(&ledger, path)
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("nobody panics with the lock")
    }
}

impl State {
    fn rebuild_ledger(&mut self, chain: ChainId) {
        let known = self.blocks.len().saturating_sub(self.behavior.lag);
        let known = self.blocks.get(..known).unwrap_or_default();
        self.ledger = Arc::new(Ledger::new(chain, known, &self.stale));
    }

    /// Failure of the current request, if it fails.
    fn failure(&mut self) -> Option<Failure> {
        let count = self.requests.len();
        let every = self.behavior.every.filter(|(every, _)| count.is_multiple_of(*every));
        self.behavior.next.pop_front().or(every.map(|(_, failure)| failure))
    }
}

/// Falsifications of answers.
pub mod falsifications {
    use serde_json::{Value, json};

    /// Increases the value of every first output by one base unit.
    pub fn falsify_values(_: &str, answer: &mut Value) {
        each_transaction(answer, &mut |transaction| {
            if let Some(value) = transaction.pointer_mut("/vout/0/value") {
                *value = json!(value.as_u64().unwrap_or_default() + 1);
            }
        });
    }

    /// Increases the value of every first input by one base unit, and the fee too.
    pub fn falsify_spent_values(_: &str, answer: &mut Value) {
        each_transaction(answer, &mut |transaction| {
            if let Some(value) = transaction.pointer_mut("/vin/0/prevout/value") {
                *value = json!(value.as_u64().unwrap_or_default() + 1);
                let fee = transaction["fee"].as_u64().unwrap_or_default();
                transaction["fee"] = json!(fee + 1);
            }
        });
    }

    /// Changes the owner of every first output.
    pub fn falsify_owners(_: &str, answer: &mut Value) {
        each_transaction(answer, &mut |transaction| {
            if let Some(script) = transaction.pointer_mut("/vout/0/scriptpubkey") {
                *script = json!("0014751e76e8199196d454941c45d1b3a323f1433bd6");
            }
        });
    }

    /// Moves transactions to the next block.
    pub fn falsify_heights(_: &str, answer: &mut Value) {
        each_transaction(answer, &mut |transaction| {
            if let Some(height) = transaction.pointer_mut("/status/block_height") {
                *height = json!(height.as_u64().unwrap_or_default() + 1);
            }
        });
    }

    /// Presents all outputs as unspent.
    pub fn falsify_spending(path: &str, answer: &mut Value) {
        let spends = if path.ends_with("/outspends") { answer.as_array_mut() } else { None };
        for spend in spends.into_iter().flatten() {
            *spend = json!({ "spent": false });
        }
    }

    fn each_transaction(answer: &mut Value, change: &mut dyn FnMut(&mut Value)) {
        match answer {
            Value::Array(items) => items.iter_mut().for_each(|item| each_transaction(item, change)),
            Value::Object(fields) if fields.contains_key("vout") && fields.contains_key("vin") => {
                change(answer);
            }
            _ => {}
        }
    }
}
