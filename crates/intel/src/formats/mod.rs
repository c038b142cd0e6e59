//! The registry of formats of sanctions lists, label sets and price files.
//!
//! A format is one module with a [`Format`] value and one line in [`FORMATS`]. The choices of the command line, the
//! values that the manifest of an intel source accepts, the table in `docs/formats.md` and the error messages that list
//! the known formats all come from [`FORMATS`].
//!
//! - [`ofac_advanced`], [`ofac_enhanced`]: OFAC's own XML
//! - [`un_xml`], [`uk_xml`], [`eu_xml`], [`seco_xml`], [`fr_json`], [`japan_mof`], [`nbctf_csv`]: the lists of
//!   the UN Security Council, the UK, the EU, Switzerland, France, Japan and Israel
//! - [`listings_csv`], [`listings_jsonl`]: Assay's own formats for listings
//! - [`tagpack`]: GraphSense TagPacks
//! - [`explorer`]: name tags of block explorers
//! - [`ftm_jsonl`], [`ransomware_json`], [`address_list`], [`exchange_csv`]: entities of `FollowTheMoney`, and
//!   lists of addresses of one kind
//! - [`labels_csv`], [`labels_jsonl`]: Assay's own formats for labels
//! - [`prices_csv`], [`prices_jsonl`]: prices of assets by day

pub mod address_list;
pub mod defillama_json;
pub mod eu_xml;
pub mod exchange_csv;
pub mod explorer;
pub mod fr_json;
pub mod ftm_jsonl;
mod input;
pub mod japan_mof;
pub mod labels_csv;
pub mod labels_jsonl;
pub mod listings_csv;
pub mod listings_jsonl;
pub mod nbctf_csv;
pub mod ofac_advanced;
pub mod ofac_enhanced;
pub mod prices_csv;
pub mod prices_jsonl;
pub mod ransomware_json;
pub mod seco_xml;
pub mod tagpack;
pub mod uk_xml;
pub mod un_xml;
mod xml_list;

use std::fmt;

use assay_address::ChainId;
use assay_engine::names::SourceId;
use assay_input::FileSelection;
use jiff::civil::Date;

pub use self::input::{FormatFile, FormatInput};
pub use crate::error::{FileError, FormatReadError};
use crate::{
    labels::{LabelSet, terms::TermTable},
    listings::Publication,
    prices::PriceSet,
};

/// Every format, in the order in which people see them.
pub static FORMATS: [&Format; 23] = [
    &ofac_advanced::FORMAT,
    &ofac_enhanced::FORMAT,
    &uk_xml::FORMAT,
    &eu_xml::FORMAT,
    &un_xml::FORMAT,
    &fr_json::FORMAT,
    &seco_xml::FORMAT,
    &japan_mof::FORMAT,
    &nbctf_csv::FORMAT,
    &listings_csv::FORMAT,
    &listings_jsonl::FORMAT,
    &tagpack::FORMAT,
    &explorer::FORMAT,
    &ftm_jsonl::FORMAT,
    &ransomware_json::FORMAT,
    &address_list::PHISHING,
    &address_list::STOLEN,
    &exchange_csv::FORMAT,
    &labels_csv::FORMAT,
    &labels_jsonl::FORMAT,
    &prices_csv::FORMAT,
    &prices_jsonl::FORMAT,
    &defillama_json::FORMAT,
];

/// Format of a sanctions list, a label set or a price file: its names, the input that it takes, and its reader.
#[derive(Debug)]
pub struct Format {
    /// Identifier in manifests and on the command line, such as `ofac-advanced`: lowercase letters, digits
    /// and hyphens, unique among all formats.
    pub id: &'static str,
    /// Short identifier, unique among the formats of its kind: `csv` for `listings-csv` after
    /// `assay ingest sanctions`.
    pub short_id: Option<&'static str>,
    /// Title for people.
    pub title: &'static str,
    /// Files that an input of this format consists of.
    pub files: FileSelection,
    /// Options that an import of this format may set: facts that the files do not state.
    pub options: &'static [ReadOption],
    /// Name of the source that an import belongs to unless another one is given, for formats of one
    /// publisher.
    pub default_source: Option<&'static str>,
    /// The format's own terms for categories.
    pub terms: Option<&'static TermTable>,
    /// Reader of the format.
    pub reader: FormatReader,
}

/// Reader of a format: a function from an input to listings, labels or prices.
#[derive(Clone, Copy)]
pub enum FormatReader {
    /// Reader of a sanctions list.
    Listings(fn(&mut FormatInput<'_>, &ReadContext<'_>) -> Result<Publication, FormatReadError>),
    /// Reader of a label set.
    Labels(fn(&mut FormatInput<'_>, &ReadContext<'_>) -> Result<LabelSet, FormatReadError>),
    /// Reader of prices.
    Prices(fn(&mut FormatInput<'_>, &ReadContext<'_>) -> Result<PriceSet, FormatReadError>),
}

impl fmt::Debug for FormatReader {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Listings(_) => "Listings",
            Self::Labels(_) => "Labels",
            Self::Prices(_) => "Prices",
        })
    }
}

/// Kind of intel that a format holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum IntelKind {
    /// Listings: entries of sanctions lists.
    Listings,
    /// Labels: attributions of addresses to categories and entities.
    Labels,
    /// Prices of assets by day.
    Prices,
}

/// Fact about an input that its files do not state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadOption {
    /// Date of issue of a list.
    PublishedOn,
    /// Blockchain of the addresses.
    Blockchain,
}

/// Facts about an input that its files do not state.
#[derive(Clone, Copy, Debug)]
pub struct ReadContext<'a> {
    /// Source that the input is imported as.
    pub source: &'a SourceId,
    /// Date of issue of a list that does not state its own; the day of the import for formats without that option.
    pub published_on: Date,
    /// Blockchain of addresses whose files do not state it.
    pub blockchain: Option<ChainId>,
}

impl fmt::Display for ReadOption {
    /// Writes the option as a flag of the command line.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::PublishedOn => "--published-on",
            Self::Blockchain => "--blockchain",
        })
    }
}

impl IntelKind {
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

impl Format {
    /// The format of a list that its publisher issues as one file with its date: `source` is its source and list.
    const fn of_publisher(
        id: &'static str,
        source: &'static str,
        title: &'static str,
        extensions: &'static [&'static str],
        reader: FormatReader,
    ) -> Self {
        Self {
            id,
            short_id: None,
            title,
            files: FileSelection { extensions, several: false },
            options: &[],
            default_source: Some(source),
            terms: None,
            reader,
        }
    }

    /// Kind of intel that the format holds.
    #[must_use]
    pub const fn kind(&self) -> IntelKind {
        match self.reader {
            FormatReader::Listings(_) => IntelKind::Listings,
            FormatReader::Labels(_) => IntelKind::Labels,
            FormatReader::Prices(_) => IntelKind::Prices,
        }
    }

    /// True if imports of this format may set an option.
    #[must_use]
    pub fn takes(&self, option: ReadOption) -> bool {
        self.options.contains(&option)
    }
}

/// The formats of a kind.
pub fn of_kind(kind: IntelKind) -> impl Iterator<Item = &'static Format> {
    FORMATS.into_iter().filter(move |format| format.kind() == kind)
}

/// The format of a kind with an identifier or a short identifier.
///
/// # Errors
///
/// Returns an error if no format of this kind has the name.
pub fn by_name(kind: IntelKind, name: &str) -> Result<&'static Format, UnknownFormat> {
    of_kind(kind)
        .find(|format| format.id == name || format.short_id == Some(name))
        .ok_or_else(|| UnknownFormat(name.to_owned()))
}

/// The format with an identifier.
///
/// # Errors
///
/// Returns an error if no format has this identifier.
pub fn by_id(id: &str) -> Result<&'static Format, UnknownFormat> {
    FORMATS.into_iter().find(|format| format.id == id).ok_or_else(|| UnknownFormat(id.to_owned()))
}

/// Identifier that no format has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownFormat(pub String);

impl std::error::Error for UnknownFormat {}

impl fmt::Display for UnknownFormat {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let known = FORMATS.map(|format| format.id).join(", ");
        write!(formatter, "no such format: `{}` (known formats: {known})", self.0)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn identifiers_are_names_and_unique() {
        let mut ids = BTreeSet::new();
        for format in FORMATS {
            let is_name = |id: &str| {
                id.bytes()
                    .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
            };
            assert!(is_name(format.id) && ids.insert((None, format.id)), "{}", format.id);
            assert_eq!(by_id(format.id).unwrap().id, format.id);
            if let Some(short) = format.short_id {
                let kind = Some(format.kind());
                assert!(is_name(short) && ids.insert((kind, short)), "{short}");
                assert_eq!(by_name(format.kind(), short).unwrap().id, format.id);
                assert!(by_id(short).is_err(), "{short} is short for several formats");
            }
            assert!(!format.title.is_empty() && !format.files.extensions.is_empty());
            assert!(format.default_source.is_none_or(|name| name.parse::<SourceId>().is_ok()));
        }
        assert_eq!(
            of_kind(IntelKind::Listings).count()
                + of_kind(IntelKind::Labels).count()
                + of_kind(IntelKind::Prices).count(),
            FORMATS.len()
        );
        let error = by_id("csv").unwrap_err().to_string();
        assert!(error.starts_with("no such format: `csv` (known formats: ofac-advanced, ofac-"));
    }
}
