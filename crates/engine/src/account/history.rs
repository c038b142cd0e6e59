//! The payments of a subject as a check reads them: the newest ones one by one, and the older ones of a large account summed.
//!
//! A graph sums the payments of an account in one asset by pages, and the pages of large accounts by groups. Sums keep what a
//! check judges by: the UTC day, and with it the price; the direction; the party at which the money ends; and the breakdown.

use std::collections::BTreeMap;

use jiff::{Timestamp, civil::Date, tz::TimeZone};
use ruint::aliases::U256;

use super::{
    ends::MoneyEnd,
    origin::{MoneyOrigin, OriginCode},
    shares::{Hop, OriginShare, Shares, WHOLE},
    step::{AssetNumber, MovementKind, Payment},
};
use crate::ledger::{OwnerNumber, TransactionNumber};

/// Number of payments of an account in one asset after which a page of sums ends, at the end of a transaction.
pub const PAGE_PAYMENTS: u64 = 512;

/// True if a transaction that raised an account's number of payments in an asset ends a page.
#[must_use]
pub const fn ends_page(before: u64, after: u64) -> bool {
    before / PAGE_PAYMENTS < after / PAGE_PAYMENTS
}

/// Number of payments of an account in one asset after which a group of pages ends, together with its last page. A check
/// reads the sums of a group instead of those of its pages.
pub const GROUP_PAYMENTS: u64 = 16 * PAGE_PAYMENTS;

/// True if a page that raised an account's number of payments in an asset ends a group.
#[must_use]
pub const fn ends_group(before: u64, after: u64) -> bool {
    before / GROUP_PAYMENTS < after / GROUP_PAYMENTS
}

/// The payments of an account.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AccountPayments {
    /// Older payments, summed, by asset and then in the order of the chain.
    pub sums: Vec<PaymentSum>,
    /// The newest payments, in the order of the chain.
    pub payments: Vec<Payment>,
    /// Number of the oldest payments, which were neither read nor summed.
    pub left_out: u64,
}

impl AccountPayments {
    /// Number of payments that are summed.
    #[must_use]
    pub fn summed(&self) -> u64 {
        self.sums.iter().map(|sum| sum.count).fold(0, u64::saturating_add)
    }
}

/// Payments of one account in one asset on one UTC day that a check reads as one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PaymentSum {
    /// The sum as a payment, with the transaction of the largest payment. Listed and risky parties are told apart; all other
    /// accounts are [`OwnerNumber::SEVERAL`]. The breakdown is the mean of the payments', by their amounts; of what was sent to
    /// several accounts, it tells the parties at which the money ended.
    pub payment: Payment,
    /// Time of the largest payment.
    pub time: Timestamp,
    /// Amount of the largest payment.
    pub largest: u128,
    /// Time of the first payment.
    pub first: Timestamp,
    /// Number of payments.
    pub count: u64,
}

/// Payments are summed if they agree in these.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct SumKey {
    day: Date,
    is_received: bool,
    other: OwnerNumber,
    kind: u8,
    hop: Hop,
    is_initiated: Option<bool>,
}

/// A sum while it grows.
#[derive(Debug)]
struct Growing {
    kind: MovementKind,
    amount: u128,
    count: u64,
    first: Timestamp,
    /// Amount, transaction and time of the largest payment.
    largest: (u128, TransactionNumber, Timestamp),
    origins: BTreeMap<OriginCode, OriginSum>,
}

impl Growing {
    fn note_largest(&mut self, payment: (u128, TransactionNumber, Timestamp)) {
        if payment.0 > self.largest.0 {
            self.largest = payment;
        }
    }

    fn add_money(&mut self, amount: u128, shares: impl Iterator<Item = OriginShare>) {
        self.amount = self.amount.saturating_add(amount);
        for share in shares {
            let new = OriginSum { hops: share.hops, far: U256::ZERO, near: U256::ZERO };
            let origin = self.origins.entry(share.origin).or_insert(new);
            let of = |share: u64| U256::from(amount) * U256::from(share);
            origin.hops = origin.hops.min(share.hops);
            origin.far = origin.far.saturating_add(of(share.far));
            origin.near = origin.near.saturating_add(of(share.near));
        }
    }
}

/// Money of one origin: amounts times shares, and the fewest hops.
#[derive(Clone, Copy, Debug)]
pub(super) struct OriginSum {
    pub(super) hops: u8,
    pub(super) far: U256,
    pub(super) near: U256,
}

/// Sums the payments of one account in one asset.
#[derive(Debug)]
pub struct PaymentSums {
    owner: OwnerNumber,
    asset: AssetNumber,
    sums: BTreeMap<SumKey, Growing>,
}

impl PaymentSums {
    /// No payments of an account in an asset.
    #[must_use]
    pub const fn new(owner: OwnerNumber, asset: AssetNumber) -> Self {
        Self { owner, asset, sums: BTreeMap::new() }
    }

    /// Adds a payment of the account. `end` tells at which accounts money ends.
    pub fn add(
        &mut self,
        payment: &Payment,
        time: Timestamp,
        end: impl Fn(OwnerNumber) -> Option<MoneyEnd>,
    ) {
        let is_received = payment.to == self.owner;
        let other = if is_received { payment.from } else { payment.to };
        let party = Some(other).filter(|_| payment.kind.is_payment()).and_then(end);
        let is_named = party.is_some_and(MoneyEnd::has_dealings);
        let key = SumKey {
            day: time.to_zoned(TimeZone::UTC).date(),
            is_received,
            other: if is_named || other == OwnerNumber::NOBODY {
                other
            } else {
                OwnerNumber::SEVERAL
            },
            kind: payment.kind as u8,
            hop: payment.hop,
            is_initiated: payment.is_initiated.filter(|_| !is_received),
        };
        let sum = self.sum_of(key, payment, time);
        sum.count += 1;
        sum.first = sum.first.min(time);
        sum.note_largest((payment.amount, payment.transaction, time));
        let party = party.filter(|_| !is_named && !is_received).map(|party| OriginShare {
            origin: MoneyOrigin::Party(party.category, None).into(),
            hops: 1,
            far: WHOLE,
            near: WHOLE,
        });
        let received = payment.shares.known().iter().filter(|_| is_received);
        sum.add_money(payment.amount, received.copied().chain(party));
    }

    /// Adds payments that are summed already.
    pub fn add_sum(&mut self, summed: &PaymentSum) {
        let PaymentSum { payment, time, largest, first, count } = summed;
        let is_received = payment.to == self.owner;
        let key = SumKey {
            day: time.to_zoned(TimeZone::UTC).date(),
            is_received,
            other: if is_received { payment.from } else { payment.to },
            kind: payment.kind as u8,
            hop: payment.hop,
            is_initiated: payment.is_initiated,
        };
        let sum = self.sum_of(key, payment, *time);
        sum.count = sum.count.saturating_add(*count);
        sum.first = sum.first.min(*first);
        sum.note_largest((*largest, payment.transaction, *time));
        sum.add_money(payment.amount, payment.shares.known().iter().copied());
    }

    fn sum_of(&mut self, key: SumKey, payment: &Payment, time: Timestamp) -> &mut Growing {
        self.sums.entry(key).or_insert_with(|| Growing {
            kind: payment.kind,
            amount: 0,
            count: 0,
            first: time,
            largest: (0, payment.transaction, time),
            origins: BTreeMap::new(),
        })
    }

    /// The sums, in the order of their days.
    #[must_use]
    pub fn finish(self) -> Vec<PaymentSum> {
        let Self { owner, asset, sums } = self;
        let sums = sums.into_iter().map(|(key, sum)| {
            let (largest, transaction, time) = sum.largest;
            let (from, to) = if key.is_received { (key.other, owner) } else { (owner, key.other) };
            let payment = Payment {
                kind: sum.kind,
                transaction,
                sequence: 0,
                from,
                to,
                asset,
                amount: sum.amount,
                shares: Shares::of_sums(sum.amount, &sum.origins),
                hop: key.hop,
                is_initiated: key.is_initiated,
            };
            PaymentSum { payment, time, largest, first: sum.first, count: sum.count }
        });
        sums.collect()
    }
}

/// A page of sums.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageOfSums {
    /// The asset.
    pub asset: AssetNumber,
    /// The last transaction.
    pub last: TransactionNumber,
    /// Number of payments.
    pub payments: u64,
}

/// The last transactions up to which payments are read as sums, by asset, for a check that reads `most` payments one by one
/// of `all`: the newest ones. `pages` are all pages of the account.
#[must_use]
pub fn summed_until(
    mut pages: Vec<PageOfSums>,
    all: u64,
    most: usize,
) -> BTreeMap<AssetNumber, TransactionNumber> {
    let most = u64::try_from(most).unwrap_or(u64::MAX);
    let mut until = BTreeMap::new();
    if all <= most {
        return until;
    }
    let in_pages = pages.iter().map(|page| page.payments).fold(0, u64::saturating_add);
    // Payments after the last pages are read one by one.
    let mut left = most.saturating_sub(all.saturating_sub(in_pages));
    pages.sort_by_key(|page| std::cmp::Reverse((page.last, page.asset)));
    let mut pages = pages.into_iter().skip_while(|page| {
        let is_read = page.payments <= left;
        left = left.saturating_sub(page.payments);
        is_read
    });
    for page in pages.by_ref() {
        until.entry(page.asset).or_insert(page.last);
    }
    until
}

/// A breakdown as far as shares are sums: see [`Shares::of_sums`].
pub(super) fn mean(amount: u128, code: OriginCode, sum: &OriginSum) -> OriginShare {
    let amount = U256::from(amount.max(1));
    let share = |sum: U256, up: bool| {
        let (down, rest) = sum.div_rem(amount);
        let down = u64::try_from(down).unwrap_or(u64::MAX);
        if up && !rest.is_zero() { down.saturating_add(1) } else { down }
    };
    let far = share(sum.far, code.is_severe());
    OriginShare { origin: code, hops: sum.hops, far, near: share(sum.near, false).min(far) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::taxonomy::Category;

    const STOLEN: MoneyOrigin = MoneyOrigin::Party(Category::StolenFunds, None);
    const SUBJECT: OwnerNumber = OwnerNumber(1);
    const THIEF: OwnerNumber = OwnerNumber(9);
    const EXCHANGE: OwnerNumber = OwnerNumber(8);

    fn payment(from: u64, amount: u128, shares: Shares) -> Payment {
        Payment {
            kind: MovementKind::Payment,
            transaction: TransactionNumber(u64::try_from(amount).unwrap()),
            sequence: 0,
            from: OwnerNumber(from),
            to: SUBJECT,
            asset: AssetNumber(0),
            amount,
            shares,
            hop: Hop::FromPayer,
            is_initiated: None,
        }
    }

    #[test]
    fn sums_keep_days_parties_and_the_mean_breakdown() {
        let mut sums = PaymentSums::new(SUBJECT, AssetNumber(0));
        let end = |owner| {
            let of = |category| Some(MoneyEnd { category, listed_on: None });
            match owner {
                THIEF => of(Category::StolenFunds),
                EXCHANGE => of(Category::Exchange),
                _ => None,
            }
        };
        let day = |second| Timestamp::from_second(second).unwrap();
        sums.add(&payment(2, 300, Shares::UNKNOWN), day(10), end);
        sums.add(&payment(3, 100, Shares::wholly(STOLEN)), day(20), end);
        sums.add(&payment(9, 50, Shares::UNKNOWN), day(30), end);
        sums.add(&payment(3, 7, Shares::UNKNOWN), day(86_400), end);
        let sent = Payment { from: SUBJECT, to: EXCHANGE, ..payment(1, 70, Shares::UNKNOWN) };
        sums.add(&sent, day(40), end);
        let further =
            Payment { from: SUBJECT, to: OwnerNumber(2), ..payment(1, 30, Shares::UNKNOWN) };
        sums.add(&further, day(50), end);
        let sums = sums.finish();
        let out: Vec<_> = sums.iter().filter(|sum| sum.payment.from == SUBJECT).collect();
        assert_eq!((out.len(), out[0].payment.amount), (1, 100));
        let exchange = MoneyOrigin::Party(Category::Exchange, None);
        assert_eq!(out[0].payment.shares.far(exchange), WHOLE / 10 * 7 + 5);
        let of = |from: OwnerNumber| sums.iter().filter(move |sum| sum.payment.from == from);
        let several: Vec<_> = of(OwnerNumber::SEVERAL).collect();
        assert_eq!(several.iter().map(|sum| sum.count).collect::<Vec<_>>(), [2, 1]);
        assert_eq!(several[0].payment.amount, 400);
        assert_eq!(several[0].payment.transaction, TransactionNumber(300));
        assert_eq!(several[0].payment.shares.far(STOLEN), WHOLE / 4);
        assert_eq!((several[0].time, several[0].first), (day(10), day(10)));
        assert_eq!(of(THIEF).map(|sum| sum.payment.amount).collect::<Vec<_>>(), [50]);
    }

    #[test]
    fn sums_of_pages_add_up_as_their_payments_do() {
        let end = |_| None;
        let day = |second| Timestamp::from_second(second).unwrap();
        let payments: Vec<(Payment, Timestamp)> = (1..=40_u128)
            .map(|it| {
                let second = i64::try_from(it).unwrap() * 6_000;
                let is_stolen = it % 4 == 0;
                let shares = if is_stolen { Shares::wholly(STOLEN) } else { Shares::UNKNOWN };
                (payment(2, it * 8, shares), day(second))
            })
            .collect();
        let mut all = PaymentSums::new(SUBJECT, AssetNumber(0));
        let mut of_pages = PaymentSums::new(SUBJECT, AssetNumber(0));
        for page in payments.chunks(7) {
            let mut sums = PaymentSums::new(SUBJECT, AssetNumber(0));
            for (payment, time) in page {
                all.add(payment, *time, end);
                sums.add(payment, *time, end);
            }
            sums.finish().iter().for_each(|sum| of_pages.add_sum(sum));
        }
        let (all, of_pages) = (all.finish(), of_pages.finish());
        assert_eq!(all.len(), of_pages.len());
        for (one, other) in all.iter().zip(&of_pages) {
            let severe = |sum: &PaymentSum| sum.payment.shares.far(STOLEN);
            // Severe shares are rounded up twice.
            assert!(severe(other).abs_diff(severe(one)) <= 40 && severe(other) >= severe(one));
            let shares = one.payment.shares.clone();
            let payment = Payment { shares, ..other.payment.clone() };
            assert_eq!(*one, PaymentSum { payment, ..other.clone() });
        }
    }

    #[test]
    fn the_newest_pages_are_read_one_by_one_as_far_as_the_budget_goes() {
        let page = |asset, last| PageOfSums {
            asset: AssetNumber(asset),
            last: TransactionNumber(last),
            payments: 10,
        };
        let pages = || vec![page(0, 5), page(0, 20), page(1, 10), page(1, 30)];
        let until = |all, most| -> Vec<(u32, u64)> {
            let found = summed_until(pages(), all, most).into_iter();
            found.map(|(asset, last)| (asset.0, last.0)).collect()
        };
        assert_eq!(until(43, 43), []);
        assert_eq!(until(43, 42), [(0, 5)]);
        assert_eq!(until(43, 23), [(0, 5), (1, 10)]);
        assert_eq!(until(43, 22), [(0, 20), (1, 10)]);
        assert_eq!(until(43, 1), [(0, 20), (1, 30)]);
    }
}
