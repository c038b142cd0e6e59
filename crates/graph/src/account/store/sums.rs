//! The sums of pages and of their groups: filled when blocks cannot be rolled back any more.

use assay_engine::{
    account::{AccountLedger, AssetNumber, MoneyEnds, PaymentSum, PaymentSums, ends_group},
    ledger::OwnerNumber,
};
use rustc_hash::FxHashMap;

use super::{
    entry::{StoredPage, StoredPayment},
    reader::Reader,
    view::{payment, time_of},
};
use crate::{GraphError, error::damaged};

/// The pages and groups that a transaction of the environment wrote, which its reader does not see.
#[derive(Debug, Default)]
pub(super) struct WrittenPages {
    /// The pages, with their sums.
    pages: FxHashMap<(u64, u32, u64), Vec<PaymentSum>>,
    /// The last transactions of the newest groups.
    groups: FxHashMap<(u64, u32), u64>,
}

/// Fills the sums of pages, and returns the groups that end with them. `payments` are the sorted payments that are written
/// together with the pages; payments of before are read.
pub(super) fn sum_pages(
    (reader, ends): (&Reader<'_>, &MoneyEnds),
    payments: &[StoredPayment],
    pages: &mut [StoredPage],
    written: &mut WrittenPages,
) -> Result<Vec<StoredPage>, GraphError> {
    let mut groups = Vec::new();
    pages.sort_unstable();
    let ledger = |page: &StoredPage| (page.owner, page.asset);
    for pages in pages.chunk_by_mut(|one, next| ledger(one) == ledger(next)) {
        let [first, ..] = pages else { continue };
        let (owner, asset) = ledger(first);
        let before = reader.page_before(owner, asset, first.transaction)?;
        let (mut from, mut count) =
            before.map_or((0, 0), |before| (before.transaction + 1, before.payments));
        let has_group = pages.last().is_some_and(|last| ends_group(count, last.payments));
        let group = has_group.then(|| PageGroup::before(reader, written, (owner, asset), from));
        let mut group = group.transpose()?;
        for page in pages {
            let key = |it: &StoredPayment| (it.owner, it.asset, it.transaction);
            let first = payments.partition_point(|it| key(it) < (owner, asset, from));
            let end = payments.partition_point(|it| key(it) <= (owner, asset, page.transaction));
            let new = payments.get(first..end).unwrap_or_default();
            let range = (from, page.transaction);
            let sums = sums_of(reader, ends, (owner, asset), range, new)?;
            page.set_sums(&sums);
            if let Some(ended) = group.as_mut().and_then(|group| group.add(page, &sums, count)) {
                written.groups.insert((owner, asset), ended.transaction);
                groups.push(ended);
            }
            written.pages.insert((owner, asset, page.transaction), sums);
            (from, count) = (page.transaction + 1, page.payments);
        }
    }
    Ok(groups)
}

/// A group of pages that has not ended yet.
pub(super) struct PageGroup(PaymentSums);

impl PageGroup {
    /// The pages of an account in an asset after its last group and before a transaction.
    pub(super) fn before(
        reader: &Reader<'_>,
        written: &WrittenPages,
        (owner, asset): (u64, u32),
        transaction: u64,
    ) -> Result<Self, GraphError> {
        let mut group = Self::new(owner, asset);
        let stored = reader.group_before(owner, asset, transaction)?.map(|it| it.transaction);
        let last = stored.max(written.groups.get(&(owner, asset)).copied());
        let from = last.map_or(0, |last| last + 1);
        for page in reader.pages_from((owner, asset), from)? {
            if page.transaction >= transaction {
                break;
            }
            match written.pages.get(&(owner, asset, page.transaction)) {
                Some(sums) => group.add_sums(sums),
                None => {
                    group.add_sums(&page.payment_sums().ok_or_else(|| damaged("run", "a page"))?);
                }
            }
        }
        Ok(group)
    }

    const fn new(owner: u64, asset: u32) -> Self {
        Self(PaymentSums::new(OwnerNumber(owner), AssetNumber(asset)))
    }

    fn add_sums(&mut self, sums: &[PaymentSum]) {
        for sum in sums {
            self.0.add_sum(sum);
        }
    }

    /// Adds a page with its sums; returns the group if it ends with the page. `before` is the number of payments before the
    /// page.
    pub(super) fn add(
        &mut self,
        page: &StoredPage,
        sums: &[PaymentSum],
        before: u64,
    ) -> Option<StoredPage> {
        self.add_sums(sums);
        if !ends_group(before, page.payments) {
            return None;
        }
        let sums = std::mem::replace(self, Self::new(page.owner, page.asset)).0.finish();
        let ledger = AccountLedger::default();
        let mut group = StoredPage { ledger, sums: Vec::new(), ..page.clone() };
        group.set_sums(&sums);
        Some(group)
    }
}

/// The sums of an account's payments in an asset between two transactions: of those that are stored, and of `written` ones,
/// of which some may be stored.
pub(super) fn sums_of(
    reader: &Reader<'_>,
    ends: &MoneyEnds,
    (owner, asset): (u64, u32),
    (from, until): (u64, u64),
    written: &[StoredPayment],
) -> Result<Vec<PaymentSum>, GraphError> {
    let mut sums = PaymentSums::new(OwnerNumber(owner), AssetNumber(asset));
    let mut add = |stored: &StoredPayment| {
        if stored.is_payment() {
            let end = |owner| ends.get(owner);
            sums.add(&payment(stored.clone()), time_of(stored.time), end);
        }
    };
    let first_written = written.first().map(|it| (it.transaction, it.sequence));
    let is_stored = |stored: &StoredPayment| {
        stored.transaction <= until
            && first_written.is_none_or(|first| (stored.transaction, stored.sequence) < first)
    };
    // Payments that are written follow all that are stored, or are stored themselves.
    reader.entries_from(owner, asset, from, |stored| {
        let is_before = is_stored(&stored);
        if is_before {
            add(&stored);
        }
        is_before
    })?;
    written.iter().for_each(add);
    Ok(sums.finish())
}
