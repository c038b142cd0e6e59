//! One transaction of an account chain, with the payments as which it is booked.

use assay_engine::account::{AccountAddress, AccountTransaction, AccountView, ScoredAsset};
use assay_engine::utxo::Txid;
use assay_graph::account::MemoryAccounts;

/// A transaction with its payments.
#[derive(Clone, Debug)]
pub struct BookedTransaction {
    /// The transaction.
    pub transaction: AccountTransaction,
    /// The payments as which it is booked: what went both ways cancels, and accounts that pass money on are left out.
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

impl BookedTransaction {
    /// Returns the transaction with an identifier.
    pub(super) fn find(view: &MemoryAccounts, txid: &Txid) -> Option<Self> {
        let (number, transaction) = view.transactions().find(txid)?;
        let all = view.ledgers().payments();
        let first = all.partition_point(|payment| payment.transaction < number);
        let own = all.iter().skip(first).take_while(|payment| payment.transaction == number);
        let payments = own.filter_map(|payment| {
            Some(BookedPayment {
                from: view.address(payment.from),
                to: view.address(payment.to),
                asset: view.scored(payment.asset)?,
                amount: payment.amount,
            })
        });
        Some(Self { payments: payments.collect(), transaction: transaction.clone() })
    }
}
