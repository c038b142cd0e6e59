//! A node that states a chain over its HTTP API, with the faults of public ones.

use std::{
    collections::VecDeque,
    io::{self, BufRead, BufReader, BufWriter, Read, Write},
    net::TcpStream,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use serde_json::Value;

use super::TronChain;
use crate::Listener;

/// Fault of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Status 429.
    TooMany,
    /// Status 200 with an error inside: the node is asked too often.
    Overloaded,
    /// Status 200 with another error inside.
    Error,
    /// Status 200 with the sentence of a node that keeps no old blocks.
    Lite,
    /// The answer ends after half of its body.
    Truncated,
    /// The block before the one that was asked for.
    WrongBlock,
    /// One digit of the first transaction's bytes is another one.
    ChangedByte,
    /// The JSON beside the first transaction's bytes states another receiver.
    ChangedReceiver,
}

/// A node of a chain, stopped when dropped.
#[derive(Debug)]
pub struct TronNode {
    listener: Listener,
    shared: Arc<Mutex<State>>,
}

/// The chain and the behavior of a node.
#[derive(Debug)]
struct State {
    chain: TronChain,
    /// Number of the newest blocks that the producers have not built upon.
    unsolid: u64,
    /// Faults of the next answers to a path that begins with a word.
    faults: VecDeque<(&'static str, Fault)>,
    /// The fault of each answer about the block at a height.
    faulty_block: Option<(u64, Fault)>,
    /// The key that requests must have.
    key: Option<String>,
    requests: u64,
}

impl TronNode {
    /// Starts a node of a chain.
    ///
    /// # Panics
    ///
    /// Panics if it cannot listen.
    #[must_use]
    pub fn start(chain: TronChain) -> Self {
        let (faults, faulty_block, key) = (VecDeque::new(), None, None);
        let state = State { chain, unsolid: 19, faults, faulty_block, key, requests: 0 };
        let shared = Arc::new(Mutex::new(state));
        let served = Arc::clone(&shared);
        let listener = Listener::start(move |stream| {
            let Some((path, key, body)) = read_request(stream)? else { return Ok(false) };
            let mut state = served.lock().unwrap_or_else(PoisonError::into_inner);
            let (status, text) = state.answer(&path, key.as_deref(), &body);
            drop(state);
            let mut output = BufWriter::new(stream);
            let length = text.len();
            write!(output, "HTTP/1.1 {status} Answer\r\ncontent-length: {length}\r\n\r\n{text}")?;
            output.flush()?;
            Ok::<_, io::Error>(true)
        });
        Self { listener, shared }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// URL below which the paths of the API are.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.listener.address())
    }

    /// Changes the chain.
    pub fn change<T>(&self, change: impl FnOnce(&mut TronChain) -> T) -> T {
        change(&mut self.state().chain)
    }

    /// Sets the number of the newest blocks that the producers have not built upon. 19 at first.
    pub fn set_unsolid(&self, unsolid: u64) {
        self.state().unsolid = unsolid;
    }

    /// Adds a fault of the next answer to a path that ends with a word.
    pub fn fail_next(&self, path: &'static str, fault: Fault) {
        self.state().faults.push_back((path, fault));
    }

    /// Lets each answer about the block at a height be faulty; `None` ends that.
    pub fn fail_block(&self, faulty: Option<(u64, Fault)>) {
        self.state().faulty_block = faulty;
    }

    /// Requires a key in the header of providers.
    pub fn require_key(&self, key: &str) {
        self.state().key = Some(key.to_owned());
    }

    /// Number of faults that are still to come.
    #[must_use]
    pub fn faults_left(&self) -> usize {
        self.state().faults.len()
    }

    /// Number of requests so far.
    #[must_use]
    pub fn requests(&self) -> u64 {
        self.state().requests
    }
}

impl State {
    /// The status and the text of an answer.
    fn answer(&mut self, path: &str, key: Option<&str>, body: &[u8]) -> (u16, String) {
        self.requests += 1;
        if self.key.is_some() && self.key.as_deref() != key {
            return (401, r#"{"Error":"ApiKey not exists"}"#.to_owned());
        }
        let parameters: Value = serde_json::from_slice(body).unwrap_or_default();
        let solid = self.chain.height().saturating_sub(self.unsolid);
        let Some(answer) = self.chain.answer(path, &parameters, solid) else {
            return (404, "<html><body>Error 404 - Not Found.</body></html>".to_owned());
        };
        let fault = match self.faults.front() {
            Some((word, fault)) if path.ends_with(word) => Some(*fault),
            _ => None,
        };
        if fault.is_some() {
            self.faults.pop_front();
        }
        let of_block = self.faulty_block.filter(|(height, _)| {
            path == "/wallet/getblockbynum" && parameters["num"].as_u64() == Some(*height)
        });
        match fault.or(of_block.map(|(_, fault)| fault)) {
            Some(fault) => self.faulty(fault, answer, &parameters),
            None => (200, answer.to_string()),
        }
    }

    fn faulty(&self, fault: Fault, mut answer: Value, parameters: &Value) -> (u16, String) {
        let overloaded = "class java.lang.IllegalAccessException : lack of computing resources";
        match fault {
            Fault::TooMany => (429, "too many requests".to_owned()),
            Fault::Overloaded => (200, format!(r#"{{"Error":"{overloaded}"}}"#)),
            Fault::Error => {
                (200, r#"{"Error":"class java.lang.NullPointerException : null"}"#.to_owned())
            }
            Fault::Lite => {
                (200, "this API is closed because this node is a lite fullnode".to_owned())
            }
            Fault::Truncated => {
                let text = answer.to_string();
                (200, text.chars().take(text.len() / 2).collect())
            }
            Fault::WrongBlock => {
                let height = parameters["num"].as_u64().unwrap_or_default();
                let other = self.chain.block(height.saturating_sub(1));
                (200, other.map_or_else(|| "{}".to_owned(), |block| block.json.to_string()))
            }
            Fault::ChangedByte => {
                let digits = &mut answer["transactions"][0]["raw_data_hex"];
                let text = digits.as_str().unwrap_or_default();
                let changed = text.strip_suffix(|_: char| true).map(|start| {
                    let last = if text.ends_with('0') { '1' } else { '0' };
                    format!("{start}{last}")
                });
                *digits = changed.into();
                (200, answer.to_string())
            }
            Fault::ChangedReceiver => {
                let value = &mut answer["transactions"][0]["raw_data"]["contract"][0];
                value["parameter"]["value"]["to_address"] = super::text(&[0x66; 20]).into();
                (200, answer.to_string())
            }
        }
    }
}

/// The path of a request, its key and its body; `None` if the connection was closed.
#[expect(clippy::type_complexity, reason = "three parts of one request")]
fn read_request(stream: &TcpStream) -> io::Result<Option<(String, Option<String>, Vec<u8>)>> {
    let mut input = BufReader::new(stream);
    let (mut line, mut length, mut path, mut key) = (String::new(), 0, String::new(), None);
    loop {
        line.clear();
        if input.read_line(&mut line)? == 0 {
            return Ok(None);
        }
        if path.is_empty() {
            line.split_whitespace().nth(1).unwrap_or_default().clone_into(&mut path);
        }
        let field = line.trim();
        if field.is_empty() {
            break;
        }
        match field.split_once(':') {
            Some((name, value)) if name.eq_ignore_ascii_case("content-length") => {
                length = value.trim().parse().unwrap_or(0);
            }
            Some((name, value)) if name.eq_ignore_ascii_case("tron-pro-api-key") => {
                key = Some(value.trim().to_owned());
            }
            _ => {}
        }
    }
    let mut body = vec![0; length];
    input.read_exact(&mut body)?;
    Ok(Some((path, key, body)))
}
