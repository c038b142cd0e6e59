//! Admission of questions: the server must have the data that a question requires, and a free permit.

use std::{sync::Arc, time::Duration};

use assay_address::ChainId;
use assay_chain_protocol::message::MinimumRevision;
use assay_engine::evidence::ChainState;
use assay_intel::IntelSnapshot;
use tokio::{sync::SemaphorePermit, time::timeout};

use super::{ChainHost, RefusalReason};
use crate::chains::{messages::types::MessageForm, reader::ChainReader, subject::SubjectData};

/// Question that the server answers, with the data for its answer.
pub(super) struct AdmittedQuestion<'h> {
    pub(super) reader: Arc<dyn ChainReader>,
    pub(super) intel: Arc<IntelSnapshot>,
    /// Permit that counts the question as a running trace until the permit is dropped.
    pub(super) _permit: SemaphorePermit<'h>,
}

impl ChainHost {
    /// Admits a question, unless the server is busy or its data is behind.
    pub(super) async fn admit(
        &self,
        chain: ChainId,
        minimum: MinimumRevision,
    ) -> Result<AdmittedQuestion<'_>, RefusalReason> {
        let (reader, intel) = self.reader_at_least(chain, minimum).await?;
        let permit =
            self.traces.try_acquire().map_err(|_| RefusalReason::Busy(self.most_traces))?;
        Ok(AdmittedQuestion { reader, intel, _permit: permit })
    }

    /// Returns the reader of a chain with lists and labels, unless they are behind the `minimum` of a question.
    pub(super) async fn reader_at_least(
        &self,
        chain: ChainId,
        minimum: MinimumRevision,
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

    /// Returns the lists and labels for a question: the previous ones if the question names their revision, so that the
    /// answer has the same revision as the rest of the assessment.
    fn intel_for(&self, lists: u64) -> Arc<IntelSnapshot> {
        let previous = self.previous.load();
        match previous.as_ref() {
            Some(previous) if previous.intel.generation() == lists => Arc::clone(&previous.intel),
            _ => self.intel(),
        }
    }
}

/// Runs `work` until the deadline of a question. Work beyond the deadline is dropped at its next step.
pub(super) async fn within<T>(
    deadline_ms: u32,
    work: impl Future<Output = T>,
) -> Result<T, RefusalReason> {
    let deadline = Duration::from_millis(deadline_ms.into());
    timeout(deadline, work).await.map_err(|_| RefusalReason::DeadlineExceeded(deadline_ms))
}

/// Refuses an answer by an older block than the question names: blocks were rolled back while the question was
/// answered.
pub(super) fn expect_block(
    traced: &SubjectData,
    minimum: MinimumRevision,
) -> Result<(), RefusalReason> {
    match &traced.state {
        ChainState::Followed(facts) => expect_height(facts.tip.height, minimum),
        ChainState::NotFollowed | ChainState::Unavailable(_) => expect_height(0, minimum),
    }
}

/// Refuses an answer by another branch than the question names. The block is looked up before and after the answer is
/// computed: a block that is on the chain both times was on the chain in between.
pub(super) async fn expect_branch(
    reader: &dyn ChainReader,
    minimum: MinimumRevision,
) -> Result<(), RefusalReason> {
    let Some(on) = minimum.branch_block else { return Ok(()) };
    let on = MessageForm::read(on)?;
    if reader.has(on).await? { Ok(()) } else { Err(RefusalReason::OtherBranch(on)) }
}

pub(super) const fn expect_height(
    height: u64,
    minimum: MinimumRevision,
) -> Result<(), RefusalReason> {
    if height < minimum.block {
        return Err(RefusalReason::BlocksBehind { known: height, wanted: minimum.block });
    }
    Ok(())
}
