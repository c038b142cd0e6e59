//! One transaction in a graph, with the payments as which it is booked.

use assay_engine::utxo::Txid;
use assay_graph::{GraphError, account::AccountGraphView};

use crate::chains::booked::{BookedPayment, BookedTransaction};

/// Returns the transaction with an identifier, with at most `most` transfers and payments.
///
/// # Errors
///
/// Returns an error if the graph cannot be read.
pub(super) fn find(
    view: &dyn AccountGraphView,
    txid: &Txid,
    most: usize,
) -> Result<Option<BookedTransaction>, GraphError> {
    let found = read(view, txid, most);
    view.check()?;
    Ok(found)
}

fn read(view: &dyn AccountGraphView, txid: &Txid, most: usize) -> Option<BookedTransaction> {
    let number = view.find(txid)?;
    let mut transaction = view.transaction(number)?;
    let transfers_count = u64::try_from(transaction.transfers.len()).unwrap_or(u64::MAX);
    transaction.transfers.truncate(most);
    transaction.contract_facts.clear();
    transaction.freezes.clear();
    transaction.delegations.clear();
    transaction.messages.clear();
    let payments = view.payments_of_transaction(number).into_iter().filter_map(|payment| {
        Some(BookedPayment {
            from: view.address(payment.from),
            to: view.address(payment.to),
            asset: view.scored(payment.asset)?,
            amount: payment.amount,
        })
    });
    Some(BookedTransaction {
        payments: payments.take(most).collect(),
        transaction,
        transfers_count,
    })
}
