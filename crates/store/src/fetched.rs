//! History of single addresses and transactions that was fetched on demand, stored so that it is fetched only once.

use assay_address::ChainId;
use async_trait::async_trait;
use jiff::Timestamp;

use crate::StoreError;

/// The store of fetched history.
#[async_trait]
pub trait FetchedStore: std::fmt::Debug + Send + Sync {
    /// The records under these keys, in any order. Keys without a record are missing in the answer.
    async fn fetched(
        &self,
        chain: ChainId,
        kind: FetchedKind,
        keys: &[String],
    ) -> Result<Vec<FetchedRecord>, StoreError>;

    /// Stores records. Each stored record replaces the record with the same key.
    async fn put_fetched(&self, records: &[FetchedRecord]) -> Result<(), StoreError>;

    /// Deletes records that were fetched before a moment. Returns how many.
    async fn purge_fetched(&self, before: Timestamp) -> Result<u64, StoreError>;
}

/// The kind of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FetchedKind {
    /// A transaction, by its identifier.
    Transaction,
    /// The history of an address so far, by the address; on account chains a page of a list of an account's transfers, by the
    /// account, the list, the order and the position.
    History,
    /// The transactions that spend the outputs of a transaction, by its identifier.
    Spends,
}

impl FetchedKind {
    /// The identifier of the kind in databases.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Transaction => "transaction",
            Self::History => "history",
            Self::Spends => "spends",
        }
    }
}

/// A record of fetched history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FetchedRecord {
    /// The chain.
    pub chain: ChainId,
    /// The kind.
    pub kind: FetchedKind,
    /// The transaction identifier or address that the record is about.
    pub key: String,
    /// The content of the record: JSON in the form of the program that fetched it.
    pub content: String,
    /// Time at which the record was fetched.
    pub fetched_at: Timestamp,
}
