//! What was fetched of single addresses and transactions on demand, kept so that nothing is fetched
//! twice.

use assay_engine::chain::ChainId;
use jiff::Timestamp;

/// What a fetched text is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FetchedKind {
    /// A transaction, by its identifier.
    Transaction,
    /// An address's history so far, by the address.
    History,
    /// Which transactions spend a transaction's outputs, by its identifier.
    Spends,
}

impl FetchedKind {
    /// The identifier in databases.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Transaction => "transaction",
            Self::History => "history",
            Self::Spends => "spends",
        }
    }
}

/// A fetched text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fetched {
    /// Its chain.
    pub chain: ChainId,
    /// What it is of.
    pub kind: FetchedKind,
    /// The identifier or address.
    pub key: String,
    /// The text: JSON, in whoever keeps it's own form.
    pub content: String,
    /// When it was fetched.
    pub fetched_at: Timestamp,
}
