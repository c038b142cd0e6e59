//! The steps of an ingest: forwards to the source's newest block, and back after a reorganisation.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use assay_graph::{DEEPEST_REORGANISATION, Graph, GraphError, GraphWriter};
use assay_system::Clock;
use assay_telemetry::stage;
use tracing::Instrument;

use super::{
    IngestError, IngestObserver, IngestReport, IngestRequest, Reorganization, reader::Reader,
};
use crate::SourceError;

/// Delay after a transient failure; doubled with each further one...
const FIRST_WAIT: Duration = Duration::from_secs(1);
/// ...up to this.
const LONGEST_WAIT: Duration = Duration::from_mins(1);
/// Retries of an ingest that does not follow the chain, for a source that was reorganised while it was read.
pub(super) const RETRIES: u32 = 3;

/// An ingest in progress.
pub(super) struct Run<'a> {
    pub(super) request: IngestRequest,
    pub(super) start: u64,
    pub(super) backfill: bool,
    pub(super) reader: Reader,
    pub(super) writer: Box<dyn GraphWriter>,
    pub(super) graph: Arc<dyn Graph>,
    pub(super) clock: &'a Clock,
    pub(super) observer: &'a dyn IngestObserver,
    pub(super) report: IngestReport,
    /// Number of blocks in the next batch.
    pub(super) batch: usize,
}

/// The source's newest block compared with the graph's.
enum SourcePosition {
    /// There are blocks to be recorded, up to this height.
    Behind(u64),
    /// The graph has the source's newest block.
    Level,
    /// The source has fewer blocks than the graph, all of them the same.
    Lags,
    /// The source is on another branch above this height.
    Branched(u64),
}

/// The result of a step.
enum Step {
    /// Blocks were recorded or rolled back, and there may be more.
    Changed,
    /// There is nothing to do at present.
    Done,
    /// There are blocks to be recorded, but they do not follow the recorded ones.
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
                // The source may just have been reorganised: compare once more.
                (Ok(Step::Stuck(_)), _) if failed == 0 => {
                    failed = 1;
                    continue;
                }
                (Ok(Step::Stuck(error)), Some(_)) => error,
                (Err(IngestError::Source(error)), Some(_)) if error.is_transient() => error.into(),
                // The source was reorganised while it was read: read it again.
                (Err(IngestError::Source(error @ SourceError::NotOnChain { .. })), None)
                    if failed < RETRIES =>
                {
                    error.into()
                }
                (Ok(Step::Stuck(error)), None) | (Err(error), _) => return Err(error),
            };
            failed += 1;
            self.observer.notice(&format!("{error}; trying again in {} s", wait.as_secs()));
            tokio::time::sleep(wait).await;
            wait = (wait * 2).min(LONGEST_WAIT);
        }
        self.complete_backfill().await?;
        self.report.latest_block_height = self.writer.tip().map(|tip| tip.block.height);
        Ok(self.report)
    }

    /// Records or rolls back blocks, if there are any.
    async fn step(&mut self) -> Result<Step, IngestError> {
        match self.source_position().await? {
            SourcePosition::Behind(target) => {
                let before = self.report.blocks;
                let stopped = self.catch_up(target).await?;
                Ok(match stopped {
                    Some(stray) if self.report.blocks == before => Step::Stuck(stray),
                    _ => Step::Changed,
                })
            }
            SourcePosition::Branched(height) => {
                self.roll_back(height).await?;
                Ok(Step::Changed)
            }
            SourcePosition::Level => {
                self.complete_backfill().await?;
                self.writer.verified(self.clock.now()).await?;
                Ok(Step::Done)
            }
            SourcePosition::Lags => {
                self.observer.notice("the source lags behind what is recorded; waiting for it");
                Ok(Step::Done)
            }
        }
    }

    async fn source_position(&mut self) -> Result<SourcePosition, IngestError> {
        let newest = self.reader.tip().await?;
        let Some(tip) = self.writer.tip().map(|tip| tip.block) else {
            if newest.height < self.start {
                let (height, tip) = (self.start, newest.height);
                return Err(SourceError::NoBlock { height, tip }.into());
            }
            return Ok(SourcePosition::Behind(self.target(newest.height)));
        };
        if newest.hash == tip.hash {
            return Ok(SourcePosition::Level);
        }
        let common = newest.height.min(tip.height);
        let theirs = self.reader.hash_at(common).await?;
        let ours = self.graph.blocks(common, common).await?.first().map(|block| block.hash);
        if theirs.is_some() && theirs != ours {
            return self.fork(common).await.map(SourcePosition::Branched);
        }
        let target = self.target(newest.height);
        if target > tip.height {
            Ok(SourcePosition::Behind(target))
        } else if newest.height < tip.height {
            Ok(SourcePosition::Lags)
        } else {
            Ok(SourcePosition::Level)
        }
    }

    fn target(&self, newest: u64) -> u64 {
        self.request.to.map_or(newest, |to| to.min(newest))
    }

    /// The height of the last block that the source and the graph have in common, below one that differs.
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
        self.report
            .reorganizations
            .push(Reorganization { last_common_height: height, removed_blocks: gone });
        self.observer.notice(&format!(
            "reorganisation: {gone} blocks above {height} are no longer part of the chain and were \
             rolled back"
        ));
        Ok(())
    }

    async fn complete_backfill(&mut self) -> Result<(), IngestError> {
        if self.backfill {
            self.observer.notice("all blocks are in; building indexes");
            let begun = Instant::now();
            self.writer.build_indexes().await?;
            self.backfill = false;
            self.observer.notice(&format!("indexes built in {} s", begun.elapsed().as_secs()));
        }
        Ok(())
    }
}
