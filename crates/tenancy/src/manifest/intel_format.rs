//! The format of an intel source.

use std::{borrow::Cow, fmt, str::FromStr};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use super::intel_formats::{LABELS, LISTINGS};

use crate::text_form::text_form;

/// Format of a sanctions list or a label set: one of the registry of formats in `assay-intel`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IntelFormat {
    id: &'static str,
    is_labels: bool,
}

impl IntelFormat {
    /// Every format.
    pub fn all() -> impl Iterator<Item = Self> {
        let listings = LISTINGS.into_iter().map(|id| Self { id, is_labels: false });
        listings.chain(LABELS.into_iter().map(|id| Self { id, is_labels: true }))
    }

    /// Identifier of the format, such as `ofac-advanced`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        self.id
    }

    /// True if the format holds labels, false if it holds listings.
    #[must_use]
    pub const fn is_labels(self) -> bool {
        self.is_labels
    }

    /// The formats of labels, as a list in the Common Expression Language.
    pub(super) fn quoted_labels() -> String {
        LABELS.map(|id| format!("'{id}'")).join(", ")
    }
}

/// Identifier that no format has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownIntelFormat(String);

impl std::error::Error for UnknownIntelFormat {}

impl fmt::Display for UnknownIntelFormat {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let known: Vec<_> = IntelFormat::all().map(IntelFormat::as_str).collect();
        write!(formatter, "no such format: `{}` (known formats: {})", self.0, known.join(", "))
    }
}

impl fmt::Display for IntelFormat {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.id)
    }
}

impl FromStr for IntelFormat {
    type Err = UnknownIntelFormat;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::all()
            .find(|format| format.id == text)
            .ok_or_else(|| UnknownIntelFormat(text.chars().take(64).collect()))
    }
}

text_form!(IntelFormat);

impl JsonSchema for IntelFormat {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "IntelFormat".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let ids: Vec<_> = Self::all().map(Self::as_str).collect();
        json_schema!({"type": "string", "enum": ids})
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_are_read_by_their_identifiers() {
        for format in IntelFormat::all() {
            assert_eq!(format.as_str().parse(), Ok(format));
            let json = serde_json::to_string(&format).unwrap();
            assert_eq!(serde_json::from_str::<IntelFormat>(&json).unwrap(), format);
        }
        assert!("tagpack".parse::<IntelFormat>().unwrap().is_labels());
        assert!(!"ofac-advanced".parse::<IntelFormat>().unwrap().is_labels());
        let error = serde_json::from_str::<IntelFormat>("\"csv\"").unwrap_err().to_string();
        assert!(error.starts_with("no such format: `csv` (known formats: ofac-advanced, "));
    }
}
