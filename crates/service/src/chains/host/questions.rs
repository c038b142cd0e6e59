//! The answers to questions.

use assay_address::{CanonicalAddress, ChainId};
use assay_chain_protocol::message::{
    Asked, BRANCH_BLOCKS, BranchBlock, BranchBlocks, BranchBlocksQuestion, ChangesAnswer,
    ChangesQuestion, ClusterAnswer, ClusterQuestion, CopyAnswer, CopyFingerprintAnswer,
    CopyFingerprintQuestion, CopyPartQuestion, CopyQuestion, FlowsAtMostQuestion, HistoryAnswer,
    HistoryQuestion, Outputs, PART_BYTES, Question, TraceAnswer, TraceQuestion, TransactionAnswer,
    TransactionQuestion, TransferAnswer, TransferQuestion,
};
use assay_engine::{transfer::TransferQuery, utxo::OutputSelector};
use assay_graph::{GraphCopy, blocking};
use assay_telemetry::request::run_on_thread;

use super::{
    ChainHost, Refused,
    admission::{Working, expect_block, expect_branch, expect_height, within},
};
use crate::chains::{
    changes::Changes,
    messages::{
        types::Told,
        write::{
            cluster_answer, history_answer, trace_answer, transaction_answer, transfer_answer,
        },
    },
    traced::{ReadError, TraceRequest},
    transfer::{TransferError, TransferRequest},
};

/// A kind of question that is answered.
pub trait Answers<Q: Question> {
    /// Answers a question about a chain, or returns the reason for which there is no answer.
    fn answer(
        &self,
        chain: ChainId,
        asked: Asked<Q>,
    ) -> impl Future<Output = Result<Q::Answer, Refused>> + Send;
}

/// Traces an address.
impl Answers<TraceQuestion> for ChainHost {
    async fn answer(
        &self,
        chain: ChainId,
        asked: Asked<TraceQuestion>,
    ) -> Result<TraceAnswer, Refused> {
        let Asked { deadline_ms, knows, question } = asked;
        let working = self.working(chain, knows).await?;
        let subject = &address(chain, &question.address)?;
        let policy = self.policies.of(&question.policy)?;
        let rules = Told::read(question.policy.rules)?;
        let Working { reader, intel, _permit } = &working;
        let now = question.now;
        let request = TraceRequest { subject, rules, policy: &policy, intel, now };
        let traced = within(deadline_ms, reader.trace(request)).await??;
        expect_block(&traced, knows)?;
        expect_branch(&**reader, knows).await?;
        Ok(trace_answer(traced, intel))
    }
}

/// The flows of an address at their largest weight, if they are known.
impl Answers<FlowsAtMostQuestion> for ChainHost {
    async fn answer(
        &self,
        chain: ChainId,
        asked: Asked<FlowsAtMostQuestion>,
    ) -> Result<Option<TraceAnswer>, Refused> {
        let Asked { deadline_ms, knows, question: FlowsAtMostQuestion(question) } = asked;
        let working = self.working(chain, knows).await?;
        let subject = &address(chain, &question.address)?;
        let policy = self.policies.of(&question.policy)?;
        let rules = Told::read(question.policy.rules)?;
        let Working { reader, intel, _permit } = &working;
        let now = question.now;
        let request = TraceRequest { subject, rules, policy: &policy, intel, now };
        let traced = within(deadline_ms, reader.flows_at_most(request)).await??;
        if let Some(traced) = &traced {
            expect_block(traced, knows)?;
            expect_branch(&**reader, knows).await?;
        }
        Ok(traced.map(|traced| trace_answer(traced, intel)))
    }
}

/// Reads a transfer.
impl Answers<TransferQuestion> for ChainHost {
    async fn answer(
        &self,
        chain: ChainId,
        asked: Asked<TransferQuestion>,
    ) -> Result<TransferAnswer, Refused> {
        let Asked { deadline_ms, knows, question } = asked;
        let working = self.working(chain, knows).await?;
        let TransferQuestion { transaction, outputs, direction, policy, now } = question;
        let selector = match outputs {
            Outputs::Index(index) => OutputSelector::Index(index),
            Outputs::Address(text) => OutputSelector::Address(address(chain, &text)?),
        };
        let (txid, direction) = (Told::read(transaction)?, Told::read(direction)?);
        let query = TransferQuery { chain, txid, selector, direction };
        let rules = Told::read(policy.rules)?;
        let policy = self.policies.of(&policy)?;
        let Working { reader, intel, _permit } = &working;
        let request = TransferRequest { query: &query, rules, policy: &policy, intel, now };
        let read = within(deadline_ms, reader.transfer(request)).await?;
        if let Ok(read) = &read {
            expect_height(read.tip_height, knows)?;
        }
        expect_branch(&**reader, knows).await?;
        transfer_answer(read, intel, now).map_err(|error| match error {
            TransferError::Read(error) => Refused::Failed(error),
            other => Refused::Invalid(other.to_string()),
        })
    }
}

/// Reads a transaction.
impl Answers<TransactionQuestion> for ChainHost {
    async fn answer(
        &self,
        chain: ChainId,
        asked: Asked<TransactionQuestion>,
    ) -> Result<Option<TransactionAnswer>, Refused> {
        let Asked { deadline_ms, knows, question } = asked;
        let TransactionQuestion { transaction, largest } = question;
        let Working { reader, .. } = &self.working(chain, knows).await?;
        let txid = Told::read(transaction)?;
        let read = within(deadline_ms, reader.transaction(&txid, largest)).await??;
        Ok(read.map(transaction_answer))
    }
}

/// Reads the history of an address.
impl Answers<HistoryQuestion> for ChainHost {
    async fn answer(
        &self,
        chain: ChainId,
        asked: Asked<HistoryQuestion>,
    ) -> Result<Option<HistoryAnswer>, Refused> {
        let Asked { deadline_ms, knows, question } = asked;
        let HistoryQuestion { address: text, largest } = question;
        let subject = address(chain, &text)?;
        let Working { reader, .. } = &self.working(chain, knows).await?;
        let read = within(deadline_ms, reader.history(&subject, largest)).await??;
        Ok(read.map(history_answer))
    }
}

/// Reads the cluster of an address.
impl Answers<ClusterQuestion> for ChainHost {
    async fn answer(
        &self,
        chain: ChainId,
        asked: Asked<ClusterQuestion>,
    ) -> Result<ClusterAnswer, Refused> {
        let Asked { deadline_ms, knows, question } = asked;
        let subject = address(chain, &question.address)?;
        let Working { reader, intel, _permit } = &self.working(chain, knows).await?;
        Ok(cluster_answer(within(deadline_ms, reader.cluster(&subject, intel)).await??))
    }
}

/// The addresses in new blocks.
impl Answers<ChangesQuestion> for ChainHost {
    async fn answer(
        &self,
        chain: ChainId,
        asked: Asked<ChangesQuestion>,
    ) -> Result<ChangesAnswer, Refused> {
        let Asked { deadline_ms, knows, question: ChangesQuestion { since } } = asked;
        // No permit: answers would be made anew without this one, which is more work.
        let reader = self.knowing(chain, knows).await?.0;
        let changes = within(deadline_ms, reader.changes(Told::read(since)?)).await??;
        expect_branch(&*reader, knows).await?;
        Ok(match changes {
            None => ChangesAnswer { newest: None, addresses: None },
            Some(Changes { newest, addresses }) => {
                let text = |address: &CanonicalAddress| address.as_str().to_owned();
                let addresses = addresses.map(|all| all.iter().map(text).collect());
                ChangesAnswer { newest: Some(newest.told()), addresses }
            }
        })
    }
}

/// The blocks at some heights of a branch; `None` if it is not the chain's any more.
impl Answers<BranchBlocksQuestion> for ChainHost {
    async fn answer(
        &self,
        chain: ChainId,
        asked: Asked<BranchBlocksQuestion>,
    ) -> Result<Option<BranchBlocks>, Refused> {
        let Asked { deadline_ms, knows, question } = asked;
        let BranchBlocksQuestion { newest, heights } = question;
        if heights.len() > BRANCH_BLOCKS {
            let (most, asked) = (BRANCH_BLOCKS, heights.len());
            let problem = format!("{asked} heights are too many: ask for at most {most}");
            return Err(Refused::Invalid(problem));
        }
        // No permit: without this answer, no other question is asked.
        let reader = self.knowing(chain, knows).await?.0;
        let read = reader.branch_blocks(Told::read(newest)?, &heights);
        let blocks = within(deadline_ms, read).await??;
        Ok(blocks.map(|blocks| BranchBlocks {
            blocks: blocks
                .into_iter()
                .map(|(block, work_above)| BranchBlock { block: block.told(), work_above })
                .collect(),
        }))
    }
}

/// Holds the newest state of a graph for another server, or finds one that is held.
impl Answers<CopyQuestion> for ChainHost {
    async fn answer(
        &self,
        chain: ChainId,
        asked: Asked<CopyQuestion>,
    ) -> Result<CopyAnswer, Refused> {
        let (held, copy) = if let Some(held) = asked.question.held {
            let found = self.copies.get(chain, &held);
            let copy = found.ok_or_else(|| Refused::NotHeld(held.clone()))?;
            (held, copy)
        } else {
            let new = || -> Result<(String, GraphCopy), Refused> {
                let copy = blocking(|| self.graphs.copy(chain)).map_err(ReadError::from)?;
                let held = format!("{:032x}", assay_system::random_u128());
                Ok((held, copy.ok_or(Refused::NoGraph(chain))?))
            };
            self.copies.hold(chain, new)?
        };
        Ok(CopyAnswer { held, bytes: copy.length(), newest: copy.tip().block.told() })
    }
}

/// The fingerprint of a held state.
impl Answers<CopyFingerprintQuestion> for ChainHost {
    async fn answer(
        &self,
        chain: ChainId,
        asked: Asked<CopyFingerprintQuestion>,
    ) -> Result<CopyFingerprintAnswer, Refused> {
        let CopyFingerprintQuestion { held } = asked.question;
        let copy = self.copies.get(chain, &held).ok_or(Refused::NotHeld(held))?;
        // It goes on without the one who asked, and is known to the next one.
        let permit = self.copies.fingerprint_permit().ok_or(Refused::TooManyCopies)?;
        let read = run_on_thread(move || {
            let fingerprint = copy.fingerprint();
            drop(permit);
            fingerprint
        });
        let read = read.await;
        let fingerprint = read.map_err(|_| Refused::Invalid("the server stops".to_owned()))?;
        let fingerprint = hex::encode(fingerprint.map_err(ReadError::from)?);
        Ok(CopyFingerprintAnswer { fingerprint })
    }
}

impl ChainHost {
    /// The next bytes of a held state.
    ///
    /// # Errors
    ///
    /// Returns the reason for which there is no answer.
    pub fn copy_part(
        &self,
        chain: ChainId,
        asked: Asked<CopyPartQuestion>,
    ) -> Result<Vec<u8>, Refused> {
        let CopyPartQuestion { held, offset } = asked.question;
        let copy = self.copies.get(chain, &held).ok_or(Refused::NotHeld(held))?;
        let _reading = self.copies.part_permit().ok_or(Refused::TooManyCopies)?;
        let read = blocking(|| copy.read(offset, PART_BYTES));
        Ok(read.map_err(ReadError::from)?)
    }
}

fn address(chain: ChainId, text: &str) -> Result<CanonicalAddress, Refused> {
    CanonicalAddress::parse(chain, text).map_err(|error| Refused::Invalid(error.to_string()))
}
