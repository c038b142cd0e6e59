//! Amounts as nodes write them: decimals in coins, read exactly and never as floating point.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Deserializer, de::Error as _};
use serde_json::value::RawValue;

/// Largest number of digits and largest power of ten of an amount.
const MOST_DIGITS: u32 = 30;
const LARGEST_POWER: i32 = 300;

/// A decimal number: `digits x 10^power`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Decimal {
    digits: i128,
    power: i32,
}

/// Text that is not an amount.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not an amount: expected a decimal number such as 0.00000001 or 1e-8")]
pub(crate) struct InvalidAmount(String);

impl Decimal {
    /// Returns the number in units of `10^-decimals`; `None` if it is not a whole number of them, or too large.
    pub(crate) fn units(self, decimals: u8) -> Option<i128> {
        if self.digits == 0 {
            return Some(0);
        }
        match u32::try_from(self.power + i32::from(decimals)) {
            Ok(power) => self.digits.checked_mul(10_i128.checked_pow(power)?),
            // The digits have no trailing zeros, so that the number is not whole.
            Err(_) => None,
        }
    }
}

impl FromStr for Decimal {
    type Err = InvalidAmount;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        parse(text).ok_or_else(|| InvalidAmount(text.chars().take(60).collect()))
    }
}

fn parse(text: &str) -> Option<Decimal> {
    let (negative, rest) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let (mantissa, exponent) = rest.split_once(['e', 'E']).unwrap_or((rest, "0"));
    let mut power = exponent.strip_prefix('+').unwrap_or(exponent).parse::<i32>().ok()?;
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    if whole.is_empty() || !(-LARGEST_POWER..=LARGEST_POWER).contains(&power) {
        return None;
    }
    let (mut digits, mut count) = (0_i128, 0);
    for byte in whole.bytes().chain(fraction.bytes()) {
        if !byte.is_ascii_digit() {
            return None;
        }
        digits = digits * 10 + i128::from(byte - b'0');
        // Leading zeros do not count as digits.
        count += u32::from(digits != 0);
        if count > MOST_DIGITS {
            return None;
        }
    }
    power -= i32::try_from(fraction.len()).ok()?;
    while digits != 0 && digits % 10 == 0 {
        digits /= 10;
        power += 1;
    }
    Some(Decimal { digits: if negative { -digits } else { digits }, power })
}

impl<'de> Deserialize<'de> for Decimal {
    /// Deserializes a JSON number by its text, or a JSON string with a number.
    fn deserialize<D: Deserializer<'de>>(json: D) -> Result<Self, D::Error> {
        let raw = Box::<RawValue>::deserialize(json)?;
        raw.get().trim_matches('"').parse().map_err(D::Error::custom)
    }
}

impl fmt::Display for Decimal {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}e{}", self.digits, self.power)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn units(text: &str, decimals: u8) -> Option<i128> {
        serde_json::from_str::<Decimal>(text).unwrap().units(decimals)
    }

    #[test]
    fn amounts_are_read_exactly_in_every_form() {
        for (text, expected) in [
            ("50", 5_000_000_000),
            ("50.0", 5_000_000_000),
            ("50.00000000", 5_000_000_000),
            ("5e1", 5_000_000_000),
            ("1E-8", 1),
            ("1e-08", 1),
            ("0E-8", 0),
            ("-0.0", 0),
            ("0.00000001", 1),
            ("\"0.1\"", 10_000_000),
            ("-12.5", -1_250_000_000),
            // As a double, it would be one unit off.
            ("84841299.38700001", 8_484_129_938_700_001),
            ("20999999.97690000", 2_099_999_997_690_000),
            ("90071992547.40993", 9_007_199_254_740_993_000),
        ] {
            assert_eq!(units(text, 8), Some(expected), "{text}");
        }
        assert_eq!(units("0.000001", 6), Some(1));
    }

    #[test]
    fn parts_of_a_unit_and_nonsense_are_refused() {
        assert_eq!(units("0.000000001", 8), None);
        assert_eq!(units("1e300", 8), None);
        for text in ["", "-", ".5", "1.2.3", "0x10", "NaN", "1e", "1e999", "1 ", "1,5", "+1"] {
            assert!(text.parse::<Decimal>().is_err(), "{text}");
        }
        assert!("9".repeat(31).parse::<Decimal>().is_err());
    }

    proptest! {
        #[test]
        fn every_number_of_units_is_read_back(units in -(1_i128 << 70)..1_i128 << 70) {
            let sign = if units < 0 { "-" } else { "" };
            let (coins, rest) = (units.abs() / 100_000_000, units.abs() % 100_000_000);
            let text = format!("{sign}{coins}.{rest:08}");
            prop_assert_eq!(text.parse::<Decimal>().unwrap().units(8), Some(units));
        }

        #[test]
        fn no_text_causes_a_panic(text in ".{0,40}") {
            if let Ok(read) = text.parse::<Decimal>() {
                let _ = read.units(8);
            }
        }
    }
}
