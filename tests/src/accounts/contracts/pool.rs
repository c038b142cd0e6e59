//! Pools of two assets at which accounts swap, by a constant product less a fee of 0.3 %, and their liquidity.

use assay_engine::account::{AccountAddress, Asset};
use ruint::aliases::U256;

use super::Call;
use crate::accounts::{AccountChain, ETHER};

/// Units of a token that somebody made to sell it at a pool of their own.
pub const OWN_TOKENS: u128 = 1_000_000 * ETHER;

/// A pool: a contract with balances of two assets, of which tokens are shares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pool {
    /// The contract.
    pub contract: AccountAddress,
    /// The assets.
    pub assets: [Asset; 2],
    /// The token of which each unit is a share of both assets.
    pub shares: Asset,
}

impl Pool {
    /// Opens a pool with the amounts of a provider, who gets all shares, in one transaction.
    pub fn open(
        chain: &mut AccountChain,
        provider: AccountAddress,
        sides: [(Asset, u128); 2],
    ) -> Self {
        let pool = Self {
            contract: chain.contract(),
            assets: sides.map(|(asset, _)| asset),
            shares: chain.token(),
        };
        let [first, second] = sides.map(|(asset, amount)| (provider, pool.contract, asset, amount));
        let minted = (AccountAddress::ZERO, provider, pool.shares, ETHER);
        chain.send(provider, &[first, second, minted]);
        pool
    }

    /// Makes a token and opens a pool with nine tenths of it and an amount of an asset.
    pub fn open_of_own_token(
        chain: &mut AccountChain,
        owner: AccountAddress,
        side: (Asset, u128),
    ) -> Self {
        let token = chain.token();
        chain.mint(token, owner, OWN_TOKENS);
        Self::open(chain, owner, [(token, OWN_TOKENS / 10 * 9), side])
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

    /// A swap whose other asset is paid to `to`.
    pub fn call(
        &self,
        chain: &AccountChain,
        (trader, to): (AccountAddress, AccountAddress),
        asset: Asset,
        amount: u128,
    ) -> Call {
        let (got, other) = (self.quote(chain, asset, amount), self.other(asset));
        Call::new(
            trader,
            &[(trader, self.contract, asset, amount), (self.contract, to, other, got)],
        )
    }

    /// Swaps an amount and has the other asset paid to `to`. Returns the amount of the other asset.
    pub fn swap_to(
        &self,
        chain: &mut AccountChain,
        (trader, to): (AccountAddress, AccountAddress),
        asset: Asset,
        amount: u128,
    ) -> u128 {
        let got = self.quote(chain, asset, amount);
        chain.execute(self.call(chain, (trader, to), asset, amount));
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

    /// Swaps all that an account holds of an asset for itself. Returns the amount of the other asset.
    pub fn swap_all(&self, chain: &mut AccountChain, trader: AccountAddress, asset: Asset) -> u128 {
        self.swap(chain, trader, asset, chain.balance(trader, asset))
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

    /// The amount of an asset of which a number of shares is entitled.
    fn part(&self, chain: &AccountChain, asset: Asset, shares: u128) -> u128 {
        scaled(chain.balance(self.contract, asset), shares, chain.supply(self.shares))
    }

    /// The most shares that an account can pay for.
    #[must_use]
    pub fn most_shares(&self, chain: &AccountChain, provider: AccountAddress) -> u128 {
        let supply = chain.supply(self.shares);
        let of_asset = self.assets.map(|asset| {
            let all = chain.balance(self.contract, asset).max(1);
            // One unit less for each asset pays for rounding up.
            scaled(chain.balance(provider, asset).saturating_sub(1), supply, all)
        });
        of_asset.into_iter().min().unwrap_or(0)
    }

    /// A provider pays both assets in for new shares.
    pub fn provide(&self, chain: &AccountChain, provider: AccountAddress, shares: u128) -> Call {
        let paid = self
            .assets
            .map(|asset| (provider, self.contract, asset, self.part(chain, asset, shares) + 1));
        Call::new(provider, &paid).with_moves(&[(
            AccountAddress::ZERO,
            provider,
            self.shares,
            shares,
        )])
    }

    /// A provider gives shares back and has both assets paid to `to`.
    pub fn withdraw(
        &self,
        chain: &AccountChain,
        (provider, to): (AccountAddress, AccountAddress),
        shares: u128,
    ) -> Call {
        let returned = [
            (provider, self.contract, self.shares, shares),
            (self.contract, AccountAddress::ZERO, self.shares, shares),
        ];
        let paid =
            self.assets.map(|asset| (self.contract, to, asset, self.part(chain, asset, shares)));
        Call::new(provider, &returned).with_moves(&paid)
    }

    /// A provider gives all own shares back.
    pub fn pull(&self, chain: &AccountChain, provider: AccountAddress) -> Call {
        self.withdraw(chain, (provider, provider), chain.balance(provider, self.shares))
    }
}

/// `amount` times `part` of `whole`, rounded down; 0 of nothing.
#[must_use]
pub fn scaled(amount: u128, part: u128, whole: u128) -> u128 {
    let product = U256::from(amount) * U256::from(part);
    u128::try_from(product.checked_div(U256::from(whole)).unwrap_or_default()).unwrap_or(u128::MAX)
}
