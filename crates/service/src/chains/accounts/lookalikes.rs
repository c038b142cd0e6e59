//! Accounts that look like counterparties of one account, in its transfers.

use assay_engine::{
    account::{AccountView, Lookalike, transaction_text},
    evidence::{AccountLimits, LookalikeAccount},
};

/// Most look-alikes in an answer.
const MOST: usize = 10;

/// Adds the accounts that sent an account worthless transfers and look like its counterparties.
pub(super) fn add_lookalikes(
    view: &dyn AccountView,
    found: &[Lookalike],
    limits: &mut AccountLimits,
) {
    let chain = view.chain();
    let found = found.iter().filter_map(|lookalike| {
        let transactions = lookalike.transactions.iter();
        Some(LookalikeAccount {
            address: lookalike.account.on(chain)?,
            of: lookalike.of.on(chain)?,
            is_paid: lookalike.is_paid,
            transactions: transactions.map(|it| transaction_text(chain, view.txid(*it))).collect(),
        })
    });
    limits.lookalike_accounts = found.take(MOST).collect();
}
