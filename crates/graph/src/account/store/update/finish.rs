//! The end of an update: last versions of ledgers, pages and dealings, and the swap.

use assay_columns::run::Filters;
use assay_engine::{
    account::{AccountLedger, AssetNumber, DayValues, DealingKey, PaymentSums, ends_page},
    ledger::OwnerNumber,
};
use rustc_hash::FxHashMap;

use super::{
    super::{
        block::GraphState,
        book::{LedgerKey, LedgersOfBatch},
        end_bytes,
        entry::{EntryKind, LedgerSums, StoredDealing, StoredLedger, StoredPage, StoredPayment},
        index::{IndexEntries, delete_recent},
        plan::LedgerCache,
        reader::Reader,
        sums::{PageGroup, WrittenPages},
        tables::RUNS,
        view::{payment, time_of},
        writer,
    },
    ChangedEnd, Graph, LedgerUpdate, Slice, UpdateStep,
    draft::{self, DraftKey},
    rebook::{Booked, ReadTransaction, Side},
    replay::book_entries,
};
use crate::GraphError;

/// Number of ledgers and pages that a slice completes.
const SLICE: usize = 20_000;
/// Number of entries of an account that are in memory at once.
const MOST_ENTRIES: usize = 100_000;

/// Readers of the entries without those of the update, whose ledgers have all payments, and together with them.
#[derive(Clone, Copy)]
pub(super) struct Readers<'r, 't> {
    pub(super) old: &'r Reader<'t>,
    pub(super) all: &'r Reader<'t>,
}

impl LedgerUpdate {
    /// True if ledgers, pages or dealings are still to be completed.
    pub(super) fn has_work(&self) -> bool {
        !self.pages.is_empty()
            || self.ledgers.values().any(|ledger| ledger.is_changed && !ledger.is_written)
    }

    /// Completes a slice of ledgers and pages.
    pub(super) fn complete(
        &mut self,
        readers: Readers<'_, '_>,
        slice: &mut Slice,
    ) -> Result<(), GraphError> {
        let mut keys: Vec<LedgerKey> = self
            .ledgers
            .iter()
            .filter(|(_, ledger)| ledger.is_changed && !ledger.is_written)
            .map(|(key, _)| *key)
            .collect();
        keys.sort_unstable();
        keys.truncate(SLICE);
        let left_of_slice = SLICE - keys.len();
        let wanted: Vec<_> =
            keys.iter().map(|(owner, asset)| StoredLedger::wanted(*owner, *asset)).collect();
        let mut stored: FxHashMap<LedgerKey, StoredLedger> = FxHashMap::default();
        readers.old.newest_ledgers(None, &wanted, |found| {
            stored.insert((found.owner, found.asset), found);
        })?;
        for key in keys {
            let known = stored.remove(&key);
            let known = known.unwrap_or_else(|| StoredLedger::new(key.0, key.1));
            self.complete_ledger(readers.all, known, slice)?;
        }
        let mut left = left_of_slice;
        while left > 0
            && let Some((key, from)) = self.pages.pop_first()
        {
            self.complete_pages(readers, (key, from), slice)?;
            slice.done.push(DraftKey::Pages(key));
            left -= 1;
        }
        Ok(())
    }

    fn complete_ledger(
        &mut self,
        reader: &Reader<'_>,
        mut stored: StoredLedger,
        slice: &mut Slice,
    ) -> Result<(), GraphError> {
        let key = (stored.owner, stored.asset);
        let Some(ledger) = self.ledgers.get_mut(&key) else { return Ok(()) };
        ledger.book_until(reader, key, self.settled, (u64::MAX, 0))?;
        (ledger.is_written, ledger.was_written) = (true, true);
        slice.touched.insert(key);
        let from = if ledger.is_freed { 0 } else { ledger.first };
        let (is_recounted, content) = (ledger.is_recounted, ledger.new.clone());
        if is_recounted {
            recount(reader, &mut stored)?;
        }
        stored.update = self.record.update;
        let is_end = self.ends.is_new_end(reader, key.0)?;
        stored.ledger = if is_end { AccountLedger::default() } else { content };
        let has_pages = is_recounted || self.has_page(reader, key, from)?;
        slice.entries.ledgers.push(stored);
        if has_pages {
            self.note_pages(key, from);
        }
        Ok(())
    }

    /// Writes the pages of an account in an asset anew, from a transaction on.
    fn complete_pages(
        &mut self,
        Readers { old: without, all: reader }: Readers<'_, '_>,
        (key, from): (LedgerKey, u64),
        slice: &mut Slice,
    ) -> Result<(), GraphError> {
        let (owner, asset) = key;
        let update = self.record.update;
        let is_end = self.ends.is_new_end(reader, owner)?;
        let is_bound = self.ends.changed.get(&owner).is_some_and(ChangedEnd::is_bound);
        let is_written = self.ledgers.get(&key).is_some_and(|ledger| ledger.is_changed);
        if is_bound && !is_written {
            // An end has sums, and no ledger.
            if let Some(stored) = without.ledger(owner, asset)? {
                let ledger = AccountLedger::default();
                slice.entries.ledgers.push(StoredLedger { update, ledger, ..stored });
            }
        }
        let before = reader.page_before(owner, asset, from)?;
        let start = before.as_ref().map_or(0, |page| page.transaction + 1);
        let (mut ledger, mut count) =
            before.map_or_else(Default::default, |page| (page.ledger, page.payments));
        let without_sums = |page| StoredPage { sums: Vec::new(), ..page };
        let by_end = |pages: Vec<StoredPage>| {
            pages.into_iter().map(|page| (page.transaction, without_sums(page))).collect()
        };
        let mut old: FxHashMap<u64, StoredPage> = by_end(reader.pages_from(key, start)?);
        let mut old_groups: FxHashMap<u64, StoredPage> = by_end(reader.groups_from(key, start)?);
        let mut group = PageGroup::before(reader, &WrittenPages::default(), key, start)?;
        let mut in_pages = count;
        let new_sums = || PaymentSums::new(OwnerNumber(owner), AssetNumber(asset));
        let mut sums = new_sums();
        let mut next = Some(start);
        while let Some(from) = next {
            let mut entries: Vec<StoredPayment> = Vec::new();
            next = None;
            reader.entries_from(owner, asset, from, |entry| {
                let is_next = entries.last().is_none_or(|it| it.transaction != entry.transaction);
                if is_next && entries.len() >= MOST_ENTRIES {
                    next = Some(entry.transaction);
                } else {
                    entries.push(entry);
                }
                next.is_none()
            })?;
            for own in entries.chunk_by(|one, next| one.transaction == next.transaction) {
                if !is_end {
                    book_entries(&mut ledger, own);
                }
                let before = count;
                for entry in own.iter().filter(|entry| entry.is_payment()) {
                    if let Some(other) = entry.other {
                        self.ends.is_new_end(reader, other)?;
                    }
                    let ends = &self.ends.numbered_new;
                    let end = |owner| ends.get(owner);
                    sums.add(&payment(entry.clone()), time_of(entry.time), end);
                    count += 1;
                }
                let Some(last) = own.last().filter(|_| ends_page(before, count)) else { continue };
                let mut page = StoredPage {
                    owner,
                    asset,
                    transaction: last.transaction,
                    update,
                    is_removed: false,
                    ledger: ledger.clone(),
                    payments: count,
                    sums: Vec::new(),
                };
                let of_page = std::mem::replace(&mut sums, new_sums()).finish();
                page.set_sums(&of_page);
                old.remove(&page.transaction);
                if let Some(ended) = group.add(&page, &of_page, in_pages) {
                    old_groups.remove(&ended.transaction);
                    slice.entries.groups.push(ended);
                }
                in_pages = count;
                slice.entries.pages.push(page);
            }
        }
        let removed = |page| StoredPage { update, is_removed: true, ..page };
        slice.entries.pages.extend(old.into_values().map(removed));
        slice.entries.groups.extend(old_groups.into_values().map(removed));
        Ok(())
    }

    /// Sums the dealings of an account with a party anew.
    fn complete_dealings(
        &mut self,
        reader: &Reader<'_>,
        (account, party): (u64, u64),
        slice: &mut Slice,
    ) -> Result<(), GraphError> {
        let update = self.record.update;
        let mut transactions = reader.transactions_of(EntryKind::Passing, account)?;
        reader.payments(account, None, |entry| {
            transactions.push(entry.transaction);
            true
        })?;
        transactions.sort_unstable();
        transactions.dedup();
        for known in reader.dealings(account)?.into_iter().filter(|it| it.party == party) {
            slice.entries.dealings.push(StoredDealing {
                update,
                replaces: true,
                count: 0,
                amount: 0,
                ..known
            });
        }
        for number in transactions {
            let read = ReadTransaction::read(reader, &self.scored, number, &mut self.numbers)?;
            self.ends.number(&read.accounts);
            let booked = Booked::of(&read, Side::New, &self.ends.numbered_new, None);
            let own = |key: &DealingKey| key.party.0 == party;
            let dealt = booked.dealt.iter().filter(|(of, key, _)| of.0 == account && own(key));
            let time = read.time.as_millisecond();
            slice.entries.dealings.extend(dealt.map(|(_, key, amount)| StoredDealing {
                owner: account,
                party,
                asset: key.asset.0,
                side: StoredDealing::side_of(key.period, key.direction),
                update,
                replaces: true,
                transaction: number,
                first: time,
                last: time,
                count: 1,
                amount: *amount,
            }));
        }
        Ok(())
    }

    /// Makes the ledgers the present ones: together with dealings that are summed anew, which dealings of later transactions would
    /// come on top of; in one transaction of the environment, blocks that can be rolled back are booked for
    /// the new ends too.
    pub(super) fn swap(&mut self, graph: &mut Graph) -> Result<UpdateStep, GraphError> {
        let Graph { tables, lock, state, runs, draft_runs, .. } = graph;
        let committed = tables.environment.read()?;
        if Reader::new(tables, runs, &committed).state()?.as_ref() != Some(&*state) {
            return Err(GraphError::Conflict(self.chain));
        }
        let united = runs.with(draft_runs);
        let mut slice = Slice::default();
        let recent = {
            let settled = Reader::settled(tables, &united, &committed);
            let all = Reader::new(tables, &united, &committed);
            for (account, party) in std::mem::take(&mut self.dealings) {
                self.complete_dealings(&settled, (account, party), &mut slice)?;
            }
            self.book_recent((&settled, &all), state)?
        };
        let (ends, update) = (&self.ends.new, self.record.update);
        tables.environment.write(lock, |txn| {
            for (height, booked) in recent {
                let mut entries = IndexEntries::default();
                entries.read_recent(tables, &committed, height)?;
                let IndexEntries { payments, ledgers, dealings, pages, passing, .. } = booked;
                let entries =
                    IndexEntries { payments, ledgers, dealings, pages, passing, ..entries };
                delete_recent(tables, (&committed, txn), height)?;
                entries.write_recent(tables, txn, height)?;
            }
            let mut draft = draft_runs.clone();
            let to = (&mut draft, &mut Filters::default());
            slice.entries.put_runs(tables.run, txn, to)?;
            let adopted = runs.with(&draft);
            end_bytes::store(tables, txn, ends)?;
            draft::forget(tables, txn)?;
            tables.meta.put(txn, RUNS, &adopted.to_bytes())?;
            let after = GraphState { update, ends: ends.revision(), ..state.clone() };
            writer::put_state(tables, txn, &after)
        })?;
        Ok(UpdateStep::Finished)
    }

    /// The entries of the blocks that can be rolled back, as they are booked for the new ends.
    fn book_recent(
        &mut self,
        (settled, all): (&Reader<'_>, &Reader<'_>),
        state: &GraphState,
    ) -> Result<Vec<(u64, IndexEntries)>, GraphError> {
        let (filters, cache) = (Filters::default(), LedgerCache::within(0, 0));
        let mut ledgers =
            LedgersOfBatch::new(settled, (&filters, &cache), (u64::MAX, self.record.update), false);
        let mut recent = Vec::new();
        let mut next = all.block_from(state.recent_from)?;
        while let Some(block) = next {
            let height = block.block.height;
            next = all.block_from(height.saturating_add(1))?;
            let end = next.map_or(state.next_transaction, |next| next.first_transaction);
            for number in block.first_transaction..end {
                let read = ReadTransaction::read(all, &self.scored, number, &mut self.numbers)?;
                self.ends.number(&read.accounts);
                ledgers.load(&read.movements)?;
                let ends = &self.ends.numbered_new;
                ledgers.book(&read.numbered(), &[], (ends, &DayValues::default()));
            }
            let mut entries = IndexEntries::default();
            ledgers.collect(&mut entries);
            recent.push((height, entries));
        }
        Ok(recent)
    }
}

/// Counts the payments of a ledger anew.
fn recount(reader: &Reader<'_>, stored: &mut StoredLedger) -> Result<(), GraphError> {
    let mut sums = LedgerSums::default();
    let mut last = 0;
    let owner = stored.owner;
    reader.entries_from(owner, stored.asset, 0, |entry| {
        if !entry.is_removed {
            last = entry.transaction;
        }
        if entry.is_payment() {
            if sums.payments() == 0 {
                sums.first = entry.time;
            }
            sums.last = entry.time;
            let is_own = entry.is_received && entry.other == Some(owner);
            if entry.is_received {
                sums.received = sums.received.saturating_add(entry.amount);
                sums.payments_in += 1;
            } else {
                sums.payments_out += 1;
            }
            if is_own || !entry.is_received {
                sums.sent = sums.sent.saturating_add(entry.amount);
            }
        }
        true
    })?;
    stored.sums = sums;
    stored.transaction = last;
    Ok(())
}
