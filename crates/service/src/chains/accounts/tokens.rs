//! Tokens whose money is not followed, in the transfers of one account.

use std::collections::BTreeSet;

use assay_engine::{
    account::{Asset, MOST_OTHER_TOKENS},
    evidence::AccountLimits,
    ledger::OwnerNumber,
};

use super::state::CheckState;

/// Adds the account's transfers of tokens whose money is not followed: their number, and the tickers of scored assets that
/// some of the tokens bear.
pub(super) fn add_tokens(state: &CheckState, owner: OwnerNumber, limits: &mut AccountLimits) {
    let view = &state.accounts;
    let with_tokens = view.with_other_tokens(owner, MOST_OTHER_TOKENS);
    limits.other_tokens = u64::try_from(with_tokens.len()).unwrap_or(u64::MAX);
    if state.lookalikes.is_empty() {
        return;
    }
    let account = view.address(owner);
    let transactions = with_tokens.into_iter().filter_map(|number| view.transaction(number));
    let transfers = transactions.flat_map(|transaction| transaction.transfers);
    let own = transfers.filter(|it| Some(it.from) == account || Some(it.to) == account);
    let tickers: BTreeSet<&String> = own
        .filter_map(|transfer| match transfer.asset {
            Asset::Token(contract) => state.lookalikes.get(&contract),
            Asset::Native | Asset::Numbered(_) => None,
        })
        .collect();
    limits.lookalike_tokens = tickers.into_iter().cloned().collect();
}
