//! Pools of two assets at which accounts swap, by a constant product less a fee of 0.3 %.

use assay_engine::account::{AccountAddress, Asset};
use ruint::aliases::U256;

use super::AccountChain;

/// A pool: a contract with balances of two assets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pool {
    /// The contract.
    pub contract: AccountAddress,
    /// The assets.
    pub assets: [Asset; 2],
}

impl Pool {
    /// Opens a pool with the amounts of a provider, in one transaction.
    pub fn open(
        chain: &mut AccountChain,
        provider: AccountAddress,
        sides: [(Asset, u128); 2],
    ) -> Self {
        let contract = chain.account();
        let paid = sides.map(|(asset, amount)| (provider, contract, asset, amount));
        chain.send(provider, &paid);
        Self { contract, assets: sides.map(|(asset, _)| asset) }
    }

    /// The other asset.
    #[must_use]
    pub fn other(&self, asset: Asset) -> Asset {
        if self.assets[0] == asset { self.assets[1] } else { self.assets[0] }
    }

    /// The amount of the other asset that an amount gets.
    #[must_use]
    pub fn quote(&self, chain: &AccountChain, asset: Asset, amount: u128) -> u128 {
        let side = |of| U256::from(chain.balance(self.contract, of));
        let after_fee = U256::from(amount) * U256::from(997);
        let got = side(self.other(asset)) * after_fee
            / (side(asset) * U256::from(1_000) + after_fee).max(U256::from(1));
        u128::try_from(got).unwrap_or(0)
    }

    /// Swaps an amount and has the other asset paid to `to`, in one transaction. Returns the amount.
    pub fn swap_to(
        &self,
        chain: &mut AccountChain,
        (trader, to): (AccountAddress, AccountAddress),
        asset: Asset,
        amount: u128,
    ) -> u128 {
        let got = self.quote(chain, asset, amount);
        let other = self.other(asset);
        chain.send(
            trader,
            &[(trader, self.contract, asset, amount), (self.contract, to, other, got)],
        );
        got
    }

    /// Swaps an amount for oneself. Returns the amount of the other asset.
    pub fn swap(
        &self,
        chain: &mut AccountChain,
        trader: AccountAddress,
        asset: Asset,
        amount: u128,
    ) -> u128 {
        self.swap_to(chain, (trader, trader), asset, amount)
    }

    /// Swaps an amount through a router, which holds nothing afterwards. Returns the amount of the other asset.
    pub fn swap_through(
        &self,
        chain: &mut AccountChain,
        (trader, router, to): (AccountAddress, AccountAddress, AccountAddress),
        asset: Asset,
        amount: u128,
    ) -> u128 {
        let got = self.quote(chain, asset, amount);
        let other = self.other(asset);
        chain.send(
            trader,
            &[
                (trader, router, asset, amount),
                (router, self.contract, asset, amount),
                (self.contract, router, other, got),
                (router, to, other, got),
            ],
        );
        got
    }
}
