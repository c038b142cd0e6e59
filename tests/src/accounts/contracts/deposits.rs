//! Money that a contract keeps for accounts that its logs name: an entry point of smart accounts, streams of wages.

use std::collections::BTreeMap;

use assay_engine::account::{AccountAddress, Asset};

use super::{Call, named_depositor, named_payee};
use crate::accounts::AccountChain;

/// A contract that keeps money for named accounts.
#[derive(Clone, Debug)]
pub struct Deposits {
    /// The contract.
    pub contract: AccountAddress,
    balances: BTreeMap<(AccountAddress, Asset), u128>,
}

impl Deposits {
    /// A contract without money.
    pub fn new(chain: &mut AccountChain) -> Self {
        Self { contract: chain.contract(), balances: BTreeMap::new() }
    }

    /// The deposits of all accounts, in their order: owner, asset, amount.
    #[must_use]
    pub fn balances(&self) -> Vec<(AccountAddress, Asset, u128)> {
        let kept = self.balances.iter().filter(|(_, amount)| **amount > 0);
        kept.map(|((owner, asset), amount)| (*owner, *asset, *amount)).collect()
    }

    /// A payment that is kept for an account, whom the log names.
    pub fn deposit(
        &mut self,
        (payer, beneficiary): (AccountAddress, AccountAddress),
        asset: Asset,
        amount: u128,
    ) -> Call {
        *self.balances.entry((beneficiary, asset)).or_default() += amount;
        Call::new(payer, &[(payer, self.contract, asset, amount)])
            .naming(named_depositor(self.contract, beneficiary))
    }

    /// A payment to `to` of what is kept for an account, whom the log names and who sends the transaction.
    pub fn withdraw(
        &mut self,
        (owner, to): (AccountAddress, AccountAddress),
        asset: Asset,
        amount: u128,
    ) -> Call {
        let kept = self.balances.entry((owner, asset)).or_default();
        *kept = kept.saturating_sub(amount);
        Call::new(owner, &[(self.contract, to, asset, amount)])
            .naming(named_payee(self.contract, owner))
    }
}
