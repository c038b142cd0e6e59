//! One transaction of an account chain, with the payments as which it is booked.

use assay_engine::account::{AccountAddress, AccountTransaction, ScoredAsset};
use assay_engine::utxo::Txid;
use assay_graph::{GraphError, account::AccountGraphView};

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
    ///
    /// # Errors
    ///
    /// Returns an error if the graph cannot be read.
    pub(super) fn find(
        view: &dyn AccountGraphView,
        txid: &Txid,
    ) -> Result<Option<Self>, GraphError> {
        let found = Self::read(view, txid);
        view.check()?;
        Ok(found)
    }

    fn read(view: &dyn AccountGraphView, txid: &Txid) -> Option<Self> {
        let number = view.find(txid)?;
        let transaction = view.transaction(number)?;
        let payments = view.payments_of_transaction(number).into_iter().filter_map(|payment| {
            Some(BookedPayment {
                from: view.address(payment.from),
                to: view.address(payment.to),
                asset: view.scored(payment.asset)?,
                amount: payment.amount,
            })
        });
        Some(Self { payments: payments.collect(), transaction })
    }
}
