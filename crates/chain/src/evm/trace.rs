//! Calls inside of transactions, from either form in which nodes state them.

use assay_engine::account::AccountAddress;
use ruint::aliases::U256;
use serde::{Deserialize, de::DeserializeOwned};

use super::{
    answer::none_if_null,
    hex::{Account, Amount, Bytes, Hash, Quantity},
};
use crate::{booking::path_text, http::shortened};

/// Deepest nesting of a call trace: 1,024 calls, each in an array and an object, and room for what surrounds them.
const DEEPEST_NESTING: usize = 2 * 1024 + 16;
/// Longest path of a call.
const DEEPEST_CALL: usize = 1_025;
/// Nesting above which a trace is parsed on a stack of its own.
const DEEP_NESTING: usize = 100;
/// Stack for the deepest trace.
const DEEP_STACK: usize = 64 * 1024 * 1024;

/// The calls of a transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TransactionTrace {
    /// The transaction, if the node names it.
    pub(super) hash: Option<[u8; 32]>,
    /// The block, if the node names it.
    pub(super) block: Option<[u8; 32]>,
    /// Calls, each before the calls below it.
    pub(super) calls: Vec<Call>,
    /// Event logs with their place among the calls; `None` if the node states no places.
    pub(super) logs: Option<Vec<PlacedLog>>,
}

impl TransactionTrace {
    /// True if a call is of another account than that in which the call above it runs.
    pub(super) fn is_of_other(&self, call: &Call) -> bool {
        let above = call.above.and_then(|above| self.calls.get(above));
        above.is_some_and(|above| above.runs_in() != Some(call.from))
    }

    /// The path of a call as explorers write it. Paths are made where they are kept: those of all calls would take many times
    /// the memory of the answer.
    pub(super) fn path(&self, call: &Call) -> Box<str> {
        let mut path = Vec::new();
        let mut next = Some(call);
        while let Some((call, above)) = next.and_then(|call| Some((call, call.above?))) {
            path.push(call.number);
            next = self.calls.get(above);
        }
        path.reverse();
        path_text(&path)
    }
}

/// A call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Call {
    pub(super) kind: CallKind,
    /// Index of the call above in the calls of the transaction; `None` for that of the transaction itself.
    pub(super) above: Option<usize>,
    /// Number of the call among those that the call above makes.
    pub(super) number: u32,
    pub(super) from: AccountAddress,
    /// `None` for a creation that failed.
    pub(super) to: Option<AccountAddress>,
    pub(super) amount: U256,
    /// True if the call or one above it failed.
    pub(super) is_failed: bool,
}

impl Call {
    /// The account in which the call runs; `None` for a creation that failed.
    pub(super) fn runs_in(&self) -> Option<AccountAddress> {
        match self.kind {
            CallKind::Delegate => Some(self.from),
            _ => self.to,
        }
    }
}

/// Kind of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CallKind {
    Call,
    Create,
    SelfDestruct,
    /// A call of another contract's code in the account of the caller.
    Delegate,
    /// A call that cannot change anything.
    Static,
}

/// An event log among the calls of its transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PlacedLog {
    /// Number of calls that began before the log.
    pub(super) after: usize,
    /// Index of the call that logs.
    pub(super) call: usize,
    pub(super) address: AccountAddress,
    pub(super) topics: Vec<Hash>,
    pub(super) data: Bytes,
}

/// An answer about one transaction of the call tracer, or of the tracer of flat calls.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Traced<T> {
    tx_hash: Option<Hash>,
    result: Option<T>,
    error: Option<String>,
}

/// A call with the calls below it.
#[derive(Deserialize)]
struct CallFrame {
    #[serde(rename = "type")]
    kind: String,
    from: Option<Account>,
    to: Option<Account>,
    value: Option<Amount>,
    error: Option<String>,
    #[serde(default, deserialize_with = "none_if_null")]
    calls: Vec<Self>,
    #[serde(default, deserialize_with = "none_if_null")]
    logs: Vec<FrameLog>,
}

#[derive(Deserialize)]
struct FrameLog {
    address: Account,
    topics: Vec<Hash>,
    data: Bytes,
    /// Number of calls below the frame that ended before.
    position: Option<Quantity>,
}

/// A call, a reward or another record of the form that Parity introduced.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct FlatTrace {
    #[serde(rename = "type")]
    kind: String,
    action: FlatAction,
    result: Option<FlatResult>,
    error: Option<String>,
    trace_address: Vec<u32>,
    transaction_hash: Option<Hash>,
    block_hash: Option<Hash>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct FlatAction {
    call_type: Option<String>,
    from: Option<Account>,
    to: Option<Account>,
    value: Option<Amount>,
    address: Option<Account>,
    refund_address: Option<Account>,
    balance: Option<Amount>,
}

#[derive(Deserialize)]
struct FlatResult {
    address: Option<Account>,
}

/// Reads an answer of `debug_traceBlockByHash` with the call tracer.
///
/// # Errors
///
/// Returns a description of the problem.
pub(super) fn of_call_tracer(json: &str) -> Result<Vec<TransactionTrace>, String> {
    let flatten =
        |traced: Vec<Traced<CallFrame>>| traced.into_iter().enumerate().map(of_traced).collect();
    nested(json, flatten)
}

/// Reads an answer of `debug_traceTransaction` with the call tracer about the transaction of a hash.
///
/// # Errors
///
/// Returns a description of the problem.
pub(super) fn of_call(json: &str, hash: &[u8; 32]) -> Result<TransactionTrace, String> {
    nested(json, |frame: CallFrame| of_frame(&frame, Some(*hash)))
}

/// Reads JSON that may be nested deeply.
fn nested<T: DeserializeOwned, R: Send>(
    json: &str,
    make: impl Fn(T) -> Result<R, String> + Sync,
) -> Result<R, String> {
    let read = |json| {
        let mut deserializer = serde_json::Deserializer::from_str(json);
        deserializer.disable_recursion_limit();
        let read = T::deserialize(&mut deserializer);
        let read = read.and_then(|read| deserializer.end().map(|()| read));
        make(read.map_err(|error| shortened(&error.to_string()))?)
    };
    match nesting(json) {
        depth if depth > DEEPEST_NESTING => Err(format!(
            "calls are nested {depth} deep, and a transaction has at most 1,024 levels"
        )),
        depth if depth > DEEP_NESTING => std::thread::scope(|scope| {
            let thread = std::thread::Builder::new().stack_size(DEEP_STACK);
            let parsed = thread.spawn_scoped(scope, || read(json));
            let parsed = parsed.map_err(|error| format!("failed to start a thread: {error}"))?;
            parsed.join().unwrap_or_else(|_| Err("calls cannot be read".to_owned()))
        }),
        _ => read(json),
    }
}

/// Depth of arrays and objects in a JSON text.
fn nesting(json: &str) -> usize {
    let (mut depth, mut deepest) = (0_usize, 0);
    let (mut is_text, mut is_escaped) = (false, false);
    for byte in json.bytes() {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if is_text => is_escaped = true,
            b'"' => is_text = !is_text,
            b'[' | b'{' if !is_text => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b']' | b'}' if !is_text => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}

fn of_traced((index, traced): (usize, Traced<CallFrame>)) -> Result<TransactionTrace, String> {
    let hash = traced.tx_hash.map(|hash| hash.0);
    let frame = result_of(index, traced)?;
    of_frame(&frame, hash).map_err(|reason| format!("transaction {index}: {reason}"))
}

fn of_frame(frame: &CallFrame, hash: Option<[u8; 32]>) -> Result<TransactionTrace, String> {
    let mut flat = Flattened::default();
    flat.add(frame, None, 0)?;
    let logs = flat.is_placed.then_some(flat.logs);
    Ok(TransactionTrace { hash, block: None, calls: flat.calls, logs })
}

fn result_of<T>(index: usize, traced: Traced<T>) -> Result<T, String> {
    match (traced.result, traced.error) {
        (Some(result), None) => Ok(result),
        (_, Some(error)) => {
            Err(format!("transaction {index} was not traced: {}", shortened(&error)))
        }
        (None, None) => Err(format!("transaction {index} has no trace")),
    }
}

/// Calls of a tree in the order in which they began.
struct Flattened {
    calls: Vec<Call>,
    logs: Vec<PlacedLog>,
    /// True if every log has a position.
    is_placed: bool,
}

impl Default for Flattened {
    fn default() -> Self {
        Self { calls: Vec::new(), logs: Vec::new(), is_placed: true }
    }
}

impl Flattened {
    fn add(&mut self, frame: &CallFrame, above: Option<usize>, number: u32) -> Result<(), String> {
        let is_above_failed =
            above.and_then(|above| self.calls.get(above)).is_some_and(|it| it.is_failed);
        let is_failed = is_above_failed || states_failure(frame.error.as_deref());
        let kind = kind_of_frame(&frame.kind)?;
        let call = self.calls.len();
        let sides = (frame.from, frame.to);
        let amount = frame.value.unwrap_or_default().0;
        let added =
            CallIndex { above, number, index: call }.call(kind, sides, amount, is_failed)?;
        self.calls.push(added);
        let mut logs = frame.logs.iter().peekable();
        for (number, below) in (0_u32..).zip(&frame.calls) {
            while let Some(log) =
                logs.next_if(|log| log.position.is_none_or(|position| position.0 <= number.into()))
            {
                self.log(log, call, is_failed);
            }
            self.add(below, Some(call), number)?;
        }
        for log in logs {
            self.log(log, call, is_failed);
        }
        Ok(())
    }

    fn log(&mut self, log: &FrameLog, call: usize, is_failed: bool) {
        // A failed call takes its logs along.
        if is_failed {
            return;
        }
        self.is_placed &= log.position.is_some();
        let after = self.calls.len();
        let (topics, data) = (log.topics.clone(), log.data.clone());
        self.logs.push(PlacedLog { after, call, address: log.address.0, topics, data });
    }
}

fn kind_of_frame(kind: &str) -> Result<CallKind, String> {
    Ok(match kind {
        "CALL" => CallKind::Call,
        "CREATE" | "CREATE2" => CallKind::Create,
        "SELFDESTRUCT" => CallKind::SelfDestruct,
        "DELEGATECALL" | "CALLCODE" => CallKind::Delegate,
        "STATICCALL" => CallKind::Static,
        other => return Err(format!("unknown kind of a call: `{}`", shortened(other))),
    })
}

/// True for a call that failed: some nodes state an empty error for others.
fn states_failure(error: Option<&str>) -> bool {
    error.is_some_and(|error| !error.is_empty())
}

/// Position of a call in its transaction.
struct CallIndex {
    above: Option<usize>,
    number: u32,
    index: usize,
}

impl CallIndex {
    /// Makes the call, which has a payer, and a receiver unless it failed.
    fn call(
        self,
        kind: CallKind,
        (from, to): (Option<Account>, Option<Account>),
        amount: U256,
        is_failed: bool,
    ) -> Result<Call, String> {
        let Self { above, number, index } = self;
        let from =
            from.ok_or_else(|| format!("call {index} has no `from`: the node may need an update"))?;
        if to.is_none() && !is_failed {
            return Err(format!("call {index} succeeded without a receiver"));
        }
        let (from, to) = (from.0, to.map(|to| to.0));
        Ok(Call { kind, above, number, from, to, amount, is_failed })
    }
}

/// Reads an answer of `trace_block`. Rewards of blocks are left out, which some nodes invent.
///
/// # Errors
///
/// Returns a description of the problem.
pub(super) fn of_trace_block(json: &str) -> Result<Vec<TransactionTrace>, String> {
    let traces: Vec<FlatTrace> =
        serde_json::from_str(json).map_err(|error| shortened(&error.to_string()))?;
    let mut transactions: Vec<(Hash, Vec<FlatTrace>)> = Vec::new();
    for trace in traces {
        if trace.kind == "reward" {
            continue;
        }
        let hash = trace.transaction_hash.ok_or("a call is in no transaction")?;
        // Asked for by a height: without the block, it could be one of another branch.
        trace.block_hash.ok_or("a call is in no block")?;
        match transactions.last_mut() {
            Some((last, traces)) if *last == hash => traces.push(trace),
            _ => transactions.push((hash, vec![trace])),
        }
    }
    let transactions = transactions.into_iter().enumerate();
    transactions.map(|(index, (hash, traces))| of_flat(index, Some(hash), traces)).collect()
}

/// Reads an answer of `debug_traceBlockByHash` with the tracer of flat calls.
///
/// # Errors
///
/// Returns a description of the problem.
#[cfg(test)]
pub(super) fn of_flat_call_tracer(json: &str) -> Result<Vec<TransactionTrace>, String> {
    let traced: Vec<Traced<Vec<FlatTrace>>> =
        serde_json::from_str(json).map_err(|error| shortened(&error.to_string()))?;
    let each = traced.into_iter().enumerate();
    each.map(|(index, traced)| {
        let hash = traced.tx_hash;
        of_flat(index, hash, result_of(index, traced)?)
    })
    .collect()
}

/// The calls of one transaction. A failure is stated at the call that failed only.
fn of_flat(
    index: usize,
    hash: Option<Hash>,
    mut traces: Vec<FlatTrace>,
) -> Result<TransactionTrace, String> {
    traces.sort_by(|one, other| one.trace_address.cmp(&other.trace_address));
    let mut calls: Vec<Call> = Vec::with_capacity(traces.len());
    let mut block: Option<Hash> = None;
    // The path of the last call, and the indexes of the calls on it.
    let (mut last, mut open): (Option<Vec<u32>>, Vec<usize>) = (None, Vec::new());
    for trace in traces {
        let named = |reason: String| format!("transaction {index}: {reason}");
        let path = trace.trace_address;
        if path.len() > DEEPEST_CALL {
            let depth = path.len();
            return Err(named(format!("a call is {depth} deep, and at most 1,024 levels are")));
        }
        if last.as_ref() == Some(&path) {
            return Err(named(format!("two calls have the path {path:?}")));
        }
        let above = match path.split_last() {
            None => None,
            Some((_, above)) => {
                // In the order of paths, the call above is on the path of the last call.
                let is_open = last.as_ref().is_some_and(|last| last.starts_with(above));
                let found = open.get(above.len()).filter(|_| is_open);
                Some(*found.ok_or_else(|| named(format!("the call above {path:?} is missing")))?)
            }
        };
        if let (Some(known), Some(other)) = (block, trace.block_hash)
            && known != other
        {
            return Err(named("its calls are in two blocks".to_owned()));
        }
        block = block.or(trace.block_hash);
        let action = trace.action;
        let created = trace.result.and_then(|result| result.address);
        let (kind, from, to, amount) = match (&*trace.kind, action.call_type.as_deref()) {
            ("call", None | Some("call")) => (CallKind::Call, action.from, action.to, action.value),
            ("call", Some("delegatecall" | "callcode")) => {
                (CallKind::Delegate, action.from, action.to, action.value)
            }
            ("call", Some("staticcall")) => {
                (CallKind::Static, action.from, action.to, action.value)
            }
            ("create", _) => (CallKind::Create, action.from, created, action.value),
            ("suicide", _) => {
                (CallKind::SelfDestruct, action.address, action.refund_address, action.balance)
            }
            (kind, call_type) => {
                let kind = shortened(&format!("{kind} {}", call_type.unwrap_or_default()));
                return Err(named(format!("unknown kind of a call: `{}`", kind.trim())));
            }
        };
        let amount = amount.unwrap_or_default().0;
        let is_above_failed =
            above.and_then(|above| calls.get(above)).is_some_and(|it| it.is_failed);
        let is_failed = is_above_failed || states_failure(trace.error.as_deref());
        let number = path.last().copied().unwrap_or_default();
        let position = CallIndex { above, number, index: calls.len() };
        open.truncate(path.len());
        open.push(calls.len());
        calls.push(position.call(kind, (from, to), amount, is_failed).map_err(named)?);
        last = Some(path);
    }
    let (hash, block) = (hash.map(|hash| hash.0), block.map(|hash| hash.0));
    Ok(TransactionTrace { hash, block, calls, logs: None })
}
