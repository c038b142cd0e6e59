//! Accounts that look like counterparties of one account, in its transfers.

use assay_engine::{
    account::{Acquaintances, Transfer, transaction_text},
    evidence::{AccountLimits, LookalikeAccount},
    ledger::{OwnerNumber, TransactionNumber},
};

use super::state::CheckState;

/// Most look-alikes in an answer.
const MOST: usize = 10;

/// Adds the accounts that sent an account worthless transfers and look like its counterparties. `known` has the account's
/// payments.
pub(super) fn add_lookalikes(
    state: &CheckState,
    owner: OwnerNumber,
    mut known: Acquaintances,
    unfollowed: &[(TransactionNumber, Transfer)],
    limits: &mut AccountLimits,
) {
    let view = &state.accounts;
    let (chain, account) = (view.chain(), view.address(owner));
    for (number, transfer) in unfollowed {
        let other = if Some(transfer.from) == account { transfer.to } else { transfer.from };
        if Some(other) != account {
            known.add_worthless(other, *number);
        }
    }
    let found = known.lookalikes(chain).into_iter().filter_map(|lookalike| {
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
