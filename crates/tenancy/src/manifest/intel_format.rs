//! The format of an intel source.

use std::{borrow::Cow, fmt, str::FromStr};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use super::intel_formats::{LABELS, LISTINGS, PRICES};

use crate::text_form::text_form;

/// Format of a sanctions list, a label set or prices: one of the registry of formats in `assay-intel`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IntelFormat {
    id: &'static str,
    kind: IntelFormatKind,
}

/// Kind of data that a format holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IntelFormatKind {
    /// Entries of sanctions lists.
    Listings,
    /// Labels of addresses.
    Labels,
    /// Prices of assets.
    Prices,
}

impl IntelFormatKind {
    /// The subcommand of `assay ingest` that imports this kind.
    #[must_use]
    pub const fn subcommand(self) -> &'static str {
        match self {
            Self::Listings => "sanctions",
            Self::Labels => "labels",
            Self::Prices => "prices",
        }
    }
}

impl IntelFormat {
    /// Every format.
    pub fn all() -> impl Iterator<Item = Self> {
        let of = |kind| move |id| Self { id, kind };
        let listings = LISTINGS.into_iter().map(of(IntelFormatKind::Listings));
        let labels = LABELS.into_iter().map(of(IntelFormatKind::Labels));
        listings.chain(labels).chain(PRICES.into_iter().map(of(IntelFormatKind::Prices)))
    }

    /// Identifier of the format, such as `ofac-advanced`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        self.id
    }

    /// Kind of data that the format holds.
    #[must_use]
    pub const fn kind(self) -> IntelFormatKind {
        self.kind
    }

    /// The formats of some kinds, as the elements of a list in the Common Expression Language.
    pub(super) fn quoted(kinds: &[IntelFormatKind]) -> String {
        let formats = Self::all().filter(|format| kinds.contains(&format.kind));
        formats.map(|format| format!("'{format}'")).collect::<Vec<_>>().join(", ")
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
        for (id, subcommand) in
            [("ofac-advanced", "sanctions"), ("tagpack", "labels"), ("prices-csv", "prices")]
        {
            let format: IntelFormat = id.parse().unwrap();
            assert_eq!(format.kind().subcommand(), subcommand);
        }
        let error = serde_json::from_str::<IntelFormat>("\"csv\"").unwrap_err().to_string();
        assert!(error.starts_with("no such format: `csv` (known formats: ofac-advanced, "));
    }
}
