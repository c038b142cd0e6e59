//! Tokens whose money is not followed, in the transfers of one account.

use std::collections::BTreeSet;

use assay_engine::{
    account::{Asset, AssetId, Transfer, UnfollowedTransfer, scored_asset},
    evidence::AccountLimits,
};

use super::state::CheckState;

fn is_followed(state: &CheckState, transfer: &Transfer) -> bool {
    let chain = state.accounts.chain();
    scored_asset(AssetId { chain, asset: transfer.asset }).is_some()
}

/// Adds the number of transfers of tokens whose money is not followed, and the tickers of scored assets that some of the
/// tokens bear.
pub(super) fn add_tokens(
    state: &CheckState,
    unfollowed: &[UnfollowedTransfer],
    limits: &mut AccountLimits,
) {
    let of_tokens = unfollowed.iter().map(|it| &it.transfer);
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
