//! Booking of a batch of blocks: the ledgers that its transactions change, and the entries that it adds.

use std::collections::hash_map::Entry;

use assay_address::ChainId;
use assay_columns::run::{Filters, WantedKey};
use assay_engine::{
    account::{
        AccountLedger, AccountStates, AssetNumber, DayValues, DealingKey, Hop, LedgerBook,
        MoneyEnds, Movement, MovementKind, NumberedTransaction, Payment, Shares, book, ends_page,
    },
    ledger::OwnerNumber,
};
use jiff::Timestamp;
use rustc_hash::{FxHashMap, FxHashSet};

use super::{
    entry::{StoredDealing, StoredLedger, StoredPage, StoredPayment, StoredState, TransactionOf},
    index::IndexEntries,
    lookup::in_parts,
    plan::{LedgerCache, StateCache},
    reader::Reader,
};
use crate::{GraphError, error::damaged};

/// The key of a ledger: account and asset.
pub(super) type LedgerKey = (u64, u32);

/// The ledgers of a batch.
pub(super) struct LedgersOfBatch<'b, 't> {
    reader: &'b Reader<'t>,
    filters: &'b Filters,
    cache: &'b LedgerCache,
    /// Accounts from this number on are new in the batch.
    first_new: u64,
    /// Number of the update of the ledgers that entries are of.
    update: u64,
    ledgers: FxHashMap<LedgerKey, StoredLedger>,
    changed: FxHashSet<LedgerKey>,
    states: AccountStates,
    /// The last transaction of each account whose state changed.
    state_versions: FxHashMap<OwnerNumber, u64>,
    /// Entries that are not collected yet.
    payments: Vec<StoredPayment>,
    dealings: Vec<StoredDealing>,
    pages: Vec<StoredPage>,
    passing: Vec<TransactionOf>,
    /// The ledgers whose pages end with the transaction.
    ending: Vec<LedgerKey>,
    transaction: u64,
    /// Time of the transaction in milliseconds.
    time: i64,
    sequence: u32,
}

impl<'b, 't> LedgersOfBatch<'b, 't> {
    pub(super) fn new(
        reader: &'b Reader<'t>,
        (filters, cache): (&'b Filters, &'b LedgerCache),
        (first_new, update): (u64, u64),
        knows_contracts: bool,
    ) -> Self {
        Self {
            reader,
            filters,
            cache,
            first_new,
            update,
            ledgers: FxHashMap::default(),
            changed: FxHashSet::default(),
            states: AccountStates::new(knows_contracts),
            state_versions: FxHashMap::default(),
            payments: Vec::new(),
            dealings: Vec::new(),
            pages: Vec::new(),
            passing: Vec::new(),
            ending: Vec::new(),
            transaction: 0,
            time: 0,
            sequence: 0,
        }
    }

    /// Books a transaction, whose ledgers and states are [loaded](Self::load). `contracts` are the accounts that it shows to have
    /// code.
    pub(super) fn book(
        &mut self,
        transaction: &NumberedTransaction<'_>,
        contracts: &[OwnerNumber],
        (ends, values): (&MoneyEnds, &DayValues),
    ) {
        self.transaction = transaction.number.0;
        self.time = transaction.time.as_millisecond();
        self.sequence = 0;
        for contract in contracts {
            self.states.mark_contract(*contract);
        }
        book(transaction, (ends, values), self);
        for owner in self.states.take_changed() {
            self.state_versions.insert(owner, self.transaction);
        }
        for (owner, asset) in std::mem::take(&mut self.ending) {
            let Some(stored) = self.ledgers.get(&(owner, asset)) else { continue };
            self.pages.push(StoredPage {
                owner,
                asset,
                transaction: self.transaction,
                update: self.update,
                is_removed: false,
                ledger: stored.ledger.clone(),
                payments: stored.sums.payments(),
                sums: Vec::new(),
            });
        }
    }

    /// Makes the ledgers of movements present. Those that are not in the cache are looked up together.
    pub(super) fn load(&mut self, movements: &[Movement]) -> Result<(), GraphError> {
        let scored = movements.iter().filter(|movement| movement.is_scored);
        let keys = scored.flat_map(|movement| {
            [movement.from, movement.to].map(|owner| (owner.0, movement.asset.0))
        });
        self.load_keys(keys)
    }

    /// Makes the ledgers of contracts in all scored assets present: a payout in one asset can change that of another.
    pub(super) fn load_contracts(
        &mut self,
        contracts: &[OwnerNumber],
        chain: ChainId,
    ) -> Result<(), GraphError> {
        let assets = || AssetNumber::all_scored(chain);
        self.load_keys(contracts.iter().flat_map(|owner| assets().map(|asset| (owner.0, asset.0))))
    }

    /// The accounts of the batch that have code so far.
    pub(super) fn contracts(&self) -> Vec<OwnerNumber> {
        let all = self.states.iter().filter(|(_, state)| state.is_contract);
        all.map(|(owner, _)| owner).collect()
    }

    fn load_keys(&mut self, keys: impl Iterator<Item = LedgerKey>) -> Result<(), GraphError> {
        let mut stored: Vec<WantedKey<9>> = Vec::new();
        for (owner, asset) in keys.filter(|(owner, _)| *owner != OwnerNumber::NOBODY.0) {
            let Entry::Vacant(vacant) = self.ledgers.entry((owner, asset)) else { continue };
            if let Some(known) = self.cache.get(&(owner, asset)) {
                vacant.insert(known.clone());
                continue;
            }
            vacant.insert(StoredLedger::new(owner, asset));
            if owner < self.first_new {
                stored.push(StoredLedger::wanted(owner, asset));
            }
        }
        stored.sort_unstable();
        let filters = Some(self.filters);
        let found = in_parts(self.reader, &stored, |reader, wanted| {
            let mut found = Vec::with_capacity(wanted.len());
            reader.newest_ledgers(filters, wanted, |ledger| found.push(ledger))?;
            Ok(found)
        })?;
        for found in found {
            if let Some(ledger) = self.ledgers.get_mut(&(found.owner, found.asset)) {
                *ledger = found;
            }
        }
        Ok(())
    }

    /// Makes the states of accounts present. Those that are not in the cache are looked up together.
    pub(super) fn load_states(
        &mut self,
        owners: impl Iterator<Item = OwnerNumber>,
        cache: &StateCache,
    ) -> Result<(), GraphError> {
        let mut stored: Vec<WantedKey<5>> = Vec::new();
        for owner in owners {
            if owner == OwnerNumber::NOBODY || self.states.has(owner) {
                continue;
            }
            let known = cache.get(&owner.0).cloned();
            if known.is_none() && owner.0 < self.first_new {
                stored.push(StoredState::wanted(owner.0));
            }
            self.states.load(owner, known.unwrap_or_default());
        }
        stored.sort_unstable();
        let filters = Some(self.filters);
        let found = in_parts(self.reader, &stored, |reader, wanted| {
            let mut found = Vec::new();
            reader.newest_states(filters, wanted, |state| found.push(state))?;
            Ok(found)
        })?;
        for stored in found {
            let state = stored.state().ok_or_else(|| damaged("run", "the state of an account"))?;
            self.states.load(OwnerNumber(stored.owner), state);
        }
        Ok(())
    }

    /// Adds the entries since the last call to others.
    pub(super) fn collect(&mut self, into: &mut IndexEntries) {
        into.payments.append(&mut self.payments);
        into.dealings.append(&mut self.dealings);
        into.pages.append(&mut self.pages);
        into.passing.append(&mut self.passing);
        let changed = self.changed.drain().filter_map(|key| self.ledgers.get(&key));
        into.ledgers.extend(changed.cloned());
        let states = self.state_versions.drain().filter_map(|(owner, transaction)| {
            Some(StoredState::new(owner.0, transaction, self.states.of(owner)?))
        });
        into.states.extend(states);
    }

    /// The ledgers and states of the batch.
    pub(super) fn into_parts(self) -> (FxHashMap<LedgerKey, StoredLedger>, AccountStates) {
        (self.ledgers, self.states)
    }

    fn change(&mut self, owner: OwnerNumber, asset: AssetNumber) -> &mut StoredLedger {
        let key = (owner.0, asset.0);
        self.changed.insert(key);
        let stored = self.ledgers.entry(key).or_insert_with(|| StoredLedger::new(key.0, key.1));
        stored.transaction = self.transaction;
        stored.update = self.update;
        stored
    }

    /// Adds a payment to the sums of one side.
    fn count(&mut self, owner: OwnerNumber, asset: AssetNumber, amount: u128, is_received: bool) {
        let time = self.time;
        let sums = &mut self.change(owner, asset).sums;
        let before = sums.payments();
        if before == 0 {
            sums.first = time;
        }
        sums.last = time;
        let (sum, payments) = if is_received {
            (&mut sums.received, &mut sums.payments_in)
        } else {
            (&mut sums.sent, &mut sums.payments_out)
        };
        *sum = sum.saturating_add(amount);
        *payments += 1;
        if ends_page(before, before + 1) {
            self.ending.push((owner.0, asset.0));
        }
    }
}

impl LedgerBook for LedgersOfBatch<'_, '_> {
    fn states(&self) -> &AccountStates {
        &self.states
    }

    fn states_mut(&mut self) -> &mut AccountStates {
        &mut self.states
    }

    fn ledger(&self, owner: OwnerNumber, asset: AssetNumber) -> Option<&AccountLedger> {
        self.ledgers.get(&(owner.0, asset.0)).map(|stored| &stored.ledger)
    }

    fn ledger_mut(&mut self, owner: OwnerNumber, asset: AssetNumber) -> &mut AccountLedger {
        &mut self.change(owner, asset).ledger
    }

    fn paid(&mut self, payment: Payment, is_late: bool) {
        let Payment { kind, from, to, asset, amount, shares, hop, is_initiated, .. } = payment;
        let (transaction, sequence, time) = (self.transaction, self.sequence, self.time);
        let update = self.update;
        self.sequence += 1;
        let number = |owner: OwnerNumber| (owner != OwnerNumber::NOBODY).then_some(owner.0);
        let (payer, receiver) = (number(from), number(to));
        let entry = |owner: u64, other: Option<u64>, is_received: bool| StoredPayment {
            owner,
            asset: asset.0,
            transaction,
            sequence,
            is_received,
            other,
            kind,
            hop,
            is_initiated,
            amount,
            time,
            shares: Shares::UNKNOWN,
            is_late,
            is_removed: false,
            update,
        };
        let mut shares = Some(shares);
        if let Some(owner) = receiver {
            let shares = shares.take().unwrap_or_default();
            self.payments.push(StoredPayment { shares, ..entry(owner, payer, true) });
            self.count(to, asset, amount, true);
        }
        // A payment to itself is one entry.
        if let Some(owner) = payer.filter(|_| payer != receiver) {
            let shares = shares.take().unwrap_or_default();
            self.payments.push(StoredPayment { shares, ..entry(owner, receiver, false) });
        }
        if payer.is_some() && payer == receiver {
            let sums = &mut self.change(from, asset).sums;
            sums.sent = sums.sent.saturating_add(amount);
        } else if payer.is_some() {
            self.count(from, asset, amount, false);
        }
    }

    fn was_set(&mut self, owner: OwnerNumber, asset: AssetNumber, balance: u128) {
        self.change(owner, asset);
        self.payments.push(StoredPayment {
            owner: owner.0,
            asset: asset.0,
            transaction: self.transaction,
            sequence: self.sequence,
            is_received: true,
            other: None,
            kind: MovementKind::Balance,
            hop: Hop::FromPayer,
            is_initiated: None,
            amount: balance,
            time: self.time,
            shares: Shares::UNKNOWN,
            is_late: false,
            is_removed: false,
            update: self.update,
        });
        self.sequence += 1;
    }

    fn passed(&mut self, account: OwnerNumber) {
        self.passing.push(TransactionOf { owner: account.0, transaction: self.transaction });
    }

    fn dealt(&mut self, account: OwnerNumber, dealing: DealingKey, time: Timestamp, amount: u128) {
        if account == OwnerNumber::NOBODY {
            return;
        }
        let time = time.as_millisecond();
        self.dealings.push(StoredDealing {
            owner: account.0,
            party: dealing.party.0,
            asset: dealing.asset.0,
            side: StoredDealing::side_of(dealing.period, dealing.direction),
            update: self.update,
            replaces: false,
            transaction: self.transaction,
            first: time,
            last: time,
            count: 1,
            amount,
        });
    }
}
