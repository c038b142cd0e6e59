//! Amounts in whole units, as a policy's author writes them.

use std::{fmt, str::FromStr};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Decimals of a quantity.
const DECIMALS: u8 = 8;
/// Number of smallest parts in one whole unit.
const ONE: u128 = 100_000_000;

/// An amount in whole units with up to eight decimals, such as `1000` or `0.01`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Quantity(u128);

/// The error of a text that is not a quantity.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no amount: write digits with at most eight decimals, such as 1000 or 0.01")]
pub struct InvalidQuantity(String);

impl Quantity {
    /// The given number of whole units.
    #[must_use]
    pub const fn whole(units: u64) -> Self {
        Self(units as u128 * ONE)
    }

    /// The quantity divided by a number, rounded down.
    #[must_use]
    pub(super) fn divided(self, by: u32) -> Self {
        Self(self.0 / u128::from(by))
    }

    /// The quantity of an asset that is worth this quantity of US dollars, rounded down; `worth` is that of a whole unit in
    /// cents.
    #[must_use]
    pub(super) fn at_worth(self, worth: u128) -> Self {
        Self(self.0.saturating_mul(100).checked_div(worth).unwrap_or(self.0))
    }

    /// The amount in base units of an asset with `decimals`, rounded down.
    #[must_use]
    pub fn base_units(self, decimals: u8) -> u128 {
        if decimals >= DECIMALS {
            self.0.saturating_mul(10_u128.saturating_pow((decimals - DECIMALS).into()))
        } else {
            self.0 / 10_u128.pow((DECIMALS - decimals).into())
        }
    }
}

impl FromStr for Quantity {
    type Err = InvalidQuantity;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let invalid = || InvalidQuantity(text.chars().take(64).collect());
        let (whole, decimals) = text.split_once('.').unwrap_or((text, ""));
        let digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
        if whole.is_empty()
            || !digits(whole)
            || !digits(decimals)
            || decimals.len() > usize::from(DECIMALS)
            || text.ends_with('.')
        {
            return Err(invalid());
        }
        let units: u64 = whole.parse().map_err(|_| invalid())?;
        let parts: u128 = format!("{decimals:0<8}").parse().map_err(|_| invalid())?;
        Ok(Self(u128::from(units) * ONE + parts))
    }
}

impl fmt::Display for Quantity {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (whole, parts) = (self.0 / ONE, self.0 % ONE);
        if parts == 0 {
            return formatter.pad(&whole.to_string());
        }
        let decimals = format!("{parts:08}");
        formatter.pad(&format!("{whole}.{}", decimals.trim_end_matches('0')))
    }
}

impl Serialize for Quantity {
    /// Writes whole units as a number and other amounts as a string, so that no reader rounds them.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match u64::try_from(self.0 / ONE) {
            Ok(whole) if self.0.is_multiple_of(ONE) => serializer.serialize_u64(whole),
            _ => serializer.collect_str(self),
        }
    }
}

impl<'de> Deserialize<'de> for Quantity {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Written {
            Whole(u64),
            Number(f64),
            Text(String),
        }
        let text = match Written::deserialize(deserializer)? {
            Written::Whole(units) => return Ok(Self::whole(units)),
            // The shortest text that reads as the same number is what the author wrote.
            Written::Number(number) => number.to_string(),
            Written::Text(text) => text,
        };
        text.parse().map_err(serde::de::Error::custom)
    }
}

impl JsonSchema for Quantity {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Quantity".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "An amount in whole units with up to eight decimals. In a cluster, what has \
                decimals is written as a text, such as \"0.01\".",
            "x-kubernetes-int-or-string": true,
            "maxLength": 32,
            "x-kubernetes-validations": [{
                "rule": "type(self) == int ? self >= 0 : self.matches('^[0-9]+([.][0-9]{1,8})?$')",
                "message": "write digits with at most eight decimals, such as 1000 or \"0.01\"",
            }],
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_are_read_and_written_exactly() {
        for (text, bitcoin, dollars) in
            [("1000", 100_000_000_000, 100_000), ("0.01", 1_000_000, 1), ("2.5", 250_000_000, 250)]
        {
            let quantity: Quantity = text.parse().unwrap();
            assert_eq!(quantity.to_string(), text);
            assert_eq!((quantity.base_units(8), quantity.base_units(2)), (bitcoin, dollars));
            let number: Quantity = serde_json::from_str(text).unwrap();
            assert_eq!(number, quantity);
            let written = serde_json::to_string(&quantity).unwrap();
            assert_eq!(serde_json::from_str::<Quantity>(&written).unwrap(), quantity);
        }
        let ether = "0.01".parse::<Quantity>().unwrap().base_units(18);
        assert_eq!(ether, 10_000_000_000_000_000);
        for bad in ["", "-1", "1.", ".5", "1e3", "0.123456789", "1,5", "x"] {
            assert!(bad.parse::<Quantity>().is_err(), "{bad}");
        }
    }
}
