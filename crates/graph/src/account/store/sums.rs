//! The sums of pages: filled when blocks cannot be rolled back any more.

use assay_engine::{
    account::{AssetNumber, MoneyEnds, PaymentSum, PaymentSums},
    ledger::OwnerNumber,
};

use super::{
    entry::{StoredPage, StoredPayment},
    reader::Reader,
    view::{payment, time_of},
};
use crate::GraphError;

/// Fills the sums of pages. `payments` are the sorted payments that are written together with the pages; payments of before
/// are read.
pub(super) fn sum_pages(
    reader: &Reader<'_>,
    ends: &MoneyEnds,
    payments: &[StoredPayment],
    pages: &mut [StoredPage],
) -> Result<(), GraphError> {
    pages.sort_unstable();
    let mut before: Option<(u64, u32, u64)> = None;
    for page in pages {
        let StoredPage { owner, asset, transaction, .. } = *page;
        let of_ledger = before.filter(|(of, in_asset, _)| (*of, *in_asset) == (owner, asset));
        let from = match of_ledger {
            Some((.., last)) => last + 1,
            None => {
                reader.page_before(owner, asset, transaction)?.map_or(0, |it| it.transaction + 1)
            }
        };
        let key = |it: &StoredPayment| (it.owner, it.asset, it.transaction);
        let first = payments.partition_point(|it| key(it) < (owner, asset, from));
        let end = payments.partition_point(|it| key(it) <= (owner, asset, transaction));
        let written = payments.get(first..end).unwrap_or_default();
        let sums = sums_of(reader, ends, (owner, asset), (from, transaction), written)?;
        page.set_sums(&sums);
        before = Some((owner, asset, transaction));
    }
    Ok(())
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
