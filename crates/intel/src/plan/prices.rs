//! Changes that importing prices makes, and their plausibility beside the prices of neighboring days.
//!
//! A price in cents, or in base units, is off by a factor of 100 or more; no liquid asset moves by as much in a day.

use std::{cmp::Ordering, collections::BTreeMap};

use assay_engine::account::{AssetId, AssetRole, DayPrice, UsdPrice, scored_asset};
use jiff::{Unit, civil::Date};
use serde::Serialize;

use super::PublicationRefusal;

/// Smallest factor between the prices of neighboring days that is implausible.
const IMPLAUSIBLE_FACTOR: u128 = 100;
/// Days up to which two prices are neighbors. Over longer gaps an asset can gain or lose as much.
const NEIGHBOR_DAYS: i32 = 366;

/// Numbers of prices that an import changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct PriceChange {
    /// Prices of assets and days that had none.
    pub added: u64,
    /// Prices that replaced another price.
    pub changed: u64,
    /// Prices that were the same before.
    pub unchanged: u64,
}

/// Plans an import: the prices that are new or replace another price, and the numbers. `known` and `found` are in the
/// order of assets and days.
pub(crate) fn plan(known: &[DayPrice], found: &[DayPrice]) -> (Vec<DayPrice>, PriceChange) {
    let known = by_asset_and_day(known);
    let (mut records, mut change) = (Vec::new(), PriceChange::default());
    for (asset, day, price) in found {
        match known.get(&(*asset, *day)) {
            Some(same) if same == price => {
                change.unchanged += 1;
                continue;
            }
            Some(_) => change.changed += 1,
            None => change.added += 1,
        }
        records.push((*asset, *day, *price));
    }
    (records, change)
}

fn by_asset_and_day(prices: &[DayPrice]) -> BTreeMap<(AssetId, Date), UsdPrice> {
    prices.iter().map(|(asset, day, price)| ((*asset, *day), *price)).collect()
}

/// Refuses changed prices that differ by a factor of 100 or more from the price that they replace, from the nearest
/// earlier or later price of their asset, or, for a stablecoin of the table, from a dollar.
pub(crate) fn check(
    known: &[DayPrice],
    changed: &[DayPrice],
    digest: &str,
) -> Result<(), PublicationRefusal> {
    let before = by_asset_and_day(known);
    let mut after = before.clone();
    after.extend(changed.iter().map(|(asset, day, price)| ((*asset, *day), *price)));
    for (asset, day, price) in changed {
        let (start, end) = ((*asset, Date::MIN), (*asset, Date::MAX));
        let at = (*asset, *day);
        let earlier = after.range(start..at).next_back();
        let later = after.range(at..=end).find(|((_, other), _)| *other > *day);
        let neighbors = earlier.into_iter().chain(later).map(|((_, day), price)| (*day, *price));
        let replaced = before.get(&at).map(|price| (*day, *price));
        let stable = scored_asset(*asset)
            .filter(|scored| scored.role == AssetRole::Stablecoin)
            .map(|_| (*day, UsdPrice::ONE));
        let mut compared = neighbors.chain(replaced).chain(stable);
        let implausible = compared.find(|(other, reference)| {
            is_near(*day, *other) && price.differs_by(*reference, IMPLAUSIBLE_FACTOR)
        });
        if let Some((compared, reference)) = implausible {
            return Err(PublicationRefusal::ImplausiblePrice {
                asset: asset.to_string(),
                day: *day,
                price: *price,
                compared,
                reference,
                digest: digest.to_owned(),
            });
        }
    }
    Ok(())
}

fn is_near(day: Date, other: Date) -> bool {
    let (first, last) = match day.cmp(&other) {
        Ordering::Greater => (other, day),
        Ordering::Less | Ordering::Equal => (day, other),
    };
    let days = first.until((Unit::Day, last)).map(|span| span.get_days());
    days.is_ok_and(|days| days <= NEIGHBOR_DAYS)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prices(asset: &str, rows: &[(&str, &str)]) -> Vec<DayPrice> {
        let asset: AssetId = asset.parse().unwrap();
        let rows = rows.iter();
        rows.map(|(day, price)| (asset, day.parse().unwrap(), price.parse().unwrap())).collect()
    }

    fn refusal(known: &[DayPrice], found: &[DayPrice]) -> Option<String> {
        let (changed, _) = plan(known, found);
        check(known, &changed, "d1").err().map(|refusal| refusal.to_string())
    }

    #[test]
    fn changes_are_counted_and_the_rest_is_left_alone() {
        let known = prices("eth/native", &[("2026-01-01", "10"), ("2026-01-02", "20")]);
        let found = prices(
            "eth/native",
            &[("2026-01-01", "10.0"), ("2026-01-02", "21"), ("2026-01-03", "30")],
        );
        let (records, change) = plan(&known, &found);
        assert_eq!(change, PriceChange { added: 1, changed: 1, unchanged: 1 });
        assert_eq!(records, found[1..]);
        assert_eq!(plan(&found, &found).0, []);
    }

    #[test]
    fn a_factor_of_a_hundred_is_refused_whatever_it_is_compared_with() {
        let known = prices("eth/native", &[("2026-01-01", "3000"), ("2026-01-10", "3100")]);
        for (day, price, is_refused) in [
            ("2026-01-02", "300000", true),
            ("2026-01-02", "299999.99", false),
            ("2026-01-11", "31", true),
            ("2026-01-11", "31.01", false),
            ("2025-12-31", "30", true),
            ("2026-01-10", "310000", true),
            // Within two years much can happen.
            ("2028-01-01", "310000", false),
        ] {
            let found = prices("eth/native", &[(day, price)]);
            assert_eq!(refusal(&known, &found).is_some(), is_refused, "{day} {price}");
        }
        let message = refusal(&known, &prices("eth/native", &[("2026-01-11", "310000")])).unwrap();
        assert_eq!(
            message,
            "it states 310000 US dollars for eth/native on 2026-01-11, and the price of 2026-01-10 is 3100: a factor of \
             100 is implausible (cents or base units instead of dollars?); its digest is d1"
        );
    }

    #[test]
    fn neighbors_within_a_file_and_other_assets_are_kept_apart() {
        let jump = prices("eth/native", &[("2026-01-01", "1"), ("2026-01-02", "100")]);
        assert!(refusal(&[], &jump).is_some());
        let mut both = prices("btc/native", &[("2026-01-01", "100000")]);
        both.extend(prices("eth/native", &[("2026-01-01", "3")]));
        both.sort_unstable_by_key(|(asset, day, _)| (*asset, *day));
        assert_eq!(refusal(&[], &both), None);
    }

    #[test]
    fn a_stablecoin_in_cents_is_refused_without_any_neighbor() {
        let usdt = "eth/0xdAC17F958D2ee523a2206206994597C13D831ec7";
        assert!(refusal(&[], &prices(usdt, &[("2026-01-01", "100")])).is_some());
        assert_eq!(refusal(&[], &prices(usdt, &[("2026-01-01", "0.93")])), None);
    }
}
