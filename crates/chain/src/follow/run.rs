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
    error::{IngestError, RefusedBranch},
    reader::Reader,
    request::{IngestObserver, IngestReport, IngestRequest, Reorganization},
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
    /// The source is on another branch above this height; `None`: from below what can be rolled back.
    Branched(Option<u64>),
}

/// The result of a step.
enum Step {
    /// Blocks were recorded or rolled back, and there may be more.
    Changed,
    /// There is nothing to do at present.
    Done,
    /// There are blocks to be recorded, but they do not follow the recorded ones.
    Stuck(IngestError),
    /// The source is on a branch that the operator has not accepted.
    Refused(Box<RefusedBranch>),
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
                (Ok(Step::Refused(refused)), Some(_)) => {
                    self.observer.branch_refused(Some(&refused));
                    IngestError::RefusedBranch(refused)
                }
                (Ok(Step::Refused(refused)), None) => {
                    return Err(IngestError::RefusedBranch(refused));
                }
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
                self.observer.branch_refused(None);
                let before = self.report.blocks;
                let stopped = self.catch_up(target).await?;
                Ok(match stopped {
                    Some(stray) if self.report.blocks == before => Step::Stuck(stray),
                    _ => Step::Changed,
                })
            }
            SourcePosition::Branched(last_common) => {
                if let Some(refused) = self.refusal(last_common).await? {
                    return Ok(Step::Refused(Box::new(refused)));
                }
                self.observer.branch_refused(None);
                self.roll_back(last_common).await?;
                Ok(Step::Changed)
            }
            SourcePosition::Level => {
                self.observer.branch_refused(None);
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

    /// Why the source's branch, which left the recorded one above `last_common`, is not followed; `None` if it is.
    async fn refusal(
        &self,
        last_common: Option<u64>,
    ) -> Result<Option<RefusedBranch>, IngestError> {
        let chain = self.request.chain;
        let bound = chain.info().reorganization_bound();
        if last_common.is_some_and(|height| self.writer.highest().saturating_sub(height) <= bound) {
            return Ok(None);
        }
        let newest = self.reader.tip().await?;
        let accepted = match self.request.accept_branch {
            Some(accepted) => match self.accepts(accepted, last_common).await? {
                Ok(()) => return Ok(None),
                Err(why) => Some(format!("; the accepted block {} {why}", hex::encode(accepted))),
            },
            None => None,
        };
        let recorded = self.writer.highest();
        Ok(Some(RefusedBranch { chain, last_common, recorded, bound, newest, accepted }))
    }

    /// Says whether a block that the operator accepted is one of the source's branch above the fork, or why not.
    async fn accepts(
        &self,
        accepted: [u8; 32],
        last_common: Option<u64>,
    ) -> Result<Result<(), &'static str>, IngestError> {
        let height = match self.reader.ask(move |source| source.block(&accepted)).await {
            Ok(block) => block.reference.height,
            Err(IngestError::Source(SourceError::NotOnChain { .. })) => {
                return Ok(Err("is not on the source's branch"));
            }
            Err(error) => return Err(error),
        };
        if self.reader.hash_at(height).await? != Some(accepted) {
            return Ok(Err("is not on the source's branch"));
        }
        let is_above = last_common.is_none_or(|last_common| height > last_common);
        Ok(if is_above { Ok(()) } else { Err("is not above the fork") })
    }

    /// The height of the last block that the source and the graph have in common, below one that differs. `None` if it
    /// is below what can be rolled back.
    async fn fork(&self, differs_at: u64) -> Result<Option<u64>, IngestError> {
        let lowest = differs_at.saturating_sub(DEEPEST_REORGANISATION).max(self.start);
        let ours = self.graph.blocks(lowest, differs_at).await?;
        for block in ours.iter().rev().skip(1) {
            if self.reader.hash_at(block.height).await? == Some(block.hash) {
                return Ok(Some(block.height));
            }
        }
        Ok(None)
    }

    async fn roll_back(&mut self, last_common: Option<u64>) -> Result<(), IngestError> {
        let Some(height) = last_common else {
            let height =
                self.writer.highest().saturating_sub(DEEPEST_REORGANISATION).max(self.start);
            return Err(GraphError::TooDeep { chain: self.request.chain, height }.into());
        };
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
