//! Ledgers of any moment: booked from the entries of an account since its last page.

use assay_engine::account::{AccountLedger, MovementKind, PAGE_PAYMENTS};

use super::{
    super::{book::LedgerKey, entry::StoredPayment, reader::Reader},
    draft::DraftLedger,
};
use crate::GraphError;

/// Number of entries from the first on that are booked before a page is looked for.
const WITHOUT_PAGE: u64 = PAGE_PAYMENTS + PAGE_PAYMENTS / 4;

/// Books an account's entries of one transaction: payments come before receipts, but for late ones.
pub(super) fn book_entries(ledger: &mut AccountLedger, entries: &[StoredPayment]) {
    let is_own = |entry: &&StoredPayment| entry.is_received && entry.other == Some(entry.owner);
    let pays = |entry: &&StoredPayment| !entry.is_received || is_own(entry);
    let payments = || entries.iter().filter(|entry| entry.is_payment());
    for entry in payments().filter(|entry| pays(entry) && !entry.is_late) {
        ledger.pay(entry.amount);
    }
    for entry in payments().filter(|entry| entry.is_received) {
        ledger.receive(entry.amount, &entry.shares, entry.hop);
    }
    for entry in payments().filter(|entry| pays(entry) && entry.is_late) {
        ledger.pay(entry.amount);
    }
    let set =
        entries.iter().filter(|entry| entry.kind == MovementKind::Balance && !entry.is_removed);
    for entry in set {
        ledger.set_balance(entry.amount);
    }
}

/// True for an entry of a payment by its account.
fn is_outflow(entry: &StoredPayment) -> bool {
    let is_own = entry.is_received && entry.other == Some(entry.owner);
    entry.is_payment() && (!entry.is_received || is_own)
}

impl DraftLedger {
    /// The ledger of an account as before a transaction. One at which money ended before has no pages to begin with.
    pub(super) fn load(
        reader: &Reader<'_>,
        key: LedgerKey,
        transaction: u64,
        (is_freed, most_ahead): (bool, usize),
    ) -> Result<Self, GraphError> {
        let mut ledger = Self { read_until: Some(0), is_freed, ..Self::default() };
        let most = if is_freed { u64::MAX } else { WITHOUT_PAGE };
        if ledger.book_until(reader, key, transaction, (most, most_ahead))? {
            return Ok(ledger);
        }
        let page = reader.page_before(key.0, key.1, transaction)?;
        let mut ledger = Self { read_until: Some(0), ..Self::default() };
        if let Some(page) = page {
            let from = page.transaction + 1;
            let (old, new) = (page.ledger.clone(), page.ledger);
            ledger = Self { old, new, at: from, read_until: Some(from), ..Self::default() };
        }
        ledger.book_until(reader, key, transaction, (u64::MAX, most_ahead))?;
        Ok(ledger)
    }

    /// Books the entries before a transaction under both ends, and keeps up to `most_ahead` entries from it on, besides those of
    /// the last transaction. Returns false if more than `most` are booked.
    pub(super) fn book_until(
        &mut self,
        reader: &Reader<'_>,
        (owner, asset): LedgerKey,
        transaction: u64,
        (most, most_ahead): (u64, usize),
    ) -> Result<bool, GraphError> {
        self.book_ahead(transaction);
        self.at = self.at.max(transaction);
        let Some(from) = self.read_until.filter(|from| *from < transaction) else {
            return Ok(true);
        };
        let is_from_the_first = from == 0;
        let mut own: Vec<StoredPayment> = Vec::new();
        let mut count = 0;
        let mut is_enough = false;
        let mut is_too_much = false;
        let mut read_until = None;
        reader.entries_from(owner, asset, from, |entry| {
            let is_next = own.last().is_some_and(|last| last.transaction != entry.transaction);
            if entry.transaction < transaction {
                if is_next {
                    self.book(&own);
                    own.clear();
                }
                count += 1;
                is_too_much = count > most;
                own.push(entry);
                return !is_too_much;
            }
            is_enough = self.ahead.len() >= most_ahead
                && self.ahead.back().is_none_or(|last| last.transaction != entry.transaction);
            if is_enough {
                read_until = Some(entry.transaction);
            } else {
                self.ahead.push_back(entry);
            }
            !is_enough
        })?;
        if is_too_much {
            return Ok(false);
        }
        self.book(&own);
        self.read_until = read_until;
        let read = count + self.ahead.len() as u64;
        self.is_short = is_from_the_first && read_until.is_none() && read < PAGE_PAYMENTS;
        Ok(true)
    }

    /// Books the entries that are kept, before a transaction.
    fn book_ahead(&mut self, transaction: u64) {
        let mut own: Vec<StoredPayment> = Vec::new();
        while let Some(entry) = self.ahead.pop_front_if(|entry| entry.transaction < transaction) {
            if own.last().is_some_and(|last| last.transaction != entry.transaction) {
                self.book(&own);
                own.clear();
            }
            own.push(entry);
        }
        self.book(&own);
    }

    fn book(&mut self, own: &[StoredPayment]) {
        if !own.is_empty() {
            book_entries(&mut self.old, own);
            book_entries(&mut self.new, own);
        }
    }

    /// Passes over the entries of a transaction, which was booked otherwise.
    pub(super) fn pass(&mut self, transaction: u64) {
        while self.ahead.pop_front_if(|entry| entry.transaction <= transaction).is_some() {}
        self.at = transaction + 1;
        self.read_until = self.read_until.map(|until| until.max(transaction + 1));
    }

    /// The first transaction from `at` on in which the account pays.
    pub(super) fn next_outflow(
        &self,
        reader: &Reader<'_>,
        (owner, asset): LedgerKey,
    ) -> Result<Option<u64>, GraphError> {
        if let Some(entry) = self.ahead.iter().find(|entry| is_outflow(entry)) {
            return Ok(Some(entry.transaction));
        }
        let Some(from) = self.read_until else { return Ok(None) };
        let mut found = None;
        reader.entries_from(owner, asset, from, |entry| {
            found = is_outflow(&entry).then_some(entry.transaction);
            found.is_none()
        })?;
        Ok(found)
    }
}
