//! A node that traces less than another one before which it stands: it passes on what the other one answers, but for traces.

use std::io::{self, BufWriter, Write};

use assay_test_servers::Listener;
use serde_json::{Value, json};

use super::{EvmNode, EvmNodeKind};
use crate::{
    http_request::read_request,
    nodes::{Rpc, RpcError},
};

/// The code of a method that a node does not have.
const NO_METHOD: i64 = -32_601;

/// Traces that a node states.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LimitedTraces {
    /// The flat traces of Parity only.
    Flat,
    /// None.
    None,
    /// Balances before and after transactions only: all traces of calls are too large.
    Balances,
}

impl LimitedTraces {
    /// The beginnings of the methods that a node does not have.
    const fn lacks(self) -> &'static [&'static str] {
        match self {
            Self::Flat => &["debug_"],
            Self::None => &["debug_", "trace_"],
            Self::Balances => &[],
        }
    }
}

/// A node that traces less than another one, stopped when dropped.
#[derive(Debug)]
pub struct LimitedNode {
    listener: Listener,
}

impl LimitedNode {
    /// Starts a node before another one.
    ///
    /// # Panics
    ///
    /// Panics if it cannot listen.
    #[must_use]
    pub fn start(before: &EvmNode, traces: LimitedTraces) -> Self {
        let (kind, rpc) = (before.kind, before.rpc());
        let listener = Listener::start(move |stream| {
            let Some((_, body)) = read_request(stream)? else { return Ok(false) };
            let asked: Value = serde_json::from_slice(&body)?;
            let answer = match asked {
                Value::Array(calls) => {
                    calls.iter().map(|call| answer((kind, traces), &rpc, call)).collect()
                }
                call => answer((kind, traces), &rpc, &call),
            };
            let text = answer.to_string();
            let mut output = BufWriter::new(stream);
            write!(output, "HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{text}", text.len())?;
            output.flush()?;
            Ok::<_, io::Error>(true)
        });
        Self { listener }
    }

    /// URL of the node's JSON-RPC.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.listener.address())
    }
}

fn answer((kind, traces): (EvmNodeKind, LimitedTraces), rpc: &Rpc, call: &Value) -> Value {
    let method = call["method"].as_str().unwrap_or_default();
    let parameters = call["params"].as_array().cloned().unwrap_or_default();
    let of_calls = parameters.get(1).is_some_and(|it| it["tracer"] == "callTracer");
    let found = match method {
        _ if traces == LimitedTraces::Balances && of_calls => {
            Err(RpcError::Refused(-32_000, "response too large".to_owned()))
        }
        _ if traces.lacks().iter().any(|start| method.starts_with(start)) => {
            Err(RpcError::Refused(NO_METHOD, format!("the method {method} does not exist")))
        }
        "trace_block" if kind == EvmNodeKind::Geth && traces == LimitedTraces::Flat => {
            flat_traces(rpc, &parameters)
        }
        _ => rpc.call(method, &parameters),
    };
    match found {
        Ok(result) => json!({ "jsonrpc": "2.0", "id": call["id"], "result": result }),
        Err(error) => {
            let (code, message) = match error {
                RpcError::Refused(code, message) => (code, message),
                RpcError::NoAnswer(message) => (-32_000, message),
            };
            let error = json!({ "code": code, "message": message });
            json!({ "jsonrpc": "2.0", "id": call["id"], "error": error })
        }
    }
}

/// The traces of a block by geth's flat call tracer, of all transactions one after another.
fn flat_traces(rpc: &Rpc, parameters: &[Value]) -> Result<Value, RpcError> {
    let block = parameters.first().cloned().unwrap_or_default();
    let tracer = json!({ "tracer": "flatCallTracer" });
    let answer = rpc.call("debug_traceBlockByNumber", &[block, tracer])?;
    let of_transactions = answer.as_array().cloned().unwrap_or_default();
    let frames = of_transactions.into_iter().flat_map(|mut of_transaction| {
        let frames = of_transaction["result"].take();
        frames.as_array().cloned().unwrap_or_default()
    });
    Ok(frames.collect())
}
