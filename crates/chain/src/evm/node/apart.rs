//! A block that is asked for in small parts, after its answers were too large or took the node too long: anybody can cause that with one
//! transaction. A transaction that the node cannot trace by itself leaves a gap, which the block states.

use std::slice;

use serde_json::{Value, json};

use super::fetch::{BlockQuery, Failure, FetchedBlock, Fetcher, OpenBlock, Part, Question};
use crate::{
    SourceError, Tracer,
    evm::{
        trace::{self, TransactionTrace},
        verify,
    },
    rpc::Rpc,
};

/// Number of transactions that may fail before the others of their block are not traced any more, because each failure may take as
/// long as the node works on a request.
const MOST_FAILURES: usize = 4;

/// True if a node may answer a smaller question than the one that failed.
pub(super) fn asks_too_much(error: &SourceError) -> bool {
    const SAYS: [&str; 7] = [
        "too large",
        "size exceeded",
        "timeout",
        "timed out",
        "deadline exceeded",
        "it is slow",
        "(504)",
    ];
    let said = match error {
        SourceError::TooLarge { .. } => return true,
        SourceError::Refused { message: said, .. }
        | SourceError::Unreachable { reason: said, .. }
        | SourceError::InvalidData { reason: said, .. } => said.to_ascii_lowercase(),
        _ => return false,
    };
    // A node that is away gets no smaller question.
    !said.contains("connect") && SAYS.iter().any(|words| said.contains(words))
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
                Part::Traces(tracer) => self.trace_apart(&mut open, tracer, most_of_trace)?,
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

    /// Asks for the calls of each transaction of a block.
    fn trace_apart(
        &self,
        open: &mut OpenBlock,
        tracer: Tracer,
        most: u64,
    ) -> Result<(), SourceError> {
        let rpc = self.rpc.with_max_bytes(most).without_retries();
        let mut stated = Vec::new();
        let (mut untraced, mut failure) = (Vec::new(), None);
        for transaction in &open.answers.block.transactions {
            let hash = transaction.hash.0;
            if untraced.len() >= MOST_FAILURES {
                untraced.push(hash);
                continue;
            }
            match self.trace_of(&rpc, open, tracer, &hash) {
                Ok(Some(trace)) => stated.push(trace),
                // The comparison with the block decides which transactions may have none.
                Ok(None) => {}
                Err(error) if asks_too_much(&error) => {
                    untraced.push(hash);
                    failure.get_or_insert(error);
                }
                Err(error) => return Err(error),
            }
        }
        let block = &open.answers.block;
        if let Some(error) = failure {
            // A node that went away is not one that cannot trace.
            if self.hash_at(block.number.0)? != Some(block.hash.0) {
                return Err(open.left_the_chain());
            }
            let (height, transactions) = (block.number.0, untraced.len());
            tracing::warn!(
                height, transactions, %error,
                "the node cannot trace some transactions of a block: transfers inside of them are not read"
            );
        }
        (open.answers.traces, open.answers.untraced) = (Some(stated), untraced);
        Ok(())
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
