//! Amounts that an address received and sent, week by week.

use std::collections::BTreeMap;

use jiff::{Timestamp, civil::Date, tz::TimeZone};

use crate::{
    account::{AccountPayments, AccountView, AssetNumber},
    ledger::{OwnHistory, OwnerNumber},
};

/// Payments of an address by asset and week.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Timeline {
    /// The assets, those with most transfers first.
    pub assets: Vec<AssetTimeline>,
    /// Number of the oldest payments, which were not read.
    pub left_out: u64,
}

/// Payments of an address in one asset. Amounts are in base units.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AssetTimeline {
    /// The asset's ticker.
    pub asset: String,
    /// Total received over the lifetime of the address. The weeks sum to less if only the largest transfers were read.
    pub received: u128,
    /// Total sent over the lifetime of the address, fees included.
    pub sent: u128,
    /// Weeks with a transfer, the earliest first.
    pub weeks: Vec<WeekAmounts>,
}

/// Payments of one week, which begins on a Monday at midnight, UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WeekAmounts {
    /// The Monday.
    pub monday: Date,
    /// Received.
    pub received: u128,
    /// Sent, fees included.
    pub sent: u128,
    /// Number of transfers in both directions.
    pub transfers: u64,
}

impl Timeline {
    /// Returns the timeline of an address with unspent outputs, by the transactions of its history. `asset` is the ticker of
    /// the chain's coin.
    #[must_use]
    pub fn of_history(asset: &str, history: &OwnHistory) -> Self {
        let mut weeks = Weeks::default();
        for own in &history.incoming {
            weeks.add(own.time, (own.income(own.inputs), 0), 1);
        }
        for own in &history.outgoing {
            weeks.add(own.time, (0, own.spending(own.inputs)), 1);
        }
        let (received, sent) = (history.statistics.received, history.statistics.sent);
        let asset = asset.to_owned();
        Self {
            assets: vec![AssetTimeline { asset, received, sent, weeks: weeks.finish() }],
            left_out: 0,
        }
    }

    /// Returns the timeline of an account, by its payments in followed assets.
    #[must_use]
    pub fn of_payments(view: &dyn AccountView, owner: OwnerNumber, own: &AccountPayments) -> Self {
        let mut assets: BTreeMap<AssetNumber, Weeks> = BTreeMap::new();
        let sums = own.sums.iter().map(|sum| (&sum.payment, sum.first, sum.count));
        let single =
            own.payments.iter().map(|payment| (payment, view.time(payment.transaction), 1));
        for (payment, time, count) in sums.chain(single) {
            let is_received = payment.to == owner;
            let amounts = if is_received { (payment.amount, 0) } else { (0, payment.amount) };
            assets.entry(payment.asset).or_default().add(time, amounts, count);
        }
        let timelines = assets.into_iter().filter_map(|(number, weeks)| {
            let weeks = weeks.finish();
            let total =
                |of: fn(&WeekAmounts) -> u128| weeks.iter().map(of).fold(0, u128::saturating_add);
            let (received, sent) = (total(|week| week.received), total(|week| week.sent));
            let asset = view.scored(number)?.ticker.to_owned();
            Some(AssetTimeline { asset, received, sent, weeks })
        });
        let mut assets: Vec<AssetTimeline> = timelines.collect();
        assets.sort_by_key(|asset| std::cmp::Reverse(asset.transfers()));
        Self { assets, left_out: own.left_out }
    }
}

impl AssetTimeline {
    /// Number of transfers in all weeks.
    #[must_use]
    pub fn transfers(&self) -> u64 {
        self.weeks.iter().map(|week| week.transfers).fold(0, u64::saturating_add)
    }
}

/// Weeks while they are summed, by their Mondays.
#[derive(Debug, Default)]
struct Weeks(BTreeMap<Date, WeekAmounts>);

impl Weeks {
    fn add(&mut self, time: Timestamp, (received, sent): (u128, u128), transfers: u64) {
        if received == 0 && sent == 0 {
            return;
        }
        let day = time.to_zoned(TimeZone::UTC).date();
        let since_monday = i64::from(day.weekday().to_monday_zero_offset());
        // The days of the first week of time itself stay a week of their own.
        let monday = day.checked_sub(jiff::Span::new().days(since_monday)).unwrap_or(day);
        let empty = WeekAmounts { monday, received: 0, sent: 0, transfers: 0 };
        let week = self.0.entry(monday).or_insert(empty);
        week.received = week.received.saturating_add(received);
        week.sent = week.sent.saturating_add(sent);
        week.transfers = week.transfers.saturating_add(transfers);
    }

    fn finish(self) -> Vec<WeekAmounts> {
        self.0.into_values().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::{OwnTransaction, Statistics, TransactionNumber};

    fn own(number: u64, time: &str, received: u128, sent: u128) -> OwnTransaction {
        OwnTransaction {
            number: TransactionNumber(number),
            time: time.parse().unwrap(),
            inputs: 100,
            received,
            sent,
            unspent: 0,
            is_passed_on: false,
        }
    }

    #[test]
    fn payments_are_summed_by_weeks_that_begin_on_monday() {
        let first: Timestamp = "2026-02-01T23:59:59Z".parse().unwrap();
        let statistics = Statistics { received: 70, sent: 40, ..Statistics::new(first) };
        let history = OwnHistory {
            statistics,
            incoming: vec![
                own(1, "2026-02-01T23:59:59Z", 10, 0),
                own(2, "2026-02-02T00:00:00Z", 20, 0),
                own(3, "2026-02-08T23:59:59Z", 30, 0),
                // Of 40 sent, 10 came back.
                own(4, "2026-02-16T12:00:00Z", 25, 40),
            ],
            outgoing: vec![own(4, "2026-02-16T12:00:00Z", 25, 40)],
        };
        let timeline = Timeline::of_history("BTC", &history);
        let [asset] = &*timeline.assets else { panic!("{timeline:?}") };
        let weeks: Vec<(String, u128, u128, u64)> = asset
            .weeks
            .iter()
            .map(|week| (week.monday.to_string(), week.received, week.sent, week.transfers))
            .collect();
        assert_eq!(
            weeks,
            [
                ("2026-01-26".to_owned(), 10, 0, 1),
                ("2026-02-02".to_owned(), 50, 0, 2),
                ("2026-02-16".to_owned(), 15, 30, 2),
            ]
        );
        assert_eq!((asset.received, asset.sent, asset.transfers()), (70, 40, 5));
    }
}
