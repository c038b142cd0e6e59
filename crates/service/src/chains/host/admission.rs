//! Admission of questions: the server must know what the answer is to rest on, and have time for it.

use std::{sync::Arc, time::Duration};

use assay_address::ChainId;
use assay_chain_protocol::message::AtLeast;
use assay_engine::evidence::ChainState;
use assay_intel::IntelSnapshot;
use tokio::{sync::SemaphorePermit, time::timeout};

use super::{ChainHost, RefusalReason};
use crate::chains::{messages::types::MessageForm, reader::ChainReader, subject::SubjectData};

/// What one question is answered with.
pub(super) struct AdmittedQuestion<'h> {
    pub(super) reader: Arc<dyn ChainReader>,
    pub(super) intel: Arc<IntelSnapshot>,
    /// Counts among the running traces until it is dropped.
    pub(super) _permit: SemaphorePermit<'h>,
}

impl ChainHost {
    /// What a question is answered with, unless the server is busy or behind.
    pub(super) async fn admit(
        &self,
        chain: ChainId,
        minimum: AtLeast,
    ) -> Result<AdmittedQuestion<'_>, RefusalReason> {
        let (reader, intel) = self.reader_at_least(chain, minimum).await?;
        let permit =
            self.traces.try_acquire().map_err(|_| RefusalReason::Busy(self.most_traces))?;
        Ok(AdmittedQuestion { reader, intel, _permit: permit })
    }

    /// The graph of a chain with lists and labels, unless the server is behind.
    pub(super) async fn reader_at_least(
        &self,
        chain: ChainId,
        minimum: AtLeast,
    ) -> Result<(Arc<dyn ChainReader>, Arc<IntelSnapshot>), RefusalReason> {
        let intel = self.intel_for(minimum.lists);
        let lists = intel.generation();
        if lists < minimum.lists {
            self.request_refresh();
            return Err(RefusalReason::ListsBehind { known: lists, wanted: minimum.lists });
        }
        let reader = self.reader(chain)?.ok_or(RefusalReason::NoGraph(chain))?;
        let newest = reader.tip().await?.map_or(0, |tip| tip.block.height);
        if newest < minimum.block {
            return Err(RefusalReason::BlocksBehind { known: newest, wanted: minimum.block });
        }
        expect_branch(&*reader, minimum).await?;
        Ok((reader, intel))
    }

    /// Lists and labels for a question: those of its revision if they were replaced only just now, so that the answer
    /// rests on the same ones as the rest of the assessment.
    fn intel_for(&self, lists: u64) -> Arc<IntelSnapshot> {
        let previous = self.previous.load();
        match previous.as_ref() {
            Some(previous) if previous.intel.generation() == lists => Arc::clone(&previous.intel),
            _ => self.intel(),
        }
    }
}

/// Works until the deadline of a question. Work that is given up ends at its next step.
pub(super) async fn within<T>(
    deadline_ms: u32,
    work: impl Future<Output = T>,
) -> Result<T, RefusalReason> {
    let deadline = Duration::from_millis(deadline_ms.into());
    timeout(deadline, work).await.map_err(|_| RefusalReason::DeadlineExceeded(deadline_ms))
}

/// Refuses an answer by an older block than the question names: blocks were rolled back meanwhile.
pub(super) fn expect_block(traced: &SubjectData, minimum: AtLeast) -> Result<(), RefusalReason> {
    match &traced.state {
        ChainState::Followed(facts) => expect_height(facts.tip.height, minimum),
        ChainState::NotFollowed | ChainState::Unavailable(_) => expect_height(0, minimum),
    }
}

/// Refuses an answer by another branch than the question names. The block is looked up before the answer is made and
/// after it: one that was there both times was there meanwhile.
pub(super) async fn expect_branch(
    reader: &dyn ChainReader,
    minimum: AtLeast,
) -> Result<(), RefusalReason> {
    let Some(on) = minimum.on else { return Ok(()) };
    let on = MessageForm::read(on)?;
    if reader.has(on).await? { Ok(()) } else { Err(RefusalReason::OtherBranch(on)) }
}

pub(super) const fn expect_height(height: u64, minimum: AtLeast) -> Result<(), RefusalReason> {
    if height < minimum.block {
        return Err(RefusalReason::BlocksBehind { known: height, wanted: minimum.block });
    }
    Ok(())
}
