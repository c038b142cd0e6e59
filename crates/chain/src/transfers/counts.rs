//! Counts of what transfer files hold, for the report of an ingest.

use std::collections::BTreeMap;

use assay_engine::account::{Asset, Transfer, TransferKind};
use ruint::{Uint, aliases::U256};
use rustc_hash::FxHashMap;

use super::columns::FileForm;

/// Reason why a valid row, or a value that rows state, is no transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LeftOut {
    /// A call or a transaction that failed, or one within a failed call.
    Failed,
    /// A call in the account of the caller, or one that cannot move value.
    Delegate,
    /// A call or a transaction without value.
    WithoutValue,
    /// A token with a number of its own, which is no amount.
    NotFungible,
    /// An event of a block that a reorganization removed.
    Removed,
    /// A reward of a block of proof of stake, which has none.
    RewardAfterMerge,
    /// The value of a transaction for which neither a status nor traces show that it succeeded.
    UnknownStatus,
    /// A value without a stated receiver.
    WithoutReceiver,
    /// A fact about a contract in a transaction without transfers.
    WithoutTransfer,
}

impl LeftOut {
    /// Every reason.
    pub const ALL: [Self; 9] = [
        Self::Failed,
        Self::Delegate,
        Self::WithoutValue,
        Self::NotFungible,
        Self::Removed,
        Self::RewardAfterMerge,
        Self::UnknownStatus,
        Self::WithoutReceiver,
        Self::WithoutTransfer,
    ];

    /// The identifier in reports.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Failed => "failed",
            Self::Delegate => "delegate_call",
            Self::WithoutValue => "without_value",
            Self::NotFungible => "not_fungible",
            Self::Removed => "removed",
            Self::RewardAfterMerge => "reward_after_merge",
            Self::UnknownStatus => "unknown_status",
            Self::WithoutReceiver => "without_receiver",
            Self::WithoutTransfer => "without_transfer",
        }
    }

    /// The reason for people.
    #[must_use]
    pub const fn explanation(self) -> &'static str {
        match self {
            Self::Failed => "failed, or within a failed call",
            Self::Delegate => "calls that cannot move value (delegate, static)",
            Self::WithoutValue => "calls and transactions without value",
            Self::NotFungible => "tokens with numbers of their own (ERC-721, ERC-1155)",
            Self::Removed => "events that a reorganization removed",
            Self::RewardAfterMerge => "rewards of blocks that have none (proof of stake)",
            Self::UnknownStatus => {
                "values of transactions whose success is not stated: give receipts or traces along"
            }
            Self::WithoutReceiver => "values without a stated receiver",
            Self::WithoutTransfer => "facts about contracts in transactions without transfers",
        }
    }
}

/// A sum of amounts, which may exceed 256 bits.
pub type Sum = Uint<320, 5>;

/// Number and sum of the transfers of an asset.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AssetSum {
    /// Number of transfers.
    pub transfers: u64,
    /// Sum of their amounts in base units.
    pub amount: Sum,
}

impl AssetSum {
    /// Adds a transfer.
    pub fn add(&mut self, amount: U256) {
        self.transfers += 1;
        self.amount = self.amount.wrapping_add(Sum::from(amount));
    }
}

/// Number of rows of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileCounts {
    /// Name of the file.
    pub file: String,
    /// Form of its rows.
    pub form: FileForm,
    /// Number of rows.
    pub rows: u64,
    /// Number of rows that the file itself states; `None` if it does not.
    pub stated_rows: Option<u64>,
    /// Columns without a known meaning.
    pub unknown_columns: Vec<String>,
    /// True if the last line has no line end, as in a file that was cut off.
    pub is_last_line_open: bool,
    /// True if the blocks of the file go backwards, so that its rows were sorted in memory.
    pub is_sorted_in_memory: bool,
}

/// Counts of what files hold.
#[derive(Clone, Debug, Default)]
pub struct TransferCounts {
    /// Transfers by kind.
    pub kinds: BTreeMap<TransferKind, u64>,
    /// Facts about contracts.
    pub contract_facts: u64,
    /// Rows and values that are no transfers, by reason.
    pub left_out: BTreeMap<LeftOut, u64>,
    /// Rows that repeat another row.
    pub duplicates: u64,
    /// Transfers of more than 128 bits, which are shown and move no ledger.
    pub above_128_bits: u64,
    /// Transactions without a stated sender.
    pub transactions_without_initiator: u64,
    /// Sums by asset.
    pub assets: AssetSums,
    /// Amounts that rows state, by asset.
    stated: AssetSums,
    /// Amounts that follow from rows of transactions and blocks: values, fees and withdrawals.
    derived: AssetSums,
    /// Stated amounts that are no transfers, or repeat one.
    passed_over: AssetSums,
}

/// Numbers and sums of transfers by asset.
pub type AssetSums = FxHashMap<Asset, AssetSum>;

impl TransferCounts {
    pub(super) fn leave_out(&mut self, reason: LeftOut) {
        *self.left_out.entry(reason).or_default() += 1;
    }

    /// Leaves out an amount that a row stated.
    pub(super) fn leave_out_stated(&mut self, reason: LeftOut, asset: Asset, amount: U256) {
        self.leave_out(reason);
        self.passed_over.entry(asset).or_default().add(amount);
    }

    /// Leaves out a transfer that repeats another one.
    pub(super) fn leave_out_repeated(&mut self, transfer: &Transfer) {
        self.duplicates += 1;
        self.passed_over.entry(transfer.asset).or_default().add(transfer.amount);
    }

    /// Notes an amount that a row states.
    pub(super) fn state(&mut self, asset: Asset, amount: U256) {
        self.stated.entry(asset).or_default().add(amount);
    }

    /// Notes an amount that follows from a row.
    pub(super) fn derive(&mut self, asset: Asset, amount: U256) {
        self.derived.entry(asset).or_default().add(amount);
    }

    /// True if, for each asset, the transfers are what the rows state and what follows from rows, apart from what was
    /// passed over.
    #[must_use]
    pub fn sums_match(&self) -> bool {
        let assets =
            [&self.stated, &self.derived, &self.assets].into_iter().flat_map(|it| it.keys());
        let of = |sums: &AssetSums, asset: &Asset| sums.get(asset).copied().unwrap_or_default();
        assets.into_iter().all(|asset| {
            let (stated, derived) = (of(&self.stated, asset), of(&self.derived, asset));
            let (kept, passed) = (of(&self.assets, asset), of(&self.passed_over, asset));
            stated.transfers + derived.transfers == kept.transfers + passed.transfers
                && stated.amount.wrapping_add(derived.amount)
                    == kept.amount.wrapping_add(passed.amount)
        })
    }

    pub(super) fn add(&mut self, transfer: &Transfer) {
        *self.kinds.entry(transfer.kind).or_default() += 1;
        self.assets.entry(transfer.asset).or_default().add(transfer.amount);
        self.above_128_bits += u64::from(transfer.amount.bit_len() > 128);
    }

    /// Number of transfers.
    #[must_use]
    pub fn transfers(&self) -> u64 {
        self.kinds.values().sum()
    }
}
