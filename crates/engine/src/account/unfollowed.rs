//! Transfers of an account that move no ledger: of nothing, and of tokens outside the table.

use super::{
    AccountAddress, AssetId, Transfer, scored_asset,
    view::{AccountView, MOST_OTHER_TOKENS},
};
use crate::ledger::{OwnerNumber, TransactionNumber};

/// A transfer of nothing, or of a token whose money is not followed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnfollowedTransfer {
    /// The transaction.
    pub transaction: TransactionNumber,
    /// The account that sent the transaction, if known. Anybody's contract can log a transfer of anybody.
    pub initiator: Option<AccountAddress>,
    /// The transfer.
    pub transfer: Transfer,
}

/// The account's own transfers of nothing, and of tokens whose money is not followed: those of the newest transactions, the
/// newest first.
#[must_use]
pub fn unfollowed_transfers(view: &dyn AccountView, owner: OwnerNumber) -> Vec<UnfollowedTransfer> {
    let account = view.address(owner);
    let chain = view.chain();
    let is_followed =
        |transfer: &Transfer| scored_asset(AssetId { chain, asset: transfer.asset }).is_some();
    let is_own = |it: &Transfer| Some(it.from) == account || Some(it.to) == account;
    let with_tokens = view.with_other_tokens(owner, MOST_OTHER_TOKENS).into_iter();
    let transactions = with_tokens.filter_map(|number| Some((number, view.transaction(number)?)));
    let own = transactions.flat_map(|(transaction, content)| {
        let own = content.transfers.into_iter();
        let own = own.filter(|it| is_own(it) && (it.amount.is_zero() || !is_followed(it)));
        let initiator = content.initiator;
        own.map(move |transfer| UnfollowedTransfer { transaction, initiator, transfer })
    });
    own.collect()
}
