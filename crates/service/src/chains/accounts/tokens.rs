//! Tokens whose money is not followed, in the transfers of one account.

use std::collections::BTreeSet;

use assay_engine::{account::Asset, evidence::AccountLimits, ledger::OwnerNumber};

use super::state::CheckState;

/// Adds the account's transfers of tokens whose money is not followed: their number, and the tickers of scored assets that
/// some of the tokens bear.
pub(super) fn add_tokens(state: &CheckState, owner: OwnerNumber, limits: &mut AccountLimits) {
    let transactions = state.accounts.transactions();
    let with_tokens = transactions.with_other_tokens(owner);
    limits.other_tokens = u64::try_from(with_tokens.len()).unwrap_or(u64::MAX);
    let account = transactions.account(owner);
    let transfers = with_tokens.iter().filter_map(|number| transactions.transaction(*number));
    let transfers = transfers.flat_map(|transaction| &transaction.transfers);
    let own = transfers.filter(|it| Some(it.from) == account || Some(it.to) == account);
    let tickers: BTreeSet<&String> = own
        .filter_map(|transfer| match transfer.asset {
            Asset::Token(contract) => state.lookalikes.get(&contract),
            Asset::Native | Asset::Numbered(_) => None,
        })
        .collect();
    limits.lookalike_tokens = tickers.into_iter().cloned().collect();
}
