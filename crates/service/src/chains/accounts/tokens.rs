//! Tokens whose money is not followed, in the transfers of one account.

use std::collections::{BTreeMap, BTreeSet};

use assay_address::ChainId;
use assay_engine::{
    account::{AccountAddress, Asset, AssetId, Transfer, UnfollowedTransfer, scored_asset},
    evidence::AccountLimits,
};

fn is_followed(chain: ChainId, transfer: &Transfer) -> bool {
    scored_asset(AssetId { chain, asset: transfer.asset }).is_some()
}

/// Adds the number of transfers of tokens whose money is not followed, and the tickers of scored assets that some of the
/// tokens bear by `lookalikes`.
pub(super) fn add_tokens(
    (chain, lookalikes): (ChainId, &BTreeMap<AccountAddress, String>),
    unfollowed: &[UnfollowedTransfer],
    limits: &mut AccountLimits,
) {
    let of_tokens = unfollowed.iter().map(|it| &it.transfer);
    let of_tokens: Vec<_> = of_tokens.filter(|it| !is_followed(chain, it)).collect();
    limits.other_tokens = u64::try_from(of_tokens.len()).unwrap_or(u64::MAX);
    let tickers: BTreeSet<&String> = of_tokens
        .into_iter()
        .filter_map(|transfer| match transfer.asset {
            Asset::Token(contract) => lookalikes.get(&contract),
            Asset::Native | Asset::Numbered(_) => None,
        })
        .collect();
    limits.lookalike_tokens = tickers.into_iter().cloned().collect();
}
