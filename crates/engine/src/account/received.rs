//! The money that a subject received (`docs/model/accounts.md` B6, B7, B9).

use std::collections::BTreeMap;

use jiff::{Timestamp, tz::TimeZone};
use rustc_hash::FxHashMap;

use super::{
    bridge_search::BridgeDeposit,
    ends::ends_money,
    history::PaymentSum,
    origin::{MoneyOrigin, OriginCode},
    parts::{Amount, PartKey, Parts},
    shares::{Hop, WHOLE},
    step::{MovementKind, Payment},
    unit::{FineSum, MICROS_IN_DOLLAR, MoneyUnit, Valuation},
    view::{AccountAttributions, AccountView},
};
use crate::{
    evidence::{FlowEnd, Solicitation, UnresolvedReason},
    ledger::OwnerNumber,
    policy::Role,
    trace::AttributedEnd,
};

/// Dust of one owner over all assets, as a multiple of the largest dust payment.
const DUST_PAYMENTS: u128 = 20;
/// Lowest severity of risky money, which always counts as received.
const RISKY_WHOLE_FROM: u8 = 80;

/// A payment of the subject with its value.
#[derive(Clone, Copy, Debug)]
pub(super) struct Valued<'p> {
    pub(super) payment: &'p Payment,
    /// Ticker of the asset.
    pub(super) ticker: &'static str,
    pub(super) time: Timestamp,
    pub(super) unit: MoneyUnit,
    /// Value in fine units of the unit.
    pub(super) value: u128,
    /// The value of a payment of about one dollar or less, in micro-dollars.
    pub(super) dust: Option<u128>,
}

impl Valued<'_> {
    /// Payments in scored assets, with their values. An account's own money in another asset, or that a contract pays back to
    /// it, is no payment to or from it.
    pub(super) fn of<'p>(
        view: &dyn AccountView,
        payments: &'p [Payment],
        values: &mut Valuation<'_>,
    ) -> Vec<Valued<'p>> {
        let of_scored =
            payments.iter().filter(|it| !it.kind.is_own_money()).filter_map(|payment| {
                let asset = view.scored(payment.asset)?;
                let time = view.time(payment.transaction);
                let (unit, value) = values.value(asset, payment.amount, time);
                let dust = match unit {
                    MoneyUnit::Dollars => (value <= MICROS_IN_DOLLAR).then_some(value),
                    MoneyUnit::Asset(asset) => {
                        let largest = asset.largest_dust();
                        let is_dust = payment.amount <= largest && largest > 0;
                        is_dust.then(|| payment.amount.saturating_mul(MICROS_IN_DOLLAR) / largest)
                    }
                };
                Some(Valued { payment, ticker: asset.ticker, time, unit, value, dust })
            });
        of_scored.collect()
    }

    /// Sums of payments in scored assets, with their values. None of them is dust: dust is told by single payments.
    pub(super) fn of_sums<'p>(
        view: &dyn AccountView,
        sums: &'p [PaymentSum],
        values: &mut Valuation<'_>,
    ) -> Vec<Valued<'p>> {
        let of_scored =
            sums.iter().filter(|it| !it.payment.kind.is_own_money()).filter_map(|sum| {
                let (payment, time) = (&sum.payment, sum.time);
                let asset = view.scored(payment.asset)?;
                let (unit, value) = values.value(asset, payment.amount, time);
                Some(Valued { payment, ticker: asset.ticker, time, unit, value, dust: None })
            });
        of_scored.collect()
    }

    fn is_to(&self, subject: OwnerNumber) -> bool {
        self.payment.to == subject
    }
}

/// Adds up the money that a subject received, by unit. With `is_netted`, benign money that went round with a counterparty is
/// left out.
pub(super) fn received(
    subject: OwnerNumber,
    payments: &[Valued<'_>],
    attributions: &dyn AccountAttributions,
    (recent_since, is_netted): (Timestamp, bool),
) -> BTreeMap<MoneyUnit, Parts> {
    let dust = DustOfOwners::of(subject, payments);
    let netted = if is_netted { payments } else { &[] };
    let outstanding = Outstanding::of(subject, netted);
    let mut paid_back = PaidBack::default();
    let mut units: BTreeMap<MoneyUnit, Parts> = BTreeMap::new();
    for valued in payments {
        if !valued.is_to(subject) {
            paid_back.sent(valued);
            continue;
        }
        let payment = valued.payment;
        let is_paid = payment.kind.is_payment();
        // Another account paid a receipt that was joined to its deposit than the one of the payment.
        let is_joined = attributions.deposit_of(payment).is_some();
        let (payer, attributions, paid_at) = payer(attributions, valued);
        let attribution = is_paid.then(|| attributions.of_account(payer)).flatten();
        let end = attribution.as_ref().and_then(|it| it.end.as_ref()).filter(|it| ends_money(it));
        let solicitation = if dust.is_dust(valued) {
            Solicitation::Dust
        } else if !is_joined && end.is_some_and(|end| paid_back.is_paid_back(valued, end)) {
            Solicitation::PaidBack
        } else {
            Solicitation::Solicited
        };
        let mut carried = Vec::new();
        if end.is_none() && is_paid {
            carried.extend(attribution.iter().flat_map(|it| &it.carried).cloned());
            // What the payer paid before it was frozen stays what it was.
            let freeze = attributions.freeze_of(payer);
            carried.extend(freeze.filter(|(since, _)| *since <= paid_at).map(|(_, it)| it));
        }
        let mut receipt = Receipt {
            parts: units.entry(valued.unit).or_default(),
            valued,
            is_recent: valued.time >= recent_since,
            outstanding: outstanding.of_receipt(valued).filter(|_| !is_joined),
        };
        match end {
            Some(end) => receipt.add_direct(end, paid_at, solicitation),
            None => receipt.add_by_origin(solicitation, &carried),
        }
    }
    units
}

/// The account that paid a receipt, with the attributions of its chain and the time at which it paid: of a receipt that was
/// joined to its deposit, the subject on the chain of the deposit.
fn payer<'a>(
    attributions: &'a dyn AccountAttributions,
    receipt: &Valued<'_>,
) -> (OwnerNumber, &'a dyn AccountAttributions, Timestamp) {
    match attributions.deposit_of(receipt.payment) {
        Some(BridgeDeposit { chain, payment, .. }) => {
            (payment.from, chain.attributions, chain.view.time(payment.transaction))
        }
        None => (receipt.payment.from, attributions, receipt.time),
    }
}

/// One receipt that is added to the sums.
struct Receipt<'r, 'p> {
    parts: &'r mut Parts,
    valued: &'r Valued<'p>,
    is_recent: bool,
    /// The part of the receipt's benign money that was outstanding: a numerator and a denominator.
    outstanding: Option<(FineSum, FineSum)>,
}

impl Receipt<'_, '_> {
    fn add_direct(&mut self, end: &AttributedEnd, paid_at: Timestamp, solicitation: Solicitation) {
        let day = paid_at.to_zoned(TimeZone::UTC).date();
        let key = PartKey::direct(end, day, solicitation);
        let sum = FineSum::whole(self.valued.value);
        self.add(key.clone(), WHOLE, (sum, sum), Some(1));
        self.parts.at(key).about(end, day);
    }

    fn add_by_origin(
        &mut self,
        solicitation: Solicitation,
        carried: &[crate::evidence::CarriedLabel],
    ) {
        let payment = self.valued.payment;
        let value = self.valued.value;
        let mut rest = FineSum::whole(value);
        for share in payment.shares.known() {
            let share = share.after(payment.hop);
            let (end, period) = end_of(share.origin);
            let is_of_ends = payment.from == OwnerNumber::SEVERAL && payment.hop == Hop::FromEnd;
            let is_direct =
                is_of_ends || end.category().is_none() && payment.kind == MovementKind::New;
            let listed = period.is_some()
                || end == FlowEnd::Attributed(crate::taxonomy::Category::Sanctions);
            let key = PartKey {
                period,
                listed,
                carried: carried.to_vec(),
                ..PartKey::plain(end, is_direct, solicitation)
            };
            let sum = FineSum::share(value, share.far);
            rest = rest.less(sum);
            let decayed = FineSum::share(value, share.near);
            self.add(key, share.far, (sum, decayed), Some(share.hops));
        }
        if !rest.is_zero() {
            let unknown = FlowEnd::Unresolved(UnresolvedReason::UnknownOrigin);
            let key = PartKey {
                carried: carried.to_vec(),
                ..PartKey::plain(unknown, true, solicitation)
            };
            let known = payment.shares.known().iter().map(|share| share.far);
            let share = WHOLE.saturating_sub(known.fold(0, u64::saturating_add));
            self.add(key, share, (rest, rest), None);
        }
    }

    /// Adds a share of the receipt, with its sum and decayed sum.
    fn add(
        &mut self,
        key: PartKey,
        share: u64,
        (sum, decayed): (FineSum, FineSum),
        hops: Option<u8>,
    ) {
        let asset = Some((self.valued.ticker, FineSum::share(self.valued.payment.amount, share)));
        let is_risky = is_risky_whole(key.end);
        let part = self.parts.at(key);
        let transaction = Some(self.valued.payment.transaction);
        part.add(Amount { sum, decayed, is_recent: self.is_recent, hops, transaction, asset });
        let outstanding = match self.outstanding {
            Some((most, whole)) if !is_risky => sum.times(most, whole),
            _ => sum,
        };
        part.outstanding = part.outstanding.plus(outstanding);
    }
}

/// The endpoint that stands for an origin, and the period of a listed one.
pub(super) fn end_of(origin: OriginCode) -> (FlowEnd, Option<crate::evidence::ListingPeriod>) {
    match origin.origin() {
        MoneyOrigin::Party(category, period) => (FlowEnd::of_category(category), period),
        MoneyOrigin::New => (FlowEnd::Mining, None),
        MoneyOrigin::Conversion => (FlowEnd::Unresolved(UnresolvedReason::Conversion), None),
    }
}

/// True for money of a severity of 80 and more, which always counts as received.
fn is_risky_whole(end: FlowEnd) -> bool {
    end.category().is_some_and(|category| category.info().severity >= RISKY_WHOLE_FROM)
}

/// The sums of dust by owner, over all assets.
struct DustOfOwners(FxHashMap<OwnerNumber, u128>);

impl DustOfOwners {
    fn of(subject: OwnerNumber, payments: &[Valued<'_>]) -> Self {
        let mut sums: FxHashMap<OwnerNumber, u128> = FxHashMap::default();
        for valued in payments.iter().filter(|valued| valued.is_to(subject)) {
            if let Some(dust) = valued.dust {
                let sum = sums.entry(valued.payment.from).or_default();
                *sum = sum.saturating_add(dust);
            }
        }
        Self(sums)
    }

    fn is_dust(&self, valued: &Valued<'_>) -> bool {
        let sum = self.0.get(&valued.payment.from).copied().unwrap_or(0);
        valued.dust.is_some() && sum <= DUST_PAYMENTS * MICROS_IN_DOLLAR
    }
}

/// The greatest sum of benign money that was outstanding with each counterparty, by unit: received less sent so far,
/// beginning at nothing and below it where the subject sent first.
struct Outstanding(FxHashMap<(OwnerNumber, MoneyUnitKey), OutstandingSum>);

type MoneyUnitKey = Option<super::AssetId>;

#[derive(Clone, Copy, Debug, Default)]
struct OutstandingSum {
    /// All benign money that was received.
    benign: FineSum,
    /// Received and sent so far.
    received: FineSum,
    sent: FineSum,
    most: FineSum,
}

impl Outstanding {
    fn of(subject: OwnerNumber, payments: &[Valued<'_>]) -> Self {
        let mut sums: FxHashMap<(OwnerNumber, MoneyUnitKey), OutstandingSum> = FxHashMap::default();
        for valued in payments {
            let payment = valued.payment;
            let value = FineSum::whole(valued.value);
            if valued.is_to(subject) {
                let sum = sums.entry((payment.from, key(valued.unit))).or_default();
                let severe = payment.shares.known().iter().filter(|it| it.origin.is_severe());
                let severe = severe.fold(FineSum::default(), |sum, share| {
                    sum.plus(FineSum::share(valued.value, share.far))
                });
                let benign = value.less(severe);
                sum.benign = sum.benign.plus(benign);
                sum.received = sum.received.plus(benign);
                sum.most = sum.most.max(sum.received.less(sum.sent));
            } else {
                let sum = sums.entry((payment.to, key(valued.unit))).or_default();
                sum.sent = sum.sent.plus(value);
            }
        }
        sums.retain(|_, sum| !sum.sent.is_zero());
        Self(sums)
    }

    /// The part of a receipt's benign money that counts in the whole; `None` for all of it.
    fn of_receipt(&self, valued: &Valued<'_>) -> Option<(FineSum, FineSum)> {
        let sum = self.0.get(&(valued.payment.from, key(valued.unit)))?;
        Some((sum.most, sum.benign))
    }
}

fn key(unit: MoneyUnit) -> MoneyUnitKey {
    match unit {
        MoneyUnit::Dollars => None,
        MoneyUnit::Asset(asset) => Some(asset.id),
    }
}

/// Money that came back from a party that harms payers, up to the sum that the subject had sent it before.
#[derive(Default)]
struct PaidBack(FxHashMap<(OwnerNumber, MoneyUnitKey), u128>);

impl PaidBack {
    fn sent(&mut self, valued: &Valued<'_>) {
        let sum = self.0.entry((valued.payment.to, key(valued.unit))).or_default();
        *sum = sum.saturating_add(valued.value);
    }

    fn is_paid_back(&mut self, valued: &Valued<'_>, end: &AttributedEnd) -> bool {
        if !Role::HARMS_PAYERS.contains(&end.category) {
            return false;
        }
        let Some(lost) = self.0.get_mut(&(valued.payment.from, key(valued.unit))) else {
            return false;
        };
        match lost.checked_sub(valued.value) {
            Some(rest) => {
                *lost = rest;
                true
            }
            None => false,
        }
    }
}
