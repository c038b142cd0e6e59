//! Step by step to where the source stands: forwards, and back where it was reorganised.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use assay_graph::{DEEPEST_REORGANISATION, Graph, GraphError, GraphWriter};
use assay_system::Clock;
use assay_telemetry::stage;
use tracing::Instrument;

use super::{IngestError, IngestReport, IngestRequest, Watch, reader::Reader};
use crate::SourceError;

/// How long to wait after a failure that may pass; after each further one twice as long...
const FIRST_WAIT: Duration = Duration::from_secs(1);
/// ...up to this.
const LONGEST_WAIT: Duration = Duration::from_mins(1);
/// How often a source that contradicts itself is asked again, where nobody waits for new blocks.
pub(super) const RETRIES: u32 = 3;

/// Ingesting under way.
pub(super) struct Run<'a> {
    pub(super) request: IngestRequest,
    pub(super) start: u64,
    pub(super) backfill: bool,
    pub(super) reader: Reader,
    pub(super) writer: Box<dyn GraphWriter>,
    pub(super) graph: Arc<dyn Graph>,
    pub(super) clock: &'a Clock,
    pub(super) watch: &'a dyn Watch,
    pub(super) report: IngestReport,
    /// Blocks to ask for at once.
    pub(super) batch: usize,
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
    pub(super) async fn finish(mut self) -> Result<IngestReport, IngestError> {
        let (mut wait, mut failed) = (FIRST_WAIT, 0);
        loop {
            let stage = stage!("ingest", chain = self.request.chain.info().id);
            let error = match (self.step().instrument(stage).await, self.request.follow) {
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
        Err(GraphError::TooDeep { chain, height: lowest }.into())
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
