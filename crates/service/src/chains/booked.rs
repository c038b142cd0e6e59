//! One transaction of an account chain, with the payments as which it is booked.

use assay_engine::account::{AccountAddress, AccountTransaction, ScoredAsset};

/// A transaction with its payments.
#[derive(Clone, Debug)]
pub struct BookedTransaction {
    /// The transaction, with its first transfers and without the facts about contracts.
    pub transaction: AccountTransaction,
    /// Number of all transfers.
    pub transfers_count: u64,
    /// The first payments as which it is booked: what went both ways cancels, and accounts that pass money on are left out.
    pub payments: Vec<BookedPayment>,
}

/// A payment of a followed asset.
#[derive(Clone, Debug)]
pub struct BookedPayment {
    /// The payer; `None` for new coins.
    pub from: Option<AccountAddress>,
    /// The receiver; `None` for destroyed units.
    pub to: Option<AccountAddress>,
    /// The asset.
    pub asset: &'static ScoredAsset,
    /// Amount in base units.
    pub amount: u128,
}
