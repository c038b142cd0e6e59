//! Scores in tenths of a point, risk levels, verdicts and confidence.

use std::{fmt, str::FromStr};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::fixed::Fraction;

/// A risk score from 0 to 100 in tenths of a point.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Score(u16);

impl Score {
    /// The lowest score: no risk found.
    pub const ZERO: Self = Self(0);
    /// The highest risk.
    pub const MAXIMUM: Self = Self(1000);

    /// A score in tenths of a point; anything above 100.0 counts as 100.0.
    #[must_use]
    pub const fn from_tenths(tenths: u16) -> Self {
        if tenths > 1000 { Self::MAXIMUM } else { Self(tenths) }
    }

    /// A score in whole points; anything above 100 counts as 100.
    #[must_use]
    pub const fn from_points(points: u8) -> Self {
        Self::from_tenths(points as u16 * 10)
    }

    /// The score of a fraction of the scale, rounded down to a tenth, so that a score reaches a threshold only if it
    /// does so without rounding.
    #[must_use]
    pub fn from_fraction(fraction: Fraction) -> Self {
        Self::from_tenths(u16::try_from(fraction.billionths() / 1_000_000).unwrap_or(1000))
    }

    /// The share of the whole scale.
    #[must_use]
    pub fn fraction(self) -> Fraction {
        Fraction::ratio(self.0.into(), 1000)
    }

    /// Tenths of a point.
    #[must_use]
    pub const fn tenths(self) -> u16 {
        self.0
    }

    /// The score less one tenth: the highest score below this score.
    #[must_use]
    pub const fn just_below(self) -> Self {
        Self(self.0.saturating_sub(1))
    }

    /// The difference of both scores, at least zero.
    #[must_use]
    pub const fn minus(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

impl fmt::Display for Score {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(&format!("{}.{}", self.0 / 10, self.0 % 10))
    }
}

/// The error of a text that is not a score.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a score: use a number from 0 to 100 with at most one decimal")]
pub struct InvalidScore(pub String);

impl FromStr for Score {
    type Err = InvalidScore;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match parse_tenths(text) {
            Some(tenths) if tenths <= Self::MAXIMUM.0 => Ok(Self(tenths)),
            _ => Err(InvalidScore(text.chars().take(32).collect())),
        }
    }
}

/// Reads a number with at most one decimal, in tenths.
fn parse_tenths(text: &str) -> Option<u16> {
    let (whole, tenths) = text.split_once('.').unwrap_or((text, "0"));
    let plain =
        |digits: &str| !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    if !plain(whole) || !plain(tenths) || tenths.len() != 1 {
        return None;
    }
    whole.parse::<u16>().ok()?.checked_mul(10)?.checked_add(tenths.parse().ok()?)
}

impl Serialize for Score {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.0.is_multiple_of(10) {
            serializer.serialize_u16(self.0 / 10)
        } else {
            // Exact in print: the shortest decimal that reads back as this number has one digit.
            serializer.serialize_f64(f64::from(self.0) / 10.0)
        }
    }
}

impl<'de> Deserialize<'de> for Score {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        serde_json::Number::deserialize(deserializer)?
            .to_string()
            .parse()
            .map_err(serde::de::Error::custom)
    }
}

/// Hops after which the weight of evidence has halved, in tenths of a hop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HalfLife(u16);

impl HalfLife {
    /// Tenths of a hop.
    #[must_use]
    pub const fn tenths(self) -> u16 {
        self.0
    }
}

impl Default for HalfLife {
    /// 2.4 hops, as AMLRegister publishes it.
    fn default() -> Self {
        Self(24)
    }
}

impl Serialize for HalfLife {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(f64::from(self.0) / 10.0)
    }
}

impl<'de> Deserialize<'de> for HalfLife {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let number = serde_json::Number::deserialize(deserializer)?.to_string();
        parse_tenths(&number).filter(|tenths| *tenths <= 1000).map(Self).ok_or_else(|| {
            serde::de::Error::custom(format!(
                "`{number}` is not a number of hops up to 100 with at most one decimal"
            ))
        })
    }
}

impl JsonSchema for HalfLife {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "HalfLife".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "number", "minimum": 0.1, "maximum": 100, "multipleOf": 0.1 })
    }
}

impl JsonSchema for Score {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Score".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "number",
            "format": "double",
            "minimum": 0,
            "maximum": 100,
            // No `multipleOf`: validators that divide floating-point numbers refuse 16.3.
            "description": "0 to 100 with at most one decimal.",
        })
    }
}

/// Confidence of a claim, in percent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct Confidence(u8);

impl Confidence {
    /// Full confidence.
    pub const CERTAIN: Self = Self(100);

    /// A confidence in percent; anything above 100 counts as 100.
    #[must_use]
    pub const fn from_percent(percent: u8) -> Self {
        if percent > 100 { Self::CERTAIN } else { Self(percent) }
    }

    /// The confidence in percent.
    #[must_use]
    pub const fn percent(self) -> u8 {
        self.0
    }

    /// The confidence as a share of one.
    #[must_use]
    pub fn fraction(self) -> Fraction {
        Fraction::ratio(self.0.into(), 100)
    }
}

impl<'de> Deserialize<'de> for Confidence {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let percent = u64::deserialize(deserializer)?;
        u8::try_from(percent).ok().filter(|percent| *percent <= 100).map(Self).ok_or_else(|| {
            serde::de::Error::custom(format!("`{percent}` is no confidence from 0 to 100 percent"))
        })
    }
}

impl JsonSchema for Confidence {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Confidence".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "integer", "minimum": 0, "maximum": 100, "description": "Percent." })
    }
}

/// Risk level of a score.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum RiskLevel {
    /// Mandatory data is missing, so that a low score is not conclusive.
    Unknown,
    /// Score below the threshold of `medium`.
    Low,
    /// Score from the threshold of `medium`.
    Medium,
    /// Score from the threshold of `high`.
    High,
    /// Score from the threshold of `severe`.
    Severe,
}

impl RiskLevel {
    /// The identifier used in answers.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Unknown => "unknown",
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
            Self::Severe => "severe",
        }
    }
}

/// Verdict of a policy on an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The score is below the review threshold, and all mandatory data is present.
    Allow,
    /// Mandatory data is missing or stale: do not treat this as `allow`.
    Indeterminate,
    /// The score reached the review threshold: a person should decide.
    Review,
    /// The score reached the block threshold.
    Block,
}

impl Verdict {
    /// The identifier used in answers.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Indeterminate => "indeterminate",
            Self::Review => "review",
            Self::Block => "block",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_score_is_a_number_with_at_most_one_decimal() {
        for (tenths, json) in [(0, "0"), (999, "99.9"), (749, "74.9"), (1000, "100"), (3, "0.3")] {
            assert_eq!(serde_json::to_string(&Score(tenths)).unwrap(), json);
            assert_eq!(serde_json::from_str::<Score>(json).unwrap(), Score(tenths));
        }
        for bad in ["100.1", "-1", "7.55", "1e3", "\"5\""] {
            assert!(serde_json::from_str::<Score>(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn all_thousand_scores_print_exactly() {
        for tenths in 0..=1000 {
            let json = serde_json::to_string(&Score(tenths)).unwrap();
            assert_eq!(json.parse::<Score>().unwrap(), Score(tenths));
        }
    }
}
