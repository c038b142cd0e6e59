//! Lengths of time as people write them in manifests: `30s`, `5m`, `24h`, `30d`.

use std::{fmt, str::FromStr};

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde_json::Value;

use crate::{
    schema::{field_rule, text},
    text_form::text_form,
};

/// A length of time in whole seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Period(u64);

/// A text that is no length of time.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is not a length of time: write a whole number and s, m, h or d, such as `30s` or `24h`"
)]
pub struct InvalidPeriod(pub String);

/// The pattern of a period. Nine digits of days fit into an integer of seconds.
const PATTERN: &str = "^[0-9]{1,9}[smhd]$";

const UNITS: [(char, u64); 4] = [('d', 86_400), ('h', 3_600), ('m', 60), ('s', 1)];

impl Period {
    /// Creates a period of `seconds` seconds.
    #[must_use]
    pub const fn from_seconds(seconds: u64) -> Self {
        Self(seconds)
    }

    /// Length of the period in seconds.
    #[must_use]
    pub const fn seconds(self) -> u64 {
        self.0
    }
}

impl FromStr for Period {
    type Err = InvalidPeriod;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let error = || InvalidPeriod(text.chars().take(32).collect());
        let (_, seconds) =
            UNITS.iter().find(|(unit, _)| text.ends_with(*unit)).ok_or_else(error)?;
        let number = text.get(..text.len() - 1).unwrap_or_default();
        if !number.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(error());
        }
        let number: u64 = number.parse().map_err(|_| error())?;
        number.checked_mul(*seconds).map(Self).ok_or_else(error)
    }
}

impl fmt::Display for Period {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let whole = UNITS.iter().find(|(_, seconds)| self.0 > 0 && self.0.is_multiple_of(*seconds));
        match whole {
            Some((unit, seconds)) => formatter.pad(&format!("{}{unit}", self.0 / seconds)),
            None => formatter.pad(&format!("{}s", self.0)),
        }
    }
}

text_form!(Period);

impl JsonSchema for Period {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Period".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        text(
            10,
            PATTERN,
            "write a whole number of at most nine digits and s, m, h or d, such as 30s or 24h",
        )
    }
}

/// The rule that the period in a field lies between two other periods.
#[must_use]
pub fn between(field: &str, least: Period, most: Period) -> Value {
    let (text, from, to) = (format!("self.{field}"), least.seconds(), most.seconds());
    // A text that is no period breaks the rule of its own type already.
    let holds = format!(
        "!{text}.matches('{PATTERN}') || ({seconds} >= {from} && {seconds} <= {to})",
        seconds = seconds(&text),
    );
    field_rule(&format!(".{field}"), &holds, &format!("must be from {least} to {most}"))
}

/// An expression in the Common Expression Language for the seconds of a period.
#[must_use]
pub fn seconds(period: &str) -> String {
    format!(
        "int({period}.substring(0, size({period}) - 1)) * \
         {{'s': 1, 'm': 60, 'h': 3600, 'd': 86400}}[{period}.substring(size({period}) - 1)]"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn periods_read_and_print_in_their_largest_whole_unit() {
        for (text, seconds, printed) in
            [("30s", 30, "30s"), ("300s", 300, "5m"), ("24h", 86_400, "1d"), ("0s", 0, "0s")]
        {
            let period: Period = text.parse().unwrap();
            assert_eq!((period.seconds(), period.to_string().as_str()), (seconds, printed));
        }
        for bad in ["", "s", "5", "-5s", "+5s", "5 s", "1w", "99999999999999999999d", "é"] {
            assert!(bad.parse::<Period>().is_err(), "{bad}");
        }
    }
}
