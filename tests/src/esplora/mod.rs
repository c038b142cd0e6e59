//! A server that answers as an Esplora does, from generated blocks.
//!
//! It has no mempool. Addresses are those of the main network, because checks use them; all other
//! data is that of the blocks. It can simulate all faults of a public server: slow and refused
//! answers, closed connections, lag and incorrect data.
//!
//! - `answers`: answers by path
//! - `ledger`: payments of each script, from the blocks
//! - `shape`: JSON of blocks and transactions
//! - `wire`: the necessary parts of HTTP

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

/// A server, stopped when it is dropped.
#[derive(Debug)]
pub struct Esplora {
    listener: Listener,
    shared: Arc<Shared>,
}

/// A way in which a request fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// 429, with `Retry-After` in seconds where there is one.
    TooManyRequests(Option<u32>),
    /// 500.
    Internal,
    /// The answer breaks off after half of its body.
    Truncated,
    /// The connection ends without an answer.
    Dropped,
    /// 200 with a page for people.
    NotJson,
}

/// Function that changes a correct answer to a path into an incorrect one.
pub type Falsification = fn(path: &str, answer: &mut Value);

/// Behavior of the server.
#[derive(Default)]
pub struct ServerBehavior {
    /// Latency of each answer.
    pub latency: Duration,
    /// Number of the newest blocks that the server does not know yet.
    pub lag: usize,
    /// Failures of the next requests, one after another.
    pub next: VecDeque<Failure>,
    /// Every so many requests one fails so; 1 is each.
    pub every: Option<(usize, Failure)>,
    /// True if it serves no merkle proofs, as older servers do not.
    pub without_proofs: bool,
    /// Change of its answers, if they are incorrect.
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
    /// Data about the blocks that the server knows.
    ledger: Arc<Ledger>,
    behavior: ServerBehavior,
    requests: Vec<String>,
}

impl Esplora {
    /// Starts a server of `chain` with the blocks of its best chain, from the first block on.
    ///
    /// # Panics
    ///
    /// Panics if it cannot listen.
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

    /// URL of its API.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}/api", self.listener.address())
    }

    /// Changes how it behaves from now on.
    pub fn set_behavior(&self, change: impl FnOnce(&mut ServerBehavior)) {
        let mut state = self.shared.state();
        change(&mut state.behavior);
        state.rebuild_ledger(self.shared.chain);
    }

    /// Replaces its best chain by another one: a reorganisation, or more blocks.
    pub fn set_blocks(&self, blocks: Vec<Block>) {
        let mut state = self.shared.state();
        let before = std::mem::replace(&mut state.blocks, blocks);
        let replaced = before.into_iter().filter(|old| !state.blocks.contains(old));
        let replaced: Vec<_> = replaced.collect();
        state.stale.extend(replaced);
        state.rebuild_ledger(self.shared.chain);
    }

    /// The paths that were asked for so far, failed ones included.
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

/// Lies that a server could tell.
pub mod falsifications {
    use serde_json::{Value, json};

    /// Every first output is worth one base unit more than it is.
    pub fn falsify_values(_: &str, answer: &mut Value) {
        each_transaction(answer, &mut |transaction| {
            if let Some(value) = transaction.pointer_mut("/vout/0/value") {
                *value = json!(value.as_u64().unwrap_or_default() + 1);
            }
        });
    }

    /// Every first input spends one base unit more than it does, and the fee agrees.
    pub fn falsify_spent_values(_: &str, answer: &mut Value) {
        each_transaction(answer, &mut |transaction| {
            if let Some(value) = transaction.pointer_mut("/vin/0/prevout/value") {
                *value = json!(value.as_u64().unwrap_or_default() + 1);
                let fee = transaction["fee"].as_u64().unwrap_or_default();
                transaction["fee"] = json!(fee + 1);
            }
        });
    }

    /// Every first output has another owner.
    pub fn falsify_owners(_: &str, answer: &mut Value) {
        each_transaction(answer, &mut |transaction| {
            if let Some(script) = transaction.pointer_mut("/vout/0/scriptpubkey") {
                *script = json!("0014751e76e8199196d454941c45d1b3a323f1433bd6");
            }
        });
    }

    /// Transactions are one block younger than they are.
    pub fn falsify_heights(_: &str, answer: &mut Value) {
        each_transaction(answer, &mut |transaction| {
            if let Some(height) = transaction.pointer_mut("/status/block_height") {
                *height = json!(height.as_u64().unwrap_or_default() + 1);
            }
        });
    }

    /// No output was ever spent.
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
