//! Numbers of transactions and owners.
//!
//! A [`ChainView`](crate::reading::ChainView) assigns these numbers. A store numbers densely in the order of the chain;
//! a source on demand numbers transactions and owners as it reads them. Numbers of one view can be compared for
//! equality only: the order of transactions is that of their [positions](crate::reading::LookupResult::Transaction).

/// The number of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TransactionNumber(pub u64);

/// The number of an owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OwnerNumber(pub u64);

impl OwnerNumber {
    /// The number of an owner that appears in no transaction: the subject of a trace of a deposit.
    pub const NOBODY: Self = Self(u64::MAX);
    /// The number that stands for several owners, in sums of payments.
    pub const SEVERAL: Self = Self(u64::MAX - 1);
}
