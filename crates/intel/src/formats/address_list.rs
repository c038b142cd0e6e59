//! Formats `phishing-list` and `stolen-funds-list`: lists of addresses of one kind, as wallets and
//! investigators publish them.
//!
//! A list is plain text with one address per line, or JSON: an array of addresses, an array of objects with an
//! `address` and perhaps a `comment`, or an object whose keys are addresses. In text, `#` begins a comment, and the
//! text after an address, behind white space or a comma, is its reason. The chain is Ethereum unless the import names
//! another one.

use std::io::Read;

use assay_address::{CanonicalAddress, ChainId};
use assay_engine::{evidence::Tier, taxonomy::Category};
use assay_input::FileSelection;
use serde_json::Value;

use super::{FileError, Format, FormatFile, FormatReader, ReadContext, ReadOption};
use crate::{
    labels::{
        LabelSet,
        chains::LabelAddressError,
        collect::{LabelCollector, LabelFields, non_blank},
        text::{MAX_HELD_BYTES, json_reason, read_whole},
    },
    listings::{dates::day, found::case_lost},
};

/// Addresses of phishing and wallet drainers.
pub static PHISHING: Format = Format {
    id: "phishing-list",
    short_id: None,
    title: "Phishing addresses, text or JSON",
    files: FileSelection { extensions: &["json", "txt", "csv"], several: true },
    options: &[ReadOption::Blockchain, ReadOption::PublishedOn],
    default_source: None,
    terms: None,
    reader: FormatReader::Labels(|input, context| {
        input.read_each(|file| read(file, context, Category::PhishingDrainer))
    }),
};

/// Addresses that hold stolen funds.
pub static STOLEN: Format = Format {
    id: "stolen-funds-list",
    title: "Addresses with stolen funds, text or JSON",
    reader: FormatReader::Labels(|input, context| {
        input.read_each(|file| read(file, context, Category::StolenFunds))
    }),
    ..PHISHING
};

/// Confidence in a list of one kind, in percent.
const CONFIDENCE: u8 = 70;

fn read(
    file: FormatFile<'_>,
    context: &ReadContext<'_>,
    category: Category,
) -> Result<LabelSet, FileError> {
    let text = read_whole(Read::take(file.content, MAX_HELD_BYTES + 1), MAX_HELD_BYTES, None)?;
    let mut list = List {
        collector: LabelCollector::new(file.name, context.source),
        chain: context.blockchain.unwrap_or(ChainId::ETH),
        category,
        file: file.name,
    };
    if text.trim_start().starts_with(['[', '{']) {
        list.json(&text)?;
    } else {
        list.lines(&text)?;
    }
    Ok(list.collector.finish())
}

struct List<'a> {
    collector: LabelCollector<'a>,
    chain: ChainId,
    category: Category,
    file: &'a str,
}

impl List<'_> {
    fn lines(&mut self, text: &str) -> Result<(), FileError> {
        for (line, number) in text.lines().zip(1_u64..) {
            let line = line.split('#').next().unwrap_or_default().trim();
            let (address, rest) = line.split_once([' ', ',', '\t', ';', '|']).unwrap_or((line, ""));
            let (address, rest) = (address.trim_matches('"'), rest.trim_matches('"'));
            if !address.is_empty() {
                self.add(address, non_blank(rest), &format!("line {number}"))?;
            }
        }
        Ok(())
    }

    fn json(&mut self, text: &str) -> Result<(), FileError> {
        let value: Value = serde_json::from_str(text).map_err(|error| FileError::Syntax {
            line: u64::try_from(error.line()).unwrap_or(1),
            format: "a list of addresses in JSON",
            reason: json_reason(&error),
        })?;
        match value {
            Value::Array(rows) => {
                for (row, number) in rows.iter().zip(1_u64..) {
                    self.row(row, &format!("row {number}"))?;
                }
            }
            Value::Object(rows) => {
                for ((address, reason), number) in rows.iter().zip(1_u64..) {
                    self.add(address, reason.as_str(), &format!("row {number}"))?;
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn row(&mut self, row: &Value, position: &str) -> Result<(), FileError> {
        let text = |name: &str| row.get(name).and_then(Value::as_str);
        if let Some(day) = text("date").and_then(day) {
            self.collector.written_on(day);
        }
        let address = row.as_str().or_else(|| text("address")).unwrap_or_default();
        let reason =
            ["comment", "reason", "name", "description"].iter().find_map(|name| text(name));
        self.add(address, reason, position)
    }

    fn add(
        &mut self,
        address: &str,
        reason: Option<&str>,
        position: &str,
    ) -> Result<(), FileError> {
        let position = || format!("{}, {position}", self.file);
        let parsed = CanonicalAddress::parse_published(self.chain, address).map_err(|error| {
            let reason = case_lost(address).map_or_else(|| error.to_string(), str::to_owned);
            LabelAddressError::Invalid(format!("no address of {}: {reason}", self.chain))
        });
        let claim = |address| LabelFields {
            term: Some(self.category.as_str()),
            reason,
            ..LabelFields::new(address, self.category, Tier::Community, CONFIDENCE)
        };
        self.collector.add(parsed, position, claim)
    }
}

/// Reads a list, for tests.
#[cfg(test)]
pub(crate) fn read_text(text: &str, chain: Option<ChainId>) -> Result<LabelSet, FileError> {
    let mut bytes = text.as_bytes();
    let source = "list".parse().map_err(|_| FileError::TooLarge { max: 0 })?;
    let context = ReadContext {
        source: &source,
        published_on: jiff::civil::date(2026, 1, 1),
        blockchain: chain,
    };
    read(FormatFile { name: "list", content: &mut bytes }, &context, Category::PhishingDrainer)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: &str = "0x189f40034be7a199f1fa9891668ee3ab6049f82d";
    const TWO: &str = "0x2f389ce8bd8ff92de3402ffce4691d17fc4f6535";

    #[test]
    fn text_and_json_give_the_same_labels() {
        let text = read_text(&format!("# phishing\n{ONE} fake airdrop\n{TWO}\n"), None).unwrap();
        assert_eq!(text.labels.len(), 2);
        assert_eq!(text.labels[0].label.reason.as_deref(), Some("fake airdrop"));
        assert_eq!(text.labels[0].label.category, Category::PhishingDrainer);
        for json in [
            format!(r#"["{ONE}", "{TWO}"]"#),
            format!(r#"[{{"address": "{ONE}", "date": "2024-02-03"}}, {{"address": "{TWO}"}}]"#),
            format!(r#"{{"{ONE}": "fake airdrop", "{TWO}": ""}}"#),
        ] {
            let set = read_text(&json, None).unwrap();
            let addresses = |set: &LabelSet| -> Vec<_> {
                set.labels.iter().map(|label| label.address.clone()).collect()
            };
            assert_eq!(addresses(&set), addresses(&text), "{json}");
        }
    }

    #[test]
    fn lowercased_base58_is_refused() {
        let set = read_text("1kuczsr49wpwckudoujlybjurytvif5hfm\n", Some(ChainId::BTC)).unwrap();
        assert_eq!(set.labels, []);
        assert!(set.rejected[0].reason.contains("all letters are lowercase"), "{:?}", set.rejected);
    }
}
