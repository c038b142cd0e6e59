//! A fake server that answers as Etherscan, Blockscout and TronGrid do, errors included.

use std::{
    collections::{HashMap, VecDeque},
    io::{self, BufRead, BufReader, Write},
    net::TcpStream,
    sync::{Arc, Mutex, MutexGuard},
};

use assay_engine::account::AccountTransaction;
use assay_test_servers::Listener;
use serde_json::Value;

use super::{etherscan, rows::AccountIndex, trongrid};

/// A fake server of the histories of a chain's accounts, stopped when dropped.
#[derive(Debug)]
pub struct AccountApi {
    listener: Listener,
    shared: Arc<Shared>,
}

/// Fault of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ApiFault {
    /// Status 429.
    TooManyRequests,
    /// Status 403 without a known text.
    Forbidden,
    /// Status 200 with the text of a limit of a second.
    RateText,
    /// Status 200 with the text of a limit of a day.
    DailyText,
    /// Status 200 with the text of an invalid key.
    KeyRevoked,
    /// Status 200 with the text of a chain outside of the plan.
    NotInPlan,
    /// The JSON ends in its middle.
    Truncated,
    /// Every page is the first one, and states a next one.
    Endless,
    /// The first row is of another address.
    OtherAddress,
    /// The second row is of an earlier time than the first one, or a later one in the other order.
    Backwards,
    /// No answer, until the client gives up.
    Silent,
}

/// Behavior of the server.
#[derive(Clone, Debug, Default)]
pub struct ApiBehavior {
    /// Faults of the next answers, in order.
    pub next: VecDeque<ApiFault>,
    /// Fault of every other answer.
    pub always: Option<ApiFault>,
    /// The only valid key; `None` if all are.
    pub key: Option<String>,
    /// True if TronGrid's pages state no fingerprint of the next page.
    pub lacks_fingerprints: bool,
}

/// A request that the server got.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApiRequest {
    /// Path with the query.
    pub path: String,
    /// The key; empty without one.
    pub key: String,
}

#[derive(Debug)]
pub(super) struct Shared {
    pub(super) index: AccountIndex,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    behavior: ApiBehavior,
    requests: Vec<ApiRequest>,
}

/// A request, taken apart.
#[derive(Debug)]
pub(super) struct ApiQuery {
    pub(super) path: String,
    pub(super) query: HashMap<String, String>,
}

impl ApiQuery {
    fn new(target: &str) -> Self {
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let pairs = query.split('&').filter_map(|pair| pair.split_once('='));
        let query = pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        Self { path: path.to_owned(), query }
    }

    pub(super) fn text(&self, name: &str) -> &str {
        self.query.get(name).map(String::as_str).unwrap_or_default()
    }

    pub(super) fn number(&self, name: &str) -> Option<u64> {
        self.query.get(name)?.parse().ok()
    }

    fn is_etherscan(&self) -> bool {
        self.path.ends_with("/api")
    }
}

impl AccountApi {
    /// Starts a server of the transactions of a chain, in its order.
    ///
    /// # Panics
    ///
    /// Panics if the server cannot listen.
    #[must_use]
    pub fn of(transactions: Arc<Vec<AccountTransaction>>) -> Self {
        let index = AccountIndex::new(transactions);
        let shared = Arc::new(Shared { index, state: Mutex::default() });
        let server = Arc::clone(&shared);
        let listener = Listener::start(move |stream| serve(stream, &server));
        Self { listener, shared }
    }

    /// URL of the server, which is that of TronGrid's API.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.listener.address())
    }

    /// URL of Etherscan's API.
    #[must_use]
    pub fn etherscan(&self) -> String {
        format!("{}/v2/api", self.url())
    }

    /// URL of Blockscout's API.
    #[must_use]
    pub fn blockscout(&self) -> String {
        format!("{}/api", self.url())
    }

    /// Changes the behavior for later requests.
    pub fn set_behavior(&self, change: impl FnOnce(&mut ApiBehavior)) {
        change(&mut self.shared.state().behavior);
    }

    /// The requests so far, in the order of their arrival.
    #[must_use]
    pub fn requests(&self) -> Vec<ApiRequest> {
        self.shared.state().requests.clone()
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("nobody panics with the lock")
    }

    pub(super) fn states_fingerprints(&self) -> bool {
        !self.state().behavior.lacks_fingerprints
    }

    /// Notes a request. Returns the fault of its answer.
    fn note(&self, path: &str, key: &str) -> Option<ApiFault> {
        let mut state = self.state();
        state.requests.push(ApiRequest { path: path.to_owned(), key: key.to_owned() });
        let State { behavior, .. } = &mut *state;
        if behavior.key.as_deref().is_some_and(|valid| valid != key) {
            return Some(ApiFault::KeyRevoked);
        }
        behavior.next.pop_front().or(behavior.always)
    }
}

fn serve(mut stream: &TcpStream, shared: &Shared) -> io::Result<bool> {
    stream.set_nodelay(true)?;
    let mut lines = BufReader::new(stream).lines().map_while(Result::ok);
    let Some(first) = lines.next() else { return Ok(false) };
    let Some(target) = first.split(' ').nth(1).map(str::to_owned) else { return Ok(false) };
    let mut header_key = String::new();
    for line in lines.by_ref().take_while(|line| !line.is_empty()) {
        if let Some((name, value)) = line.split_once(':')
            && name.eq_ignore_ascii_case("TRON-PRO-API-KEY")
        {
            value.trim().clone_into(&mut header_key);
        }
    }
    let asked = ApiQuery::new(&target);
    let key = if asked.is_etherscan() { asked.text("apikey") } else { &*header_key };
    let fault = shared.note(&target, key);
    if fault == Some(ApiFault::Silent) {
        // The client closes the connection.
        return Ok(lines.next().is_some());
    }
    let (status, body) = answer(shared, &asked, fault);
    let head = format!(
        "HTTP/1.1 {status} {}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
        if status == 200 { "OK" } else { "Not OK" },
        body.len()
    );
    stream.write_all(&[head.as_bytes(), body.as_bytes()].concat())?;
    Ok(true)
}

fn answer(shared: &Shared, asked: &ApiQuery, fault: Option<ApiFault>) -> (u16, String) {
    let refused = |text: &str| {
        let refusal =
            if asked.is_etherscan() { etherscan::refusal(text) } else { trongrid::refusal(text) };
        (200, refusal.to_string())
    };
    match fault {
        Some(ApiFault::TooManyRequests) => return (429, "Too Many Requests".to_owned()),
        Some(ApiFault::Forbidden) => return (403, "Forbidden".to_owned()),
        Some(ApiFault::RateText) => return refused("Max calls per sec rate limit reached (3/sec)"),
        Some(ApiFault::DailyText) => {
            return refused("Max daily rate limit reached. 100001 (100%) of 100000 day/limit");
        }
        Some(ApiFault::KeyRevoked) => return refused("Invalid API Key (#err2)"),
        Some(ApiFault::NotInPlan) => {
            return refused("Free API access is not supported for this chain.");
        }
        _ => {}
    }
    let is_endless = fault == Some(ApiFault::Endless);
    let mut value = if asked.is_etherscan() {
        etherscan::answer(shared, asked, is_endless)
    } else {
        trongrid::answer(shared, asked, is_endless)
    };
    falsify(&mut value, fault);
    let mut body = value.to_string();
    if fault == Some(ApiFault::Truncated) {
        body.truncate(body.len() / 2);
    }
    (200, body)
}

/// Falsifies the rows of an answer.
fn falsify(value: &mut Value, fault: Option<ApiFault>) {
    let name = if value.get("data").is_some() { "data" } else { "result" };
    let Some(rows) = value.get_mut(name).and_then(Value::as_array_mut) else { return };
    match fault {
        Some(ApiFault::OtherAddress) => {
            for row in rows.iter_mut().take(1) {
                let other = match name {
                    "data" => "T9yD14Nj9j7xAB4dbGeiX9h8unkKHxuWwb",
                    _ => "0x00000000000000000000000000000000000000ff",
                };
                for field in ["from", "to"] {
                    row[field] = other.into();
                }
                let inner = "/raw_data/contract/0/parameter/value";
                if let Some(inner) = row.pointer_mut(inner).and_then(Value::as_object_mut) {
                    for (_, party) in inner.iter_mut().filter(|(name, _)| name.ends_with("address"))
                    {
                        *party = other.into();
                    }
                }
            }
        }
        Some(ApiFault::Backwards) => {
            let name = if name == "data" { "block_timestamp" } else { "timeStamp" };
            if let [first, .., last] = &mut rows[..] {
                std::mem::swap(&mut first[name], &mut last[name]);
            }
        }
        _ => {}
    }
}
