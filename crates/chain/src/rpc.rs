//! JSON-RPC of nodes: of the Bitcoin family (Bitcoin Core and its forks, old and new, and btcd), and of chains with
//! Ethereum's accounts.
//!
//! Nodes differ: errors come with HTTP status 500, 404 or 200; some require `jsonrpc` in every request, others do not
//! know it. Every node of the Bitcoin family accepts `"jsonrpc":"1.0"`; the others accept only `2.0`.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use serde::Deserialize;
use serde_json::{Value, json, value::RawValue};

use super::{
    SourceError,
    http::{AttemptError, Request, Response, Server, shortened},
};

/// Error code of a node that is starting.
const WARMING_UP: i64 = -28;
/// Error codes by which providers of nodes limit the rate of requests, in answers with any HTTP status.
const RATE_LIMITED: [i64; 4] = [429, -32005, -32007, -32016];
/// Error code of a node that ended a request after its time.
const TIMED_OUT: i64 = -32002;

/// Version of JSON-RPC, and the meaning of a node's error codes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Dialect {
    Bitcoin,
    Ethereum,
}

impl Dialect {
    const fn version(self) -> &'static str {
        match self {
            Self::Bitcoin => "1.0",
            Self::Ethereum => "2.0",
        }
    }

    /// The reason to send a request again after an error.
    fn reason_to_retry(self, code: i64) -> Option<&'static str> {
        match self {
            Self::Bitcoin => (code == WARMING_UP).then_some("it is starting"),
            Self::Ethereum if code == TIMED_OUT => Some("it is slow"),
            Self::Ethereum => RATE_LIMITED.contains(&code).then_some("it is asked too often"),
        }
    }
}

/// A node's refusal to answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeError {
    /// Error code.
    pub code: i64,
    /// Error message, shortened.
    pub message: String,
}

impl NodeError {
    /// True if there is no block at a height: −8 of Bitcoin Core, −1 of btcd.
    #[must_use]
    pub fn is_out_of_range(&self) -> bool {
        matches!(self.code, -1 | -8) && self.message_contains("out of range")
    }

    /// True if a block does not exist, or is no longer on the chain: −5 of all nodes, −32603 of btcd.
    #[must_use]
    pub fn is_not_found(&self) -> bool {
        self.code == -5 || (self.code == -32603 && self.message_contains("not in the main chain"))
    }

    /// True if the node does not support a request that another node may support: unknown methods and parameters of the
    /// wrong type.
    #[must_use]
    pub fn is_unknown_form(&self) -> bool {
        match self.code {
            -1 => {
                !self.message_contains("pruned")
                    && !self.message_contains("not found")
                    && !self.message_contains("not available")
            }
            -3 | -8 | -32600..=-32600 | -32601 | -32602 => true,
            _ => false,
        }
    }

    /// True if a node of a chain with Ethereum's accounts does not offer a method, or not with its parameters. A method may
    /// fail at one block, of which the node has no state, and is offered all the same.
    #[must_use]
    pub fn is_not_offered(&self) -> bool {
        const SAYS: [&str; 5] = [
            "does not exist",
            "not available",
            "not supported",
            "unknown method",
            "not whitelisted",
        ];
        matches!(self.code, -32601 | -32602 | -32004)
            || (!self.message_contains("state")
                && SAYS.iter().any(|words| self.message_contains(words)))
    }

    /// True if a node of a chain with Ethereum's accounts does not have a block.
    #[must_use]
    pub fn is_absent(&self) -> bool {
        let is_of_block =
            self.message_contains("not found") || self.message_contains("unknown block");
        self.code == -32001 || (is_of_block && !self.is_not_offered())
    }

    /// True if a node refuses a batch because its answer would be too large.
    #[must_use]
    pub fn is_too_large(&self) -> bool {
        self.message_contains("too large") || self.message_contains("size exceeded")
    }

    fn message_contains(&self, words: &str) -> bool {
        self.message.to_ascii_lowercase().contains(words)
    }
}

/// Response of a node to one call.
pub type Reply = Result<Box<RawValue>, NodeError>;

/// A node's JSON-RPC interface.
#[derive(Clone, Debug)]
pub struct Rpc {
    server: Server,
    dialect: Dialect,
    /// True if the node supports batches of calls; determined by the first attempt.
    batches: Arc<AtomicBool>,
}

#[derive(Deserialize)]
struct Envelope<'a> {
    #[serde(borrow, default)]
    result: Option<&'a RawValue>,
    error: Option<ErrorObject>,
    #[serde(default)]
    id: Value,
}

#[derive(Deserialize)]
struct ErrorObject {
    #[serde(default)]
    code: i64,
    #[serde(default)]
    message: String,
}

impl Rpc {
    /// Returns a client of a node of the Bitcoin family.
    #[must_use]
    pub fn new(server: Server) -> Self {
        Self { server, dialect: Dialect::Bitcoin, batches: Arc::new(AtomicBool::new(true)) }
    }

    /// Returns a client of a node of a chain with Ethereum's accounts.
    #[must_use]
    pub fn ethereum(server: Server) -> Self {
        Self { dialect: Dialect::Ethereum, ..Self::new(server) }
    }

    /// Returns the node's URL for messages.
    #[must_use]
    pub fn url(&self) -> &str {
        self.server.url()
    }

    /// Returns the client of the node's HTTP server.
    #[must_use]
    pub const fn server(&self) -> &Server {
        &self.server
    }

    /// Returns the client with a limit of `bytes` for each response.
    #[must_use]
    pub fn with_max_bytes(&self, bytes: u64) -> Self {
        Self { server: self.server.with_max_bytes(bytes), ..self.clone() }
    }

    /// Returns the client without retries.
    #[must_use]
    pub fn without_retries(&self) -> Self {
        Self { server: self.server.without_retries(), ..self.clone() }
    }

    /// True if the node is not known to refuse batches of calls.
    #[must_use]
    pub fn supports_batches(&self) -> bool {
        self.batches.load(Ordering::Relaxed)
    }

    /// Sends one request.
    ///
    /// # Errors
    ///
    /// Returns an error if there is no response or it cannot be parsed. A refusal by the node counts as a response.
    pub fn call(&self, method: &str, params: &Value) -> Result<Reply, SourceError> {
        self.ask(method, params, |reply| reply.map(ToOwned::to_owned))
    }

    /// Sends one request, and reads the response in place.
    fn ask<T>(
        &self,
        method: &str,
        params: &Value,
        mut read: impl FnMut(Result<&RawValue, NodeError>) -> T,
    ) -> Result<T, SourceError> {
        let body = self.request(method, params, 0).to_string();
        self.server.ask(Request::post(body.as_bytes()), |answer| {
            let envelope: Envelope<'_> = self.parse(method, answer)?;
            if !is_answer_to(&envelope, 0) {
                return Err(passing("it answers another question than was asked", answer));
            }
            Ok(read(self.reply(envelope)?))
        })
    }

    /// Sends the same request with different parameters, in one batch if the node supports batches. Responses are in
    /// the order of the requests.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Rpc::call`].
    pub fn call_many(&self, method: &str, all: &[Value]) -> Result<Vec<Reply>, SourceError> {
        self.call_each(method, all, |_, reply| reply.map(ToOwned::to_owned))
    }

    /// Sends requests as [`Rpc::call_many`] does, and applies `read` to each response in place, so that a large one is in
    /// memory only once. `read` gets the index of the request; responses may come in any order.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Rpc::call`].
    pub fn call_each<T>(
        &self,
        method: &str,
        all: &[Value],
        read: impl FnMut(usize, Result<&RawValue, NodeError>) -> T,
    ) -> Result<Vec<T>, SourceError> {
        let calls: Vec<_> = all.iter().map(|params| (method, params)).collect();
        self.call_all(&calls, read)
    }

    /// Sends requests, each a method with its parameters, as [`Rpc::call_each`] does.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Rpc::call`].
    pub fn call_all<T>(
        &self,
        calls: &[(&str, &Value)],
        mut read: impl FnMut(usize, Result<&RawValue, NodeError>) -> T,
    ) -> Result<Vec<T>, SourceError> {
        if calls.len() > 1 && self.supports_batches() {
            if let Some(replies) = self.batch(calls, &mut read)? {
                return Ok(replies);
            }
            self.batches.store(false, Ordering::Relaxed);
        }
        let each = calls.iter().enumerate();
        each.map(|(place, (method, params))| self.ask(method, params, |reply| read(place, reply)))
            .collect()
    }

    /// Sends all requests in one batch; `None` if the node refuses batches.
    fn batch<T>(
        &self,
        calls: &[(&str, &Value)],
        read: &mut impl FnMut(usize, Result<&RawValue, NodeError>) -> T,
    ) -> Result<Option<Vec<T>>, SourceError> {
        let method = calls.first().map_or("", |(method, _)| method);
        let requests =
            calls.iter().zip(0..).map(|((method, params), id)| self.request(method, params, id));
        let body = Value::Array(requests.collect()).to_string();
        self.server.ask(Request::post(body.as_bytes()), |answer| {
            let first = answer.body.iter().find(|byte| !byte.is_ascii_whitespace());
            if first != Some(&b'[') {
                let envelope: Envelope<'_> = self.parse(method, answer)?;
                return match self.reply(envelope)? {
                    Ok(_) => Err(passing("it answers one of several questions", answer)),
                    Err(_) => Ok(None),
                };
            }
            let envelopes: Vec<Envelope<'_>> = self.parse(method, answer)?;
            let mut replies: Vec<Option<T>> = calls.iter().map(|_| None).collect();
            for envelope in envelopes {
                let id = envelope.id.as_u64().and_then(|id| usize::try_from(id).ok());
                if let Some((id, place)) = id.and_then(|id| Some((id, replies.get_mut(id)?))) {
                    *place = Some(read(id, self.reply(envelope)?));
                }
            }
            match replies.into_iter().collect() {
                Some(replies) => Ok(Some(replies)),
                None => Err(passing("it leaves questions unanswered", answer)),
            }
        })
    }

    /// Parses a response as JSON. A truncated or empty response counts as transient, because it comes from a node that
    /// is stopping.
    fn parse<'a, T: Deserialize<'a>>(
        &self,
        method: &str,
        answer: &'a Response,
    ) -> Result<T, AttemptError> {
        serde_json::from_slice(&answer.body).map_err(|error| {
            if answer.body.is_empty() {
                return passing("it answers with nothing", answer);
            }
            let text = String::from_utf8_lossy(&answer.body);
            let reason =
                format!("it does not speak JSON-RPC ({error}): {}", self.server.quoted(&text));
            if (400..500).contains(&answer.status) {
                let (url, what) = (self.url().to_owned(), method.to_owned());
                return AttemptError::Permanent(SourceError::Unreadable { url, what, reason });
            }
            passing(&reason, answer)
        })
    }

    /// Parses a node's response.
    ///
    /// # Errors
    ///
    /// Returns an error if the response cannot be parsed.
    pub fn read<'a, T: Deserialize<'a>>(
        &self,
        what: &str,
        result: &'a RawValue,
    ) -> Result<T, SourceError> {
        serde_json::from_str(result.get()).map_err(|error| SourceError::Unreadable {
            url: self.url().to_owned(),
            what: what.to_owned(),
            // Such an error quotes whatever stands in the place of a number.
            reason: shortened(&error.to_string()),
        })
    }

    fn request(&self, method: &str, params: &Value, id: u64) -> Value {
        json!({ "jsonrpc": self.dialect.version(), "id": id, "method": method, "params": params })
    }

    fn reply<'a>(
        &self,
        envelope: Envelope<'a>,
    ) -> Result<Result<&'a RawValue, NodeError>, AttemptError> {
        match (envelope.error, envelope.result) {
            (Some(error), _) => match self.dialect.reason_to_retry(error.code) {
                Some(reason) => Err(AttemptError::Transient {
                    reason: format!("{reason}: {}", self.server.quoted(&error.message)),
                    after: None,
                }),
                None => Ok(Err(NodeError {
                    code: error.code,
                    message: self.server.quoted(&error.message),
                })),
            },
            (None, Some(result)) => Ok(Ok(result)),
            (None, None) => Ok(Ok(RawValue::NULL)),
        }
    }

    /// Returns the error of a refused request for which no other request can be sent.
    #[must_use]
    pub fn refused(&self, what: &str, error: NodeError) -> SourceError {
        let NodeError { code, message } = error;
        SourceError::Refused { url: self.url().to_owned(), what: what.to_owned(), code, message }
    }
}

/// True if a response has the number of the request. A request that could not be parsed is answered without a number.
fn is_answer_to(envelope: &Envelope<'_>, id: u64) -> bool {
    envelope.id.is_null() || envelope.id.as_u64() == Some(id)
}

fn passing(reason: &str, answer: &Response) -> AttemptError {
    let reason = format!("{reason} (HTTP status {})", answer.status);
    AttemptError::Transient { reason, after: answer.retry_after }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::http::{
        Backoff,
        tests::{Noted, Script, answer},
    };

    fn rpc<const N: usize>(answers: [(u16, &str); N]) -> (Rpc, Arc<Noted>) {
        let timer = Noted::new(5, 0);
        let script = Script::new(answers.map(|(status, body)| Ok(answer(status, body))));
        (Rpc::new(Server::new(script, timer.clone(), Backoff::default())), timer)
    }

    fn call_node(status: u16, body: &str) -> Result<Reply, SourceError> {
        rpc([(status, body)]).0.call("getblockcount", &json!([]))
    }

    #[test]
    fn answers_in_all_dialects() {
        for body in [
            r#"{"result":5,"error":null,"id":0}"#,
            r#"{"jsonrpc":"1.0","result":5,"error":null,"id":0}"#,
            r#"{"jsonrpc":"2.0","result":5,"id":0}"#,
        ] {
            assert_eq!(call_node(200, body).unwrap().unwrap().get(), "5");
        }
        for (status, body) in [
            (
                500,
                r#"{"result":null,"error":{"code":-8,"message":"Block height out of range"},"id":0}"#,
            ),
            (
                200,
                r#"{"jsonrpc":"1.0","result":null,"error":{"code":-1,"message":"Block number out of range"},"id":0}"#,
            ),
        ] {
            let refused = call_node(status, body).unwrap().unwrap_err();
            assert!(refused.is_out_of_range() && !refused.is_not_found());
        }
        let unknown =
            r#"{"result":null,"error":{"code":-32601,"message":"Method not found"},"id":0}"#;
        assert!(call_node(404, unknown).unwrap().unwrap_err().is_unknown_form());
        let stale = r#"{"result":null,"error":{"code":-32603,"message":"block 3bd4 is not in the main chain"},"id":0}"#;
        assert!(call_node(200, stale).unwrap().unwrap_err().is_not_found());
        let pruned = r#"{"result":null,"error":{"code":-1,"message":"Block not available (pruned data)"},"id":0}"#;
        assert!(!call_node(500, pruned).unwrap().unwrap_err().is_unknown_form());
    }

    #[test]
    fn a_node_that_starts_is_waited_for() {
        let warming =
            r#"{"result":null,"error":{"code":-28,"message":"Verifying blocks..."},"id":0}"#;
        let (rpc, timer) =
            rpc([(500, warming), (200, ""), (200, r#"{"result":7,"error":null,"id":0}"#)]);
        assert_eq!(rpc.call("getblockcount", &json!([])).unwrap().unwrap().get(), "7");
        let pauses = timer.pauses.lock().unwrap();
        let reasons: Vec<_> = pauses.iter().map(|(_, reason)| reason.as_str()).collect();
        let expected =
            ["it is starting: Verifying blocks...", "it answers with nothing (HTTP status 200)"];
        assert_eq!(reasons, expected);
    }

    #[test]
    fn a_server_that_is_no_node_is_refused_at_once() {
        let (rpc, timer) = rpc([(400, "Client sent an HTTP request to an HTTPS server.")]);
        let error = rpc.call("getblockcount", &json!([])).unwrap_err().to_string();
        assert!(error.contains("does not speak JSON-RPC") && error.contains("HTTPS"), "{error}");
        assert!(timer.pauses.lock().unwrap().is_empty());
    }

    #[test]
    fn several_questions_at_once_are_answered_in_their_order() {
        let mixed = r#"[{"result":"b","error":null,"id":1},{"result":null,"error":{"code":-5,"message":"Block not found"},"id":2},{"result":"a","error":null,"id":0}]"#;
        let (rpc, _) = rpc([(200, mixed)]);
        let replies = rpc.call_many("getblock", &[json!([0]), json!([1]), json!([2])]).unwrap();
        assert_eq!(replies[0].as_ref().unwrap().get(), "\"a\"");
        assert_eq!(replies[1].as_ref().unwrap().get(), "\"b\"");
        assert!(replies[2].as_ref().unwrap_err().is_not_found());
    }

    #[test]
    fn a_node_without_batches_gets_single_requests() {
        let no = r#"{"result":null,"error":{"code":-32600,"message":"no batches"},"id":null}"#;
        let one = r#"{"result":1,"error":null,"id":0}"#;
        let (rpc, _) = rpc([(400, no), (200, one), (200, one), (200, one), (200, one)]);
        for _ in 0..2 {
            let replies = rpc.call_many("getblockhash", &[json!([0]), json!([1])]).unwrap();
            assert_eq!(replies.len(), 2);
        }
    }
}
