//! Vaults: contracts that hold one asset, of which tokens are shares.

use assay_engine::account::{AccountAddress, Asset};

use super::{Call, pool::scaled};
use crate::accounts::AccountChain;

/// A vault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Vault {
    /// The contract.
    pub contract: AccountAddress,
    /// The asset.
    pub asset: Asset,
    /// The token of which each unit is a share of the asset.
    pub shares: Asset,
}

impl Vault {
    /// An empty vault.
    pub fn new(chain: &mut AccountChain, asset: Asset) -> Self {
        Self { contract: chain.contract(), asset, shares: chain.token() }
    }

    /// A payment into the vault for new shares.
    pub fn deposit(&self, chain: &AccountChain, payer: AccountAddress, amount: u128) -> Call {
        let held = chain.balance(self.contract, self.asset);
        let supply = chain.supply(self.shares);
        let shares = if supply == 0 { amount } else { scaled(amount, supply, held) };
        Call::new(
            payer,
            &[
                (payer, self.contract, self.asset, amount),
                (AccountAddress::ZERO, payer, self.shares, shares),
            ],
        )
    }

    /// Shares are destroyed, and their part of the asset paid to `to`.
    pub fn withdraw(
        &self,
        chain: &AccountChain,
        (owner, to): (AccountAddress, AccountAddress),
        shares: u128,
    ) -> Call {
        let held = chain.balance(self.contract, self.asset);
        let paid = scaled(held, shares, chain.supply(self.shares));
        Call::new(
            owner,
            &[
                (owner, AccountAddress::ZERO, self.shares, shares),
                (self.contract, to, self.asset, paid),
            ],
        )
    }
}
