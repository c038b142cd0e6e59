//! Creations of contracts.

use assay_columns::{
    bytes::{ByteReader, number, put_varint},
    run::RunEntry,
};

/// The creation of a contract, as the creator or as the contract has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in super::super) struct Creation {
    pub(in super::super) owner: u64,
    /// True for the creator's entry.
    pub(in super::super) is_creator: bool,
    pub(in super::super) transaction: u64,
    /// The contract, or its creator.
    pub(in super::super) other: u64,
}

impl RunEntry for Creation {
    fn put_key(&self, into: &mut Vec<u8>) {
        into.extend_from_slice(&number(self.owner));
        into.push(self.is_creator.into());
        into.extend_from_slice(&number(self.transaction));
        into.extend_from_slice(&number(self.other));
    }

    fn from_key(reading: &mut ByteReader<'_>) -> Option<Self> {
        Some(Self {
            owner: reading.number()?,
            is_creator: reading.byte()? != 0,
            transaction: reading.number()?,
            other: reading.number()?,
        })
    }

    #[inline]
    fn leading_number(&self) -> u64 {
        self.owner
    }

    fn put(&self, before: Option<&Self>, into: &mut Vec<u8>) {
        put_varint(into, self.owner.wrapping_sub(before.map_or(0, |before| before.owner)));
        put_varint(into, self.transaction << 1 | u64::from(self.is_creator));
        put_varint(into, self.other);
    }

    fn take(before: Option<&Self>, reading: &mut ByteReader<'_>) -> Option<Self> {
        let owner = before.map_or(0, |before| before.owner).wrapping_add(reading.varint()?);
        let transaction = reading.varint()?;
        let is_creator = transaction & 1 != 0;
        Some(Self { owner, is_creator, transaction: transaction >> 1, other: reading.varint()? })
    }

    fn try_merge(&mut self, other: &Self) -> bool {
        self == other
    }
}
