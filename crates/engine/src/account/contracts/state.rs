//! States of accounts beside their ledgers: code, tokens and claims with what backs them, and ties with contracts.

use std::collections::BTreeMap;

use rustc_hash::{FxHashMap, FxHashSet};

use super::holding::{Held, Holding, Tie};
use crate::ledger::OwnerNumber;

/// The state of an account beside its ledgers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AccountState {
    /// True if the account has code.
    pub is_contract: bool,
    /// Tokens and claims of the account, beside scored assets.
    pub holdings: BTreeMap<Held, Holding>,
    /// The contracts that it put money into, or has backed tokens at.
    pub ties: BTreeMap<OwnerNumber, Tie>,
}

impl AccountState {
    /// Drops what tells nothing.
    fn prune(&mut self) {
        let is_contract = self.is_contract;
        self.holdings.retain(|_, holding| !holding.is_empty(is_contract));
        let holdings = &self.holdings;
        for tie in self.ties.values_mut() {
            tie.backed.retain(|held| holdings.contains_key(held));
        }
        self.ties.retain(|_, tie| !tie.is_empty());
    }

    /// True if the state tells nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        !self.is_contract && self.holdings.is_empty() && self.ties.is_empty()
    }
}

/// The states of accounts that are in memory.
#[derive(Clone, Debug, Default)]
pub struct AccountStates {
    by_owner: FxHashMap<OwnerNumber, AccountState>,
    changed: FxHashSet<OwnerNumber>,
    /// Accounts whose states the present transaction changed.
    touched: Vec<OwnerNumber>,
    knows_contracts: bool,
}

impl AccountStates {
    /// No states. `knows_contracts` tells whether any account is known to have code.
    #[must_use]
    pub fn new(knows_contracts: bool) -> Self {
        Self { knows_contracts, ..Self::default() }
    }

    /// True if any account is known to have code. Until then, what comes in exchange for another asset is a conversion.
    #[must_use]
    pub const fn knows_contracts(&self) -> bool {
        self.knows_contracts
    }

    /// True for an account with code.
    #[must_use]
    pub fn is_contract(&self, account: OwnerNumber) -> bool {
        self.by_owner.get(&account).is_some_and(|state| state.is_contract)
    }

    /// Notes that an account has code.
    pub fn mark_contract(&mut self, account: OwnerNumber) {
        self.knows_contracts = true;
        if account != OwnerNumber::NOBODY && !self.is_contract(account) {
            self.of_mut(account).is_contract = true;
        }
    }

    /// The state of an account; `None` if nothing is known beside its ledgers.
    #[must_use]
    pub fn of(&self, account: OwnerNumber) -> Option<&AccountState> {
        self.by_owner.get(&account)
    }

    /// All states, in no order.
    pub fn iter(&self) -> impl Iterator<Item = (OwnerNumber, &AccountState)> {
        self.by_owner.iter().map(|(owner, state)| (*owner, state))
    }

    /// True if the state of an account is in memory, also if it tells nothing.
    #[must_use]
    pub fn has(&self, account: OwnerNumber) -> bool {
        self.by_owner.contains_key(&account)
    }

    /// Puts a state into memory, as it was stored.
    pub fn load(&mut self, account: OwnerNumber, state: AccountState) {
        self.by_owner.insert(account, state);
    }

    /// The accounts whose states changed since the last call, in the order of their numbers.
    pub fn take_changed(&mut self) -> Vec<OwnerNumber> {
        let mut changed: Vec<OwnerNumber> = self.changed.drain().collect();
        changed.sort_unstable();
        changed
    }

    /// Drops what tells nothing of the states that the transaction changed.
    pub(super) fn prune(&mut self) {
        for account in self.touched.drain(..) {
            if let Some(state) = self.by_owner.get_mut(&account) {
                state.prune();
            }
        }
    }

    /// A token or claim of an account.
    #[must_use]
    pub fn holding(&self, owner: OwnerNumber, held: Held) -> Option<&Holding> {
        self.of(owner)?.holdings.get(&held)
    }

    /// All that an account holds beside scored assets.
    pub(super) fn holdings_of(&self, owner: OwnerNumber) -> Vec<Held> {
        self.of(owner).map(|state| state.holdings.keys().copied().collect()).unwrap_or_default()
    }

    pub(super) fn holding_mut(&mut self, owner: OwnerNumber, held: Held) -> &mut Holding {
        self.of_mut(owner).holdings.entry(held).or_default()
    }

    /// The dealings of an account with a contract.
    #[must_use]
    pub fn tie(&self, owner: OwnerNumber, contract: OwnerNumber) -> Option<&Tie> {
        self.of(owner)?.ties.get(&contract)
    }

    /// The contracts that an account has dealings with.
    pub(super) fn ties_of(&self, owner: OwnerNumber) -> Vec<OwnerNumber> {
        self.of(owner).map(|state| state.ties.keys().copied().collect()).unwrap_or_default()
    }

    pub(super) fn tie_mut(&mut self, owner: OwnerNumber, contract: OwnerNumber) -> &mut Tie {
        self.of_mut(owner).ties.entry(contract).or_default()
    }

    fn of_mut(&mut self, owner: OwnerNumber) -> &mut AccountState {
        self.changed.insert(owner);
        if self.touched.last() != Some(&owner) {
            self.touched.push(owner);
        }
        self.by_owner.entry(owner).or_default()
    }
}
