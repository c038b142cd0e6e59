//! A block that is asked for in small parts, after its answers were too large or took the node too long: anybody can cause that with one
//! transaction. Of a transaction that the node cannot trace, the changes of balances are read, which are few. Without these, the block
//! has a gap, which it states.

use std::slice;

use serde_json::{Value, json};

use super::fetch::{BlockQuery, Failure, FetchedBlock, Fetcher, OpenBlock, Part, Question};
use crate::{
    SourceError, Tracer,
    evm::{
        balance_changes::BalanceChanges,
        block::Untraced,
        trace::{self, TransactionTrace},
        verify,
    },
    rpc::{NodeError, Rpc},
};

/// Most transactions of a block whose answers are too large, before the others are not asked about in the same way any more.
const MOST_LARGE: usize = 64;
/// The same for transactions that take the node too long: each failure may take as long as the node works on a request.
const MOST_SLOW: usize = 4;
/// Most attempts at the balances before and after a transaction: a busy node may be faster later.
const ATTEMPTS: usize = 3;

/// True if a node may answer a smaller question than the one that failed.
pub(super) fn asks_too_much(error: &SourceError) -> bool {
    is_too_large(error) || is_too_slow(error)
}

fn is_too_large(error: &SourceError) -> bool {
    matches!(error, SourceError::TooLarge { .. }) || says(error, &["too large", "size exceeded"])
}

fn is_too_slow(error: &SourceError) -> bool {
    says(error, &["timeout", "timed out", "deadline exceeded", "it is slow", "(504)"])
}

fn says(error: &SourceError, words: &[&str]) -> bool {
    let said = match error {
        SourceError::Refused { message: said, .. }
        | SourceError::Unreachable { reason: said, .. }
        | SourceError::InvalidData { reason: said, .. } => said.to_ascii_lowercase(),
        _ => return false,
    };
    // A node that is away gets no smaller question.
    !said.contains("connect") && words.iter().any(|words| said.contains(words))
}

/// Failures of questions about the transactions of a block.
#[derive(Default)]
struct Failures {
    large: usize,
    slow: usize,
    first: Option<SourceError>,
}

impl Failures {
    fn are_many(&self) -> bool {
        self.large >= MOST_LARGE || self.slow >= MOST_SLOW
    }

    fn add(&mut self, error: SourceError) {
        if is_too_large(&error) {
            self.large += 1;
        } else {
            self.slow += 1;
        }
        self.first.get_or_insert(error);
    }
}

impl Fetcher {
    /// Fetches a block in small parts: its answers of at most `most` bytes each, those about the calls of a transaction of at most
    /// `most_of_trace`.
    pub(super) fn fetch_apart(
        &self,
        query: BlockQuery,
        (most, most_of_trace): (u64, u64),
    ) -> Result<FetchedBlock, SourceError> {
        let rpc = self.rpc.with_max_bytes(most);
        let opened = self.open(&rpc, slice::from_ref(&query), most)?.pop();
        let mut open = opened.unwrap_or_else(|| Err(query.missing()))?;
        let mut questions = Vec::new();
        self.ask_about(0, &open, &mut questions)?;
        for question in questions {
            match question.part {
                Part::Traces(tracer) => {
                    self.trace_apart(&mut open, tracer, (most, most_of_trace))?;
                }
                Part::Receipts => self.ask_for_receipts(&rpc, &mut open, &question)?,
                _ => {
                    let asked = self.ask_alone(&rpc, &mut open, &question);
                    asked.map_err(|failure| self.failed(failure))?;
                }
            }
        }
        let booked = vec![self.book(open)?];
        let settled = self.settle(&rpc, booked)?.pop();
        settled.ok_or_else(|| query.missing())
    }

    fn ask_alone(
        &self,
        rpc: &Rpc,
        open: &mut OpenBlock,
        question: &Question,
    ) -> Result<(), Failure> {
        let answers = self.answers(rpc, slice::from_ref(open), slice::from_ref(question))?;
        for (answer, bytes) in answers {
            open.take(answer, bytes);
        }
        Ok(())
    }

    /// Asks for the receipts of a block together, else one by one.
    fn ask_for_receipts(
        &self,
        rpc: &Rpc,
        open: &mut OpenBlock,
        together: &Question,
    ) -> Result<(), SourceError> {
        match self.ask_alone(rpc, open, together) {
            Err(
                Failure::NoBlockReceipts
                | Failure::FewReceipts(_)
                | Failure::TooLarge(_)
                | Failure::Source(SourceError::TooLarge { .. }),
            ) => {}
            asked => return asked.map_err(|failure| self.failed(failure)),
        }
        for question in open.single_receipts(0) {
            let asked = self.ask_alone(rpc, open, &question);
            asked.map_err(|failure| self.failed(failure))?;
        }
        Ok(())
    }

    /// True if a node that did not answer a question answers others: a question may take a node so much memory that it ends.
    pub(super) fn answers_others(&self, error: &SourceError) -> bool {
        matches!(error, SourceError::Unreachable { .. }) && self.name(&json!("latest")).is_ok()
    }

    /// Asks once; where the node is asked too often, again after the pauses that it wants.
    fn ask_once<T>(
        &self,
        most: u64,
        ask: impl Fn(&Rpc) -> Result<T, SourceError>,
    ) -> Result<T, SourceError> {
        let rpc = self.rpc.with_max_bytes(most);
        match ask(&rpc.without_retries()) {
            Err(error) if says(&error, &["asked too often"]) => ask(&rpc),
            asked => asked,
        }
    }

    /// Asks for the calls of each transaction of a block, and for the balances before and after one whose calls the node cannot
    /// state.
    fn trace_apart(
        &self,
        open: &mut OpenBlock,
        tracer: Tracer,
        (most, most_of_trace): (u64, u64),
    ) -> Result<(), SourceError> {
        let (mut stated, mut untraced) = (Vec::new(), Vec::new());
        let mut failures = Failures::default();
        for transaction in &open.answers.block.transactions {
            let hash = transaction.hash.0;
            if failures.are_many() {
                untraced.push(Untraced { hash, changes: None });
                continue;
            }
            match self.ask_once(most_of_trace, |rpc| self.trace_of(rpc, open, tracer, &hash)) {
                // The comparison with the block decides which transactions may have none.
                Ok(trace) => stated.extend(trace),
                Err(error) if asks_too_much(&error) || self.answers_others(&error) => {
                    failures.add(error);
                    untraced.push(Untraced { hash, changes: None });
                }
                Err(error) => return Err(error),
            }
        }
        if let Some(error) = failures.first {
            self.ask_for_changes(most, tracer, &mut untraced)?;
            let block = &open.answers.block;
            // A node that went away is not one that cannot trace.
            if self.hash_at(block.number.0)? != Some(block.hash.0) {
                return Err(open.left_the_chain());
            }
            let (height, transactions) = (block.number.0, untraced.len());
            let lacking = untraced.iter().filter(|it| it.changes.is_none()).count();
            tracing::warn!(
                height, transactions, lacking, %error,
                "the node cannot trace some transactions of a block: what moved inside of them is read from changes of \
                 balances, and lacks where these do not show it"
            );
        }
        (open.answers.traces, open.answers.untraced) = (Some(stated), untraced);
        Ok(())
    }

    /// Asks for the balances before and after transactions.
    fn ask_for_changes(
        &self,
        most: u64,
        tracer: Tracer,
        untraced: &mut [Untraced],
    ) -> Result<(), SourceError> {
        let mut failures = Failures::default();
        for transaction in untraced {
            for attempt in 1..=ATTEMPTS {
                if failures.are_many() {
                    return Ok(());
                }
                let hash = &transaction.hash;
                match self.ask_once(most, |rpc| self.changes_of(rpc, tracer, hash)) {
                    Ok(changes) => {
                        transaction.changes = Some(changes);
                        break;
                    }
                    Err(error) if is_final(&error) => {
                        failures.add(error);
                        break;
                    }
                    Err(error @ SourceError::Refused { .. }) if attempt == ATTEMPTS => {
                        failures.add(error);
                    }
                    Err(SourceError::Refused { .. }) => {}
                    Err(error) if !asks_too_much(&error) && !self.answers_others(&error) => {
                        return Err(error);
                    }
                    Err(error) if attempt == ATTEMPTS => failures.add(error),
                    Err(_) => {}
                }
            }
        }
        Ok(())
    }

    /// The balances before and after a transaction.
    fn changes_of(
        &self,
        rpc: &Rpc,
        tracer: Tracer,
        hash: &[u8; 32],
    ) -> Result<BalanceChanges, SourceError> {
        let (method, params) = changes_question(tracer, hash);
        let what = format!("{method} {}", verify::text(hash));
        let result = rpc.call(method, &params)?.map_err(|error| self.rpc.refused(&what, error))?;
        BalanceChanges::read(tracer, result.get()).map_err(|reason| self.invalid(&what, reason))
    }

    /// The calls of a transaction; `None` if the node states none.
    fn trace_of(
        &self,
        rpc: &Rpc,
        open: &OpenBlock,
        tracer: Tracer,
        hash: &[u8; 32],
    ) -> Result<Option<TransactionTrace>, SourceError> {
        let (method, params) = transaction_question(tracer, hash);
        let what = format!("{method} {}", verify::text(hash));
        let result = rpc.call(method, &params)?.map_err(|error| self.rpc.refused(&what, error))?;
        if result.get() == "null" {
            return Err(open.left_the_chain());
        }
        let read = match tracer {
            Tracer::Parity => trace::of_trace_block(result.get()),
            _ => trace::of_call(result.get(), hash).map(|trace| vec![trace]),
        };
        let mut stated = read.map_err(|reason| self.invalid(&what, reason))?;
        if stated.len() > 1 {
            return Err(self.invalid(&what, "there are calls of several transactions".to_owned()));
        }
        let trace = stated.pop();
        let block = trace.as_ref().and_then(|trace| trace.block);
        if block.is_some_and(|block| block != open.answers.block.hash.0) {
            return Err(open.left_the_chain());
        }
        Ok(trace)
    }
}

/// The method and parameters by which a tracer is asked about a transaction.
fn transaction_question(tracer: Tracer, hash: &[u8; 32]) -> (&'static str, Value) {
    let hash = verify::text(hash);
    match tracer {
        Tracer::Parity => ("trace_transaction", json!([hash])),
        _ => ("debug_traceTransaction", json!([hash, super::fetch::call_tracer_options()])),
    }
}

/// True if the node would fail in the same way again.
fn is_final(error: &SourceError) -> bool {
    match error {
        SourceError::TooLarge { .. }
        | SourceError::InvalidData { .. }
        | SourceError::Unreadable { .. } => true,
        SourceError::Refused { code, message, .. } => {
            let refusal = NodeError { code: *code, message: message.clone() };
            refusal.is_not_offered() || refusal.is_too_large()
        }
        _ => false,
    }
}

/// The method and parameters by which a tracer is asked for the balances before and after a transaction.
fn changes_question(tracer: Tracer, hash: &[u8; 32]) -> (&'static str, Value) {
    let hash = verify::text(hash);
    if tracer == Tracer::Parity {
        return ("trace_replayTransaction", json!([hash, ["stateDiff"]]));
    }
    let options = json!({ "diffMode": true, "disableCode": true, "disableStorage": true });
    let tracer = json!({ "tracer": "prestateTracer", "tracerConfig": options, "timeout": "60s" });
    ("debug_traceTransaction", json!([hash, tracer]))
}
