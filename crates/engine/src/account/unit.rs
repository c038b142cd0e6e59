//! The units in which the money of a subject is added up (`docs/model/accounts.md` B6, B10): US dollars of the day where a
//! price is known, else each asset by itself.

use std::{collections::BTreeMap, fmt};

use assay_address::ChainId;
use jiff::{Timestamp, civil::Date, tz::TimeZone};
use ruint::aliases::U256;

use super::{Prices, ScoredAsset, scored_assets, shares::WHOLE};
use crate::ledger::Mass;

/// A unit of account. Amounts are added up in fine units: micro-dollars, or base units of an asset, of which at most nine
/// decimals are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MoneyUnit {
    /// US dollars of the day.
    Dollars,
    /// An asset without a price of the day.
    Asset(&'static ScoredAsset),
}

impl PartialOrd for MoneyUnit {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for MoneyUnit {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        let key = |unit: &Self| match unit {
            Self::Dollars => None,
            Self::Asset(asset) => Some(asset.id),
        };
        key(self).cmp(&key(other))
    }
}

/// Most decimals of an asset's unit.
const MOST_DECIMALS: u8 = 9;
/// Micro-dollars in a cent, in which dollars are shown.
const MICROS_IN_CENT: u128 = 10_000;
/// Micro-dollars in a dollar.
pub(crate) const MICROS_IN_DOLLAR: u128 = 1_000_000;

impl MoneyUnit {
    /// The name of the unit.
    #[must_use]
    pub fn name(self) -> String {
        match self {
            Self::Dollars => "USD".to_owned(),
            Self::Asset(asset) => asset.ticker.to_owned(),
        }
    }

    /// Decimals of the unit as it is shown.
    #[must_use]
    pub fn decimals(self) -> u8 {
        match self {
            Self::Dollars => 2,
            Self::Asset(asset) => asset.decimals.min(MOST_DECIMALS),
        }
    }

    /// Decimals of the asset's base units that amounts of the unit leave out.
    #[must_use]
    pub fn left_out_decimals(self) -> u8 {
        match self {
            Self::Dollars => 0,
            Self::Asset(asset) => asset.decimals.saturating_sub(MOST_DECIMALS),
        }
    }

    /// Fine units in a unit as it is shown.
    pub(super) const fn fine(self) -> u128 {
        match self {
            Self::Dollars => MICROS_IN_CENT,
            Self::Asset(_) => 1,
        }
    }

    /// An amount of the asset in fine units of the asset's own unit.
    fn of_asset(asset: &'static ScoredAsset, amount: u128) -> (Self, u128) {
        let left_out = u32::from(Self::Asset(asset).left_out_decimals());
        (Self::Asset(asset), amount / 10_u128.pow(left_out))
    }
}

/// Decimals of the unit of an amount in an answer about a chain: `USD` counts cents, and a ticker base units of the asset.
/// `None` for a ticker of none of the chain's followed assets.
#[must_use]
pub fn decimals_of(chain: ChainId, unit: &str) -> Option<u8> {
    if unit == MoneyUnit::Dollars.name() {
        return Some(MoneyUnit::Dollars.decimals());
    }
    let native = chain.info().native();
    if unit == native.code {
        return Some(native.decimals);
    }
    scored_assets(chain).find(|asset| asset.ticker == unit).map(|asset| asset.decimals)
}

/// An amount of base units in whole units of an asset, exactly.
#[must_use]
pub fn whole_units(amount: impl fmt::Display, decimals: u8) -> String {
    let decimals = usize::from(decimals);
    let digits = format!("{:0>width$}", amount.to_string(), width = decimals + 1);
    let (whole, part) = digits.split_at(digits.len().saturating_sub(decimals));
    let part = part.trim_end_matches('0');
    if part.is_empty() { whole.to_owned() } else { format!("{whole}.{part}") }
}

/// Values of amounts on days, looked up once a day and asset.
#[derive(Debug)]
pub struct Valuation<'p> {
    prices: &'p Prices,
    /// Days for which a price was carried, by asset.
    carried: BTreeMap<&'static str, u8>,
}

impl<'p> Valuation<'p> {
    /// Values by these prices.
    #[must_use]
    pub const fn new(prices: &'p Prices) -> Self {
        Self { prices, carried: BTreeMap::new() }
    }

    /// The value of an amount at a time: in dollars if a price of the day is known, else in the asset itself.
    pub fn value(
        &mut self,
        asset: &'static ScoredAsset,
        amount: u128,
        time: Timestamp,
    ) -> (MoneyUnit, u128) {
        self.value_on(asset, amount, time.to_zoned(TimeZone::UTC).date())
    }

    /// The value of an amount on a day.
    pub fn value_on(
        &mut self,
        asset: &'static ScoredAsset,
        amount: u128,
        day: Date,
    ) -> (MoneyUnit, u128) {
        let Some(found) = self.prices.on(asset.id, day) else {
            return MoneyUnit::of_asset(asset, amount);
        };
        if found.carried_days > 0 {
            let days = self.carried.entry(asset.ticker).or_default();
            *days = (*days).max(found.carried_days);
        }
        match found.price.value(U256::from(amount), asset.decimals) {
            Some(value) => (MoneyUnit::Dollars, value.micros()),
            None => MoneyUnit::of_asset(asset, amount),
        }
    }

    /// The assets whose price was carried from an earlier day, with the most days.
    #[must_use]
    pub fn carried(self) -> Vec<(String, u8)> {
        self.carried.into_iter().map(|(ticker, days)| (ticker.to_owned(), days)).collect()
    }
}

/// Bits by which sums of shares of fine units are scaled.
const SCALE_BITS: u32 = 24;
/// Bits by which a [`Mass`] is scaled more.
const MASS_BITS: u32 = 32 - SCALE_BITS;

/// A sum of shares of amounts, in fine units times 2^24.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct FineSum(u128);

impl FineSum {
    /// The whole of an amount.
    pub(super) const fn whole(amount: u128) -> Self {
        Self(amount.saturating_mul(1 << SCALE_BITS))
    }

    /// A share, in units of 2^-63, of an amount; rounded down.
    pub(super) fn share(amount: u128, share: u64) -> Self {
        if share == WHOLE {
            return Self::whole(amount);
        }
        let product = (U256::from(amount) * U256::from(share)) >> (63 - SCALE_BITS as usize);
        Self(u128::try_from(product).unwrap_or(u128::MAX))
    }

    pub(super) const fn plus(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }

    pub(super) const fn less(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }

    pub(super) const fn of_units(units: u128) -> Self {
        Self(units)
    }

    pub(super) const fn units(self) -> u128 {
        self.0
    }

    pub(super) const fn is_zero(self) -> bool {
        self.0 == 0
    }

    /// The part `part / whole` of the sum, rounded down.
    pub(super) fn times(self, part: Self, whole: Self) -> Self {
        Self(crate::ledger::mass::share(self.0, part.0.min(whole.0), whole.0))
    }

    /// The sum of amounts in base units, rounded down.
    pub(super) const fn base_units(self) -> u128 {
        self.0 >> SCALE_BITS
    }

    /// The sum in units as they are shown, rounded down.
    pub(super) const fn shown(self, unit: MoneyUnit) -> u128 {
        (self.0 >> SCALE_BITS) / unit.fine()
    }
}

/// The mass of a trace in a unit.
pub(super) fn mass(unit: MoneyUnit, earlier: FineSum, recent: FineSum) -> Mass {
    let scaled = |sum: FineSum| sum.0.saturating_mul(1 << MASS_BITS) / unit.fine();
    Mass { earlier: scaled(earlier), recent: scaled(recent) }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn assets_of_a_chain_with_one_ticker_have_the_same_decimals() {
        for chain in ChainId::all() {
            let mut known: BTreeMap<&str, u8> = BTreeMap::new();
            for asset in scored_assets(chain) {
                let decimals = *known.entry(asset.ticker).or_insert(asset.decimals);
                assert_eq!(decimals, asset.decimals, "{chain} {}", asset.ticker);
                assert_eq!(decimals_of(chain, asset.ticker), Some(decimals), "{chain}");
            }
        }
    }

    #[test]
    fn amounts_are_written_in_whole_units_exactly() {
        for (amount, decimals, expected) in [
            (0_u64, 18, "0"),
            (1, 18, "0.000000000000000001"),
            (1_500_000, 6, "1.5"),
            (2_000_000, 6, "2"),
            (7, 0, "7"),
        ] {
            assert_eq!(whole_units(amount, decimals), expected);
        }
        assert_eq!(whole_units("9".repeat(90), 6).len(), 91);
    }

    #[test]
    fn units_of_answers_have_their_decimals() {
        let of = |chain: &str, unit| decimals_of(chain.parse().unwrap(), unit);
        assert_eq!(of("btc", "BTC"), Some(8));
        assert_eq!(of("eth", "ETH"), Some(18));
        assert_eq!((of("eth", "USDT"), of("bsc", "USDT")), (Some(6), Some(18)));
        assert_eq!((of("trx", "TRX"), of("trx", "USD")), (Some(6), Some(2)));
        assert_eq!(of("eth", "PEPE"), None);
    }

    #[test]
    fn amounts_of_a_unit_are_shown_in_base_units() {
        let asset = |ticker| scored_assets(ChainId::ETH).find(|it| it.ticker == ticker).unwrap();
        let ledger = |unit: MoneyUnit| crate::evidence::Ledger {
            unit: unit.name(),
            decimals: unit.decimals(),
            left_out_decimals: unit.left_out_decimals(),
            source: crate::evidence::DirectionFlows::default(),
            destination: crate::evidence::DirectionFlows::default(),
            held: crate::evidence::DirectionFlows::default(),
            of_accounts: true,
        };
        let ether = ledger(MoneyUnit::Asset(asset("ETH")));
        assert_eq!(ether.in_base_units(1_500_000_000), 1_500_000_000_000_000_000);
        assert_eq!(ledger(MoneyUnit::Asset(asset("USDT"))).in_base_units(7), 7);
        assert_eq!(ledger(MoneyUnit::Dollars).in_base_units(7), 7);
    }
}
