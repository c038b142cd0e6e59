//! Histories of single addresses, from APIs that index them.

pub mod accounts;
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

/// Confirmed and classified transaction, with the spent outputs that the API returns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfirmedTransaction {
    /// The transaction.
    pub transaction: Transaction,
    /// Height of the transaction's block.
    pub height: u64,
    /// Time of the transaction's block.
    pub time: Timestamp,
}

impl ConfirmedTransaction {
    /// Returns the transaction as a trace reads it.
    #[must_use]
    pub fn view(&self, limits: SideLimits) -> TransactionView {
        self.transaction.view(self.height, self.time, limits)
    }
}

/// Position of a transaction in the chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChainPosition {
    /// Height of the transaction's block.
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

/// Source of the histories of single addresses. The source's calls block the thread.
pub trait HistorySource: fmt::Debug + Send + Sync {
    /// Returns the newest block.
    ///
    /// # Errors
    ///
    /// Returns an error if the source fails.
    fn tip(&self) -> Result<BlockRef, SourceError>;

    /// Returns the totals of an address.
    ///
    /// # Errors
    ///
    /// Returns an error if the source fails.
    fn summary(&self, address: &CanonicalAddress) -> Result<AddressSummary, SourceError>;

    /// Returns a page of an address's confirmed transactions, newest first: the first page, or the page after a
    /// transaction. The page is empty after the last transaction.
    ///
    /// # Errors
    ///
    /// Returns an error if the source fails.
    fn page(
        &self,
        address: &CanonicalAddress,
        after: Option<&Txid>,
    ) -> Result<Vec<ConfirmedTransaction>, SourceError>;

    /// Returns a transaction; `None` if it does not exist or is not confirmed.
    ///
    /// # Errors
    ///
    /// Returns an error if the source fails.
    fn transaction(&self, txid: &Txid) -> Result<Option<ConfirmedTransaction>, SourceError>;

    /// Returns the confirmed transactions that spend a transaction's outputs, by output index.
    ///
    /// # Errors
    ///
    /// Returns an error if the source fails.
    fn spenders(&self, txid: &Txid) -> Result<Vec<Option<Txid>>, SourceError>;

    /// Returns the position of a confirmed transaction; `None` if the source does not have it.
    ///
    /// # Errors
    ///
    /// Returns an error if the source fails.
    fn position(&self, txid: &Txid) -> Result<Option<ChainPosition>, SourceError>;
}
