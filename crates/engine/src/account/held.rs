//! The money that a subject holds (`docs/model/accounts.md` B12, R5).

use std::collections::BTreeMap;

use jiff::civil::Date;

use super::{
    parts::{Amount, PartKey, Parts},
    received::end_of,
    shares::WHOLE,
    unit::{FineSum, MoneyUnit, Valuation},
    view::AccountView,
};
use crate::{
    evidence::{FlowEnd, Solicitation, UnresolvedReason},
    ledger::OwnerNumber,
    taxonomy::Category,
};

/// Adds up what the ledgers of a subject hold on a day, by unit.
pub(super) fn held(
    view: &dyn AccountView,
    subject: OwnerNumber,
    today: Date,
    values: &mut Valuation<'_>,
) -> BTreeMap<MoneyUnit, Parts> {
    let mut units: BTreeMap<MoneyUnit, Parts> = BTreeMap::new();
    for (number, ledger) in view.ledgers(subject) {
        let Some(asset) = view.scored(number).filter(|_| ledger.balance > 0) else { continue };
        let (unit, value) = values.value_on(asset, ledger.balance, today);
        let parts = units.entry(unit).or_default();
        let mut rest = FineSum::whole(value);
        for share in ledger.shares.known() {
            let (end, period) = end_of(share.origin);
            let listed = period.is_some() || end == FlowEnd::Attributed(Category::Sanctions);
            let key = PartKey {
                listed,
                period,
                ..PartKey::plain(end, share.hops <= 1, Solicitation::Solicited)
            };
            let sum = FineSum::share(value, share.far);
            rest = rest.less(sum);
            let decayed = FineSum::share(value, share.near);
            let hops = Some(share.hops);
            let part = parts.at(key);
            let asset = Some((asset.ticker, FineSum::share(ledger.balance, share.far)));
            part.add(Amount { sum, decayed, is_recent: false, hops, transaction: None, asset });
            part.outstanding = part.outstanding.plus(sum);
        }
        if !rest.is_zero() {
            let unknown = FlowEnd::Unresolved(UnresolvedReason::UnknownOrigin);
            let key = PartKey::plain(unknown, true, Solicitation::Solicited);
            let (sum, decayed) = (rest, rest);
            let known = ledger.shares.known().iter().map(|share| share.far);
            let share = WHOLE.saturating_sub(known.fold(0, u64::saturating_add));
            let asset = Some((asset.ticker, FineSum::share(ledger.balance, share)));
            let (hops, transaction) = (None, None);
            let amount = Amount { sum, decayed, is_recent: false, hops, transaction, asset };
            let part = parts.at(key);
            part.add(amount);
            part.outstanding = part.outstanding.plus(sum);
        }
    }
    units
}
