//! Histories of single addresses, from APIs that index them.

mod esplora;

use std::fmt;

use assay_address::CanonicalAddress;
use assay_engine::{
    ledger::BlockRef,
    utxo::{SideLimits, Transaction, TransactionView, Txid},
};
use jiff::Timestamp;

pub use self::esplora::EsploraHistories;
use crate::SourceError;

/// A confirmed transaction, classified, with its spent outputs as far as the API returns them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfirmedTransaction {
    /// The transaction.
    pub transaction: Transaction,
    /// Height of its block.
    pub height: u64,
    /// Time of its block.
    pub time: Timestamp,
}

impl ConfirmedTransaction {
    /// The transaction as a trace reads it.
    #[must_use]
    pub fn view(&self, limits: SideLimits) -> TransactionView {
        self.transaction.view(self.height, self.time, limits)
    }
}

/// Where a transaction is in the chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChainPosition {
    /// Height of its block.
    pub height: u64,
    /// Index among the block's transactions, from 0.
    pub index: u64,
}

/// Totals of an address. Amounts are in base units and include change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AddressSummary {
    /// Total received.
    pub funded: u128,
    /// Total spent.
    pub spent: u128,
    /// Number of confirmed transactions.
    pub transactions: u64,
}

/// A source of the histories of single addresses. Calls block the thread.
pub trait HistorySource: fmt::Debug + Send + Sync {
    /// The newest block.
    ///
    /// # Errors
    ///
    /// Returns an error if the source fails.
    fn tip(&self) -> Result<BlockRef, SourceError>;

    /// The totals of an address.
    ///
    /// # Errors
    ///
    /// Returns an error if the source fails.
    fn summary(&self, address: &CanonicalAddress) -> Result<AddressSummary, SourceError>;

    /// A page of an address's confirmed transactions, newest first: the first page, or the one after a
    /// transaction. Empty if there are no more.
    ///
    /// # Errors
    ///
    /// Returns an error if the source fails.
    fn page(
        &self,
        address: &CanonicalAddress,
        after: Option<&Txid>,
    ) -> Result<Vec<ConfirmedTransaction>, SourceError>;

    /// A transaction; `None` if it does not exist or is not confirmed.
    ///
    /// # Errors
    ///
    /// Returns an error if the source fails.
    fn transaction(&self, txid: &Txid) -> Result<Option<ConfirmedTransaction>, SourceError>;

    /// The confirmed transactions that spend a transaction's outputs, by output index.
    ///
    /// # Errors
    ///
    /// Returns an error if the source fails.
    fn spenders(&self, txid: &Txid) -> Result<Vec<Option<Txid>>, SourceError>;

    /// The position of a confirmed transaction; `None` if the source does not tell it.
    ///
    /// # Errors
    ///
    /// Returns an error if the source fails.
    fn position(&self, txid: &Txid) -> Result<Option<ChainPosition>, SourceError>;
}
