//! Admission of questions: the server must know what the answer is to rest on, and have time for it.

use std::{sync::Arc, time::Duration};

use assay_address::ChainId;
use assay_chain_protocol::message::AtLeast;
use assay_engine::evidence::ChainState;
use assay_intel::IntelSnapshot;
use tokio::{sync::SemaphorePermit, time::timeout};

use super::{ChainHost, Refused};
use crate::chains::{messages::types::Told, reader::ChainReader, traced::Traced};

/// What one question is answered with.
pub(super) struct Working<'h> {
    pub(super) reader: Arc<dyn ChainReader>,
    pub(super) intel: Arc<IntelSnapshot>,
    /// Counts among the running traces until it is dropped.
    pub(super) _permit: SemaphorePermit<'h>,
}

impl ChainHost {
    /// What a question is answered with, unless the server is busy or behind.
    pub(super) async fn working(
        &self,
        chain: ChainId,
        knows: AtLeast,
    ) -> Result<Working<'_>, Refused> {
        let (reader, intel) = self.knowing(chain, knows).await?;
        let permit = self.traces.try_acquire().map_err(|_| Refused::Busy(self.most_traces))?;
        Ok(Working { reader, intel, _permit: permit })
    }

    /// The graph of a chain with lists and labels, unless the server is behind.
    pub(super) async fn knowing(
        &self,
        chain: ChainId,
        knows: AtLeast,
    ) -> Result<(Arc<dyn ChainReader>, Arc<IntelSnapshot>), Refused> {
        let intel = self.intel_for(knows.lists);
        let lists = intel.generation();
        if lists < knows.lists {
            self.request_refresh();
            return Err(Refused::ListsBehind { known: lists, wanted: knows.lists });
        }
        let reader = self.reader(chain)?.ok_or(Refused::NoGraph(chain))?;
        let newest = reader.tip().await?.map_or(0, |tip| tip.block.height);
        if newest < knows.block {
            return Err(Refused::BlocksBehind { known: newest, wanted: knows.block });
        }
        expect_branch(&*reader, knows).await?;
        Ok((reader, intel))
    }

    /// Lists and labels for a question: those of its revision if they were replaced only just now, so that the answer
    /// rests on the same ones as the rest of the assessment.
    fn intel_for(&self, lists: u64) -> Arc<IntelSnapshot> {
        let earlier = self.earlier.load();
        match earlier.as_ref() {
            Some(earlier) if earlier.intel.generation() == lists => Arc::clone(&earlier.intel),
            _ => self.intel(),
        }
    }
}

/// Works until the deadline of a question. Work that is given up ends at its next step.
pub(super) async fn within<T>(
    deadline_ms: u32,
    work: impl Future<Output = T>,
) -> Result<T, Refused> {
    let deadline = Duration::from_millis(deadline_ms.into());
    timeout(deadline, work).await.map_err(|_| Refused::DeadlineExceeded(deadline_ms))
}

/// Refuses an answer by an older block than the question names: blocks were rolled back meanwhile.
pub(super) fn expect_block(traced: &Traced, knows: AtLeast) -> Result<(), Refused> {
    match &traced.state {
        ChainState::Followed(facts) => expect_height(facts.tip.height, knows),
        ChainState::NotFollowed | ChainState::Unavailable(_) => expect_height(0, knows),
    }
}

/// Refuses an answer by another branch than the question names. The block is looked up before the answer is made and
/// after it: one that was there both times was there meanwhile.
pub(super) async fn expect_branch(reader: &dyn ChainReader, knows: AtLeast) -> Result<(), Refused> {
    let Some(on) = knows.on else { return Ok(()) };
    let on = Told::read(on)?;
    if reader.has(on).await? { Ok(()) } else { Err(Refused::OtherBranch(on)) }
}

pub(super) const fn expect_height(height: u64, knows: AtLeast) -> Result<(), Refused> {
    if height < knows.block {
        return Err(Refused::BlocksBehind { known: height, wanted: knows.block });
    }
    Ok(())
}
