//! Quantities of CPU, memory and storage, as Kubernetes writes them.

use std::{fmt, str::FromStr};

use schemars::{JsonSchema, Schema, SchemaGenerator};

use crate::text_form::text_form;

/// The pattern of a quantity: a whole number and a unit.
const PATTERN: &str = "^[1-9][0-9]{0,8}(m|k|Ki|M|Mi|G|Gi|T|Ti|P|Pi|E|Ei)?$";
/// The expected form of a quantity, for messages.
const EXPECTED_FORM: &str =
    "write a whole number of at most nine digits and a unit, such as 500m, 2, 8Gi or 600Gi";
/// Largest number of digits of a quantity's number.
const DIGITS: usize = 9;
/// Decimal units, each a thousand times the unit before; the first unit is a thousandth.
const DECIMAL: [&str; 8] = ["m", "", "k", "M", "G", "T", "P", "E"];
/// Binary units, each 1024 times the unit before; the first unit is 1024.
const BINARY: [&str; 6] = ["Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];

/// A quantity of CPU, memory or storage, such as `500m`, `8Gi` or `600Gi`. The text of a quantity is canonical, as an
/// API server returns it: with the largest unit that leaves a whole number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ResourceQuantity {
    thousandths: u128,
    is_binary: bool,
}

/// A text that is no quantity.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no quantity: {EXPECTED_FORM}")]
pub struct InvalidResourceQuantity(String);

impl ResourceQuantity {
    /// A number of gibibytes.
    #[must_use]
    pub const fn gibibytes(number: u32) -> Self {
        Self { thousandths: (number as u128 * 1000) << 30, is_binary: true }
    }

    /// A number of mebibytes.
    #[must_use]
    pub const fn mebibytes(number: u32) -> Self {
        Self { thousandths: (number as u128 * 1000) << 20, is_binary: true }
    }

    /// A number of thousandths, such as those of a CPU.
    #[must_use]
    pub const fn thousandths(number: u32) -> Self {
        Self { thousandths: number as u128, is_binary: false }
    }

    /// True if the quantity is at least as large as `other`, in any units.
    #[must_use]
    pub const fn covers(self, other: Self) -> bool {
        self.thousandths >= other.thousandths
    }
}

impl FromStr for ResourceQuantity {
    type Err = InvalidResourceQuantity;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let wrong = || InvalidResourceQuantity(text.chars().take(32).collect());
        let end = text.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(text.len());
        let (digits, unit) = text.split_at(end);
        if digits.is_empty() || digits.len() > DIGITS || digits.starts_with('0') {
            return Err(wrong());
        }
        let number: u128 = digits.parse().map_err(|_| wrong())?;
        let power = |units: &[&str]| units.iter().position(|known| *known == unit);
        let factor = |base: u128, power: usize| base.pow(u32::try_from(power).unwrap_or(0));
        if let Some(power) = power(&DECIMAL) {
            return Ok(Self { thousandths: number * factor(1000, power), is_binary: false });
        }
        let power = power(&BINARY).ok_or_else(wrong)?;
        Ok(Self { thousandths: number * 1000 * factor(1024, power + 1), is_binary: true })
    }
}

impl fmt::Display for ResourceQuantity {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (mut number, base, units): (_, _, &[&str]) = if self.is_binary {
            (self.thousandths / (1000 * 1024), 1024, &BINARY)
        } else {
            (self.thousandths, 1000, &DECIMAL)
        };
        let mut units = units.iter().peekable();
        while let Some(unit) = units.next() {
            if number % base != 0 || units.peek().is_none() {
                return formatter.pad(&format!("{number}{unit}"));
            }
            number /= base;
        }
        Ok(())
    }
}

text_form!(ResourceQuantity);

impl JsonSchema for ResourceQuantity {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Quantity".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        crate::schema::text(11, PATTERN, EXPECTED_FORM)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quantity_is_written_as_api_servers_do() {
        for (text, canonical) in [
            ("250m", "250m"),
            ("2000m", "2"),
            ("2", "2"),
            ("1000", "1k"),
            ("1500M", "1500M"),
            ("512Mi", "512Mi"),
            ("1024Mi", "1Gi"),
            ("600Gi", "600Gi"),
            ("2048Gi", "2Ti"),
            ("999999999Ei", "999999999Ei"),
        ] {
            let quantity: ResourceQuantity = text.parse().unwrap();
            assert_eq!(quantity.to_string(), canonical, "{text}");
            assert_eq!(canonical.parse(), Ok(quantity), "{text}");
        }
        assert_eq!(ResourceQuantity::gibibytes(20).to_string(), "20Gi");
        assert_eq!(ResourceQuantity::mebibytes(1024).to_string(), "1Gi");
        assert_eq!(ResourceQuantity::thousandths(250).to_string(), "250m");
    }

    #[test]
    fn quantities_of_different_units_compare() {
        let covers = |left: &str, right: &str| {
            left.parse::<ResourceQuantity>().unwrap().covers(right.parse().unwrap())
        };
        assert!(covers("1Ti", "1024Gi") && covers("1024Gi", "1Ti") && covers("1Ti", "1T"));
        assert!(!covers("1T", "1Ti") && !covers("999m", "1"));
    }

    #[test]
    fn other_texts_are_refused() {
        for wrong in ["", "Gi", "0", "01", "-1", "0.5", "1e9", "1 Gi", "1gi", "1234567890"] {
            let said = wrong.parse::<ResourceQuantity>().unwrap_err().to_string();
            assert!(said.starts_with(&format!("`{wrong}` is no quantity: write ")), "{said}");
        }
    }
}
