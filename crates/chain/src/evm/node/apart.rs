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
    rpc::Rpc,
};

/// Number of transactions that may fail before the others of their block are not asked about in the same way any more, because each
/// failure may take as long as the node works on a request.
const MOST_FAILURES: usize = 4;

/// Number of attempts at a block for which the node takes too long, before the block is recorded without what is missing. A busy node
/// may be faster later: with the pauses between them, ten attempts take more than five minutes.
const MOST_SLOW_ATTEMPTS: u32 = 10;

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
    number: usize,
    first: Option<SourceError>,
    /// The first one that is a matter of time, in words.
    slow: Option<String>,
}

impl Failures {
    fn are_many(&self) -> bool {
        self.number >= MOST_FAILURES
    }

    fn add(&mut self, error: SourceError) {
        self.number += 1;
        if is_too_slow(&error) {
            self.slow.get_or_insert_with(|| error.to_string());
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
        self.close(open)
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

    /// Asks for the calls of each transaction of a block, and for the balances before and after one whose calls the node cannot
    /// state.
    fn trace_apart(
        &self,
        open: &mut OpenBlock,
        tracer: Tracer,
        (most, most_of_trace): (u64, u64),
    ) -> Result<(), SourceError> {
        let rpc = self.rpc.with_max_bytes(most_of_trace).without_retries();
        let (mut stated, mut untraced) = (Vec::new(), Vec::new());
        let mut failures = Failures::default();
        for transaction in &open.answers.block.transactions {
            let hash = transaction.hash.0;
            if failures.are_many() {
                untraced.push(Untraced { hash, changes: None });
                continue;
            }
            match self.trace_of(&rpc, open, tracer, &hash) {
                // The comparison with the block decides which transactions may have none.
                Ok(trace) => stated.extend(trace),
                Err(error) if asks_too_much(&error) => {
                    failures.add(error);
                    untraced.push(Untraced { hash, changes: None });
                }
                Err(error) => return Err(error),
            }
        }
        if !untraced.is_empty() {
            let rpc = self.rpc.with_max_bytes(most).without_retries();
            self.ask_for_changes(&rpc, tracer, &mut untraced, &mut failures)?;
            self.accept_failures(open, &untraced, failures)?;
        }
        (open.answers.traces, open.answers.untraced) = (Some(stated), untraced);
        Ok(())
    }

    /// Asks for the balances before and after transactions.
    fn ask_for_changes(
        &self,
        rpc: &Rpc,
        tracer: Tracer,
        untraced: &mut [Untraced],
        failures: &mut Failures,
    ) -> Result<(), SourceError> {
        let already = failures.number;
        for transaction in untraced {
            if failures.number - already >= MOST_FAILURES {
                break;
            }
            match self.changes_of(rpc, tracer, &transaction.hash) {
                Ok(changes) => transaction.changes = Some(changes),
                Err(error @ (SourceError::Refused { .. } | SourceError::InvalidData { .. })) => {
                    failures.add(error);
                }
                Err(error) if asks_too_much(&error) => failures.add(error),
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Accepts that transactions of a block are recorded without what moved inside of them.
    ///
    /// # Errors
    ///
    /// Returns an error if the node may still state it.
    fn accept_failures(
        &self,
        open: &OpenBlock,
        untraced: &[Untraced],
        failures: Failures,
    ) -> Result<(), SourceError> {
        let block = &open.answers.block;
        // A node that went away is not one that cannot trace.
        if self.hash_at(block.number.0)? != Some(block.hash.0) {
            return Err(open.left_the_chain());
        }
        let height = block.number.0;
        let lacking = untraced.iter().filter(|transaction| transaction.changes.is_none()).count();
        if lacking > 0
            && let Some(error) = failures.slow
        {
            let attempt = self.count_slow_attempt(block.hash.0);
            if attempt < MOST_SLOW_ATTEMPTS {
                let reason = format!(
                    "it takes too long to state the calls of transactions of block {height}, which is recorded without \
                     them after {MOST_SLOW_ATTEMPTS} attempts, and this was number {attempt}: {error}"
                );
                return Err(SourceError::Unreachable { url: self.rpc.url().to_owned(), reason });
            }
        }
        if let Some(error) = failures.first {
            let by_balances = untraced.len() - lacking;
            tracing::warn!(
                height, by_balances, lacking, %error,
                "the node cannot trace some transactions of a block: what moved inside of them is read from changes of \
                 balances, and lacks where the node does not state these"
            );
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
