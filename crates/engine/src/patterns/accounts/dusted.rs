//! Dust that an account received from an owner that sent dust to many others within a day (`docs/model/patterns.md` P8).

use jiff::Timestamp;
use rustc_hash::FxHashMap;

use super::{activity::OwnPayments, parties::Parties, worth::Worth};
use crate::{
    account::{AccountView, AssetNumber},
    ledger::{OwnerNumber, TransactionNumber},
    patterns::{
        activity::Activity,
        rules::{DUSTED_OWNERS, WINDOW},
        transfers::fan::fan_windows,
    },
    policy::PatternRules,
};

/// Most senders of dust whose other payments are read.
const MOST_DUSTERS: usize = 3;
/// Most payments of a sender that are read before and after its dust, in the asset of the dust.
const MOST_PAYMENTS: usize = 40;

/// Notes, for the transactions by which an account only received dust, the number of owners that got dust of the sender
/// within a day.
pub(super) fn note_dusters(
    of: &OwnPayments<'_>,
    activity: &mut Activity,
    rules: &PatternRules,
    parties: &mut Parties<'_>,
    worth: &mut Worth<'_>,
) {
    let mut known: FxHashMap<OwnerNumber, u64> = FxHashMap::default();
    for own in activity.transactions.iter_mut().rev() {
        let is_dust = own.sent == 0 && own.income > 0 && own.income <= rules.dust;
        let [payer] = own.payers.as_slice() else { continue };
        if !is_dust || payer.category.is_some() {
            continue;
        }
        if known.len() == MOST_DUSTERS && !known.contains_key(&payer.owner) {
            continue;
        }
        let asset = of.asset_with(own.number, payer.owner);
        let at = (own.number, own.time, asset);
        let read = || dusted_by((of.view, payer.owner), at, rules, parties, worth);
        let dusted = *known.entry(payer.owner).or_insert_with(read);
        if dusted >= DUSTED_OWNERS {
            (own.dusted, own.own_dust) = (dusted, own.income);
        }
    }
}

/// The greatest number of owners that get dust of a payer within a day, of the payments around a transaction.
fn dusted_by(
    (view, payer): (&dyn AccountView, OwnerNumber),
    (number, time, asset): (TransactionNumber, Timestamp, AssetNumber),
    rules: &PatternRules,
    parties: &mut Parties<'_>,
    worth: &mut Worth<'_>,
) -> u64 {
    let mut dusted: Vec<(Timestamp, OwnerNumber)> = Vec::new();
    let Some(scored) = view.scored(asset) else { return 0 };
    let earlier = view.payments_before(payer, asset, number, MOST_PAYMENTS);
    let later = view.payments_from(payer, asset, number, MOST_PAYMENTS);
    for payment in earlier.into_iter().chain(later) {
        let at = view.time(payment.transaction);
        let is_dust = payment.kind.is_payment()
            && payment.from == payer
            && at.duration_since(time).abs() <= WINDOW
            && worth.of(scored, payment.amount, at) <= rules.dust;
        if is_dust && !parties.kind(payment.to).is_contract() {
            dusted.push((at, payment.to));
        }
    }
    dusted.sort_unstable();
    let windows = fan_windows(dusted, WINDOW.unsigned_abs(), 1);
    u64::from(windows.into_iter().map(|window| window.parties).max().unwrap_or(0))
}
