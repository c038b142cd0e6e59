//! Tokens that stand for ether: wrapped and staked ether, made and destroyed by their own contracts.

use assay_engine::account::{AccountAddress, Asset};

use super::Call;
use crate::accounts::{ETH, contract};

/// An account pays ether to the token's contract and gets as much of the token.
pub fn wrap(account: AccountAddress, token: Asset, amount: u128) -> Call {
    Call::new(
        account,
        &[(account, contract(token), ETH, amount), (AccountAddress::ZERO, account, token, amount)],
    )
}

/// An account destroys units of the token and has as much ether paid to `to`.
pub fn unwrap((account, to): (AccountAddress, AccountAddress), token: Asset, amount: u128) -> Call {
    Call::new(
        account,
        &[(account, AccountAddress::ZERO, token, amount), (contract(token), to, ETH, amount)],
    )
}
