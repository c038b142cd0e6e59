//! The money that a subject sent (`docs/model/accounts.md` B12): directly, and further on within a budget of records.
//!
//! Further on, an account's money is divided over all that it paid in the asset since, and over what it still holds.

use std::collections::{BTreeMap, BinaryHeap};

use jiff::{Timestamp, tz::TimeZone};

use super::{
    ends::ends_money,
    parts::{Amount, PartKey, Parts},
    received::{Valued, end_of},
    shares::{DECAY, WHOLE},
    step::{AssetNumber, MovementKind, Payment},
    unit::{FineSum, MoneyUnit},
    view::{AccountAttributions, AccountView},
};
use crate::{
    evidence::{FlowEnd, Solicitation, UnresolvedReason},
    ledger::{OwnerNumber, TransactionNumber},
};

/// Most payments that a forward trace reads.
const MOST_RECORDS: usize = 300;
/// Money of less than this part (1/1000) of all sent money is not followed.
const FOLLOWED_ONE_IN: u128 = 1_000;
/// Most hops of a forward trace.
const MOST_HOPS: u8 = 10;

/// Adds up the money that a subject sent, by unit.
pub(super) fn sent(
    view: &dyn AccountView,
    subject: OwnerNumber,
    payments: &[Valued<'_>],
    attributions: &dyn AccountAttributions,
    recent_since: Timestamp,
) -> BTreeMap<MoneyUnit, Parts> {
    let mut trace = ForwardTrace {
        view,
        subject,
        attributions,
        units: BTreeMap::new(),
        waiting: BinaryHeap::new(),
        records: MOST_RECORDS,
        least: FineSum::default(),
    };
    let outgoing = || payments.iter().filter(|valued| valued.payment.from == subject);
    let total = outgoing().fold(FineSum::default(), |sum, it| sum.plus(FineSum::whole(it.value)));
    trace.least = FineSum::of_units(total.units() / FOLLOWED_ONE_IN);
    for valued in outgoing() {
        let sum = FineSum::whole(valued.value);
        let is_recent = valued.time >= recent_since;
        trace.reach(PassedMoney {
            unit: valued.unit,
            payment: valued.payment,
            time: valued.time,
            sum,
            decayed: sum,
            is_recent,
            hops: 1,
            own: valued.payment.transaction,
            asset: Some((valued.ticker, FineSum::whole(valued.payment.amount))),
        });
    }
    trace.run();
    trace.units
}

/// Adds up the money of payments to a subject by what became of it, by unit: money that the subject received is divided
/// over what it paid since and holds.
pub(super) fn sent_on(
    view: &dyn AccountView,
    subject: OwnerNumber,
    payments: &[Valued<'_>],
    attributions: &dyn AccountAttributions,
    recent_since: Timestamp,
) -> BTreeMap<MoneyUnit, Parts> {
    let total = payments.iter().fold(0, |sum: u128, it| sum.saturating_add(it.value));
    let mut trace = ForwardTrace {
        view,
        subject,
        attributions,
        units: BTreeMap::new(),
        waiting: BinaryHeap::new(),
        records: MOST_RECORDS,
        least: FineSum::of_units(FineSum::whole(total).units() / FOLLOWED_ONE_IN),
    };
    for valued in payments {
        let (payment, unit, sum) = (valued.payment, valued.unit, FineSum::whole(valued.value));
        let is_recent = valued.time >= recent_since;
        let (decayed, own) = (sum, payment.transaction);
        if payment.to == subject {
            let order = std::cmp::Reverse((own, subject, payment.asset));
            trace.waiting.push(Waiting { sum, order, decayed, is_recent, hops: 0, own, unit });
        } else {
            trace.reach(PassedMoney {
                unit,
                payment,
                time: valued.time,
                sum,
                decayed,
                is_recent,
                hops: 1,
                own,
                asset: Some((valued.ticker, FineSum::whole(payment.amount))),
            });
        }
    }
    trace.run();
    trace.units
}

/// Money that reached the receiver of a payment.
#[derive(Clone, Copy)]
struct PassedMoney<'v> {
    unit: MoneyUnit,
    payment: &'v Payment,
    time: Timestamp,
    sum: FineSum,
    decayed: FineSum,
    is_recent: bool,
    hops: u8,
    /// The subject's own transaction.
    own: TransactionNumber,
    /// Amount of the asset, with its ticker; `None` further on.
    asset: Option<(&'static str, FineSum)>,
}

/// Money that waits at an account, the largest sum first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Waiting {
    sum: FineSum,
    /// Earlier transactions first, so that the order does not depend on the heap.
    order: std::cmp::Reverse<(TransactionNumber, OwnerNumber, AssetNumber)>,
    decayed: FineSum,
    is_recent: bool,
    hops: u8,
    own: TransactionNumber,
    unit: MoneyUnit,
}

struct ForwardTrace<'v> {
    view: &'v dyn AccountView,
    subject: OwnerNumber,
    attributions: &'v dyn AccountAttributions,
    units: BTreeMap<MoneyUnit, Parts>,
    waiting: BinaryHeap<Waiting>,
    /// Payments that may still be read.
    records: usize,
    /// Sums below this are not followed.
    least: FineSum,
}

impl ForwardTrace<'_> {
    fn reach(&mut self, reached: PassedMoney<'_>) {
        let PassedMoney { unit, payment, sum, decayed, is_recent, hops, own, asset, .. } = reached;
        let end = match payment.kind {
            MovementKind::Fee => Some(FlowEnd::Fee),
            _ if payment.to == OwnerNumber::NOBODY => Some(FlowEnd::Destroyed),
            _ if payment.to == self.subject => Some(FlowEnd::Returned),
            _ => None,
        };
        if let Some(end) = end {
            self.end(end, &reached);
            return;
        }
        if payment.to == OwnerNumber::SEVERAL {
            self.divide(&reached);
            return;
        }
        let attribution = self.attributions.of_account(payment.to);
        let party = attribution.as_ref().and_then(|it| it.end.as_ref()).filter(|it| ends_money(it));
        if let Some(party) = party {
            let day = reached.time.to_zoned(TimeZone::UTC).date();
            let is_direct = hops == 1;
            let key = PartKey { is_direct, ..PartKey::direct(party, day, Solicitation::Solicited) };
            let part = self.units.entry(unit).or_default().at(key);
            let (hops, transaction) = (Some(hops), Some(own));
            part.add(Amount { sum, decayed, is_recent, hops, transaction, asset });
            part.about(party, day);
            part.outstanding = part.outstanding.plus(sum);
            return;
        }
        if attribution.as_ref().is_some_and(|it| it.is_unowned) {
            self.end(FlowEnd::Destroyed, &reached);
        } else if hops >= MOST_HOPS {
            self.end(FlowEnd::Unresolved(UnresolvedReason::DepthLimit), &reached);
        } else {
            let order = std::cmp::Reverse((payment.transaction, payment.to, payment.asset));
            self.waiting.push(Waiting { sum, order, decayed, is_recent, hops, own, unit });
        }
    }

    /// Adds a sum of payments to several accounts: what ended at parties by their categories, and the rest, which is not followed.
    fn divide(&mut self, reached: &PassedMoney<'_>) {
        let whole = FineSum::of_units(WHOLE.into());
        let mut left = WHOLE;
        let shares = reached.payment.shares.known().iter().map(|share| {
            left = left.saturating_sub(share.far);
            (end_of(share.origin).0, share.far)
        });
        let mut parts: Vec<(FlowEnd, u64)> = shares.collect();
        parts.push((FlowEnd::Unresolved(UnresolvedReason::TraceLimit), left));
        for (end, share) in parts.into_iter().filter(|(_, share)| *share > 0) {
            let of = |sum: FineSum| sum.times(FineSum::of_units(share.into()), whole);
            let asset = reached.asset.map(|(ticker, sum)| (ticker, of(sum)));
            let (sum, decayed) = (of(reached.sum), of(reached.decayed));
            self.end(end, &PassedMoney { sum, decayed, asset, ..*reached });
        }
    }

    fn end(&mut self, end: FlowEnd, reached: &PassedMoney<'_>) {
        let PassedMoney { unit, sum, decayed, is_recent, hops, own, asset, .. } = *reached;
        let key = PartKey::plain(end, hops == 1, Solicitation::Solicited);
        let part = self.units.entry(unit).or_default().at(key);
        let (hops, transaction) = (Some(hops), Some(own));
        part.add(Amount { sum, decayed, is_recent, hops, transaction, asset });
        part.outstanding = part.outstanding.plus(sum);
    }

    fn run(&mut self) {
        while let Some(waiting) = self.waiting.pop() {
            if waiting.sum < self.least {
                self.rest(
                    FlowEnd::Unresolved(UnresolvedReason::BelowThreshold),
                    waiting,
                    waiting.sum,
                );
            } else if self.records == 0 {
                self.rest(FlowEnd::Unresolved(UnresolvedReason::TraceLimit), waiting, waiting.sum);
            } else {
                self.follow(waiting);
            }
        }
    }

    /// Divides the money at an account over what it paid since and what it holds.
    fn follow(&mut self, waiting: Waiting) {
        let std::cmp::Reverse((since, account, asset)) = waiting.order;
        let after = TransactionNumber(since.0.saturating_add(1));
        let mut paid = self.view.payments_from(account, asset, after, self.records);
        self.records = self.records.saturating_sub(paid.len());
        // What a contract gives back to others is theirs.
        let is_of_others = |payment: &Payment| {
            payment.kind == MovementKind::Returned && payment.to != self.subject
        };
        paid.retain(|payment| payment.from == account && !is_of_others(payment));
        let held = self.view.ledgers(account).into_iter().find(|(of, _)| *of == asset);
        let held = held.map_or(0, |(_, ledger)| ledger.balance);
        let sum = paid.iter().fold(held, |sum, it| sum.saturating_add(it.amount));
        let end = match self.records {
            // There may be more payments.
            0 => FlowEnd::Unresolved(UnresolvedReason::TraceLimit),
            _ => FlowEnd::Unspent,
        };
        if sum == 0 {
            self.rest(end, waiting, waiting.sum);
            return;
        }
        let whole = FineSum::of_units(sum);
        let mut rest = waiting.sum;
        for payment in &paid {
            let part = FineSum::of_units(payment.amount);
            let passed = waiting.sum.times(part, whole);
            let decayed = waiting.decayed.times(part, whole);
            if payment.kind == MovementKind::Exchange {
                // The account has the value in another asset now; a pool has it for its next trade.
                if let Some(got) = self.got_for(payment) {
                    rest = rest.less(passed);
                    let order = std::cmp::Reverse((payment.transaction, account, got));
                    self.waiting.push(Waiting { sum: passed, order, decayed, ..waiting });
                }
                continue;
            }
            rest = rest.less(passed);
            let decayed =
                decayed.times(FineSum::of_units(DECAY.into()), FineSum::of_units(WHOLE.into()));
            self.reach(PassedMoney {
                unit: waiting.unit,
                payment,
                time: self.view.time(payment.transaction),
                sum: passed,
                decayed,
                is_recent: waiting.is_recent,
                hops: waiting.hops.saturating_add(1),
                own: waiting.own,
                asset: None,
            });
        }
        self.rest(end, waiting, rest);
    }

    /// The asset that a person got for another one in an exchange; `None` for a contract.
    fn got_for(&mut self, gave: &Payment) -> Option<AssetNumber> {
        if self.records == 0 || self.view.is_contract(gave.from) {
            return None;
        }
        self.records -= 1;
        let all = self.view.payments_of_transaction(gave.transaction).into_iter();
        let mut got = all.filter(|it| it.kind == MovementKind::Exchange && it.to == gave.from);
        got.next().map(|payment| payment.asset).filter(|asset| *asset != gave.asset)
    }

    fn rest(&mut self, end: FlowEnd, waiting: Waiting, sum: FineSum) {
        if sum.is_zero() {
            return;
        }
        let Waiting { is_recent, hops, own, unit, decayed, .. } = waiting;
        let decayed = decayed.min(sum);
        let key = PartKey::plain(end, false, Solicitation::Solicited);
        let part = self.units.entry(unit).or_default().at(key);
        let (hops, transaction, asset) = (Some(hops), Some(own), None);
        part.add(Amount { sum, decayed, is_recent, hops, transaction, asset });
        part.outstanding = part.outstanding.plus(sum);
    }
}
