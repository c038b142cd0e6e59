//! Transactions by their accounts.

use assay_columns::{
    bytes::{ByteReader, number, put_varint},
    run::RunEntry,
};

/// A transaction by one of its accounts: one that transfers tokens outside the table of scored assets, one in which the
/// account both received and paid an asset, one that froze the account or ended a freeze, one with a loan of resources, or one
/// with a message between chains.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in super::super) struct TransactionOf {
    pub(in super::super) owner: u64,
    pub(in super::super) transaction: u64,
}

impl RunEntry for TransactionOf {
    fn put_key(&self, into: &mut Vec<u8>) {
        into.extend_from_slice(&number(self.owner));
        into.extend_from_slice(&number(self.transaction));
    }

    fn from_key(reading: &mut ByteReader<'_>) -> Option<Self> {
        Some(Self { owner: reading.number()?, transaction: reading.number()? })
    }

    #[inline]
    fn leading_number(&self) -> u64 {
        self.owner
    }

    fn put(&self, before: Option<&Self>, into: &mut Vec<u8>) {
        let same = before.filter(|before| before.owner == self.owner);
        put_varint(into, self.owner.wrapping_sub(before.map_or(0, |before| before.owner)));
        put_varint(
            into,
            self.transaction.wrapping_sub(same.map_or(0, |before| before.transaction)),
        );
    }

    fn take(before: Option<&Self>, reading: &mut ByteReader<'_>) -> Option<Self> {
        let owner = before.map_or(0, |before| before.owner).wrapping_add(reading.varint()?);
        let same = before.filter(|before| before.owner == owner);
        let transaction = same.map_or(0, |before| before.transaction);
        Some(Self { owner, transaction: transaction.wrapping_add(reading.varint()?) })
    }

    fn try_merge(&mut self, other: &Self) -> bool {
        self == other
    }
}
