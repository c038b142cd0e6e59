//! Reader of a chain from its chain servers.

use std::{sync::Arc, time::Duration};

use assay_address::{CanonicalAddress, LedgerKind};
use assay_chain_protocol::{
    AskError, ServerSet,
    message::{
        AccountTransactionQuestion, ChangesQuestion, FlowsAtMostQuestion, NewestBlock, Question,
        TimelineQuestion, TraceQuestion, TransactionQuestion, TransferAnswer, TransferQuestion,
    },
};
use assay_engine::{
    evidence::{IngestMode, Tip, Unavailable},
    facts::DifferingBranches,
    ledger::BlockRef,
    timeline::Timeline,
    trace::is_bounded,
    transfer::TransferSelector,
    utxo::Txid,
};
use assay_intel::IntelSnapshot;
use assay_telemetry::stage;
use async_trait::async_trait;
use jiff::Timestamp;
use tokio::time::timeout;
use tracing::Instrument;

use super::{
    booked::BookedTransaction,
    changes::ChainChanges,
    forms::TransactionWithForms,
    messages::{
        accounts::transfer_question,
        read::{self, AnswerReader},
        types::MessageForm,
        write::{outputs, tracing_policy},
    },
    reader::ChainReader,
    subject::{ReadError, SubjectData, TraceRequest},
    transfer::{TransferError, TransferRead, TransferReadRequest},
};

/// Time limit for the question for the addresses in new blocks. The refresh of other chains waits for the answer.
const CHANGES_TIMEOUT: Duration = Duration::from_secs(2);

/// Reader of a chain from its chain servers.
#[derive(Clone, Debug)]
pub struct RemoteReader {
    servers: Arc<ServerSet>,
}

impl RemoteReader {
    /// Returns a reader of `servers`.
    #[must_use]
    pub const fn new(servers: Arc<ServerSet>) -> Self {
        Self { servers }
    }

    fn question(request: &TraceRequest<'_>) -> TraceQuestion {
        let TraceRequest { subject, rules, policy, now, .. } = *request;
        let policy = tracing_policy(policy, rules);
        TraceQuestion { address: subject.as_str().to_owned(), policy, now }
    }

    fn answers<'a>(&self, request: &TraceRequest<'a>) -> AnswerReader<'a> {
        AnswerReader { chain: self.servers.chain(), intel: request.intel }
    }

    async fn ask_transfer<Q: Question + Clone>(
        &self,
        request: &TransferReadRequest<'_>,
        question: &Q,
        is_enough: impl Fn(&Q::Answer) -> bool + Send,
    ) -> Result<Q::Answer, TransferError> {
        let TransferReadRequest { query, intel, .. } = request;
        let span = stage!("ask_chain_server", chain = self.servers.chain().info().id);
        let (txid, lists) = (&query.txid, intel.generation());
        let asking = self.servers.ask_until(txid, lists, question, is_enough);
        match asking.instrument(span).await {
            Err(AskError::BranchesDiffer(_)) => {
                Err(TransferError::Unavailable(query.chain, Unavailable::BranchesDiffer))
            }
            answer => Ok(answer.map_err(ReadError::from)?),
        }
    }

    /// Returns the newest block of the servers, which are asked if none is known.
    async fn newest(&self) -> Option<NewestBlock> {
        self.servers.wait_until_found().await;
        self.servers.newest()
    }
}

#[async_trait]
impl ChainReader for RemoteReader {
    async fn trace(&self, request: TraceRequest<'_>) -> Result<SubjectData, ReadError> {
        let span = stage!("ask_chain_server", chain = self.servers.chain().info().id);
        let (question, lists) = (Self::question(&request), request.intel.generation());
        let asking = self.servers.ask(request.subject.as_str(), lists, &question);
        let answer = asking.instrument(span).await?;
        Ok(self.answers(&request).traced(answer)?)
    }

    async fn flows_at_most(&self, of: TraceRequest<'_>) -> Result<Option<SubjectData>, ReadError> {
        if !is_bounded(of.policy) {
            return Ok(None);
        }
        let (question, lists) = (FlowsAtMostQuestion(Self::question(&of)), of.intel.generation());
        let answer = self.servers.ask(of.subject.as_str(), lists, &question).await?;
        Ok(answer.map(|answer| self.answers(&of).traced(answer)).transpose()?)
    }

    async fn transfer(
        &self,
        request: TransferReadRequest<'_>,
    ) -> Result<TransferRead, TransferError> {
        let TransferReadRequest { query, rules, policy, intel, now, .. } = request;
        let is_of_accounts = self.servers.chain().info().ledger == LedgerKind::Account;
        let reader = AnswerReader { chain: query.chain, intel };
        let read = match &query.selector {
            TransferSelector::Outputs(selector) if !is_of_accounts => {
                let question = TransferQuestion {
                    transaction: query.txid.into_message(),
                    outputs: outputs(selector),
                    direction: query.direction.into_message(),
                    policy: tracing_policy(policy, rules),
                    now,
                };
                // An unconfirmed transaction may have reached the node of another server only.
                let is_known = |answer: &TransferAnswer| {
                    !matches!(answer, TransferAnswer::UnknownTransaction { .. })
                };
                let answer = self.ask_transfer(&request, &question, is_known).await?;
                reader.transfer(query, answer, now)
            }
            TransferSelector::OfAccounts(selector) if is_of_accounts => {
                let question = transfer_question(&request, selector);
                let answer = self.ask_transfer(&request, &question, |_| true).await?;
                reader.account_transfer(query, answer, now)
            }
            _ => return Err(TransferError::OtherLedger(query.chain)),
        };
        read.map_err(ReadError::from)?
    }

    async fn latest_block(&self) -> Result<Option<Tip>, ReadError> {
        Ok(self.newest().await.map(|newest| Tip {
            height: newest.block.height,
            hash: hex::encode(newest.block.hash),
            time: newest.block.time,
            reported_at: newest.verified_at,
            start: newest.start,
            ingest_mode: IngestMode::Ingested,
            sample: newest.sample,
        }))
    }

    async fn changes(&self, since: Option<BlockRef>) -> Result<Option<ChainChanges>, ReadError> {
        // While no server answers, new blocks are unknown.
        let chain = self.servers.chain();
        let newest: Option<BlockRef> = match self.newest().await {
            Some(newest) => Some(MessageForm::read(newest.block)?),
            None => None,
        };
        if newest.is_some() && newest == since {
            return Ok(newest.map(ChainChanges::nothing));
        }
        // Every server with the newest block has the addresses in new blocks.
        let question = ChangesQuestion { since: since.into_message() };
        let asking = timeout(CHANGES_TIMEOUT, self.servers.ask(&chain, 0, &question)).await;
        let answer = asking.map_err(|_| ReadError::Changes(chain))??;
        let Some(newest) = answer.newest else { return Ok(None) };
        let newest = MessageForm::read(newest)?;
        let read = |text: &String| CanonicalAddress::parse(chain, text).ok();
        let addresses = answer.addresses.map(|all| all.iter().filter_map(read).collect());
        Ok(Some(ChainChanges { newest, addresses }))
    }

    async fn transaction(
        &self,
        txid: &Txid,
        largest: u32,
    ) -> Result<Option<TransactionWithForms>, ReadError> {
        let question = TransactionQuestion { transaction: txid.into_message(), largest };
        let answer = self.servers.ask(txid, 0, &question).await?;
        Ok(answer.map(read::transaction).transpose()?)
    }

    async fn timeline(
        &self,
        subject: &CanonicalAddress,
        _intel: &IntelSnapshot,
        _now: Timestamp,
    ) -> Result<Option<Timeline>, ReadError> {
        let question = TimelineQuestion { address: subject.as_str().to_owned() };
        let answer = self.servers.ask(subject.as_str(), 0, &question).await?;
        Ok(MessageForm::read(answer)?)
    }

    async fn account_transaction(
        &self,
        txid: &Txid,
        most: u32,
        intel: &IntelSnapshot,
        _now: Timestamp,
    ) -> Result<Option<BookedTransaction>, ReadError> {
        let question = AccountTransactionQuestion { transaction: txid.into_message(), most };
        let answer = self.servers.ask(txid, 0, &question).await?;
        let reader = AnswerReader { chain: self.servers.chain(), intel };
        Ok(answer.map(|answer| reader.account_transaction(answer)).transpose()?)
    }

    fn differing_branches(&self) -> Option<DifferingBranches> {
        self.servers.difference().map(|difference| DifferingBranches {
            last_common: difference.last_common,
            is_decided: difference.is_decided,
        })
    }
}
