//! Prices of assets in US dollars by UTC day (B10), and the value of an amount. Integers only.

use std::{fmt, num::NonZeroU128, str::FromStr};

use jiff::{Timestamp, Unit, civil::Date, tz::TimeZone};
use ruint::{Uint, aliases::U256};
use rustc_hash::FxHashMap;

use super::{AssetId, AssetRole, scored_asset};

/// Decimals of a price: prices are counted in 10^-18 US dollars.
const PRICE_DECIMALS: u8 = 18;
/// 10^-18 US dollars in a dollar.
const DOLLAR: u128 = 10_u128.pow(PRICE_DECIMALS as u32);
/// Decimals of a value: values are counted in micro-dollars.
const VALUE_DECIMALS: u8 = 6;
/// Micro-dollars in a cent.
const CENT: u128 = 10_000;
/// Days for which a price is carried forward at most.
pub const MAX_CARRIED_DAYS: u8 = 7;

/// The price of one whole unit of an asset, in 10^-18 US dollars. It is above zero.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct UsdPrice(NonZeroU128);

impl UsdPrice {
    /// One dollar.
    pub const ONE: Self = match NonZeroU128::new(DOLLAR) {
        Some(dollar) => Self(dollar),
        None => Self(NonZeroU128::MIN),
    };

    /// A price in 10^-18 US dollars; `None` for zero.
    #[must_use]
    pub const fn from_attodollars(attodollars: u128) -> Option<Self> {
        match NonZeroU128::new(attodollars) {
            Some(price) => Some(Self(price)),
            None => None,
        }
    }

    /// The price in 10^-18 US dollars.
    #[must_use]
    pub const fn attodollars(self) -> u128 {
        self.0.get()
    }

    /// The value of an amount in base units of an asset with so many decimals, rounded down to micro-dollars; `None` if
    /// the value has more than 128 bits.
    #[must_use]
    pub fn value(self, amount: U256, decimals: u8) -> Option<UsdValue> {
        let shift = u32::from(decimals) + u32::from(PRICE_DECIMALS - VALUE_DECIMALS);
        let narrow = u128::try_from(amount).ok().zip(10_u128.checked_pow(shift));
        if let Some((amount, divisor)) = narrow {
            let product = U256::from(amount) * U256::from(self.attodollars());
            return u128::try_from(product / U256::from(divisor)).ok().map(UsdValue);
        }
        // 256 bits times 128 bits: nothing overflows.
        let product = Wide::from(amount) * Wide::from(self.attodollars());
        match Wide::from(10).checked_pow(Wide::from(shift)) {
            Some(divisor) => u128::try_from(product / divisor).ok().map(UsdValue),
            None => Some(UsdValue::default()),
        }
    }

    /// True if one price is at least `factor` times the other.
    #[must_use]
    pub fn differs_by(self, other: Self, factor: u128) -> bool {
        let (low, high) = (self.min(other), self.max(other));
        high.attodollars() / factor >= low.attodollars()
    }
}

/// Holds the product of an amount of 256 bits and a price.
type Wide = Uint<384, 6>;

impl FromStr for UsdPrice {
    type Err = InvalidPrice;

    /// Parses a decimal number of dollars. Decimals beyond the eighteenth are cut.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let invalid = |cause| InvalidPrice { text: text.chars().take(80).collect(), cause };
        let (whole, decimals) = text.split_once('.').unwrap_or((text, ""));
        let has_digits = !whole.is_empty() && (!decimals.is_empty() || !text.ends_with('.'));
        let mut digits = whole.bytes().chain(decimals.bytes());
        if !has_digits || !digits.all(|byte| byte.is_ascii_digit()) {
            return Err(invalid(cause_of(text)));
        }
        let kept = usize::from(PRICE_DECIMALS).min(decimals.len());
        let decimals = format!("{:0<18}", decimals.get(..kept).unwrap_or_default());
        let parsed = whole.parse::<u128>().ok().zip(decimals.parse::<u128>().ok());
        let price = parsed.and_then(|(whole, decimals)| {
            whole.checked_mul(DOLLAR).and_then(|whole| whole.checked_add(decimals))
        });
        let price = price.ok_or_else(|| invalid(InvalidPriceCause::TooLarge))?;
        Self::from_attodollars(price).ok_or_else(|| {
            let is_zero = text.bytes().all(|byte| matches!(byte, b'0' | b'.'));
            invalid(if is_zero { InvalidPriceCause::Zero } else { InvalidPriceCause::TooSmall })
        })
    }
}

impl fmt::Display for UsdPrice {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (whole, decimals) = (self.attodollars() / DOLLAR, self.attodollars() % DOLLAR);
        if decimals == 0 {
            return write!(formatter, "{whole}");
        }
        let decimals = format!("{decimals:018}");
        write!(formatter, "{whole}.{}", decimals.trim_end_matches('0'))
    }
}

impl fmt::Debug for UsdPrice {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{self} USD")
    }
}

/// A text that is no price.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is no price in US dollars: {cause}")]
pub struct InvalidPrice {
    text: String,
    cause: InvalidPriceCause,
}

impl InvalidPrice {
    /// The cause.
    #[must_use]
    pub const fn cause(&self) -> InvalidPriceCause {
        self.cause
    }
}

/// The reason why a text is no price.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidPriceCause {
    /// Nothing.
    #[error("it is empty; leave the row out where no price is known")]
    Empty,
    /// The notation of floating-point numbers.
    #[error("write all digits instead of an exponent (100000 instead of 1e5)")]
    Exponent,
    /// A comma.
    #[error("write a decimal point, and no separators of thousands (1234.5)")]
    Comma,
    /// A price below zero.
    #[error("a price is above zero")]
    Negative,
    /// A price of zero.
    #[error("a price is above zero; leave the row out where no price is known")]
    Zero,
    /// A price below 10^-18 dollars.
    #[error("the smallest price is 0.000000000000000001")]
    TooSmall,
    /// A price of more than 128 bits.
    #[error("the price is above 10^20 dollars")]
    TooLarge,
    /// Another text.
    #[error("write a decimal number of dollars without signs, units or spaces (1234.5)")]
    NotANumber,
}

fn cause_of(text: &str) -> InvalidPriceCause {
    let of = |allowed: &str| {
        let is_allowed = |byte: u8| byte.is_ascii_digit() || allowed.as_bytes().contains(&byte);
        text.bytes().any(|byte| byte.is_ascii_digit()) && text.bytes().all(is_allowed)
    };
    match text {
        "" => InvalidPriceCause::Empty,
        _ if text.starts_with('-') && of(".-") => InvalidPriceCause::Negative,
        _ if of(".eE+-") && text.contains(['e', 'E']) => InvalidPriceCause::Exponent,
        _ if of(".,") && text.contains(',') => InvalidPriceCause::Comma,
        _ => InvalidPriceCause::NotANumber,
    }
}

/// A value in micro-dollars.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct UsdValue(u128);

impl UsdValue {
    /// A value in micro-dollars.
    #[must_use]
    pub const fn from_micros(micros: u128) -> Self {
        Self(micros)
    }

    /// A value in whole dollars; `None` if it has more than 128 bits.
    #[must_use]
    pub const fn from_dollars(dollars: u128) -> Option<Self> {
        match dollars.checked_mul(1_000_000) {
            Some(micros) => Some(Self(micros)),
            None => None,
        }
    }

    /// The value in micro-dollars.
    #[must_use]
    pub const fn micros(self) -> u128 {
        self.0
    }

    /// The value in cents, rounded down.
    #[must_use]
    pub const fn cents(self) -> u128 {
        self.0 / CENT
    }

    /// The sum; `None` if it has more than 128 bits.
    #[must_use]
    pub fn checked_add(self, other: Self) -> Option<Self> {
        self.0.checked_add(other.0).map(Self)
    }
}

impl fmt::Display for UsdValue {
    /// Writes dollars with two decimals, rounded down.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}.{:02}", self.cents() / 100, self.cents() % 100)
    }
}

/// The price that holds on a day.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PriceOfDay {
    /// The price.
    pub price: UsdPrice,
    /// Days since the day of the price: 0 for a price of the day itself, at most [`MAX_CARRIED_DAYS`].
    pub carried_days: u8,
}

/// The price of an asset on a UTC day.
pub type DayPrice = (AssetId, Date, UsdPrice);

/// Prices of assets by UTC day.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Prices {
    by_asset: FxHashMap<AssetId, AssetPrices>,
}

/// The prices of one asset in ascending order of days, one a day. Days have a list of their own, which is searched.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct AssetPrices {
    days: Vec<Date>,
    prices: Vec<UsdPrice>,
}

impl Prices {
    /// Prices in any order; of several prices of an asset and day, the last one counts.
    pub fn new(prices: impl IntoIterator<Item = DayPrice>) -> Self {
        let mut by_asset: FxHashMap<AssetId, Vec<(Date, UsdPrice)>> = FxHashMap::default();
        for (asset, day, price) in prices {
            by_asset.entry(asset).or_default().push((day, price));
        }
        let in_order = |(asset, mut days): (AssetId, Vec<(Date, UsdPrice)>)| {
            // The sort is stable: the last price of a day comes first after the reversal.
            days.reverse();
            days.sort_by_key(|(day, _)| *day);
            days.dedup_by_key(|(day, _)| *day);
            let (days, prices) = days.into_iter().unzip();
            (asset, AssetPrices { days, prices })
        };
        Self { by_asset: by_asset.into_iter().map(in_order).collect() }
    }

    /// The price of an asset on a UTC day: that of the day, or else the nearest earlier one of the last
    /// [`MAX_CARRIED_DAYS`] days, or else one dollar for a stablecoin of the table of scored assets.
    #[must_use]
    pub fn on(&self, asset: AssetId, day: Date) -> Option<PriceOfDay> {
        self.imported(asset, day).or_else(|| {
            let is_stable = scored_asset(asset)?.role == AssetRole::Stablecoin;
            is_stable.then_some(PriceOfDay { price: UsdPrice::ONE, carried_days: 0 })
        })
    }

    /// The price of an asset at a time, by its UTC day.
    #[must_use]
    pub fn at(&self, asset: AssetId, time: Timestamp) -> Option<PriceOfDay> {
        self.on(asset, time.to_zoned(TimeZone::UTC).date())
    }

    fn imported(&self, asset: AssetId, day: Date) -> Option<PriceOfDay> {
        let AssetPrices { days, prices } = self.by_asset.get(&asset)?;
        let index = days.partition_point(|known| *known <= day).checked_sub(1)?;
        let (known, price) = (*days.get(index)?, *prices.get(index)?);
        if known == day {
            return Some(PriceOfDay { price, carried_days: 0 });
        }
        let carried = known.until((Unit::Day, day)).ok()?.get_days();
        let carried_days = u8::try_from(carried).ok().filter(|days| *days <= MAX_CARRIED_DAYS)?;
        Some(PriceOfDay { price, carried_days })
    }

    /// All prices, by asset and day.
    #[must_use]
    pub fn rows(&self) -> Vec<DayPrice> {
        let all = self.by_asset.iter().flat_map(|(asset, AssetPrices { days, prices })| {
            days.iter().zip(prices).map(|(day, price)| (*asset, *day, *price))
        });
        let mut rows: Vec<DayPrice> = all.collect();
        rows.sort_unstable_by_key(|(asset, day, _)| (*asset, *day));
        rows
    }

    /// The number of prices.
    #[must_use]
    pub fn len(&self) -> usize {
        self.by_asset.values().map(|of_asset| of_asset.days.len()).sum()
    }

    /// True if there is no price.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.by_asset.is_empty()
    }

    /// The newest day with a price.
    #[must_use]
    pub fn newest_day(&self) -> Option<Date> {
        self.by_asset.values().filter_map(|of_asset| of_asset.days.last()).copied().max()
    }
}

#[cfg(test)]
mod tests {
    use jiff::civil::date;
    use proptest::prelude::*;

    use super::*;
    use assay_address::ChainId;

    const ETH: AssetId = AssetId::native(ChainId::ETH);
    const BTC: AssetId = AssetId::native(ChainId::BTC);

    type Check = Uint<512, 8>;

    fn price(text: &str) -> UsdPrice {
        text.parse().expect(text)
    }

    fn usdt() -> AssetId {
        "eth/0xdAC17F958D2ee523a2206206994597C13D831ec7".parse().expect("an asset")
    }

    #[test]
    fn prices_are_read_to_the_last_of_eighteen_decimals() {
        for (text, attodollars) in [
            ("1", DOLLAR),
            ("1.0", DOLLAR),
            ("007", 7 * DOLLAR),
            ("0.000000000000000001", 1),
            ("0.00000812345", 8_123_450_000_000),
            ("97123.45678901234567", 97_123_456_789_012_345_670_000),
            // A floating-point number with all its digits: the 21st decimal is cut.
            ("0.000012345678901234567", 12_345_678_901_234),
            ("340282366920938463463.374607431768211455", u128::MAX),
        ] {
            assert_eq!(price(text).attodollars(), attodollars, "{text}");
        }
    }

    #[test]
    fn texts_that_are_no_price_are_refused_with_what_would_be_right() {
        for (text, cause) in [
            ("", InvalidPriceCause::Empty),
            ("0", InvalidPriceCause::Zero),
            ("0.000", InvalidPriceCause::Zero),
            ("0.0000000000000000001", InvalidPriceCause::TooSmall),
            ("-1.5", InvalidPriceCause::Negative),
            ("1e5", InvalidPriceCause::Exponent),
            ("1.5E-05", InvalidPriceCause::Exponent),
            ("-1e5", InvalidPriceCause::Exponent),
            ("1,5", InvalidPriceCause::Comma),
            ("1,234.5", InvalidPriceCause::Comma),
            ("340282366920938463463.374607431768211456", InvalidPriceCause::TooLarge),
            ("9".repeat(60).as_str(), InvalidPriceCause::TooLarge),
            ("+1", InvalidPriceCause::NotANumber),
            ("$1", InvalidPriceCause::NotANumber),
            ("1 USD", InvalidPriceCause::NotANumber),
            (" 1", InvalidPriceCause::NotANumber),
            ("1.", InvalidPriceCause::NotANumber),
            (".5", InvalidPriceCause::NotANumber),
            ("1.2.3", InvalidPriceCause::NotANumber),
            ("0x10", InvalidPriceCause::NotANumber),
            ("NaN", InvalidPriceCause::NotANumber),
            ("inf", InvalidPriceCause::NotANumber),
            ("e", InvalidPriceCause::NotANumber),
            ("١", InvalidPriceCause::NotANumber),
        ] {
            let error = text.parse::<UsdPrice>().expect_err(text);
            assert_eq!(error.cause(), cause, "{text}");
        }
    }

    #[test]
    fn values_are_rounded_down_and_never_saturate() {
        let value = |price_text: &str, amount: u128, decimals| {
            price(price_text).value(U256::from(amount), decimals).map(UsdValue::micros)
        };
        assert_eq!(value("2500.5", 10_u128.pow(18), 18), Some(2_500_500_000));
        assert_eq!(value("0.9999999", 1_000_000, 6), Some(999_999));
        assert_eq!(value("1", 999_999_999_999, 18), Some(0));
        assert_eq!(value("97000", 1, 8), Some(970));
        // 2^128 - 1 base units of a token with 18 decimals, at a dollar.
        assert_eq!(value("1", u128::MAX, 18), Some(u128::MAX / 10_u128.pow(12)));
        assert_eq!(value("340282366920938463463", u128::MAX, 6), None);
        // Tokens that state as many decimals as fit one byte.
        assert_eq!(value("1", u128::MAX, 255), Some(0));
        assert_eq!(price("1").value(U256::MAX, 255), Some(UsdValue::from_micros(0)));
        assert_eq!(price("1").value(U256::MAX, 0), None);
        let large = price("1").value(U256::MAX, 60).map(UsdValue::micros);
        assert_eq!(large, Some(115_792_089_237_316_195_423_570));
    }

    #[test]
    fn values_are_written_in_dollars_and_cents() {
        let written = |micros| UsdValue::from_micros(micros).to_string();
        assert_eq!(written(0), "0.00");
        assert_eq!(written(9_999), "0.00");
        assert_eq!(written(1_234_567_890), "1234.56");
        assert_eq!(UsdValue::from_dollars(u128::MAX), None);
        assert_eq!(UsdValue::from_micros(u128::MAX).checked_add(UsdValue::from_micros(1)), None);
    }

    #[test]
    fn a_price_is_carried_for_seven_days() {
        let prices = Prices::new([
            (ETH, date(2026, 3, 1), price("2000")),
            (ETH, date(2026, 2, 26), price("1900")),
        ]);
        let on =
            |day| prices.on(ETH, day).map(|found| (found.price.to_string(), found.carried_days));
        assert_eq!(on(date(2026, 2, 25)), None);
        assert_eq!(on(date(2026, 2, 26)), Some(("1900".to_owned(), 0)));
        assert_eq!(on(date(2026, 2, 28)), Some(("1900".to_owned(), 2)));
        assert_eq!(on(date(2026, 3, 1)), Some(("2000".to_owned(), 0)));
        assert_eq!(on(date(2026, 3, 8)), Some(("2000".to_owned(), 7)));
        assert_eq!(on(date(2026, 3, 9)), None);
        assert_eq!(prices.on(BTC, date(2026, 3, 1)), None);
        assert_eq!((prices.len(), prices.newest_day()), (2, Some(date(2026, 3, 1))));
    }

    #[test]
    fn days_are_those_of_utc() {
        let prices = Prices::new([(BTC, date(2026, 3, 1), price("80000"))]);
        let at = |time: &str| prices.at(BTC, time.parse().expect(time)).map(|it| it.carried_days);
        assert_eq!(at("2026-02-28T23:59:59Z"), None);
        assert_eq!(at("2026-03-01T00:00:00Z"), Some(0));
        assert_eq!(at("2026-03-01T23:59:59.999999999Z"), Some(0));
        assert_eq!(at("2026-03-02T00:00:00Z"), Some(1));
    }

    #[test]
    fn a_stablecoin_is_worth_a_dollar_where_no_price_of_it_is_known() {
        let prices = Prices::new([(usdt(), date(2026, 3, 10), price("0.93"))]);
        let on = |day| prices.on(usdt(), day).map(|found| (found.price, found.carried_days));
        assert_eq!(on(date(2026, 3, 9)), Some((UsdPrice::ONE, 0)));
        assert_eq!(on(date(2026, 3, 12)), Some((price("0.93"), 2)));
        assert_eq!(on(date(2026, 3, 18)), Some((UsdPrice::ONE, 0)));
        // The contract of another token with the ticker USDT.
        let lookalike = "eth/0xdAC17F958D2ee523a2206206994597C13D831ec8".to_lowercase();
        let lookalike = lookalike.parse().expect("an asset");
        assert_eq!(prices.on(lookalike, date(2026, 3, 9)), None);
    }

    #[test]
    fn the_last_of_several_prices_of_a_day_counts() {
        let day = date(2026, 3, 1);
        let prices = Prices::new([(ETH, day, price("1")), (ETH, day, price("2"))]);
        assert_eq!(prices.on(ETH, day).map(|found| found.price), Some(price("2")));
        assert_eq!(prices.len(), 1);
    }

    #[test]
    fn a_factor_between_prices_is_compared_exactly() {
        assert!(price("100").differs_by(price("1"), 100));
        assert!(price("1").differs_by(price("100"), 100));
        assert!(!price("99.999999999999999999").differs_by(price("1"), 100));
    }

    proptest! {
        #[test]
        fn a_price_is_written_and_read_back(attodollars in 1..=u128::MAX) {
            let price = UsdPrice::from_attodollars(attodollars).expect("above zero");
            prop_assert_eq!(price.to_string().parse(), Ok(price));
        }

        #[test]
        fn a_value_is_the_floor_of_amount_times_price(
            amount in any::<u128>(), attodollars in 1..=u128::MAX, decimals in 0_u8..=40,
        ) {
            let price = UsdPrice::from_attodollars(attodollars).expect("above zero");
            let found = price.value(U256::from(amount), decimals).map(UsdValue::micros);
            // value * 10^(decimals + 12) <= amount * price < (value + 1) * 10^(decimals + 12)
            let unit = Check::from(10).pow(Check::from(u32::from(decimals) + 12));
            let product = Check::from(amount) * Check::from(attodollars);
            match found {
                Some(value) => {
                    let value = Check::from(value);
                    prop_assert!(value * unit <= product);
                    prop_assert!((value + Check::from(1)) * unit > product);
                }
                None => prop_assert!(product / unit > Check::from(u128::MAX)),
            }
        }

        #[test]
        fn a_price_is_the_nearest_earlier_one(
            days in proptest::collection::vec((0_i64..40, 1_u128..1_000), 0..30), asked in 0_i64..60,
        ) {
            let day_of = |day: i64| date(2026, 1, 1).checked_add(jiff::Span::new().days(day)).expect("a day");
            let rows = days.iter().map(|(day, price)| {
                (BTC, day_of(*day), UsdPrice::from_attodollars(*price).expect("above zero"))
            });
            let found = Prices::new(rows).on(BTC, day_of(asked));
            let nearest = days.iter().map(|(day, _)| *day).filter(|day| (asked - 7..=asked).contains(day)).max();
            let expected = nearest.map(|nearest| {
                let last = days.iter().rev().find(|(day, _)| *day == nearest).expect("the nearest");
                (last.1, asked - nearest)
            });
            let found = found.map(|found| (found.price.attodollars(), i64::from(found.carried_days)));
            prop_assert_eq!(found, expected);
        }
    }
}
