//! Histories of single addresses, from APIs that index them.

mod esplora;

use std::fmt;

use assay_engine::{
    address::CanonicalAddress,
    utxo::{BlockRef, SideLimits, Transaction, TransactionView, Txid},
};
use jiff::Timestamp;

pub use self::esplora::EsploraHistories;
use crate::SourceError;

/// A transaction in a block, classified, with its spent outputs as far as the API tells them.
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

/// What an API says of an address in all. Amounts are in base units, change included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Summary {
    /// Received.
    pub funded: u128,
    /// Spent.
    pub spent: u128,
    /// Confirmed transactions.
    pub transactions: u64,
}

/// An API that tells the histories of addresses. Calls block the thread.
pub trait Histories: fmt::Debug + Send + Sync {
    /// The newest block.
    ///
    /// # Errors
    ///
    /// Where the API does not say.
    fn tip(&self) -> Result<BlockRef, SourceError>;

    /// An address in all.
    ///
    /// # Errors
    ///
    /// Where the API does not say.
    fn summary(&self, address: &CanonicalAddress) -> Result<Summary, SourceError>;

    /// Confirmed transactions of an address, the newest first: the first page, or the one after a
    /// transaction. Empty where there are no more.
    ///
    /// # Errors
    ///
    /// Where the API does not say.
    fn page(
        &self,
        address: &CanonicalAddress,
        after: Option<&Txid>,
    ) -> Result<Vec<ConfirmedTransaction>, SourceError>;

    /// A transaction; `None` where it is not there or not confirmed.
    ///
    /// # Errors
    ///
    /// Where the API does not say.
    fn transaction(&self, txid: &Txid) -> Result<Option<ConfirmedTransaction>, SourceError>;

    /// The confirmed transactions that spend a transaction's outputs, by output index.
    ///
    /// # Errors
    ///
    /// Where the API does not say.
    fn spenders(&self, txid: &Txid) -> Result<Vec<Option<Txid>>, SourceError>;
}
