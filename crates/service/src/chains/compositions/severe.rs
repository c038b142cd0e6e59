//! Addresses that received money of severe categories in a block, as the source of alerts.

use std::{cmp::Reverse, collections::BTreeMap};

use assay_engine::{
    composition::{Composition, Origin},
    ledger::CoinShare,
    policy::Policy,
    taxonomy::Category,
};
use serde::Serialize;

/// Lowest severity, under the default policy, of categories whose money counts as severe.
pub(super) const SEVERE_FROM: u8 = 90;
/// Smallest logged share of severe money in a payment: 1 %, rounded up.
pub(super) const LEAST_SHARE: CoinShare =
    CoinShare::from_units(CoinShare::WHOLE.units().div_ceil(100));
/// Number of addresses that a log line names: those that received most severe money.
pub(super) const NAMED: usize = 5;

/// Money that one owner received in a block by payments with severe money.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Receipt {
    /// Amount of the payments with severe money, net of change, in base units.
    received: u128,
    /// Severe part of the amount by category, in base units.
    severe: BTreeMap<Category, u128>,
}

/// Log line about one address.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct NamedReceipt {
    address: String,
    /// Amount received by payments with severe money, net of change, in base units.
    received: String,
    /// Share of each severe category in the amount.
    shares: BTreeMap<&'static str, f64>,
}

/// Log line about one block.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct SevereReceipts {
    /// Number of addresses that received severe money.
    pub(super) addresses: usize,
    /// Severe money that the addresses received together, in base units.
    pub(super) severe: u128,
    /// Addresses that received most severe money.
    pub(super) largest: Vec<NamedReceipt>,
}

/// Returns the severe origins of money, with their shares; none if their sum is less than [`LEAST_SHARE`].
pub(super) fn severe_shares(
    composition: &Composition,
    policy: &Policy,
) -> BTreeMap<Category, CoinShare> {
    let mut units: BTreeMap<Category, u64> = BTreeMap::new();
    for (origin, share) in composition.origins() {
        if let Origin::Party(category, _) = origin
            && policy.severity(category) >= SEVERE_FROM
        {
            *units.entry(category).or_default() += share.units();
        }
    }
    if units.values().sum::<u64>() < LEAST_SHARE.units() {
        units.clear();
    }
    units.into_iter().map(|(category, units)| (category, CoinShare::from_units(units))).collect()
}

impl Receipt {
    /// Adds a payment of `income` that has these severe shares.
    pub(super) fn add(&mut self, income: u128, shares: &BTreeMap<Category, CoinShare>) {
        self.received = self.received.saturating_add(income);
        for (category, share) in shares {
            let severe = self.severe.entry(*category).or_default();
            *severe = severe.saturating_add(share.of_amount(income));
        }
    }

    fn severe(&self) -> u128 {
        self.severe.values().fold(0, |sum, part| sum.saturating_add(*part))
    }

    fn named(&self, address: String) -> NamedReceipt {
        let share =
            |(category, part): (&Category, &u128)| (category.as_str(), ratio(*part, self.received));
        let shares = self.severe.iter().map(share).collect();
        NamedReceipt { address, received: self.received.to_string(), shares }
    }
}

/// Sums up the receipts of a block's addresses; `None` without receipts.
pub(super) fn severe_receipts(mut receipts: Vec<(String, Receipt)>) -> Option<SevereReceipts> {
    let addresses = receipts.len();
    if addresses == 0 {
        return None;
    }
    let severe = receipts.iter().fold(0, |sum: u128, (_, it)| sum.saturating_add(it.severe()));
    receipts.sort_by_cached_key(|(address, receipt)| (Reverse(receipt.severe()), address.clone()));
    let largest = receipts.into_iter().take(NAMED);
    let largest = largest.map(|(address, receipt)| receipt.named(address)).collect();
    Some(SevereReceipts { addresses, severe, largest })
}

/// Returns the ratio of a part to a whole with four decimals, rounded down.
fn ratio(part: u128, whole: u128) -> f64 {
    const DECIMALS: u32 = 10_000;
    let parts = part.saturating_mul(DECIMALS.into()).checked_div(whole).unwrap_or(0);
    f64::from(u32::try_from(parts).unwrap_or(DECIMALS)) / f64::from(DECIMALS)
}

#[cfg(test)]
mod tests {
    use assay_engine::{composition::Mixture, evidence::ListingPeriod};

    use super::*;

    fn money(parts: &[(Origin, u64)]) -> Composition {
        let mut mixture = Mixture::default();
        let whole: u64 = parts.iter().map(|(_, amount)| amount).sum();
        for (origin, amount) in parts {
            mixture.add_origin(*origin, *amount);
        }
        mixture.finish(whole.into(), false)
    }

    fn party(category: Category) -> Origin {
        Origin::Party(category, None)
    }

    #[test]
    fn categories_from_90_on_count_together_from_1_percent_on() {
        let policy = Policy::default();
        let severe = |parts: &[(Origin, u64)]| severe_shares(&money(parts), &policy);
        let (stolen, scam) = (party(Category::StolenFunds), party(Category::Scam));
        assert!(severe(&[(scam, 100)]).is_empty(), "80 is less than 90");
        assert!(severe(&[(stolen, 9), (scam, 991)]).is_empty(), "0.9 %");
        let since = Origin::Party(Category::Sanctions, Some(ListingPeriod::Since));
        let before = Origin::Party(Category::Sanctions, Some(ListingPeriod::Before));
        let found = severe(&[(stolen, 1), (since, 2), (before, 2), (Origin::Mining, 195)]);
        let units: Vec<_> = found.iter().map(|(of, share)| (*of, share.of_amount(200))).collect();
        assert_eq!(units, [(Category::Sanctions, 3), (Category::StolenFunds, 0)]);
        assert_eq!(
            found.values().map(|share| share.of_amount(20_000)).sum::<u128>(),
            498,
            "rounded down"
        );
    }

    #[test]
    fn those_with_most_severe_money_are_named_first() {
        let half = BTreeMap::from([(Category::StolenFunds, CoinShare::from_units(1 << 31))]);
        let receipts = (1..=8).map(|number: u8| {
            let mut receipt = Receipt::default();
            receipt.add(u128::from(number) * 100, &half);
            receipt.add(u128::from(number) * 100, &half);
            (format!("address-{number}"), receipt)
        });
        let severe = severe_receipts(receipts.collect()).unwrap();
        assert_eq!((severe.addresses, severe.severe), (8, 3_600));
        let names: Vec<_> = severe.largest.iter().map(|it| it.address.as_str()).collect();
        assert_eq!(names, [8, 7, 6, 5, 4].map(|number| format!("address-{number}")));
        assert_eq!(
            serde_json::to_string(&severe.largest[0]).unwrap(),
            r#"{"address":"address-8","received":"1600","shares":{"stolen_funds":0.5}}"#
        );
        assert_eq!(super::severe_receipts(vec![]), None);
    }
}
