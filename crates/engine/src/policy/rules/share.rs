//! Shares of funds in a rule.

use std::{fmt, str::FromStr};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

/// A share of funds, written as a percentage with up to four decimals, such as `10%` or `2.5%`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Share(u32);

/// The error of a text that is not a share.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no share: write a percentage above 0% and up to 100%, such as 10% or 2.5%")]
pub struct InvalidShare(String);

impl Share {
    /// All of the funds, in millionths.
    pub const WHOLE: u32 = 1_000_000;

    /// A share of whole percent; anything above 100 counts as 100.
    #[must_use]
    pub const fn from_percent(percent: u8) -> Self {
        Self(if percent > 100 { Self::WHOLE } else { percent as u32 * 10_000 })
    }

    /// The share in millionths.
    #[must_use]
    pub const fn millionths(self) -> u32 {
        self.0
    }
}

impl FromStr for Share {
    type Err = InvalidShare;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let invalid = || InvalidShare(text.chars().take(32).collect());
        let number = text.strip_suffix('%').ok_or_else(invalid)?;
        let (whole, decimals) = number.split_once('.').unwrap_or((number, "0"));
        let digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
        if !(1..=3).contains(&whole.len())
            || !(1..=4).contains(&decimals.len())
            || !digits(whole)
            || !digits(decimals)
        {
            return Err(invalid());
        }
        let whole: u32 = whole.parse().map_err(|_| invalid())?;
        let decimals: u32 = format!("{decimals:0<4}").parse().map_err(|_| invalid())?;
        let millionths = whole * 10_000 + decimals;
        if (1..=Self::WHOLE).contains(&millionths) { Ok(Self(millionths)) } else { Err(invalid()) }
    }
}

impl fmt::Display for Share {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (whole, decimals) = (self.0 / 10_000, self.0 % 10_000);
        if decimals == 0 {
            return formatter.pad(&format!("{whole}%"));
        }
        let decimals = format!("{decimals:04}");
        formatter.pad(&format!("{whole}.{}%", decimals.trim_end_matches('0')))
    }
}

impl Serialize for Share {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Share {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = match Value::deserialize(deserializer)? {
            Value::String(text) => text,
            other => other.to_string(),
        };
        text.parse().map_err(serde::de::Error::custom)
    }
}

impl JsonSchema for Share {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Share".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "maxLength": 9,
            "x-kubernetes-validations": [{
                "rule": "self.matches('^(100([.]0{1,4})?|[0-9]{1,2}([.][0-9]{1,4})?)%$') \
                    && self.matches('[1-9]')",
                "message": "write a percentage above 0% and up to 100%, such as 10% or 2.5%",
            }],
        })
    }
}
