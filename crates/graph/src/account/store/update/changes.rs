//! The entries that a transaction changes when it is booked anew.

use assay_engine::{
    account::{AssetNumber, DealingKey, Hop, MovementKind, Payment, Shares},
    ledger::OwnerNumber,
};
use rustc_hash::FxHashMap;

use super::{
    super::{
        book::LedgerKey,
        entry::{StoredDealing, StoredPayment, TransactionOf},
        reader::Reader,
    },
    ChangedEnd, LedgerUpdate, MOST_KEPT, Reverse, Slice,
    draft::{DraftKey, DraftLedger},
    rebook::{Booked, Dealt, ReadTransaction, Side},
};
use crate::GraphError;

/// A payment as it is booked, and whether it is late.
type Paid = (Payment, bool);

impl LedgerUpdate {
    /// Books a transaction anew, or counts only its dealings with ends that changed.
    pub(super) fn rebook(
        &mut self,
        reader: &Reader<'_>,
        (number, is_whole): (u64, bool),
        slice: &mut Slice,
    ) -> Result<(), GraphError> {
        let read = ReadTransaction::read(reader, &self.scored, number, &mut self.numbers)?;
        self.ends.number(&read.accounts);
        if !is_whole {
            let old = Booked::of(&read, Side::Old, &self.ends.numbered_old, None).dealt;
            let new = Booked::of(&read, Side::New, &self.ends.numbered_new, None).dealt;
            self.deal(&read, (&old, &new), slice);
            return Ok(());
        }
        let keys = read.ledgers();
        let holds = |owner: u64| {
            let owner = OwnerNumber(owner);
            let (old, new) = (&self.ends.numbered_old, &self.ends.numbered_new);
            old.get(owner).is_none() || new.get(owner).is_none()
        };
        let (held, of_ends): (Vec<LedgerKey>, Vec<LedgerKey>) =
            keys.into_iter().partition(|(owner, _)| holds(*owner));
        for key in &held {
            self.bring_to(reader, *key, number)?;
        }
        let (ends, ledgers) = (&self.ends, &mut self.ledgers);
        let old = Booked::of(&read, Side::Old, &ends.numbered_old, Some(&mut *ledgers));
        let (old_paid, old_dealt, old_set) = (old.payments, old.dealt, old.set);
        let new = Booked::of(&read, Side::New, &ends.numbered_new, Some(&mut *ledgers));
        let (new_paid, new_dealt, new_set, passed) = (new.payments, new.dealt, new.set, new.passed);
        self.deal(&read, (&old_dealt, &new_dealt), slice);
        let passing = passed
            .into_iter()
            .map(|account| TransactionOf { owner: account.0, transaction: number });
        slice.entries.passing.extend(passing);
        let time = read.time.as_millisecond();
        let entries = |paid: &[Paid], set: &[(OwnerNumber, AssetNumber, u128)]| {
            entries(paid, set, (number, time, self.record.update))
        };
        let old = entries(&old_paid, &old_set);
        let new = entries(&new_paid, &new_set);
        let changed = changes(&old, new);
        for entry in changed {
            let key = (entry.owner, entry.asset);
            if entry.is_removed || !old.contains_key(&entry_key(&entry)) {
                self.recount(reader, key, number)?;
                slice.touched.insert(key);
            }
            let is_followed = self.ledgers.get(&key).is_some_and(|ledger| ledger.is_changed);
            if !is_followed
                && self.pages.get(&key).is_none_or(|from| *from > number)
                && self.has_page(reader, key, number)?
            {
                self.note_pages(key, number);
            }
            slice.entries.payments.push(entry);
        }
        for key in held {
            self.settle(reader, key, number, slice)?;
        }
        // Of an end, whose payments were counted anew, there are more.
        for key in of_ends {
            if let Some(counted) = self.ledgers.get_mut(&key) {
                counted.is_written = false;
                slice.touched.insert(key);
            }
        }
        Ok(())
    }

    /// True if a page of an account's payments ends at a transaction or later.
    pub(super) fn has_page(
        &mut self,
        reader: &Reader<'_>,
        key: LedgerKey,
        transaction: u64,
    ) -> Result<bool, GraphError> {
        if self.ledgers.get(&key).is_some_and(|ledger| ledger.is_short) {
            return Ok(false);
        }
        let last = if let Some(known) = self.last_pages.get(&key) {
            *known
        } else {
            if self.last_pages.len() >= MOST_KEPT {
                self.last_pages.clear();
            }
            let last = reader.page_before(key.0, key.1, self.settled)?;
            let last = last.map(|page| page.transaction);
            self.last_pages.insert(key, last);
            last
        };
        Ok(last >= Some(transaction))
    }

    /// Makes the ledger of a key present, as before a transaction.
    fn bring_to(
        &mut self,
        reader: &Reader<'_>,
        key: LedgerKey,
        number: u64,
    ) -> Result<(), GraphError> {
        if let Some(known) = self.ledgers.get_mut(&key) {
            known.book_until(reader, key, number, (u64::MAX, self.most_ahead))?;
        } else {
            let loaded = DraftLedger::load(reader, key, number, (false, self.most_ahead))?;
            self.ledgers.insert(key, loaded);
        }
        Ok(())
    }

    /// Notes that an account has other payments in an asset, and not only other breakdowns.
    fn recount(
        &mut self,
        reader: &Reader<'_>,
        key: LedgerKey,
        number: u64,
    ) -> Result<(), GraphError> {
        if !self.ledgers.contains_key(&key) {
            self.bring_to(reader, key, number)?;
        }
        let Some(ledger) = self.ledgers.get_mut(&key) else { return Ok(()) };
        if !ledger.is_recounted {
            ledger.is_recounted = true;
            if !ledger.is_changed {
                ledger.is_changed = true;
                ledger.first = number;
                self.changed_ledgers += 1;
            }
        }
        Ok(())
    }

    /// Notes whether a ledger differs after a transaction, and when its account pays next.
    fn settle(
        &mut self,
        reader: &Reader<'_>,
        key: LedgerKey,
        number: u64,
        slice: &mut Slice,
    ) -> Result<(), GraphError> {
        let is_end = self.ends.numbered_new.get(OwnerNumber(key.0)).is_some();
        let Some(ledger) = self.ledgers.get_mut(&key) else { return Ok(()) };
        ledger.pass(number);
        let was_changed = ledger.is_changed;
        let differs = !is_end && ledger.old != ledger.new;
        let is_kept = ledger.is_freed || ledger.is_recounted || ledger.was_written;
        ledger.is_changed = differs || is_kept;
        if ledger.is_changed && !was_changed {
            ledger.first = number;
        }
        if !ledger.is_changed && !was_changed {
            if self.ends.changed.get(&key.0).is_some_and(ChangedEnd::is_bound) {
                // Its payments are counted once more.
                self.note_pages(key, number);
            }
            return Ok(());
        }
        slice.touched.insert(key);
        ledger.is_written = false;
        let first = ledger.first;
        if ledger.is_changed {
            if !was_changed {
                self.changed_ledgers += 1;
            }
            ledger.next =
                if differs || ledger.is_freed { ledger.next_outflow(reader, key)? } else { None };
            self.waiting.extend(ledger.next.map(|next| Reverse((next, key))));
        } else {
            self.changed_ledgers -= 1;
            if self.has_page(reader, key, first)? {
                self.note_pages(key, first);
            }
        }
        Ok(())
    }

    /// Counts dealings: those with ends that changed from nothing on, and notes accounts that have other dealings with any other
    /// party.
    fn deal(
        &mut self,
        read: &ReadTransaction,
        (old, new): (&[Dealt], &[Dealt]),
        slice: &mut Slice,
    ) {
        let time = read.time.as_millisecond();
        let update = self.record.update;
        let entry = |owner: OwnerNumber, key: DealingKey, amount: Option<u128>| StoredDealing {
            owner: owner.0,
            party: key.party.0,
            asset: key.asset.0,
            side: StoredDealing::side_of(key.period, key.direction),
            update,
            replaces: true,
            transaction: read.number,
            first: time,
            last: time,
            count: u64::from(amount.is_some()),
            amount: amount.unwrap_or(0),
        };
        let is_of_changed = |party: OwnerNumber| self.ends.changed.contains_key(&party.0);
        for (account, key, _) in old.iter().filter(|(_, key, _)| is_of_changed(key.party)) {
            slice.entries.dealings.push(entry(*account, *key, None));
        }
        for (account, key, amount) in new.iter().filter(|(_, key, _)| is_of_changed(key.party)) {
            slice.entries.dealings.push(entry(*account, *key, Some(*amount)));
        }
        let others = |dealt: &[Dealt]| {
            let others = dealt.iter().filter(|(_, key, _)| !is_of_changed(key.party));
            let mut others: Vec<Dealt> = others.copied().collect();
            others.sort_unstable();
            others
        };
        let (old, new) = (others(old), others(new));
        if old != new {
            for (account, key, _) in old.iter().chain(&new) {
                self.dealings.insert((account.0, key.party.0));
                self.noted.insert(DraftKey::Dealings(account.0, key.party.0));
            }
        }
    }
}

/// The account, asset and sequence of an entry of a transaction, and whether it is the receiver's.
type EntryKey = (u64, u32, u32, bool);

fn entry_key(entry: &StoredPayment) -> EntryKey {
    (entry.owner, entry.asset, entry.sequence, entry.is_received)
}

/// The entries of payments and set balances, as accounts have them.
fn entries(
    paid: &[Paid],
    set: &[(OwnerNumber, AssetNumber, u128)],
    (transaction, time, update): (u64, i64, u64),
) -> FxHashMap<EntryKey, StoredPayment> {
    let mut entries = FxHashMap::default();
    let mut sequence = 0;
    let mut add = |entry: StoredPayment| {
        entries.insert(entry_key(&entry), entry);
    };
    for (payment, is_late) in paid {
        let number = |owner: OwnerNumber| (owner != OwnerNumber::NOBODY).then_some(owner.0);
        let (payer, receiver) = (number(payment.from), number(payment.to));
        let entry = |owner: u64, other: Option<u64>, is_received: bool, has_shares: bool| {
            let shares = if has_shares { payment.shares.clone() } else { Shares::UNKNOWN };
            StoredPayment {
                owner,
                asset: payment.asset.0,
                transaction,
                sequence,
                is_received,
                other,
                kind: payment.kind,
                hop: payment.hop,
                is_initiated: payment.is_initiated,
                amount: payment.amount,
                time,
                shares,
                is_late: *is_late,
                is_removed: false,
                update,
            }
        };
        if let Some(owner) = receiver {
            add(entry(owner, payer, true, true));
        }
        if let Some(owner) = payer.filter(|_| payer != receiver) {
            add(entry(owner, receiver, false, receiver.is_none()));
        }
        sequence += 1;
    }
    for (owner, asset, balance) in set {
        add(StoredPayment {
            owner: owner.0,
            asset: asset.0,
            transaction,
            sequence,
            is_received: true,
            other: None,
            kind: MovementKind::Balance,
            hop: Hop::FromPayer,
            is_initiated: None,
            amount: *balance,
            time,
            shares: Shares::UNKNOWN,
            is_late: false,
            is_removed: false,
            update,
        });
        sequence += 1;
    }
    entries
}

/// The entries that differ: new ones, and those that are none any more.
fn changes(
    old: &FxHashMap<EntryKey, StoredPayment>,
    new: FxHashMap<EntryKey, StoredPayment>,
) -> Vec<StoredPayment> {
    let gone = old.iter().filter(|(key, _)| !new.contains_key(*key));
    let gone = gone.map(|(_, entry)| StoredPayment { is_removed: true, ..entry.clone() });
    let mut changed: Vec<StoredPayment> = gone.collect();
    changed
        .extend(new.into_iter().filter(|(key, entry)| old.get(key) != Some(entry)).map(|it| it.1));
    changed.sort_unstable();
    changed
}
