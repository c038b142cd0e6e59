//! Rows of an unfinished update of the ledgers, from which it goes on after an interruption.

use std::collections::VecDeque;

use assay_columns::bytes::{ByteReader, number, put_varint};
use assay_engine::account::AccountLedger;
use assay_mapped::WriteTransaction;
use heed::RoTxn;

use super::super::{
    amount::{put_amount, take_amount},
    book::LedgerKey,
    entry::{AccountRuns, StoredPayment},
    share_bytes::{put_shares, take_shares},
    tables::{DRAFT, DRAFT_RUNS, Tables},
};
use crate::GraphError;

/// The runs of an unfinished update; `None` without one.
pub(in super::super) fn runs(
    tables: &Tables,
    txn: &RoTxn<'_>,
) -> Result<Option<AccountRuns>, GraphError> {
    let bytes = tables.meta.get(txn, DRAFT_RUNS)?;
    Ok(bytes.map(AccountRuns::from_bytes).transpose()?)
}

/// Deletes the record and the rows of an unfinished update.
pub(in super::super) fn forget(
    tables: &Tables,
    txn: &mut WriteTransaction<'_>,
) -> Result<(), GraphError> {
    tables.draft.clear(txn)?;
    tables.meta.delete(txn, DRAFT)?;
    Ok(tables.meta.delete(txn, DRAFT_RUNS)?)
}

/// The record of an unfinished update.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct DraftRecord {
    /// Revision of the ends that the update is for, and of those of the ledgers before.
    pub(super) ends: [String; 2],
    /// The number of the update.
    pub(super) update: u64,
    /// Transactions before this one are booked.
    pub(super) position: u64,
    /// From this transaction on, all transactions are looked at: they came after the update had begun.
    pub(super) tail: u64,
    /// Number of transactions that were booked anew.
    pub(super) booked: u64,
}

impl DraftRecord {
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        for part in [self.update, self.position, self.tail, self.booked] {
            put_varint(&mut bytes, part);
        }
        for revision in &self.ends {
            put_varint(&mut bytes, revision.len() as u64);
            bytes.extend_from_slice(revision.as_bytes());
        }
        bytes
    }

    pub(super) fn parse(bytes: &[u8]) -> Option<Self> {
        let mut reading = ByteReader(bytes);
        let [update, position, tail, booked] =
            [reading.varint()?, reading.varint()?, reading.varint()?, reading.varint()?];
        let mut revision = || {
            let length = usize::try_from(reading.varint()?).ok()?;
            Some(std::str::from_utf8(reading.take(length)?).ok()?.to_owned())
        };
        let ends = [revision()?, revision()?];
        Some(Self { ends, update, position, tail, booked })
    }
}

/// A ledger under the ends of before and under the new ones, up to a transaction.
#[expect(clippy::struct_excessive_bools, reason = "each is true or false by itself")]
#[derive(Clone, Debug, Default)]
pub(super) struct DraftLedger {
    pub(super) old: AccountLedger,
    pub(super) new: AccountLedger,
    /// Transactions before this one are booked.
    pub(super) at: u64,
    /// Entries from `at` on, as far as they were read.
    pub(super) ahead: VecDeque<StoredPayment>,
    /// Entries of transactions before this one are booked or in `ahead`; `None` if no further ones were there.
    pub(super) read_until: Option<u64>,
    /// True if the account is known to have fewer entries than a page has payments.
    pub(super) is_short: bool,
    /// The next transaction in which the account pays; `None` if it pays no more.
    pub(super) next: Option<u64>,
    /// The first transaction that changed the ledger.
    pub(super) first: u64,
    /// True if the ledgers differ, or if the account has a ledger only under one of the ends.
    pub(super) is_changed: bool,
    /// True for an account at which money ends no more.
    pub(super) is_freed: bool,
    /// True if its payments are others, and not only their breakdowns.
    pub(super) is_recounted: bool,
    /// True if the last version is written.
    pub(super) is_written: bool,
    /// True if some version was written: further ones follow, also if the ledgers became equal.
    pub(super) was_written: bool,
}

impl DraftLedger {
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(100);
        let flags =
            [self.is_changed, self.is_freed, self.is_recounted, self.is_written, self.was_written];
        bytes.push(flags.iter().rev().fold(0, |sum, flag| sum << 1 | u8::from(*flag)));
        put_varint(&mut bytes, self.at);
        put_varint(&mut bytes, self.next.map_or(0, |next| next + 1));
        put_varint(&mut bytes, self.first);
        for ledger in [&self.old, &self.new] {
            put_amount(&mut bytes, ledger.balance);
            put_amount(&mut bytes, ledger.missing);
            put_shares(&mut bytes, &ledger.shares);
        }
        bytes
    }

    pub(super) fn parse(bytes: &[u8]) -> Option<Self> {
        let mut reading = ByteReader(bytes);
        let flags = reading.byte()?;
        let flag = |bit: u8| flags >> bit & 1 != 0;
        let (at, next, first) = (reading.varint()?, reading.varint()?, reading.varint()?);
        let mut ledger = || {
            Some(AccountLedger {
                balance: take_amount(&mut reading)?,
                missing: take_amount(&mut reading)?,
                shares: take_shares(&mut reading)?,
            })
        };
        let (old, new) = (ledger()?, ledger()?);
        Some(Self {
            old,
            new,
            at,
            ahead: VecDeque::new(),
            read_until: Some(at),
            is_short: false,
            next: next.checked_sub(1),
            first,
            is_changed: flag(0),
            is_freed: flag(1),
            is_recounted: flag(2),
            is_written: flag(3),
            was_written: flag(4),
        })
    }
}

/// A row of an unfinished update.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum DraftKey {
    /// A ledger that differs.
    Ledger(LedgerKey),
    /// The pages of an account in an asset, which are written anew from a transaction on.
    Pages(LedgerKey),
    /// The direct dealings of an account with a party, which are summed anew.
    Dealings(u64, u64),
}

impl DraftKey {
    pub(super) fn to_bytes(self) -> Vec<u8> {
        let of_ledger = |kind: u8, (owner, asset): LedgerKey| {
            [&[kind][..], &number(owner), &asset.to_be_bytes()].concat()
        };
        match self {
            Self::Ledger(key) => of_ledger(0, key),
            Self::Pages(key) => of_ledger(1, key),
            Self::Dealings(account, party) => [&[2][..], &number(account), &number(party)].concat(),
        }
    }

    pub(super) fn parse(bytes: &[u8]) -> Option<Self> {
        let mut reading = ByteReader(bytes);
        match reading.byte()? {
            0 => Some(Self::Ledger((reading.number()?, reading.u32()?))),
            1 => Some(Self::Pages((reading.number()?, reading.u32()?))),
            2 => Some(Self::Dealings(reading.number()?, reading.number()?)),
            _ => None,
        }
    }
}
