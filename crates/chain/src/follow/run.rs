//! Stage that records blocks up to the source's newest block, and rolls blocks back after a reorganisation.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use assay_graph::{Graph, GraphError, GraphWriter, MAX_REORGANIZATION_DEPTH};
use assay_system::Clock;

use super::{
    error::{IngestError, RefusedBranch},
    reader::Reader,
    request::{IngestObserver, IngestReport, IngestRequest, Reorganization},
};
use crate::{
    SourceError,
    stage::{FailureKind, RunStage, Stage, StageId, Target},
};

/// An ingest in progress.
pub(super) struct Run<'a> {
    pub(super) request: IngestRequest,
    pub(super) start: u64,
    pub(super) backfill: bool,
    pub(super) reader: Reader,
    pub(super) writer: GraphWriter,
    pub(super) graph: Arc<dyn Graph>,
    pub(super) clock: &'a Clock,
    pub(super) observer: &'a dyn IngestObserver,
    pub(super) report: IngestReport,
    /// Number of blocks in the next batch.
    pub(super) batch: usize,
}

/// Relation of the source's newest block to the graph's newest block.
enum SourcePosition {
    /// The graph lacks blocks up to this height.
    Behind(u64),
    /// The graph has the source's newest block.
    Level,
    /// The source has fewer blocks than the graph, all of them in the graph.
    Lags,
    /// The source is on another branch above this height; `None` if the branches differ below the blocks that can be
    /// rolled back.
    Branched(Option<u64>),
}

impl Stage for Run<'_> {
    type Error = IngestError;

    fn id(&self) -> StageId {
        StageId { work: "ingest", chain: self.request.chain }
    }

    async fn target(&mut self) -> Result<Target, IngestError> {
        Ok(match self.source_position().await? {
            SourcePosition::Behind(target) => {
                self.observer.branch_refused(None);
                Target::Ahead(target)
            }
            SourcePosition::Branched(last_common) => {
                let refused = self.refusal(last_common).await?;
                self.observer.branch_refused(refused.as_ref());
                if let Some(refused) = refused {
                    return Err(IngestError::RefusedBranch(Box::new(refused)));
                }
                Target::Branched(last_common)
            }
            SourcePosition::Level => {
                self.observer.branch_refused(None);
                self.complete_backfill()?;
                self.writer.verified(self.clock.now())?;
                Target::Reached
            }
            SourcePosition::Lags => {
                self.observer.notice("the source lags behind what is recorded; waiting for it");
                Target::Reached
            }
        })
    }

    async fn execute(&mut self, to: u64) -> Result<(), IngestError> {
        let before = self.report.blocks;
        match self.catch_up(to).await? {
            Some(stray) if self.report.blocks == before => Err(stray),
            _ => Ok(()),
        }
    }

    async fn unwind(&mut self, to: Option<u64>) -> Result<(), IngestError> {
        let Some(height) = to else {
            let height =
                self.writer.highest().saturating_sub(MAX_REORGANIZATION_DEPTH).max(self.start);
            return Err(GraphError::TooDeep { chain: self.request.chain, height }.into());
        };
        let tip = self.writer.tip().map_or(height, |tip| tip.block.height);
        self.writer.roll_back(height)?;
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
}

impl RunStage for Run<'_> {
    fn failure(&self, error: &IngestError) -> FailureKind {
        error.failure()
    }

    fn failed(&mut self, error: &IngestError, _: FailureKind, pause: Duration, _: bool) {
        self.observer.notice(&format!("{error}; trying again in {} s", pause.as_secs()));
    }
}

impl Run<'_> {
    pub(super) fn finish(mut self) -> Result<IngestReport, GraphError> {
        self.complete_backfill()?;
        self.report.latest_block_height = self.writer.tip().map(|tip| tip.block.height);
        Ok(self.report)
    }

    async fn source_position(&mut self) -> Result<SourcePosition, IngestError> {
        let newest = self.reader.tip().await?;
        let Some(tip) = self.writer.tip().map(|tip| tip.block) else {
            if newest.height < self.start {
                let (height, tip) = (self.start, newest.height);
                return Err(SourceError::NoBlock { height, tip }.into());
            }
            return Ok(SourcePosition::Behind(self.up_to(newest.height)));
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
        let target = self.up_to(newest.height);
        if target > tip.height {
            Ok(SourcePosition::Behind(target))
        } else if newest.height < tip.height {
            Ok(SourcePosition::Lags)
        } else {
            Ok(SourcePosition::Level)
        }
    }

    fn up_to(&self, newest: u64) -> u64 {
        self.request.to.map_or(newest, |to| to.min(newest))
    }

    /// Returns the refusal of the source's branch, which leaves the recorded branch above `last_common`; `None` if the
    /// source's branch is followed.
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

    /// Checks that a block that the operator accepted is on the source's branch above the fork; otherwise returns the
    /// reason.
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

    /// Returns the height of the last block that the source and the graph share, below a block that differs; `None` if
    /// it is below the blocks that can be rolled back.
    async fn fork(&self, differs_at: u64) -> Result<Option<u64>, IngestError> {
        let lowest = differs_at.saturating_sub(MAX_REORGANIZATION_DEPTH).max(self.start);
        let ours = self.graph.blocks(lowest, differs_at).await?;
        for block in ours.iter().rev().skip(1) {
            if self.reader.hash_at(block.height).await? == Some(block.hash) {
                return Ok(Some(block.height));
            }
        }
        Ok(None)
    }

    fn complete_backfill(&mut self) -> Result<(), GraphError> {
        if self.backfill {
            self.observer.notice("all blocks are in; building indexes");
            let begun = Instant::now();
            self.writer.build_indexes()?;
            self.backfill = false;
            self.observer.notice(&format!("indexes built in {} s", begun.elapsed().as_secs()));
        }
        Ok(())
    }
}
