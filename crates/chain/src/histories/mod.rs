//! Histories of single addresses, from APIs that index them.

mod esplora;
mod transaction;

use std::fmt;

use assay_engine::{
    address::CanonicalAddress,
    utxo::{OutPoint, ScriptOwner, Txid},
};
use jiff::Timestamp;

pub use self::esplora::EsploraHistories;
use crate::SourceError;

/// The newest block, as an API reports it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReportedTip {
    /// Its height.
    pub height: u64,
    /// Its hash, as it is written.
    pub hash: [u8; 32],
    /// Its own time.
    pub time: Timestamp,
}

/// A confirmed transaction with both sides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FullTransaction {
    /// Its identifier.
    pub txid: Txid,
    /// The height of its block.
    pub height: u64,
    /// The time of its block.
    pub time: Timestamp,
    /// Whether it makes new coins.
    pub coinbase: bool,
    /// What it spends: the output, its owner and its value in base units.
    pub inputs: Vec<(OutPoint, ScriptOwner, u64)>,
    /// What it makes: owner and value in base units.
    pub outputs: Vec<(ScriptOwner, u64)>,
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
    fn tip(&self) -> Result<ReportedTip, SourceError>;

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
    ) -> Result<Vec<FullTransaction>, SourceError>;

    /// A transaction; `None` where it is not there or not confirmed.
    ///
    /// # Errors
    ///
    /// Where the API does not say.
    fn transaction(&self, txid: &Txid) -> Result<Option<FullTransaction>, SourceError>;

    /// Which confirmed transactions spend a transaction's outputs, by place.
    ///
    /// # Errors
    ///
    /// Where the API does not say.
    fn spends(&self, txid: &Txid) -> Result<Vec<Option<Txid>>, SourceError>;
}
