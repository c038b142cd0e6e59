//! Contract of chain readers: a chain's data about a subject, from any kind of source.

use std::{collections::HashMap, fmt::Debug};

use assay_address::CanonicalAddress;
use assay_engine::{
    account::IssuerFreeze,
    evidence::Tip,
    facts::{Cluster, DifferingBranches},
    ledger::{BlockId, BlockRef, OwnHistory, TransactionNumber},
    timeline::Timeline,
    utxo::Txid,
};
use assay_graph::GraphTip;
use assay_intel::IntelSnapshot;
use async_trait::async_trait;
use jiff::Timestamp;

use super::{
    booked::BookedTransaction,
    changes::ChainChanges,
    forms::TransactionWithForms,
    subject::{ReadError, SubjectData, TraceRequest},
    transfer::{TransferError, TransferRead, TransferReadRequest},
};

/// Recorded block, with the sum of the work of the blocks above it if it is known.
pub type BlockWithWork = (BlockRef, Option<u128>);

/// A history with the identifiers of its transactions.
#[derive(Clone, Debug)]
pub struct NamedHistory {
    /// The history.
    pub history: OwnHistory,
    /// The identifiers.
    pub names: HashMap<TransactionNumber, Txid>,
}

/// Source of the data of one chain.
#[async_trait]
pub trait ChainReader: Debug + Send + Sync {
    /// Traces the flows of a subject. A chain without data is no error: the answer states the lack of data.
    ///
    /// # Errors
    ///
    /// Returns an error if the database fails.
    async fn trace(&self, request: TraceRequest<'_>) -> Result<SubjectData, ReadError>;

    /// Returns an upper bound of a subject's flows, each at its largest weight, if the bound is known without a trace.
    /// An assessment by the upper bound has no lower score than an assessment by [`trace`](Self::trace).
    ///
    /// # Errors
    ///
    /// Returns an error if the database fails.
    async fn flows_at_most(&self, _of: TraceRequest<'_>) -> Result<Option<SubjectData>, ReadError> {
        Ok(None)
    }

    /// Reads one transfer with the flows that count for its direction.
    ///
    /// # Errors
    ///
    /// Returns an error if the chain does not have the transfer or cannot be read, or if the transfer cannot
    /// be assessed.
    async fn transfer(
        &self,
        request: TransferReadRequest<'_>,
    ) -> Result<TransferRead, TransferError>;

    /// Returns the latest ingested block; `None` if no block is ingested yet, or the reader ingests no blocks.
    ///
    /// # Errors
    ///
    /// Returns an error if the database fails.
    async fn latest_block(&self) -> Result<Option<Tip>, ReadError>;

    /// Returns the blocks after `since`; `None` if there are none yet, or the reader ingests no blocks.
    ///
    /// # Errors
    ///
    /// Returns an error if the database fails.
    async fn changes(&self, _since: Option<BlockRef>) -> Result<Option<ChainChanges>, ReadError> {
        Ok(None)
    }

    /// Returns the first and the newest recorded block; `None` without blocks.
    ///
    /// # Errors
    ///
    /// Returns an error if the database fails.
    async fn tip(&self) -> Result<Option<GraphTip>, ReadError> {
        Ok(None)
    }

    /// True if a block is recorded and on the current branch.
    ///
    /// # Errors
    ///
    /// Returns an error if the database fails.
    async fn has(&self, _block: BlockId) -> Result<bool, ReadError> {
        Ok(false)
    }

    /// Returns the recorded blocks at some heights up to `newest`, each with the work of the blocks above it; `None` if
    /// `newest` is not on the chain.
    ///
    /// # Errors
    ///
    /// Returns an error if the database fails.
    async fn branch_blocks(
        &self,
        _newest: BlockId,
        _heights: &[u64],
    ) -> Result<Option<Vec<BlockWithWork>>, ReadError> {
        Ok(None)
    }

    /// Returns a transaction with its largest inputs and outputs, and its structural forms; `None` if the chain does
    /// not have the transaction.
    ///
    /// # Errors
    ///
    /// Returns an error if the chain cannot be read.
    async fn transaction(
        &self,
        _txid: &Txid,
        _largest: u32,
    ) -> Result<Option<TransactionWithForms>, ReadError> {
        Ok(None)
    }

    /// Returns a transaction of an account chain with at most `most` transfers, and as many payments as which it is booked;
    /// `None` if the chain does not have the transaction.
    ///
    /// # Errors
    ///
    /// Returns an error if the chain cannot be read.
    async fn account_transaction(
        &self,
        _txid: &Txid,
        _most: u32,
        _intel: &IntelSnapshot,
        _now: Timestamp,
    ) -> Result<Option<BookedTransaction>, ReadError> {
        Ok(None)
    }

    /// Returns the amounts that an address received and sent, by the transactions of its largest transfers in each
    /// direction; `None` if the address never appeared.
    ///
    /// # Errors
    ///
    /// Returns an error if the database fails.
    async fn history(
        &self,
        _subject: &CanonicalAddress,
        _transfers: u32,
    ) -> Result<Option<NamedHistory>, ReadError> {
        Ok(None)
    }

    /// Returns the payments of an address by week, as far as they are recorded or were fetched: nothing is fetched for
    /// this. `None` if the address never appeared, as far as is known.
    ///
    /// # Errors
    ///
    /// Returns an error if the chain cannot be read.
    async fn timeline(
        &self,
        subject: &CanonicalAddress,
        intel: &IntelSnapshot,
        now: Timestamp,
    ) -> Result<Option<Timeline>, ReadError>;

    /// Returns the freezes of an address by issuers of tokens, of any time; none for a reader of no account chain.
    ///
    /// # Errors
    ///
    /// Returns an error if the chain cannot be read.
    async fn freezes(&self, _subject: &CanonicalAddress) -> Result<Vec<IssuerFreeze>, ReadError> {
        Ok(Vec::new())
    }

    /// Returns the cluster of an address.
    ///
    /// # Errors
    ///
    /// Returns an error if the database fails.
    async fn cluster(
        &self,
        subject: &CanonicalAddress,
        _intel: &IntelSnapshot,
    ) -> Result<Cluster, ReadError> {
        Ok(Cluster::alone(subject.clone()))
    }

    /// Returns the revision of the parties for which the compositions (origin breakdowns) of the chain are computed now;
    /// `None` without compositions, or if several servers may each have others.
    fn composition_revision(&self) -> Option<String> {
        None
    }

    /// Returns a difference between the branches of the chain's servers; `None` while all have the same branch.
    fn differing_branches(&self) -> Option<DifferingBranches> {
        None
    }
}
