//! Answers to questions.

use assay_address::{CanonicalAddress, ChainId, LedgerKind};
use assay_chain_protocol::message::{
    AccountTransactionAnswer, AccountTransactionQuestion, AccountTransferAnswer,
    AccountTransferQuestion, BRANCH_BLOCKS, BranchBlock, BranchBlocks, BranchBlocksQuestion,
    ChangesAnswer, ChangesQuestion, ClusterAnswer, ClusterQuestion, CopyAnswer,
    CopyFingerprintAnswer, CopyFingerprintQuestion, CopyPartQuestion, CopyQuestion,
    FlowsAtMostQuestion, HistoryAnswer, HistoryQuestion, Outputs, PART_BYTES, Question,
    RequestEnvelope, TimelineAnswer, TimelineQuestion, TraceAnswer, TraceQuestion,
    TransactionAnswer, TransactionQuestion, TransferAnswer, TransferQuestion,
};
use assay_engine::{
    transfer::{TransferQuery, TransferSelector},
    utxo::OutputSelector,
};
use assay_graph::{GraphCopy, blocking};
use assay_telemetry::request::run_on_thread;

use super::{
    ChainHost, RefusalReason,
    admission::{AdmittedQuestion, expect_block, expect_branch, expect_height, within},
};
use crate::chains::{
    changes::ChainChanges,
    messages::{
        accounts::{account_transaction_answer, account_transfer_answer, transfer_query},
        types::MessageForm,
        write::{
            cluster_answer, history_answer, trace_answer, transaction_answer, transfer_answer,
        },
    },
    subject::{ReadError, TraceRequest},
    transfer::{TransferError, TransferReadRequest},
};

/// Answers one kind of question.
pub trait Answers<Q: Question> {
    /// Answers a question about a chain, or returns the reason for which there is no answer.
    fn answer(
        &self,
        chain: ChainId,
        asked: RequestEnvelope<Q>,
    ) -> impl Future<Output = Result<Q::Answer, RefusalReason>> + Send;
}

/// Traces an address.
impl Answers<TraceQuestion> for ChainHost {
    async fn answer(
        &self,
        chain: ChainId,
        asked: RequestEnvelope<TraceQuestion>,
    ) -> Result<TraceAnswer, RefusalReason> {
        let RequestEnvelope { deadline_ms, minimum, question } = asked;
        let admitted = self.admit(chain, minimum).await?;
        let subject = &address(chain, &question.address)?;
        let policy = self.policies.policy_for(&question.policy)?;
        let rules = MessageForm::read(question.policy.rules)?;
        let AdmittedQuestion { reader, intel, _permit } = &admitted;
        let now = question.now;
        let request = TraceRequest { subject, rules, policy: &policy, intel, now };
        let traced = within(deadline_ms, reader.trace(request)).await??;
        expect_block(&traced, minimum)?;
        expect_branch(&**reader, minimum).await?;
        Ok(trace_answer(traced, intel))
    }
}

/// Returns an upper bound of an address's flows, each at its largest weight, if the bound is known without a trace.
impl Answers<FlowsAtMostQuestion> for ChainHost {
    async fn answer(
        &self,
        chain: ChainId,
        asked: RequestEnvelope<FlowsAtMostQuestion>,
    ) -> Result<Option<TraceAnswer>, RefusalReason> {
        let RequestEnvelope { deadline_ms, minimum, question: FlowsAtMostQuestion(question) } =
            asked;
        let admitted = self.admit(chain, minimum).await?;
        let subject = &address(chain, &question.address)?;
        let policy = self.policies.policy_for(&question.policy)?;
        let rules = MessageForm::read(question.policy.rules)?;
        let AdmittedQuestion { reader, intel, _permit } = &admitted;
        let now = question.now;
        let request = TraceRequest { subject, rules, policy: &policy, intel, now };
        let traced = within(deadline_ms, reader.flows_at_most(request)).await??;
        if let Some(traced) = &traced {
            expect_block(traced, minimum)?;
            expect_branch(&**reader, minimum).await?;
        }
        Ok(traced.map(|traced| trace_answer(traced, intel)))
    }
}

/// Reads a transfer.
impl Answers<TransferQuestion> for ChainHost {
    async fn answer(
        &self,
        chain: ChainId,
        asked: RequestEnvelope<TransferQuestion>,
    ) -> Result<TransferAnswer, RefusalReason> {
        expect_accounts(chain, false)?;
        let RequestEnvelope { deadline_ms, minimum, question } = asked;
        let admitted = self.admit(chain, minimum).await?;
        let TransferQuestion { transaction, outputs, direction, policy, now } = question;
        let selector = match outputs {
            Outputs::Index(index) => OutputSelector::Index(index),
            Outputs::Address(text) => OutputSelector::Address(address(chain, &text)?),
        };
        let (txid, direction) = (MessageForm::read(transaction)?, MessageForm::read(direction)?);
        let selector = TransferSelector::Outputs(selector);
        let query = TransferQuery { chain, txid, selector, direction };
        let rules = MessageForm::read(policy.rules)?;
        let policy = self.policies.policy_for(&policy)?;
        let AdmittedQuestion { reader, intel, _permit } = &admitted;
        let mempool = self.mempools.get(chain);
        let mempool = mempool.as_deref();
        let query = &query;
        let request = TransferReadRequest { query, rules, policy: &policy, intel, now, mempool };
        let read = within(deadline_ms, reader.transfer(request)).await?;
        if let Ok(read) = &read {
            expect_height(read.tip_height, minimum)?;
        }
        expect_branch(&**reader, minimum).await?;
        transfer_answer(read, intel, now).map_err(refusal_of)
    }
}

/// Reads a transfer of an account chain.
impl Answers<AccountTransferQuestion> for ChainHost {
    async fn answer(
        &self,
        chain: ChainId,
        asked: RequestEnvelope<AccountTransferQuestion>,
    ) -> Result<AccountTransferAnswer, RefusalReason> {
        expect_accounts(chain, true)?;
        let RequestEnvelope { deadline_ms, minimum, question } = asked;
        let admitted = self.admit(chain, minimum).await?;
        let query = transfer_query(chain, &question)?;
        let AccountTransferQuestion { policy, now, .. } = question;
        let rules = MessageForm::read(policy.rules)?;
        let policy = self.policies.policy_for(&policy)?;
        let AdmittedQuestion { reader, intel, _permit } = &admitted;
        let mempool = None;
        let query = &query;
        let request = TransferReadRequest { query, rules, policy: &policy, intel, now, mempool };
        let read = within(deadline_ms, reader.transfer(request)).await?;
        if let Ok(read) = &read {
            expect_height(read.tip_height, minimum)?;
        }
        expect_branch(&**reader, minimum).await?;
        account_transfer_answer(read, intel, now).map_err(refusal_of)
    }
}

/// Reads a transaction of an account chain.
impl Answers<AccountTransactionQuestion> for ChainHost {
    async fn answer(
        &self,
        chain: ChainId,
        asked: RequestEnvelope<AccountTransactionQuestion>,
    ) -> Result<Option<AccountTransactionAnswer>, RefusalReason> {
        expect_accounts(chain, true)?;
        let RequestEnvelope { deadline_ms, minimum, question } = asked;
        let AccountTransactionQuestion { transaction, most } = question;
        let AdmittedQuestion { reader, intel, _permit } = &self.admit(chain, minimum).await?;
        let txid = MessageForm::read(transaction)?;
        let read = reader.account_transaction(&txid, most, intel, self.clock().now());
        Ok(within(deadline_ms, read).await??.map(account_transaction_answer))
    }
}

/// Reads a transaction.
impl Answers<TransactionQuestion> for ChainHost {
    async fn answer(
        &self,
        chain: ChainId,
        asked: RequestEnvelope<TransactionQuestion>,
    ) -> Result<Option<TransactionAnswer>, RefusalReason> {
        expect_accounts(chain, false)?;
        let RequestEnvelope { deadline_ms, minimum, question } = asked;
        let TransactionQuestion { transaction, largest } = question;
        let AdmittedQuestion { reader, .. } = &self.admit(chain, minimum).await?;
        let txid = MessageForm::read(transaction)?;
        let read = within(deadline_ms, reader.transaction(&txid, largest)).await??;
        Ok(read.map(transaction_answer))
    }
}

/// Reads the history of an address.
impl Answers<HistoryQuestion> for ChainHost {
    async fn answer(
        &self,
        chain: ChainId,
        asked: RequestEnvelope<HistoryQuestion>,
    ) -> Result<Option<HistoryAnswer>, RefusalReason> {
        expect_accounts(chain, false)?;
        let RequestEnvelope { deadline_ms, minimum, question } = asked;
        let HistoryQuestion { address: text, largest } = question;
        let subject = address(chain, &text)?;
        let AdmittedQuestion { reader, .. } = &self.admit(chain, minimum).await?;
        let read = within(deadline_ms, reader.history(&subject, largest)).await??;
        Ok(read.map(history_answer))
    }
}

/// Reads the payments of an address by week.
impl Answers<TimelineQuestion> for ChainHost {
    async fn answer(
        &self,
        chain: ChainId,
        asked: RequestEnvelope<TimelineQuestion>,
    ) -> Result<Option<TimelineAnswer>, RefusalReason> {
        let RequestEnvelope { deadline_ms, minimum, question } = asked;
        let subject = address(chain, &question.address)?;
        let AdmittedQuestion { reader, intel, _permit } = &self.admit(chain, minimum).await?;
        let read = reader.timeline(&subject, intel, self.clock().now());
        Ok(within(deadline_ms, read).await??.into_message())
    }
}

/// Reads the cluster of an address.
impl Answers<ClusterQuestion> for ChainHost {
    async fn answer(
        &self,
        chain: ChainId,
        asked: RequestEnvelope<ClusterQuestion>,
    ) -> Result<ClusterAnswer, RefusalReason> {
        expect_accounts(chain, false)?;
        let RequestEnvelope { deadline_ms, minimum, question } = asked;
        let subject = address(chain, &question.address)?;
        let AdmittedQuestion { reader, intel, _permit } = &self.admit(chain, minimum).await?;
        Ok(cluster_answer(within(deadline_ms, reader.cluster(&subject, intel)).await??))
    }
}

/// Returns the addresses in new blocks.
impl Answers<ChangesQuestion> for ChainHost {
    async fn answer(
        &self,
        chain: ChainId,
        asked: RequestEnvelope<ChangesQuestion>,
    ) -> Result<ChangesAnswer, RefusalReason> {
        let RequestEnvelope { deadline_ms, minimum, question: ChangesQuestion { since } } = asked;
        // This question takes no permit: without its answer, more answers would be computed anew.
        let reader = self.reader_at_least(chain, minimum).await?.0;
        let changes = within(deadline_ms, reader.changes(MessageForm::read(since)?)).await??;
        expect_branch(&*reader, minimum).await?;
        Ok(match changes {
            None => ChangesAnswer { newest: None, addresses: None },
            Some(ChainChanges { newest, addresses }) => {
                let text = |address: &CanonicalAddress| address.as_str().to_owned();
                let addresses = addresses.map(|all| all.iter().map(text).collect());
                ChangesAnswer { newest: Some(newest.into_message()), addresses }
            }
        })
    }
}

/// Returns the blocks at some heights of a branch; `None` if the branch was rolled back.
impl Answers<BranchBlocksQuestion> for ChainHost {
    async fn answer(
        &self,
        chain: ChainId,
        asked: RequestEnvelope<BranchBlocksQuestion>,
    ) -> Result<Option<BranchBlocks>, RefusalReason> {
        let RequestEnvelope { deadline_ms, minimum, question } = asked;
        let BranchBlocksQuestion { newest, heights } = question;
        if heights.len() > BRANCH_BLOCKS {
            let (most, asked) = (BRANCH_BLOCKS, heights.len());
            let problem = format!("{asked} heights are too many: ask for at most {most}");
            return Err(RefusalReason::Invalid(problem));
        }
        // This question takes no permit: without its answer, the client asks no other question.
        let reader = self.reader_at_least(chain, minimum).await?.0;
        let read = reader.branch_blocks(MessageForm::read(newest)?, &heights);
        let blocks = within(deadline_ms, read).await??;
        Ok(blocks.map(|blocks| BranchBlocks {
            blocks: blocks
                .into_iter()
                .map(|(block, work_above)| BranchBlock { block: block.into_message(), work_above })
                .collect(),
        }))
    }
}

/// Holds the newest state of a graph for another server, or finds a held one.
impl Answers<CopyQuestion> for ChainHost {
    async fn answer(
        &self,
        chain: ChainId,
        asked: RequestEnvelope<CopyQuestion>,
    ) -> Result<CopyAnswer, RefusalReason> {
        let (held, copy) = if let Some(held) = asked.question.held {
            let found = self.copies.get(chain, &held);
            let copy = found.ok_or_else(|| RefusalReason::NotHeld(held.clone()))?;
            (held, copy)
        } else {
            let new = || -> Result<(String, GraphCopy), RefusalReason> {
                let copy = blocking(|| self.graphs.copy(chain)).map_err(ReadError::from)?;
                let held = format!("{:032x}", assay_system::random_u128());
                Ok((held, copy.ok_or(RefusalReason::NoGraph(chain))?))
            };
            self.copies.hold(chain, new)?
        };
        Ok(CopyAnswer { held, bytes: copy.length(), newest: copy.tip().block.into_message() })
    }
}

/// Returns the fingerprint of a held state.
impl Answers<CopyFingerprintQuestion> for ChainHost {
    async fn answer(
        &self,
        chain: ChainId,
        asked: RequestEnvelope<CopyFingerprintQuestion>,
    ) -> Result<CopyFingerprintAnswer, RefusalReason> {
        let CopyFingerprintQuestion { held } = asked.question;
        let copy = self.copies.get(chain, &held).ok_or(RefusalReason::NotHeld(held))?;
        // The computation continues if its client disconnects, and the next client gets its result.
        let permit = self.copies.fingerprint_permit().ok_or(RefusalReason::TooManyCopies)?;
        let read = run_on_thread(move || {
            let fingerprint = copy.fingerprint();
            drop(permit);
            fingerprint
        });
        let read = read.await;
        let fingerprint =
            read.map_err(|_| RefusalReason::Invalid("the server stops".to_owned()))?;
        let fingerprint = hex::encode(fingerprint.map_err(ReadError::from)?);
        Ok(CopyFingerprintAnswer { fingerprint })
    }
}

impl ChainHost {
    /// Returns the next bytes of a held state.
    ///
    /// # Errors
    ///
    /// Returns the reason for which there is no answer.
    pub fn copy_part(
        &self,
        chain: ChainId,
        asked: RequestEnvelope<CopyPartQuestion>,
    ) -> Result<Vec<u8>, RefusalReason> {
        let CopyPartQuestion { held, offset } = asked.question;
        let copy = self.copies.get(chain, &held).ok_or(RefusalReason::NotHeld(held))?;
        let _reading = self.copies.part_permit().ok_or(RefusalReason::TooManyCopies)?;
        let read = blocking(|| copy.read(offset, PART_BYTES));
        Ok(read.map_err(ReadError::from)?)
    }
}

/// Returns the refusal of a question whose answer would be an error.
fn refusal_of(error: TransferError) -> RefusalReason {
    match error {
        TransferError::Read(error) => RefusalReason::Failed(error),
        other => RefusalReason::Invalid(other.to_string()),
    }
}

/// Refuses a question for another kind of chain: for account chains, or for chains of outputs.
fn expect_accounts(chain: ChainId, is_of_accounts: bool) -> Result<(), RefusalReason> {
    if (chain.info().ledger == LedgerKind::Account) == is_of_accounts {
        return Ok(());
    }
    let kind = if is_of_accounts { "an account chain" } else { "a chain of outputs" };
    Err(RefusalReason::Invalid(format!("{chain} is not {kind}, and the question is for one")))
}

fn address(chain: ChainId, text: &str) -> Result<CanonicalAddress, RefusalReason> {
    CanonicalAddress::parse(chain, text).map_err(|error| RefusalReason::Invalid(error.to_string()))
}
