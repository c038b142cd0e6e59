//! Blocks into a graph: backfill, then following the chain through its reorganisations.
//!
//! Every batch of blocks is one transaction with the cursor in it, so that whatever ends the program,
//! the graph holds a whole beginning of the chain and goes on from there.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use assay_engine::{
    chain::ChainId,
    coinjoin::{JointCandidate, Part, classify},
    coins::TransactionKind,
};
use assay_ingest::chain::{
    BlockHead, BlockSource, ChainBlock, Portion, SourceError, TipRef,
    resolve::{ResolveError, ResolvedTransaction, Resolver, wanted},
};
use assay_store::{
    Store, StoreError,
    graph::{
        BlockRef, Coin, DEEPEST_REORGANISATION, Graph, GraphBlock, GraphInput, GraphTransaction,
        GraphWriter, WriterOptions,
    },
};
use jiff::Timestamp;
use serde::Serialize;

use crate::system::Clock;

/// Blocks behind from which on it pays to load first and index afterwards.
const BACKFILL_FROM: u64 = 5_000;
/// Inputs and outputs of one batch: large enough to be fast, small enough for little memory.
const BATCH_LEGS: usize = 60_000;
/// Most blocks of one batch.
const MOST_BLOCKS: usize = 512;
/// How long to wait after a failure that may pass; after each further one twice as long...
const FIRST_WAIT: Duration = Duration::from_secs(1);
/// ...up to this.
const LONGEST_WAIT: Duration = Duration::from_mins(1);
/// How often a source that contradicts itself is asked again, where nobody waits for new blocks.
const RETRIES: u32 = 3;

/// Why a chain could not be ingested. What was recorded before stays.
#[derive(Debug, thiserror::Error)]
pub enum IngestError {
    /// The source failed.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// A block cannot be as the source gives it.
    #[error("nothing of this block was written: {0}")]
    Resolve(#[from] ResolveError),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The source begins after the first block that is missing.
    #[error(
        "the next block is {next}, and the source begins with {first}: blocks in between are missing"
    )]
    Missing {
        /// The block that is needed.
        next: u64,
        /// The first that the source has.
        first: u64,
    },
    /// The source goes on from another block than the newest that is recorded, which it does not have
    /// or says it has too.
    #[error(
        "block {height} does not follow what is recorded: its parent is {}, recorded is block {} {}. \
         Give a source that holds block {} as well, or remove the graph and ingest anew",
        hex::encode(parent), recorded.height, hex::encode(recorded.hash), recorded.height
    )]
    Unconnected {
        /// The block's height.
        height: u64,
        /// What it names as the block before it.
        parent: [u8; 32],
        /// The newest block that is recorded.
        recorded: BlockRef,
    },
    /// A thread that read blocks ended by itself.
    #[error("the reader of blocks ended unexpectedly")]
    Reader,
}

/// What to ingest.
#[derive(Clone, Copy, Debug)]
pub struct IngestRequest {
    /// The chain.
    pub chain: ChainId,
    /// The first block; the first that the source has where left out.
    pub from: Option<u64>,
    /// The last block; the newest where left out.
    pub to: Option<u64>,
    /// How often to look for new blocks once the newest is reached; `None` ends there.
    pub follow: Option<Duration>,
    /// Whether the chain is made up.
    pub sample: bool,
}

/// What was ingested.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct IngestReport {
    /// Blocks recorded.
    pub blocks: u64,
    /// Their transactions.
    pub transactions: u64,
    /// The height of the newest block that is recorded now.
    pub tip: Option<u64>,
    /// Reorganisations met: the last height that stayed, and how many blocks went.
    pub reorganisations: Vec<(u64, u64)>,
}

/// Is told how ingesting goes.
pub trait Watch: Send + Sync {
    /// Blocks up to `height` are recorded, of a chain that reaches to `target`.
    fn reached(&self, height: u64, target: u64, blocks: u64);
    /// Something that a person should know.
    fn notice(&self, message: &str);
}

/// Ingests a chain.
///
/// # Errors
///
/// Where the source gives something that cannot be true, or fails for good; and where the store does.
/// A source that is away for a while is waited for where the chain is followed.
pub async fn ingest(
    store: &dyn Store,
    source: Box<dyn BlockSource>,
    request: IngestRequest,
    clock: &Clock,
    watch: &dyn Watch,
) -> Result<IngestReport, IngestError> {
    let reader = Reader(Arc::new(Mutex::new(source)));
    let newest = reader.tip().await?;
    let first = reader.ask(|source| source.first()).await?;
    let start = request.from.unwrap_or(first);
    let known = match store.graph(request.chain).await? {
        Some(graph) => graph.tip().await?,
        None => None,
    };
    let next = known.map_or(start, |tip| tip.block.height + 1);
    if first > next {
        return Err(IngestError::Missing { next, first });
    }
    // Nothing of what is asked for can be recorded.
    if let (None, Some(to)) = (known, request.to.filter(|to| *to < next)) {
        return Err(IngestError::Missing { next: to, first: next });
    }
    if known.is_none() && newest.height < start && request.follow.is_none() {
        return Err(SourceError::NoBlock { height: start, tip: newest.height }.into());
    }
    let target = request.to.map_or(newest.height, |to| to.min(newest.height));
    let options = WriterOptions {
        start: request.from.or(known.map(|tip| tip.start)).unwrap_or(start),
        sample: request.sample,
        backfill: target.saturating_sub(next) >= BACKFILL_FROM,
    };
    let writer = store.graph_writer(request.chain, options).await?;
    let graph = store.graph(request.chain).await?.ok_or(IngestError::Reader)?;
    let run = Run {
        request,
        start: options.start,
        backfill: options.backfill,
        reader,
        writer,
        graph,
        clock,
        watch,
        report: IngestReport::default(),
        batch: 16,
    };
    run.finish().await
}

/// The source, on threads of its own: it blocks.
#[derive(Clone)]
struct Reader(Arc<Mutex<Box<dyn BlockSource>>>);

impl Reader {
    async fn ask<T: Send + 'static>(
        &self,
        what: impl FnOnce(&mut dyn BlockSource) -> Result<T, SourceError> + Send + 'static,
    ) -> Result<T, IngestError> {
        let source = Arc::clone(&self.0);
        let asked = tokio::task::spawn_blocking(move || {
            let mut source = source.lock().unwrap_or_else(PoisonError::into_inner);
            what(&mut **source)
        });
        Ok(asked.await.map_err(|_| IngestError::Reader)??)
    }

    async fn tip(&self) -> Result<TipRef, IngestError> {
        self.ask(|source| source.tip()).await
    }

    async fn hash_at(&self, height: u64) -> Result<Option<[u8; 32]>, IngestError> {
        self.ask(move |source| source.hash_at(height)).await
    }

    async fn blocks(&self, from: u64, most: Portion) -> Result<Vec<ChainBlock>, IngestError> {
        self.ask(move |source| source.blocks(from, most)).await
    }
}

/// Ingesting under way.
struct Run<'a> {
    request: IngestRequest,
    start: u64,
    backfill: bool,
    reader: Reader,
    writer: Box<dyn GraphWriter>,
    graph: Arc<dyn Graph>,
    clock: &'a Clock,
    watch: &'a dyn Watch,
    report: IngestReport,
    /// Blocks to ask for at once.
    batch: usize,
}

/// Where the source stands, compared with the graph.
enum Standing {
    /// There are blocks to record, up to this height.
    Behind(u64),
    /// The graph holds the source's newest block.
    Level,
    /// The source knows less than the graph, and nothing else: it lags.
    Lags,
    /// The source follows another branch from this height on.
    Branched(u64),
}

/// What one step came to.
enum Step {
    /// Something was recorded or taken back, and there may be more.
    Changed,
    /// There is nothing to do for now.
    Done,
    /// There are blocks to record, but they do not follow what is recorded: why.
    Stuck(IngestError),
}

impl Run<'_> {
    async fn finish(mut self) -> Result<IngestReport, IngestError> {
        let (mut wait, mut failed) = (FIRST_WAIT, 0);
        loop {
            let error = match (self.step().await, self.request.follow) {
                (Ok(Step::Changed), _) => {
                    (wait, failed) = (FIRST_WAIT, 0);
                    continue;
                }
                (Ok(Step::Done), None) => break,
                (Ok(Step::Done), Some(every)) => {
                    (wait, failed) = (FIRST_WAIT, 0);
                    tokio::time::sleep(every).await;
                    continue;
                }
                // The source may just have been reorganised: where it stands is looked at once more.
                (Ok(Step::Stuck(_)), _) if failed == 0 => {
                    failed = 1;
                    continue;
                }
                (Ok(Step::Stuck(error)), Some(_)) => error,
                (Err(IngestError::Source(error)), Some(_)) if error.may_pass() => error.into(),
                // The source was reorganised while it was read: what it says now is asked for again.
                (Err(IngestError::Source(error @ SourceError::Gone { .. })), None)
                    if failed < RETRIES =>
                {
                    error.into()
                }
                (Ok(Step::Stuck(error)), None) | (Err(error), _) => return Err(error),
            };
            failed += 1;
            self.watch.notice(&format!("{error}; trying again in {} s", wait.as_secs()));
            tokio::time::sleep(wait).await;
            wait = (wait * 2).min(LONGEST_WAIT);
        }
        self.complete_backfill().await?;
        self.report.tip = self.writer.tip().map(|tip| tip.block.height);
        Ok(self.report)
    }

    /// Records what there is to record.
    async fn step(&mut self) -> Result<Step, IngestError> {
        match self.standing().await? {
            Standing::Behind(target) => {
                let before = self.report.blocks;
                let stopped = self.catch_up(target).await?;
                Ok(match stopped {
                    Some(stray) if self.report.blocks == before => Step::Stuck(stray),
                    _ => Step::Changed,
                })
            }
            Standing::Branched(height) => {
                self.roll_back(height).await?;
                Ok(Step::Changed)
            }
            Standing::Level => {
                self.complete_backfill().await?;
                self.writer.verified(self.clock.now()).await?;
                Ok(Step::Done)
            }
            Standing::Lags => {
                self.watch.notice("the source lags behind what is recorded; waiting for it");
                Ok(Step::Done)
            }
        }
    }

    async fn standing(&mut self) -> Result<Standing, IngestError> {
        let newest = self.reader.tip().await?;
        let Some(tip) = self.writer.tip().map(|tip| tip.block) else {
            if newest.height < self.start {
                let (height, tip) = (self.start, newest.height);
                return Err(SourceError::NoBlock { height, tip }.into());
            }
            return Ok(Standing::Behind(self.target(newest.height)));
        };
        if newest.hash == tip.hash {
            return Ok(Standing::Level);
        }
        let common = newest.height.min(tip.height);
        let theirs = self.reader.hash_at(common).await?;
        let ours = self.graph.blocks(common, common).await?.first().map(|block| block.hash);
        if theirs.is_some() && theirs != ours {
            return self.fork(common).await.map(Standing::Branched);
        }
        let target = self.target(newest.height);
        if target > tip.height {
            Ok(Standing::Behind(target))
        } else if newest.height < tip.height {
            Ok(Standing::Lags)
        } else {
            Ok(Standing::Level)
        }
    }

    fn target(&self, newest: u64) -> u64 {
        self.request.to.map_or(newest, |to| to.min(newest))
    }

    /// The last height at which the source and the graph agree, below one at which they do not.
    async fn fork(&self, differs_at: u64) -> Result<u64, IngestError> {
        let lowest = differs_at.saturating_sub(DEEPEST_REORGANISATION).max(self.start);
        let ours = self.graph.blocks(lowest, differs_at).await?;
        for block in ours.iter().rev().skip(1) {
            if self.reader.hash_at(block.height).await? == Some(block.hash) {
                return Ok(block.height);
            }
        }
        let chain = self.request.chain;
        Err(StoreError::TooDeep { chain, height: lowest }.into())
    }

    async fn roll_back(&mut self, height: u64) -> Result<(), IngestError> {
        let tip = self.writer.tip().map_or(height, |tip| tip.block.height);
        self.writer.roll_back(height).await?;
        let gone = tip.saturating_sub(height);
        self.report.reorganisations.push((height, gone));
        self.watch.notice(&format!(
            "reorganisation: {gone} blocks above {height} are no longer part of the chain and were \
             taken back"
        ));
        Ok(())
    }

    /// Records blocks up to `target`, reading the next ones while some are written. Stops at a block
    /// that does not follow what is recorded then, and says so.
    async fn catch_up(&mut self, target: u64) -> Result<Option<IngestError>, IngestError> {
        let mut next = self.writer.tip().map_or(self.start, |tip| tip.block.height + 1);
        let mut pending: Option<tokio::task::JoinHandle<_>> = None;
        while next <= target {
            let mut blocks = match pending.take() {
                Some(reading) => reading.await.map_err(|_| IngestError::Reader)??,
                None => self.reader.blocks(next, self.most(next, target)).await?,
            };
            let stray = self.cut_stray(&mut blocks);
            let Some(last) = blocks.last().map(|block| block.head.height) else {
                let none = SourceError::NoBlock { height: next, tip: next.saturating_sub(1) };
                return Ok(Some(stray.unwrap_or_else(|| none.into())));
            };
            let legs = blocks.iter().map(ChainBlock::legs).sum();
            self.resize(blocks.len(), legs);
            // Beside much that is written, nothing is read: both may be one large block.
            if last < target && stray.is_none() && legs <= 2 * BATCH_LEGS {
                let (reader, most) = (self.reader.clone(), self.most(last + 1, target));
                pending = Some(tokio::spawn(async move { reader.blocks(last + 1, most).await }));
            }
            self.record(blocks, target).await?;
            if stray.is_some() {
                // Another branch: where the source stands now is looked at anew.
                return Ok(stray);
            }
            next = last + 1;
        }
        Ok(None)
    }

    /// Leaves of these blocks those that follow what is recorded one after the other, and says what is
    /// wrong with the first that does not.
    fn cut_stray(&self, blocks: &mut Vec<ChainBlock>) -> Option<IngestError> {
        let mut before = self.writer.tip().map(|tip| tip.block);
        for (place, block) in blocks.iter().enumerate() {
            let block = block_ref(block);
            if let Some(recorded) = before.filter(|before| before.hash != block.parent) {
                blocks.truncate(place);
                let (height, parent) = (block.height, block.parent);
                return Some(IngestError::Unconnected { height, parent, recorded });
            }
            before = Some(block);
        }
        None
    }

    fn most(&self, from: u64, target: u64) -> Portion {
        let left = usize::try_from(target.saturating_sub(from)).unwrap_or(usize::MAX);
        let blocks = self.batch.min(left.saturating_add(1)).max(1);
        Portion { blocks, legs: BATCH_LEGS }
    }

    /// Asks for more blocks at once while they are small, for fewer when they grow.
    fn resize(&mut self, blocks: usize, legs: usize) {
        let each = (legs / blocks.max(1)).max(1);
        self.batch = (BATCH_LEGS / each).clamp(1, MOST_BLOCKS).min(self.batch * 2);
    }

    /// Records blocks, each of which follows the one before it, in one transaction.
    async fn record(&mut self, blocks: Vec<ChainBlock>, target: u64) -> Result<(), IngestError> {
        let coins = self.writer.coins(&wanted(&blocks)).await?;
        let mut resolver = Resolver::new(self.request.chain, self.start == 0)?;
        let recorded = |output: &_| coins.get(output).map(ingest_coin);
        let mut records = Vec::with_capacity(blocks.len());
        for block in blocks {
            let (chain, time) = (self.request.chain, block.head.time);
            let classify = |transaction: &_| kind_of(chain, time, transaction);
            let place = block_ref(&block);
            let block = resolver.resolve(block, &recorded, &classify)?;
            records.push(GraphBlock {
                block: place,
                transactions: block.transactions.into_iter().map(graph_transaction).collect(),
            });
        }
        let reorganisable_from = target.saturating_sub(DEEPEST_REORGANISATION);
        self.writer.append(&records, reorganisable_from, self.clock.now()).await?;
        let count = u64::try_from(records.len()).unwrap_or(u64::MAX);
        self.report.blocks += count;
        let transactions: usize = records.iter().map(|block| block.transactions.len()).sum();
        self.report.transactions += u64::try_from(transactions).unwrap_or(u64::MAX);
        if let Some(last) = records.last() {
            self.watch.reached(last.block.height, target, count);
        }
        Ok(())
    }

    async fn complete_backfill(&mut self) -> Result<(), IngestError> {
        if self.backfill {
            self.watch.notice("all blocks are in; building indexes");
            let begun = Instant::now();
            self.writer.build_indexes().await?;
            self.backfill = false;
            self.watch.notice(&format!("indexes built in {} s", begun.elapsed().as_secs()));
        }
        Ok(())
    }
}

fn block_ref(block: &ChainBlock) -> BlockRef {
    let BlockHead { height, hash, parent, time } = block.head;
    BlockRef { height, hash, parent, time }
}

/// What a transaction is, other than a coinbase.
fn kind_of(chain: ChainId, time: Timestamp, transaction: &ResolvedTransaction) -> TransactionKind {
    let inputs: Vec<Option<Part<'_>>> =
        transaction.inputs.iter().map(|input| input.coin.as_ref().map(part)).collect();
    let outputs: Vec<Part<'_>> = transaction.outputs.iter().map(part).collect();
    let candidate = JointCandidate { chain, time, inputs: &inputs, outputs: &outputs };
    classify(&candidate).map_or(TransactionKind::Payment, TransactionKind::Coinjoin)
}

fn part(coin: &assay_ingest::chain::Coin) -> Part<'_> {
    Part { holder: &coin.holder, value: coin.value }
}

fn ingest_coin(coin: &Coin) -> assay_ingest::chain::Coin {
    assay_ingest::chain::Coin { holder: coin.holder.clone(), value: coin.value }
}

fn graph_coin(coin: assay_ingest::chain::Coin) -> Coin {
    Coin { holder: coin.holder, value: coin.value }
}

fn graph_transaction(transaction: ResolvedTransaction) -> GraphTransaction {
    GraphTransaction {
        txid: transaction.txid,
        kind: transaction.kind,
        inputs: transaction
            .inputs
            .into_iter()
            .map(|input| GraphInput { output: input.output, coin: input.coin.map(graph_coin) })
            .collect(),
        outputs: transaction.outputs.into_iter().map(graph_coin).collect(),
        unknown: transaction.unknown,
    }
}

#[cfg(test)]
mod tests;
