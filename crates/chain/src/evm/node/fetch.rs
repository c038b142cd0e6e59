//! A node's answers about blocks, asked for in batches.

use std::{
    slice,
    sync::{
        OnceLock,
        atomic::{AtomicBool, Ordering},
    },
};

use assay_address::ChainId;
use assay_graph::account::AccountBlock;
use ruint::aliases::U256;
use serde::de::IgnoredAny;
use serde_json::{Value, json, value::RawValue};

use super::code::{BookedAnswers, KnownCode};
use crate::{
    SourceError, TipRef, Tracer,
    evm::{
        EvmParams, GenesisAllocation,
        answer::{BlockAnswer, BlockName, ReceiptAnswer, TransactionAnswer},
        block::BlockAnswers,
        dao,
        hex::Amount,
        params::{BlockRewards, CoinLogs},
        trace::{self, TransactionTrace},
        verify,
    },
    rpc::{NodeError, Rpc},
};

/// Block to fetch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BlockQuery {
    Height(u64),
    Hash([u8; 32]),
}

impl BlockQuery {
    fn method(self) -> &'static str {
        match self {
            Self::Height(_) => "eth_getBlockByNumber",
            Self::Hash(_) => "eth_getBlockByHash",
        }
    }

    fn params(self) -> Value {
        match self {
            Self::Height(height) => json!([format!("0x{height:x}"), true]),
            Self::Hash(hash) => json!([verify::text(&hash), true]),
        }
    }

    /// Describes the block for messages.
    fn named(self) -> String {
        match self {
            Self::Height(height) => format!("about block {height}"),
            Self::Hash(hash) => format!("about block {}", verify::text(&hash)),
        }
    }

    /// The error of a block that the node does not have.
    pub(super) fn missing(self) -> SourceError {
        match self {
            Self::Height(height) => SourceError::NoBlock { height, tip: height.saturating_sub(1) },
            Self::Hash(hash) => SourceError::NotOnChain { hash },
        }
    }
}

/// A block with the number of bytes of the node's answers.
#[derive(Debug)]
pub(super) struct FetchedBlock {
    pub(super) block: AccountBlock,
    pub(super) bytes: usize,
}

/// Fetches blocks from a node.
#[derive(Debug)]
pub(super) struct Fetcher {
    pub(super) chain: ChainId,
    pub(super) params: EvmParams,
    pub(super) rpc: Rpc,
    /// The coins of the first block.
    pub(super) genesis: Option<GenesisAllocation>,
    /// The tracer, once the node was asked.
    tracer: OnceLock<Tracer>,
    /// False once the node refused to give the receipts of a block together.
    has_block_receipts: AtomicBool,
    /// Accounts whose code is known.
    pub(super) code: KnownCode,
}

/// A verified block whose receipts and traces are to come.
pub(super) struct OpenBlock {
    query: BlockQuery,
    pub(super) answers: BlockAnswers,
    /// Balances of accounts of which a fork moved the coins.
    balances: Vec<U256>,
    /// True if the receipts are asked for one by one.
    has_single_receipts: bool,
    bytes: usize,
}

/// A call about an open block.
pub(super) struct Question {
    block: usize,
    method: &'static str,
    params: Value,
    pub(super) part: Part,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    Receipts,
    Receipt,
    Traces(Tracer),
    Uncle,
    Balance,
}

/// An answer to a question.
pub(super) enum Answer {
    Receipts(Vec<ReceiptAnswer>),
    Receipt(Box<ReceiptAnswer>),
    Traces(Vec<TransactionTrace>),
    Uncle(Box<BlockAnswer<IgnoredAny>>),
    Balance(U256),
}

/// An answer with its number of bytes.
type AnswerResult = Result<(Answer, usize), Failure>;

/// Failure of a question.
pub(super) enum Failure {
    /// The node does not have the method that gives the receipts of a block together.
    NoBlockReceipts,
    /// Receipts of a block are missing among those that the node gives together.
    FewReceipts(usize),
    /// The node's answers to a batch would be too large together.
    TooLarge(NodeError),
    Source(SourceError),
}

impl Fetcher {
    pub(super) fn new(chain: ChainId, params: EvmParams, rpc: Rpc, tracer: Option<Tracer>) -> Self {
        let known = OnceLock::new();
        let are_logs_complete =
            params.coin_contract.is_some_and(|coin| coin.logs == CoinLogs::Complete);
        if let Some(tracer) = are_logs_complete.then_some(Tracer::Logs).or(tracer) {
            let _ = known.set(tracer);
        }
        let has_block_receipts = AtomicBool::new(true);
        let code = KnownCode::default();
        Self { chain, params, rpc, genesis: None, tracer: known, has_block_receipts, code }
    }

    /// The tracer; `None` until the node was asked.
    pub(super) fn tracer(&self) -> Option<Tracer> {
        self.tracer.get().copied()
    }

    /// The tracer, for which the node is asked about a block if that is not known. Nobody can trace the first block.
    pub(super) fn tracer_at(
        &self,
        height: u64,
        hash: &[u8; 32],
    ) -> Result<Option<Tracer>, SourceError> {
        if self.tracer().is_some() || height == 0 {
            return Ok(self.tracer());
        }
        let mut found = Tracer::None;
        for tracer in [Tracer::Calls, Tracer::Parity] {
            let Some((method, params)) = trace_question(tracer, height, hash) else { continue };
            // A node that fails at one block has the method all the same.
            match self.rpc.call(method, &params)? {
                Err(error) if error.is_not_offered() => {}
                _ => {
                    found = tracer;
                    break;
                }
            }
        }
        Ok(Some(*self.tracer.get_or_init(|| found)))
    }

    /// The block of a tag or a height, without its content; `None` if there is none.
    pub(super) fn name(&self, block: &Value) -> Result<Option<TipRef>, SourceError> {
        const METHOD: &str = "eth_getBlockByNumber";
        let what = format!("{METHOD} {block}");
        match self.rpc.call(METHOD, &json!([block, false]))? {
            Ok(result) => {
                let name: Option<BlockName> = self.rpc.read(&what, &result)?;
                Ok(name.map(|name| TipRef { height: name.number.0, hash: name.hash.0 }))
            }
            Err(error) if error.is_absent() => Ok(None),
            Err(error) => Err(self.rpc.refused(&what, error)),
        }
    }

    /// The hash of the block at a height; `None` if there is none.
    pub(super) fn hash_at(&self, height: u64) -> Result<Option<[u8; 32]>, SourceError> {
        let number = format!("0x{height:x}");
        match self.name(&json!(number))? {
            Some(named) if named.height != height => {
                let what = format!("eth_getBlockByNumber {number}");
                Err(self.invalid(&what, format!("it is block {}", named.height)))
            }
            named => Ok(named.map(|named| named.hash)),
        }
    }

    /// Fetches blocks together, each response of at most `most` bytes. Returns a result for each block, in order, or one error
    /// for all.
    pub(super) fn fetch(
        &self,
        wanted: &[BlockQuery],
        most: u64,
    ) -> Vec<Result<FetchedBlock, SourceError>> {
        let rpc = self.rpc.with_max_bytes(most);
        let opened = match self.open(&rpc, wanted, most) {
            Ok(opened) => opened,
            Err(error) => return vec![Err(error)],
        };
        // Blocks after a failed one cannot be used.
        let mut failed = None;
        let mut open = Vec::with_capacity(opened.len());
        for block in opened {
            match block {
                Ok(block) => open.push(block),
                Err(error) => {
                    failed = Some(error);
                    break;
                }
            }
        }
        if let Err(error) = self.complete(&rpc, &mut open) {
            return vec![Err(error)];
        }
        let mut booked = Vec::with_capacity(open.len());
        for block in open {
            match self.book(block) {
                Ok(block) => booked.push(block),
                Err(error) => {
                    failed = Some(error);
                    break;
                }
            }
        }
        match self.settle(&rpc, booked) {
            Ok(fetched) => fetched.into_iter().map(Ok).chain(failed.map(Err)).collect(),
            Err(error) => vec![Err(error)],
        }
    }

    /// Asks for blocks, and compares each with its hash.
    pub(super) fn open(
        &self,
        rpc: &Rpc,
        wanted: &[BlockQuery],
        most: u64,
    ) -> Result<Vec<Result<OpenBlock, SourceError>>, SourceError> {
        let params: Vec<_> = wanted.iter().map(|query| query.params()).collect();
        let calls: Vec<_> =
            wanted.iter().zip(&params).map(|(query, params)| (query.method(), params)).collect();
        let read = |place: usize, reply: Result<&RawValue, NodeError>| {
            let query = wanted.get(place)?;
            Some(match reply {
                Err(error) if error.is_too_large() => {
                    Err(SourceError::TooLarge { url: rpc.url().to_owned(), most })
                }
                reply => self.open_block(*query, reply),
            })
        };
        Ok(rpc.call_all(&calls, read)?.into_iter().flatten().collect())
    }

    fn open_block(
        &self,
        query: BlockQuery,
        reply: Result<&RawValue, NodeError>,
    ) -> Result<OpenBlock, SourceError> {
        let what = query.named();
        let result = reply.map_err(|error| self.refused(query, error))?;
        let block: Option<BlockAnswer<TransactionAnswer>> = self.rpc.read(&what, result)?;
        let block = block.ok_or_else(|| query.missing())?;
        let invalid = |reason| self.invalid(&what, reason);
        match query {
            BlockQuery::Height(height) if height != block.number.0 => {
                return Err(invalid(format!("it is block {}", block.number.0)));
            }
            BlockQuery::Hash(hash) if hash != block.hash.0 => {
                return Err(invalid(format!("it is block {}", verify::text(&block.hash.0))));
            }
            _ => {}
        }
        let json = result.get();
        let answers = BlockAnswers::of_block(&self.params, block, json).map_err(invalid)?;
        let (balances, bytes) = (Vec::new(), json.len());
        Ok(OpenBlock { query, answers, balances, has_single_receipts: false, bytes })
    }

    /// Asks for receipts, traces and uncles of blocks.
    fn complete(&self, rpc: &Rpc, open: &mut [OpenBlock]) -> Result<(), SourceError> {
        loop {
            let mut questions = Vec::new();
            for (index, block) in open.iter().enumerate() {
                self.ask_about(index, block, &mut questions)?;
            }
            if questions.is_empty() {
                return Ok(());
            }
            match self.answers(rpc, open, &questions) {
                Ok(answers) => {
                    for (question, (answer, bytes)) in questions.iter().zip(answers) {
                        if let Some(block) = open.get_mut(question.block) {
                            block.take(answer, bytes);
                        }
                    }
                    return Ok(());
                }
                Err(Failure::NoBlockReceipts) => {
                    self.has_block_receipts.store(false, Ordering::Relaxed);
                }
                Err(Failure::FewReceipts(index)) => {
                    if let Some(block) = open.get_mut(index) {
                        block.has_single_receipts = true;
                    }
                }
                Err(failure) => {
                    let (error, open) = (self.failed(failure), open.first());
                    return Err(self.absence_explained(error, open));
                }
            }
        }
    }

    /// Adds the questions about a block.
    pub(super) fn ask_about(
        &self,
        index: usize,
        open: &OpenBlock,
        questions: &mut Vec<Question>,
    ) -> Result<(), SourceError> {
        let block = &open.answers.block;
        let hash = verify::text(&block.hash.0);
        let mut ask = |part, method, params| {
            questions.push(Question { block: index, method, params, part });
        };
        if !block.transactions.is_empty() {
            if self.has_block_receipts.load(Ordering::Relaxed) && !open.has_single_receipts {
                ask(Part::Receipts, "eth_getBlockReceipts", json!([hash]));
            } else {
                for Question { part, method, params, .. } in open.single_receipts(index) {
                    ask(part, method, params);
                }
            }
            let tracer = self.tracer_at(block.number.0, &block.hash.0)?.unwrap_or(Tracer::None);
            if let Some((method, params)) = trace_question(tracer, block.number.0, &block.hash.0) {
                ask(Part::Traces(tracer), method, params);
            }
        }
        if self.params.rewards != BlockRewards::None && !block.difficulty.0.is_zero() {
            for number in 0..block.uncles.len() {
                let params = json!([hash, format!("0x{number:x}")]);
                ask(Part::Uncle, "eth_getUncleByBlockHashAndIndex", params);
            }
        }
        if let Some((before, accounts)) = dao::drained(self.chain, block) {
            for account in accounts {
                let params = json!([account.to_string(), format!("0x{before:x}")]);
                ask(Part::Balance, "eth_getBalance", params);
            }
        }
        Ok(())
    }

    pub(super) fn answers(
        &self,
        rpc: &Rpc,
        open: &[OpenBlock],
        questions: &[Question],
    ) -> Result<Vec<(Answer, usize)>, Failure> {
        /// Number of calls of a batch, below the limits of nodes and their providers.
        const CALLS_A_REQUEST: usize = 100;
        let mut answers = Vec::with_capacity(questions.len());
        for questions in questions.chunks(CALLS_A_REQUEST) {
            let replies = self.ask(rpc, open, questions)?;
            for (question, reply) in questions.iter().zip(replies) {
                match reply {
                    Err(Failure::TooLarge(_)) if questions.len() > 1 => {
                        let alone = self.ask(rpc, open, slice::from_ref(question))?;
                        for reply in alone {
                            answers.push(reply?);
                        }
                    }
                    reply => answers.push(reply?),
                }
            }
        }
        Ok(answers)
    }

    /// Asks questions in one batch.
    fn ask(
        &self,
        rpc: &Rpc,
        open: &[OpenBlock],
        questions: &[Question],
    ) -> Result<Vec<AnswerResult>, Failure> {
        let calls: Vec<_> = questions.iter().map(|it| (it.method, &it.params)).collect();
        let read = |place: usize, reply: Result<&RawValue, NodeError>| {
            let question = questions.get(place)?;
            Some(self.answer(open.get(question.block)?, question, reply))
        };
        let replies = rpc.call_all(&calls, read).map_err(Failure::Source)?;
        Ok(replies.into_iter().flatten().collect())
    }

    fn answer(
        &self,
        open: &OpenBlock,
        question: &Question,
        reply: Result<&RawValue, NodeError>,
    ) -> AnswerResult {
        let what = format!("{} {}", question.method, open.query.named());
        let result = match reply {
            Ok(result) => result,
            Err(error) if question.part == Part::Receipts && error.is_not_offered() => {
                return Err(Failure::NoBlockReceipts);
            }
            Err(error) if error.is_too_large() => return Err(Failure::TooLarge(error)),
            // The hash was known a moment ago.
            Err(error) if error.is_absent() => return Err(Failure::Source(open.left_the_chain())),
            Err(error) => return Err(Failure::Source(self.rpc.refused(&what, error))),
        };
        let absent = || Failure::Source(open.left_the_chain());
        let answer = match question.part {
            Part::Receipts => {
                let receipts: Vec<ReceiptAnswer> = self.read(&what, result)?.ok_or_else(absent)?;
                // Some nodes leave receipts of transactions out that only their chain has.
                if receipts.len() < open.answers.block.transactions.len() && !receipts.is_empty() {
                    return Err(Failure::FewReceipts(question.block));
                }
                Answer::Receipts(receipts)
            }
            Part::Receipt => Answer::Receipt(self.read(&what, result)?.ok_or_else(absent)?),
            Part::Balance => {
                let Amount(balance) = self.read(&what, result)?.ok_or_else(absent)?;
                Answer::Balance(balance)
            }
            Part::Uncle => Answer::Uncle(self.read(&what, result)?.ok_or_else(absent)?),
            Part::Traces(_) if result.get() == "null" => return Err(absent()),
            Part::Traces(tracer) => {
                let read = match tracer {
                    Tracer::Parity => trace::of_trace_block(result.get()),
                    _ => trace::of_call_tracer(result.get()),
                };
                let invalid = |reason| Failure::Source(self.invalid(&what, reason));
                let stated = read.map_err(invalid)?;
                // Asked for by its height, another branch may have taken its place.
                let is_other = |trace: &TransactionTrace| {
                    trace.block.is_some_and(|block| block != open.answers.block.hash.0)
                };
                if stated.iter().any(is_other) {
                    return Err(absent());
                }
                Answer::Traces(stated)
            }
        };
        Ok((answer, result.get().len()))
    }

    fn read<T: serde::de::DeserializeOwned>(
        &self,
        what: &str,
        result: &RawValue,
    ) -> Result<Option<T>, Failure> {
        self.rpc.read(what, result).map_err(Failure::Source)
    }

    /// Makes the block of the answers about it, of which the contracts are still to be told.
    pub(super) fn book(&self, open: OpenBlock) -> Result<BookedAnswers, SourceError> {
        let OpenBlock { query, mut answers, balances, bytes, .. } = open;
        let invalid = |reason| self.invalid(&query.named(), reason);
        if let Some(genesis) = self.genesis.as_ref().filter(|_| answers.block.number.0 == 0) {
            genesis.check(&answers.block.state_root.0).map_err(invalid)?;
            answers.by_rule.extend(genesis.transfers());
        }
        answers.by_rule.extend(dao::transfers(&balances));
        let booked = answers.into_block(self.chain, &self.params).map_err(invalid)?;
        Ok(BookedAnswers { booked, bytes })
    }

    /// The error of a node that does not have a block far below its newest one; `None` for a newer block, which nodes behind
    /// one address may not have yet.
    pub(super) fn pruned(&self, height: u64, newest: u64) -> Option<SourceError> {
        const LAG: u64 = 64;
        let url = || self.rpc.url().to_owned();
        (newest.saturating_sub(height) > LAG).then(|| SourceError::Pruned {
            url: url(),
            height,
            newest,
        })
    }

    /// Tells a block of which the node has not all parts from one that left the chain.
    fn absence_explained(&self, error: SourceError, block: Option<&OpenBlock>) -> SourceError {
        let (SourceError::NotOnChain { hash }, Some(open)) = (&error, block) else { return error };
        let block = &open.answers.block;
        let is_on_chain = block.hash.0 == *hash
            && matches!(self.hash_at(block.number.0), Ok(Some(found)) if found == *hash);
        let Ok(Some(newest)) = self.name(&json!("latest")) else { return error };
        let pruned = self.pruned(block.number.0, newest.height).filter(|_| is_on_chain);
        pruned.unwrap_or(error)
    }

    /// The error of a question that cannot be asked otherwise.
    pub(super) fn failed(&self, failure: Failure) -> SourceError {
        match failure {
            Failure::TooLarge(error) => self.rpc.refused("receipts and traces", error),
            Failure::NoBlockReceipts | Failure::FewReceipts(_) => {
                let reason = "it does not give all receipts of a block".to_owned();
                self.invalid("eth_getBlockReceipts", reason)
            }
            Failure::Source(error) => error,
        }
    }

    fn refused(&self, query: BlockQuery, error: NodeError) -> SourceError {
        if error.is_absent() {
            return query.missing();
        }
        self.rpc.refused(&format!("{} {}", query.method(), query.named()), error)
    }

    pub(super) fn invalid(&self, what: &str, reason: String) -> SourceError {
        SourceError::InvalidData { url: self.rpc.url().to_owned(), what: what.to_owned(), reason }
    }
}

impl OpenBlock {
    pub(super) fn take(&mut self, answer: Answer, bytes: usize) {
        self.bytes += bytes;
        match answer {
            Answer::Receipts(receipts) => self.answers.receipts = receipts,
            Answer::Receipt(receipt) => self.answers.receipts.push(*receipt),
            Answer::Traces(traces) => self.answers.traces = Some(traces),
            Answer::Uncle(uncle) => self.answers.uncles.push(*uncle),
            Answer::Balance(balance) => self.balances.push(balance),
        }
    }

    /// The questions for the receipts one by one.
    pub(super) fn single_receipts(&self, block: usize) -> Vec<Question> {
        let transactions = self.answers.block.transactions.iter();
        let question = |transaction: &TransactionAnswer| {
            let params = json!([verify::text(&transaction.hash.0)]);
            let method = "eth_getTransactionReceipt";
            Question { block, method, params, part: Part::Receipt }
        };
        transactions.map(question).collect()
    }

    /// The error of a block that the node does not have any more.
    pub(super) fn left_the_chain(&self) -> SourceError {
        SourceError::NotOnChain { hash: self.answers.block.hash.0 }
    }
}

/// The method and parameters by which a tracer is asked about a block; `None` without a tracer.
fn trace_question(tracer: Tracer, height: u64, hash: &[u8; 32]) -> Option<(&'static str, Value)> {
    match tracer {
        Tracer::Calls => {
            let params = json!([verify::text(hash), call_tracer_options()]);
            Some(("debug_traceBlockByHash", params))
        }
        // The answer names the block, by which it is compared.
        Tracer::Parity => Some(("trace_block", json!([format!("0x{height:x}")]))),
        Tracer::Logs | Tracer::TransactionInfo | Tracer::None => None,
    }
}

/// The parameters of the call tracer. The default of geth, five seconds a transaction, is short for a busy node.
pub(super) fn call_tracer_options() -> Value {
    json!({ "tracer": "callTracer", "tracerConfig": { "withLog": true }, "timeout": "60s" })
}
