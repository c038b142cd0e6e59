//! Loans against deposits, by one contract for all assets or by one for each asset, with receipts for deposits.

use std::collections::BTreeMap;

use assay_engine::account::{AccountAddress, Asset};

use super::{Call, named_depositor};
use crate::accounts::AccountChain;

/// Percent of deposits that may be borrowed.
const LOAN_PERCENT: u64 = 75;

/// An asset that a lending protocol takes and lends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reserve {
    /// The asset.
    pub asset: Asset,
    /// The contract that holds it.
    pub contract: AccountAddress,
    /// The token that depositors get, one unit for each of the asset.
    pub receipt: Asset,
}

/// A lending protocol.
#[derive(Clone, Debug)]
pub struct Lending {
    /// Its assets.
    pub reserves: Vec<Reserve>,
    /// Units that accounts owe.
    debts: BTreeMap<(AccountAddress, Asset), u128>,
}

impl Lending {
    /// A protocol with one contract for all assets.
    pub fn of_one_contract(chain: &mut AccountChain, assets: &[Asset]) -> Self {
        let contract = chain.contract();
        Self::of(chain, assets, |_| contract)
    }

    /// A protocol with a contract for each asset, as Aave has it.
    pub fn of_many_contracts(chain: &mut AccountChain, assets: &[Asset]) -> Self {
        Self::of(chain, assets, AccountChain::contract)
    }

    fn of(
        chain: &mut AccountChain,
        assets: &[Asset],
        mut contract: impl FnMut(&mut AccountChain) -> AccountAddress,
    ) -> Self {
        let reserve = |asset: &Asset| Reserve {
            asset: *asset,
            contract: contract(chain),
            receipt: chain.token(),
        };
        Self { reserves: assets.iter().map(reserve).collect(), debts: BTreeMap::new() }
    }

    /// True if the protocol takes and lends an asset.
    #[must_use]
    pub fn has(&self, asset: Asset) -> bool {
        self.reserves.iter().any(|reserve| reserve.asset == asset)
    }

    /// The reserve of an asset.
    #[must_use]
    pub fn reserve(&self, asset: Asset) -> Reserve {
        let found = self.reserves.iter().find(|reserve| reserve.asset == asset);
        *found.expect("an asset that the protocol takes")
    }

    /// Units of an asset that an account owes.
    #[must_use]
    pub fn debt(&self, account: AccountAddress, asset: Asset) -> u128 {
        self.debts.get(&(account, asset)).copied().unwrap_or(0)
    }

    /// True if an account owes anything.
    #[must_use]
    pub fn is_debtor(&self, account: AccountAddress) -> bool {
        self.reserves.iter().any(|reserve| self.debt(account, reserve.asset) > 0)
    }

    /// Dollars that an account may still borrow.
    #[must_use]
    pub fn room(&self, chain: &AccountChain, account: AccountAddress) -> u64 {
        let sum = |amount: &dyn Fn(&Reserve) -> u128| -> u64 {
            self.reserves.iter().map(|it| chain.dollars(it.asset, amount(it))).sum()
        };
        let deposits = sum(&|reserve| chain.balance(account, reserve.receipt));
        let owed = sum(&|reserve| self.debt(account, reserve.asset));
        (deposits * LOAN_PERCENT / 100).saturating_sub(owed)
    }

    /// A deposit whose receipt goes to `to`.
    pub fn supply(
        &self,
        (payer, to): (AccountAddress, AccountAddress),
        asset: Asset,
        amount: u128,
    ) -> Call {
        let Reserve { contract, receipt, .. } = self.reserve(asset);
        Call::new(
            payer,
            &[(payer, contract, asset, amount), (AccountAddress::ZERO, to, receipt, amount)],
        )
    }

    /// A loan of an account, paid to `to`.
    pub fn borrow(
        &mut self,
        (debtor, to): (AccountAddress, AccountAddress),
        asset: Asset,
        amount: u128,
    ) -> Call {
        *self.debts.entry((debtor, asset)).or_default() += amount;
        Call::new(debtor, &[(self.reserve(asset).contract, to, asset, amount)])
    }

    /// A payment that lowers the debt of an account, whom the log names.
    pub fn repay(
        &mut self,
        (payer, debtor): (AccountAddress, AccountAddress),
        asset: Asset,
        amount: u128,
    ) -> Call {
        let debt = self.debts.entry((debtor, asset)).or_default();
        *debt = debt.saturating_sub(amount);
        let contract = self.reserve(asset).contract;
        Call::new(payer, &[(payer, contract, asset, amount)])
            .naming(named_depositor(contract, debtor))
    }

    /// A receipt is destroyed, and the deposit paid to `to`.
    pub fn withdraw(
        &self,
        (owner, to): (AccountAddress, AccountAddress),
        asset: Asset,
        amount: u128,
    ) -> Call {
        let Reserve { contract, receipt, .. } = self.reserve(asset);
        Call::new(
            owner,
            &[(owner, AccountAddress::ZERO, receipt, amount), (contract, to, asset, amount)],
        )
    }

    /// The most that an account can withdraw of a deposit: all that the contract has, of a debtor nothing.
    #[must_use]
    pub fn most_withdrawn(
        &self,
        chain: &AccountChain,
        account: AccountAddress,
        asset: Asset,
    ) -> u128 {
        let Reserve { contract, receipt, .. } = self.reserve(asset);
        if self.is_debtor(account) {
            return 0;
        }
        chain.balance(account, receipt).min(chain.balance(contract, asset))
    }

    /// A loan that is returned within the transaction, with transfers in between.
    pub fn flash(
        &self,
        account: AccountAddress,
        (asset, amount): (Asset, u128),
        between: &[crate::accounts::chain::Move],
    ) -> Call {
        let contract = self.reserve(asset).contract;
        Call::new(account, &[(contract, account, asset, amount)])
            .with_moves(between)
            .with_moves(&[(account, contract, asset, amount)])
    }
}
