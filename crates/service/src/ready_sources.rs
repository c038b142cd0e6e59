//! The sources that come with Assay: lists and label sets with their publishers, terms and schedules.
//!
//! Enabling a ready-made source stores an `IntelSource` manifest, which is fetched like any other. Sources whose data
//! needs a licence for commercial use are never enabled by default.

use assay_intel::formats::{self, Format, UnknownFormat};
use assay_tenancy::manifest::Document;
use serde::Serialize;
use serde_json::json;

/// Source that comes with Assay.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct ReadySource {
    /// Name of the source and of its manifest.
    pub name: &'static str,
    /// Name of the publisher.
    pub publisher: &'static str,
    /// URL of the feed; `None` if the publisher has no feed that may be fetched.
    pub location: Option<&'static str>,
    /// Identifier of the format.
    pub format: &'static str,
    /// Lists in the feed.
    pub lists: &'static [&'static str],
    /// Times of fetching, as the five fields of a crontab line in UTC.
    pub schedule: &'static str,
    /// Terms under which the data may be used.
    pub licence: &'static str,
    /// True if the data needs a licence for commercial use.
    pub commercial: bool,
    /// Advice, such as how to import a source without a feed.
    pub note: &'static str,
}

const PUBLIC_DOMAIN: &str = "public domain";
const MIT: &str = "MIT";

/// Every ready-made source: official lists first.
pub static READY_SOURCES: [ReadySource; 15] = [
    ReadySource {
        name: "ofac-sdn",
        publisher: "US Treasury, Office of Foreign Assets Control",
        location: Some("https://www.treasury.gov/ofac/downloads/sanctions/1.0/sdn_advanced.xml"),
        format: "ofac-advanced",
        lists: &["ofac-sdn"],
        schedule: "17 */6 * * *",
        licence: PUBLIC_DOMAIN,
        commercial: false,
        note: "enabled in a new installation",
    },
    ReadySource {
        name: "uk",
        publisher: "UK Foreign, Commonwealth & Development Office",
        location: Some("https://sanctionslist.fcdo.gov.uk/docs/UK-Sanctions-List.xml"),
        format: "uk-xml",
        lists: &["uk"],
        schedule: "23 */6 * * *",
        licence: "Open Government Licence 3.0",
        commercial: false,
        note: "",
    },
    ReadySource {
        name: "eu",
        publisher: "European Commission, financial sanctions files",
        location: Some(
            "https://webgate.ec.europa.eu/fsd/fsf/public/files/xmlFullSanctionsList_1_1/content?token=dG9rZW4tMjAxNw",
        ),
        format: "eu-xml",
        lists: &["eu"],
        schedule: "29 */6 * * *",
        licence: "reuse with attribution, Decision 2011/833/EU",
        commercial: false,
        note: "",
    },
    ReadySource {
        name: "un",
        publisher: "UN Security Council",
        location: Some("https://scsanctions.un.org/resources/xml/en/consolidated.xml"),
        format: "un-xml",
        lists: &["un"],
        schedule: "37 */6 * * *",
        licence: "public",
        commercial: false,
        note: "",
    },
    ReadySource {
        name: "fr-gels",
        publisher: "France, Direction générale du Trésor",
        location: Some(
            "https://gels-avoirs.dgtresor.gouv.fr/ApiPublic/api/v1/publication/derniere-publication-fichier-json",
        ),
        format: "fr-json",
        lists: &["fr-gels"],
        schedule: "41 */6 * * *",
        licence: "Licence Ouverte 2.0",
        commercial: false,
        note: "",
    },
    ReadySource {
        name: "ch-seco",
        publisher: "Switzerland, State Secretariat for Economic Affairs",
        location: Some(
            "https://www.sesam.search.admin.ch/sesam-search-web/pages/downloadXmlGesamtliste.xhtml?lang=en&action=downloadXmlGesamtlisteAction",
        ),
        format: "seco-xml",
        lists: &["ch-seco"],
        schedule: "43 */6 * * *",
        licence: "public",
        commercial: false,
        note: "",
    },
    ReadySource {
        name: "jp-mof",
        publisher: "Japan, Ministry of Finance",
        location: None,
        format: "japan-mof",
        lists: &["jp-mof"],
        schedule: "47 5 * * *",
        licence: "public, with attribution",
        commercial: false,
        note: "the workbook's address changes: `--location URL`, or import the file",
    },
    ReadySource {
        name: "il-nbctf",
        publisher: "Israel, National Bureau for Counter Terror Financing",
        location: None,
        format: "nbctf-csv",
        lists: &["il-nbctf"],
        schedule: "53 5 * * *",
        licence: "public",
        commercial: false,
        note: "save the two tables as CSV in one folder: `--location FOLDER`, or import the folder",
    },
    ReadySource {
        name: "graphsense",
        publisher: "GraphSense TagPacks",
        location: Some(
            "https://github.com/graphsense/graphsense-tagpacks/archive/refs/heads/master.zip",
        ),
        format: "tagpack",
        lists: &[],
        schedule: "11 4 * * *",
        licence: MIT,
        commercial: false,
        note: "",
    },
    ReadySource {
        name: "ransomwhere",
        publisher: "Ransomwhere",
        location: Some("https://api.ransomwhe.re/export"),
        format: "ransomware-json",
        lists: &[],
        schedule: "13 4 * * *",
        licence: "free download; the publisher states the terms",
        commercial: false,
        note: "",
    },
    ReadySource {
        name: "scamsniffer",
        publisher: "ScamSniffer phishing addresses",
        location: Some(
            "https://raw.githubusercontent.com/scamsniffer/scam-database/main/blacklist/address.json",
        ),
        format: "phishing-list",
        lists: &[],
        schedule: "19 4 * * *",
        licence: "open data; no licence is stated",
        commercial: false,
        note: "seven days behind the publisher's paid feed",
    },
    ReadySource {
        name: "ethereum-darklist",
        publisher: "MyEtherWallet darklist",
        location: Some(
            "https://raw.githubusercontent.com/MyEtherWallet/ethereum-lists/master/src/addresses/addresses-darklist.json",
        ),
        format: "phishing-list",
        lists: &[],
        schedule: "31 4 * * *",
        licence: MIT,
        commercial: false,
        note: "",
    },
    ReadySource {
        name: "etherscan",
        publisher: "name tags of EVM explorers, collected by brianleect",
        location: None,
        format: "explorer",
        lists: &[],
        schedule: "7 4 * * 0",
        licence: MIT,
        commercial: false,
        note: "import a checkout: `assay ingest labels FOLDER --format explorer --source etherscan`",
    },
    ReadySource {
        name: "defillama",
        publisher: "DefiLlama, prices",
        location: Some(
            "https://coins.llama.fi/prices/current/coingecko:bitcoin,coingecko:ethereum,coingecko:tron,coingecko:binancecoin,coingecko:polygon-ecosystem-token,coingecko:avalanche-2,coingecko:celo,coingecko:xdai,coingecko:litecoin,coingecko:bitcoin-cash,coingecko:bitcoin-cash-sv,coingecko:dogecoin,coingecko:dash,coingecko:zcash",
        ),
        format: "defillama-json",
        lists: &[],
        schedule: "52 23 * * *",
        licence: "free, without a key; the publisher states no licence",
        commercial: false,
        note: "prices of the days from now on; of days before, save its `/chart` answers and import them with \
               `assay ingest prices FILE --format defillama`",
    },
    ReadySource {
        name: "opensanctions",
        publisher: "OpenSanctions",
        location: Some(
            "https://data.opensanctions.org/datasets/latest/sanctions/entities.ftm.json",
        ),
        format: "ftm-jsonl",
        lists: &[],
        schedule: "3 */6 * * *",
        licence: "CC BY-NC 4.0; commercial use needs a licence",
        commercial: true,
        note: "enable it only with a licence: `--licensed`",
    },
];

/// Reason why a ready-made source cannot be enabled.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EnableError {
    /// No ready-made source has this name.
    #[error("no such ready-made source: `{name}` (known: {known})", known = names())]
    Unknown {
        /// Name that the caller gave.
        name: String,
    },
    /// The source has no feed, and the caller gave no location.
    #[error("`{name}` has no feed of its own: {note}")]
    NoFeed {
        /// Name of the source.
        name: &'static str,
        /// Advice.
        note: &'static str,
    },
    /// The data needs a licence for commercial use.
    #[error(
        "the data of `{name}` needs a licence ({licence}): if you have one, repeat with --licensed"
    )]
    Commercial {
        /// Name of the source.
        name: &'static str,
        /// Terms.
        licence: &'static str,
    },
}

fn names() -> String {
    READY_SOURCES.map(|source| source.name).join(", ")
}

/// Returns the ready-made source with a name.
///
/// # Errors
///
/// Returns an error if no source has the name.
pub fn by_name(name: &str) -> Result<&'static ReadySource, EnableError> {
    READY_SOURCES
        .iter()
        .find(|source| source.name == name)
        .ok_or_else(|| EnableError::Unknown { name: name.chars().take(64).collect() })
}

impl ReadySource {
    /// Returns the format of the source.
    ///
    /// # Errors
    ///
    /// Never returns an error: a test checks every row of the table of sources.
    pub fn format(&self) -> Result<&'static Format, UnknownFormat> {
        formats::by_id(self.format)
    }

    /// Returns the manifest of the source. `location` replaces the source's location; `licensed` states that the user
    /// has the licence that commercial data needs.
    ///
    /// # Errors
    ///
    /// Returns an error if the source has no location, or needs a licence.
    pub fn manifest(
        &self,
        location: Option<&str>,
        licensed: bool,
    ) -> Result<Document, EnableError> {
        let (name, note, licence) = (self.name, self.note, self.licence);
        if self.commercial && !licensed {
            return Err(EnableError::Commercial { name, licence });
        }
        let location = location.or(self.location).ok_or(EnableError::NoFeed { name, note })?;
        Ok(Document {
            origin: format!("ready-made source {name}"),
            content: json!({
                "apiVersion": "assay.dev/v1alpha1",
                "kind": "IntelSource",
                "metadata": {"name": name},
                "spec": {
                    "location": location,
                    "format": self.format,
                    "lists": self.lists,
                    "schedule": self.schedule,
                },
            }),
        })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use assay_engine::names::SourceId;

    use super::*;
    use crate::manifests::resolve;

    #[test]
    fn every_ready_made_source_is_a_manifest() {
        let documents: Vec<Document> = READY_SOURCES
            .iter()
            .map(|source| source.manifest(Some("https://example.org/x"), true).unwrap())
            .collect();
        let directory = resolve(&documents).unwrap().directory;
        assert_eq!(directory.feeds.len(), READY_SOURCES.len());
        let names: BTreeSet<_> = READY_SOURCES.iter().map(|source| source.name).collect();
        assert_eq!(names.len(), READY_SOURCES.len());
        for source in READY_SOURCES {
            let format = source.format().unwrap();
            assert!(source.name.parse::<SourceId>().is_ok());
            let is_list = format.kind() == formats::IntelKind::Listings;
            assert_eq!(is_list, !source.lists.is_empty(), "{}", source.name);
            assert!(source.location.is_some() || !source.note.is_empty());
        }
    }

    #[test]
    fn a_source_is_enabled_with_what_it_needs() {
        assert_eq!(
            by_name("opensanctions").unwrap().manifest(None, false).unwrap_err().to_string(),
            "the data of `opensanctions` needs a licence (CC BY-NC 4.0; commercial use needs a \
             licence): if you have one, repeat with --licensed"
        );
        let error = by_name("il-nbctf").unwrap().manifest(None, false).unwrap_err().to_string();
        assert!(error.starts_with("`il-nbctf` has no feed of its own: save the two tables"));
        assert!(by_name("il-nbctf").unwrap().manifest(Some("nbctf"), false).is_ok());
        let error = by_name("x").unwrap_err().to_string();
        assert!(error.starts_with("no such ready-made source: `x` (known: ofac-sdn, uk, eu"));
    }
}
