//! Numbers of transactions and owners.
//!
//! A view gives them out and takes them back. A store numbers densely in the order of the chain; a source on demand
//! numbers what it meets. Only whether two are equal means the same over every view: the order of transactions is
//! told by their [positions](crate::reading::LookupResult::Transaction).

/// The number of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TransactionNumber(pub u64);

/// The number of an owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OwnerNumber(pub u64);

impl OwnerNumber {
    /// The number of an owner that never appeared: the subject of a trace of a deposit.
    pub const NOBODY: Self = Self(u64::MAX);
}
