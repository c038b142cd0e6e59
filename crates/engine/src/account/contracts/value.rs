//! Values of amounts on a day (`docs/model/accounts.md` C1): exact, in 10^-36 US dollars.

use assay_address::ChainId;
use jiff::civil::Date;
use ruint::aliases::{U256, U512};

use super::super::{
    AssetNumber, Prices, UsdPrice,
    scored::{self, ScoredAsset},
};

/// A value in 10^-36 US dollars: every price has at most 18 decimals, and every scored asset too.
pub(super) type Value = U256;

/// Most decimals of an asset whose base units have an exact value.
const MOST_DECIMALS: u32 = 18;
/// A cent in units of prices, 10^-18 US dollars.
const CENT: u128 = 10_u128.pow(16);
/// A dollar in units of values.
const DOLLAR: U256 = U256::from_limbs([12_919_594_847_110_692_864, 54_210_108_624_275_221, 0, 0]);

/// The prices with which exchanges of one UTC day are valued: those of the day *before*. The price of a day is known when the
/// day is over, and the ledgers of a block are computed when it is read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DayPrices(Vec<(AssetNumber, UsdPrice)>);

impl DayPrices {
    /// The prices of a chain's scored assets for the transactions of a day.
    #[must_use]
    pub fn before(chain: ChainId, prices: &Prices, day: Date) -> Self {
        let before = day.yesterday().unwrap_or(day);
        let assets = scored::of_chain(chain).iter().zip(0_u32..);
        let found = assets.filter_map(|(asset, number)| {
            Some((AssetNumber(number), prices.on(asset.id, before)?.price))
        });
        Self(found.collect())
    }

    /// The prices as they were stored.
    #[must_use]
    pub const fn of_stored(prices: Vec<(AssetNumber, UsdPrice)>) -> Self {
        Self(prices)
    }

    /// The assets that have a price, in the order of their numbers.
    #[must_use]
    pub fn all(&self) -> &[(AssetNumber, UsdPrice)] {
        &self.0
    }
}

/// The values of one base unit of each scored asset of a chain, for the transactions of one UTC day. An asset without a price of
/// the last week has its order of worth.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DayValues {
    units: Vec<UnitValue>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct UnitValue {
    value: U256,
    is_priced: bool,
}

impl DayValues {
    /// The values at some prices.
    #[must_use]
    pub fn of(chain: ChainId, prices: &DayPrices) -> Self {
        let of_asset = |(asset, number): (&&'static ScoredAsset, u32)| {
            let found = prices.0.iter().find(|(asset, _)| asset.0 == number);
            let price = found.map(|(_, price)| price.attodollars());
            let worth = || asset.worth_in_cents().map(|cents| cents.saturating_mul(CENT));
            let per_unit = price.or_else(worth).unwrap_or(100 * CENT);
            let decimals = u32::from(asset.decimals);
            let scale = |power: u32| U256::from(10).pow(U256::from(power));
            let value = match MOST_DECIMALS.checked_sub(decimals) {
                Some(more) => U256::from(per_unit).saturating_mul(scale(more)),
                None => U256::from(per_unit) / scale((decimals - MOST_DECIMALS).min(76)),
            };
            UnitValue { value, is_priced: price.is_some() }
        };
        Self { units: scored::of_chain(chain).iter().zip(0_u32..).map(of_asset).collect() }
    }

    /// True if the asset has a price, and not only an order of worth.
    pub(in super::super) fn is_priced(&self, asset: AssetNumber) -> bool {
        self.of_unit(asset).is_priced
    }

    /// The value of an amount.
    pub(super) fn value(&self, asset: AssetNumber, amount: u128) -> Value {
        self.of_unit(asset).value.saturating_mul(U256::from(amount))
    }

    /// The amount of a value, rounded down; 0 for an asset without value.
    pub(super) fn amount(&self, asset: AssetNumber, value: Value) -> u128 {
        let amount = value.checked_div(self.of_unit(asset).value).unwrap_or_default();
        u128::try_from(amount).unwrap_or(u128::MAX)
    }

    /// The value of one base unit; zero for an asset without value.
    pub(super) fn unit(&self, asset: AssetNumber) -> Value {
        self.of_unit(asset).value
    }

    fn of_unit(&self, asset: AssetNumber) -> UnitValue {
        let index = usize::try_from(asset.0).ok();
        index.and_then(|index| self.units.get(index)).copied().unwrap_or_default()
    }
}

/// The value of some dollars.
pub(super) fn dollars(dollars: u64) -> Value {
    DOLLAR.saturating_mul(U256::from(dollars))
}

/// `one x other / divisor`, rounded down or up; 0 if the divisor is 0.
pub(super) fn part(one: U256, other: U256, divisor: U256, is_up: bool) -> U256 {
    if divisor.is_zero() {
        return U256::ZERO;
    }
    if let Some(product) = one.checked_mul(other) {
        let (down, rest) = product.div_rem(divisor);
        return if is_up && !rest.is_zero() { down.saturating_add(U256::from(1)) } else { down };
    }
    let (down, rest) = (U512::from(one) * U512::from(other)).div_rem(U512::from(divisor));
    let rounded = if is_up && !rest.is_zero() { down + U512::from(1) } else { down };
    narrow(rounded)
}

/// A number as 256 bits; the largest one if it has more.
fn narrow(number: U512) -> U256 {
    let limbs = number.as_limbs();
    match limbs {
        [a, b, c, d, 0, 0, 0, 0] => U256::from_limbs([*a, *b, *c, *d]),
        _ => U256::MAX,
    }
}

/// The product of three factors over the product of two divisors, rounded down or up; 0 if a divisor is 0. Factors are a mass,
/// a value and the value of a unit, whose product has at most 512 bits.
pub(super) fn product_over(factors: [U256; 3], divisors: [U256; 2], is_up: bool) -> U256 {
    let product =
        |of: &[U256]| of.iter().fold(U512::from(1), |all, it| all.saturating_mul(U512::from(*it)));
    let divisor = product(&divisors);
    if divisor.is_zero() {
        return U256::ZERO;
    }
    let (down, rest) = product(&factors).div_rem(divisor);
    let rounded = if is_up && !rest.is_zero() { down + U512::from(1) } else { down };
    narrow(rounded)
}

/// [`part`] of an amount, rounded down.
pub(super) fn part_of(amount: u128, numerator: Value, divisor: Value) -> u128 {
    let part = part(U256::from(amount), numerator, divisor, false);
    u128::try_from(part).unwrap_or(u128::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dollar_has_36_decimals() {
        assert_eq!(DOLLAR, U256::from(10).pow(U256::from(36)));
    }

    #[test]
    fn parts_are_exact_beyond_256_bits() {
        let large = U256::MAX;
        assert_eq!(part(large, large, large, false), large);
        assert_eq!(part(U256::from(7), U256::from(1), U256::from(2), true), U256::from(4));
        assert_eq!(part(U256::from(7), U256::from(1), U256::from(2), false), U256::from(3));
        assert_eq!(part(large, U256::from(2), U256::from(1), false), U256::MAX);
        assert_eq!(part(large, U256::from(2), U256::ZERO, false), U256::ZERO);
    }
}
