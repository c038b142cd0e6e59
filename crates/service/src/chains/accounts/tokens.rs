//! Tokens whose money is not followed, in the transfers of one account.

use std::collections::BTreeSet;

use assay_engine::{
    account::{Asset, AssetId, MOST_OTHER_TOKENS, Transfer, scored_asset},
    evidence::AccountLimits,
    ledger::{OwnerNumber, TransactionNumber},
};

use super::state::CheckState;

/// Returns the account's own transfers of tokens whose money is not followed, and of nothing, by transaction.
pub(super) fn unfollowed_transfers(
    state: &CheckState,
    owner: OwnerNumber,
) -> Vec<(TransactionNumber, Transfer)> {
    let view = &state.accounts;
    let account = view.address(owner);
    let with_tokens = view.with_other_tokens(owner, MOST_OTHER_TOKENS).into_iter();
    let transactions = with_tokens.filter_map(|number| Some((number, view.transaction(number)?)));
    let transfers = transactions.flat_map(|(number, transaction)| {
        transaction.transfers.into_iter().map(move |transfer| (number, transfer))
    });
    let own = transfers.filter(|(_, it)| Some(it.from) == account || Some(it.to) == account);
    own.filter(|(_, it)| it.amount.is_zero() || !is_followed(state, it)).collect()
}

fn is_followed(state: &CheckState, transfer: &Transfer) -> bool {
    let chain = state.accounts.chain();
    scored_asset(AssetId { chain, asset: transfer.asset }).is_some()
}

/// Adds the number of transfers of tokens whose money is not followed, and the tickers of scored assets that some of the
/// tokens bear.
pub(super) fn add_tokens(
    state: &CheckState,
    unfollowed: &[(TransactionNumber, Transfer)],
    limits: &mut AccountLimits,
) {
    let of_tokens = unfollowed.iter().map(|(_, transfer)| transfer);
    let of_tokens: Vec<_> = of_tokens.filter(|it| !is_followed(state, it)).collect();
    limits.other_tokens = u64::try_from(of_tokens.len()).unwrap_or(u64::MAX);
    let tickers: BTreeSet<&String> = of_tokens
        .into_iter()
        .filter_map(|transfer| match transfer.asset {
            Asset::Token(contract) => state.lookalikes.get(&contract),
            Asset::Native | Asset::Numbered(_) => None,
        })
        .collect();
    limits.lookalike_tokens = tickers.into_iter().cloned().collect();
}
