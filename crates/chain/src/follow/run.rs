//! Stage that records blocks up to the source's newest block, and rolls blocks back after a reorganisation.

use std::time::Duration;

use assay_graph::{GraphError, MAX_REORGANIZATION_DEPTH};
use assay_system::Clock;

use super::{
    error::{IngestError, RefusedBranch},
    family::IngestGraph,
    reader::Reader,
    record::states_hash,
    request::{IngestObserver, IngestReport, IngestRequest, Reorganization},
};
use crate::{
    SourceError,
    stage::{FailureKind, RunStage, Stage, StageId, Target},
};

/// Notice about a source with fewer blocks than the graph.
pub(super) const LAGS: &str = "the source lags behind what is recorded; waiting for it";

/// An ingest in progress.
pub(super) struct Run<'a, G: IngestGraph> {
    pub(super) request: IngestRequest,
    pub(super) start: u64,
    pub(super) reader: Reader<G::Source, G::Block>,
    pub(super) graph: G,
    pub(super) clock: &'a Clock,
    pub(super) observer: &'a dyn IngestObserver,
    pub(super) report: IngestReport,
    /// True while the source has fewer blocks than the graph.
    pub(super) lags: bool,
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

impl<G: IngestGraph> Stage for Run<'_, G> {
    type Error = IngestError;

    fn id(&self) -> StageId {
        StageId { work: "ingest", chain: self.request.chain }
    }

    async fn target(&mut self) -> Result<Target, IngestError> {
        let position = self.source_position().await?;
        self.lags = matches!(position, SourcePosition::Lags);
        Ok(match position {
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
                self.graph.complete(self.observer)?;
                self.note().await?;
                self.graph.confirm(self.clock.now())?;
                Target::Reached
            }
            SourcePosition::Lags => {
                self.observer.notice(LAGS);
                Target::Reached
            }
        })
    }

    async fn execute(&mut self, to: u64) -> Result<(), IngestError> {
        let before = self.report.blocks;
        self.note().await?;
        match self.catch_up(to).await? {
            Some(stray) if self.report.blocks == before => Err(stray),
            _ => Ok(()),
        }
    }

    async fn unwind(&mut self, to: Option<u64>) -> Result<(), IngestError> {
        let Some(height) = to else {
            let height =
                self.graph.highest().saturating_sub(MAX_REORGANIZATION_DEPTH).max(self.start);
            return Err(GraphError::TooDeep { chain: self.request.chain, height }.into());
        };
        let tip = self.graph.newest().map_or(height, |block| block.height);
        self.graph.roll_back(height)?;
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

impl<G: IngestGraph> RunStage for Run<'_, G> {
    fn failure(&self, error: &IngestError) -> FailureKind {
        error.failure()
    }

    fn failed(&mut self, error: &IngestError, _: FailureKind, pause: Duration, _: bool) {
        self.observer.notice(&format!("{error}; trying again in {} s", pause.as_secs()));
    }
}

impl<G: IngestGraph> Run<'_, G> {
    pub(super) fn finish(mut self) -> Result<IngestReport, GraphError> {
        self.graph.complete(self.observer)?;
        self.report.latest_block_height = self.graph.newest().map(|block| block.height);
        self.report.finalized_block_height = self.graph.finalized();
        Ok(self.report)
    }

    /// Keeps what the source states about the blocks.
    async fn note(&mut self) -> Result<(), IngestError> {
        let stated = self.reader.stated().await?;
        Ok(self.graph.note(stated)?)
    }

    async fn source_position(&mut self) -> Result<SourcePosition, IngestError> {
        let newest = self.reader.tip().await?;
        let Some(tip) = self.graph.newest() else {
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
        // A node may not have its newest block under its height yet.
        let theirs = if newest.height == common {
            Some(newest.hash)
        } else {
            self.reader.hash_at(common).await?
        };
        let ours = self.graph.blocks(common, common).await?.first().copied();
        let is_other = ours.is_none_or(|ours| states_hash(&ours) && theirs != Some(ours.hash));
        if theirs.is_some() && is_other {
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
        &mut self,
        last_common: Option<u64>,
    ) -> Result<Option<RefusedBranch>, IngestError> {
        let chain = self.request.chain;
        let bound = chain.info().reorganization_bound();
        let finalized = self.graph.finalized();
        let is_open = |height: u64| {
            finalized.is_none_or(|finalized| height >= finalized)
                && self.graph.highest().saturating_sub(height) <= bound
        };
        if last_common.is_some_and(is_open) {
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
        let recorded = self.graph.highest();
        let finalized =
            finalized.filter(|finalized| last_common.is_none_or(|height| height < *finalized));
        Ok(Some(RefusedBranch { chain, last_common, recorded, bound, finalized, newest, accepted }))
    }

    /// Checks that a block that the operator accepted is on the source's branch above the fork; otherwise returns the
    /// reason.
    async fn accepts(
        &mut self,
        accepted: [u8; 32],
        last_common: Option<u64>,
    ) -> Result<Result<(), &'static str>, IngestError> {
        let height = match self.reader.height_of(accepted).await {
            Ok(height) => height,
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
    async fn fork(&mut self, differs_at: u64) -> Result<Option<u64>, IngestError> {
        let lowest = differs_at.saturating_sub(MAX_REORGANIZATION_DEPTH).max(self.start);
        let ours = self.graph.blocks(lowest, differs_at).await?;
        for block in ours.iter().rev().skip(1) {
            if !states_hash(block) || self.reader.hash_at(block.height).await? == Some(block.hash) {
                return Ok(Some(block.height));
            }
        }
        Ok(None)
    }
}
