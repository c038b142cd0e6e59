//! The entries of sorted runs.

mod creation;
mod dealing;
mod ledger;
mod packed;
mod page;
mod payment;
mod state;
mod transaction_of;

use assay_columns::{
    ColumnsError,
    bytes::{ByteReader, from_zigzag, put_varint, zigzag},
    run::{self, FilterFilling, MergeSlice, NumberByHash},
};

use packed::{PackedLedger, PackedPayment};

pub(super) use creation::Creation;
pub(super) use dealing::StoredDealing;
pub(super) use ledger::{LedgerSums, StoredLedger};
pub(super) use page::StoredPage;
pub(super) use payment::StoredPayment;
pub(super) use state::StoredState;
pub(super) use transaction_of::TransactionOf;

/// The kinds of entries in runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EntryKind {
    /// Accounts by their addresses.
    Address,
    /// Transactions by their identifiers.
    Txid,
    /// Payments by account and asset.
    Payment,
    /// Ledgers by account and asset.
    Ledger,
    /// Transactions with other tokens, by account.
    OtherToken,
    /// Contracts by their creators, and creators by their contracts.
    Creation,
    /// Direct dealings by account.
    Dealing,
    /// Pages of sums by account and asset.
    Page,
    /// Transactions in which an account both received and paid an asset, by account.
    Passing,
    /// Groups of pages of sums by account and asset.
    PageGroup,
    /// Transactions that froze an account or ended a freeze, by account.
    Freeze,
    /// States of accounts beside their ledgers.
    State,
    /// Transactions with loans of resources, by account.
    Delegation,
    /// Transactions with messages between chains, by the messages' identifiers.
    Message,
}

/// The manifest of all runs of a graph.
pub(super) type AccountRuns = run::RunManifest<EntryKind>;

impl run::RunKind for EntryKind {
    const ALL: &'static [Self] = &[
        Self::Address,
        Self::Txid,
        Self::Payment,
        Self::Ledger,
        Self::OtherToken,
        Self::Creation,
        Self::Dealing,
        Self::Page,
        Self::Passing,
        Self::PageGroup,
        Self::Freeze,
        Self::State,
        Self::Delegation,
        Self::Message,
    ];

    fn number(self) -> u8 {
        self as u8
    }

    fn is_hashed(self) -> bool {
        // The writer looks up no transaction.
        matches!(self, Self::Address | Self::Ledger | Self::State)
    }

    fn is_mostly_new(self) -> bool {
        self == Self::Address
    }

    fn merge(self, slice: MergeSlice<'_, '_, Self>) -> Result<bool, ColumnsError> {
        match self {
            Self::Address | Self::Txid => slice.merge_entries::<NumberByHash>(),
            Self::Payment => slice.merge_entries::<PackedPayment<'_>>(),
            Self::Ledger => slice.merge_entries::<PackedLedger<'_>>(),
            Self::OtherToken | Self::Passing | Self::Freeze | Self::Delegation | Self::Message => {
                slice.merge_entries::<TransactionOf>()
            }
            Self::Creation => slice.merge_entries::<Creation>(),
            Self::Dealing => slice.merge_entries::<StoredDealing>(),
            Self::Page | Self::PageGroup => slice.merge_entries::<StoredPage>(),
            Self::State => slice.merge_entries::<StoredState>(),
        }
    }

    fn fill(self, filling: FilterFilling<'_, '_, Self>) -> Result<(), ColumnsError> {
        match self {
            Self::Ledger => filling.fill_from::<StoredLedger>(),
            Self::State => filling.fill_from::<StoredState>(),
            _ => filling.fill_from::<NumberByHash>(),
        }
    }
}

/// A time in milliseconds, relative to one before. Most are whole seconds.
fn put_time(into: &mut Vec<u8>, before: i64, time: i64) {
    let past = time.wrapping_sub(before);
    if past % 1000 == 0 {
        put_varint(into, zigzag(past / 1000) << 1);
    } else {
        put_varint(into, zigzag(past) << 1 | 1);
    }
}

fn take_time(before: i64, reading: &mut ByteReader<'_>) -> Option<i64> {
    let code = reading.varint()?;
    let past = from_zigzag(code >> 1);
    let past = if code & 1 == 0 { past.checked_mul(1000)? } else { past };
    before.checked_add(past)
}
