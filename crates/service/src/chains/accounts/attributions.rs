//! Attributions of accounts during one check.

use std::{
    collections::hash_map::Entry,
    sync::{Arc, Mutex, PoisonError},
};

use assay_address::ChainId;
use assay_engine::{
    account::{AccountAttributions, AccountView, issuer_freezes},
    carried_freeze,
    evidence::CarriedLabel,
    ledger::OwnerNumber,
    policy::Policy,
    trace::Attribution,
};
use assay_intel::IntelSnapshot;
use jiff::{Timestamp, civil::Date};
use rustc_hash::FxHashMap;

use super::named::NamedAccounts;

/// Attributions by the lists, labels and policy of one check, looked up once for each account.
pub(in crate::chains) struct CheckAttributions<'a> {
    pub(in crate::chains) chain: ChainId,
    pub(in crate::chains) view: &'a dyn AccountView,
    pub(in crate::chains) named: &'a NamedAccounts,
    pub(in crate::chains) intel: &'a IntelSnapshot,
    pub(in crate::chains) policy: &'a Policy,
    pub(in crate::chains) today: Date,
    pub(in crate::chains) known: Mutex<FxHashMap<OwnerNumber, Option<Arc<Attribution>>>>,
    pub(in crate::chains) frozen: Mutex<FxHashMap<OwnerNumber, Option<(Timestamp, CarriedLabel)>>>,
}

impl<'a> CheckAttributions<'a> {
    /// Attributions of the accounts of a chain, of which none is looked up yet.
    pub(in crate::chains) fn new(
        (chain, view): (ChainId, &'a dyn AccountView),
        named: &'a NamedAccounts,
        (intel, policy): (&'a IntelSnapshot, &'a Policy),
        today: Date,
    ) -> Self {
        let (known, frozen) = (Mutex::default(), Mutex::default());
        Self { chain, view, named, intel, policy, today, known, frozen }
    }
}

impl AccountAttributions for CheckAttributions<'_> {
    fn of_account(&self, owner: OwnerNumber) -> Option<Arc<Attribution>> {
        let account = self.view.address(owner)?;
        if !account.is_unowned() && !self.named.accounts.contains(&account) {
            return None;
        }
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        match known.entry(owner) {
            Entry::Occupied(known) => known.get().clone(),
            Entry::Vacant(unknown) => {
                let Self { chain, intel, policy, today, .. } = *self;
                let found = intel.account_attribution(chain, account, policy, today);
                unknown.insert((!found.is_nothing()).then(|| Arc::new(found))).clone()
            }
        }
    }

    fn name_of(&self, owner: OwnerNumber) -> Option<Arc<str>> {
        let account = self.view.address(owner).filter(|it| self.named.accounts.contains(it))?;
        let labels = self.intel.labels().labels_of(&account.on(self.chain)?);
        let in_force = labels.iter().filter(|label| label.in_force(self.today));
        let named = in_force.filter(|label| label.entity.is_some());
        named.max_by_key(|label| (label.tier, label.confidence))?.entity.clone()
    }

    fn freeze_of(&self, owner: OwnerNumber) -> Option<(Timestamp, CarriedLabel)> {
        let mut frozen = self.frozen.lock().unwrap_or_else(PoisonError::into_inner);
        let read = || carried_freeze(&issuer_freezes(self.view, owner), self.policy, self.today);
        frozen.entry(owner).or_insert_with(read).clone()
    }
}
