//! Format `ftm-jsonl`: entities of `FollowTheMoney` as JSON lines, as `OpenSanctions` publishes them.
//!
//! A line is an entity with an `id`, a `schema`, its `datasets` and `properties`, each an array of texts. A
//! `CryptoWallet` has a public key, a currency, a holder and topics; the holder is another entity of the
//! file, before or after it. The data of `OpenSanctions` needs a licence for commercial use.

use std::{collections::HashMap, io::BufRead};

use assay_address::{AssetScope, CanonicalAddress, ChainId, SHORTEST_ADDRESS, published_parts};
use assay_engine::{
    evidence::Tier,
    names::{ListId, SourceId},
    taxonomy::Category,
};
use assay_input::text::TextLines;
use jiff::civil::Date;
use serde::Deserialize;

use super::{FileError, Format, FormatReader};
use crate::{
    labels::{
        LabelSet,
        chains::{self, LabelAddressError},
        collect::{LabelCollector, LabelFields},
        text::{MAX_STREAMED_BYTES, json_reason},
    },
    listings::{currency, dates::day, found},
};

/// Entities of `FollowTheMoney`.
pub static FORMAT: Format = Format::of_publisher(
    "ftm-jsonl",
    "opensanctions",
    "Entities of FollowTheMoney (OpenSanctions), JSON lines",
    &["json", "jsonl", "ndjson"],
    FormatReader::Labels(|input, context| {
        input.read_one(|file| read(file.content, file.name, context.source))
    }),
);

/// Confidence in an entity, in percent: official lists, collected by hand.
const CONFIDENCE: u8 = 90;
/// Largest size of the names of possible holders, in bytes. The largest public collection has a tenth of this size.
const MAX_NAMES_BYTES: usize = 96 * 1024 * 1024;
/// Largest number of wallets.
const MAX_WALLETS: usize = 500_000;

/// Categories of topics, the gravest first.
const TOPICS: [(&str, Category); 7] = [
    ("sanction", Category::Sanctions),
    ("crime.terror", Category::TerrorismFinancing),
    ("crime.theft", Category::StolenFunds),
    ("crime.cyber", Category::Malware),
    ("crime.traffick.drug", Category::DrugVendor),
    ("crime.fraud", Category::Scam),
    ("crime", Category::IllicitActorOrg),
];

/// Lists that datasets hold.
const LISTS: [(&str, &str); 8] = [
    ("us_ofac_sdn", "ofac-sdn"),
    ("gb_fcdo_sanctions", "uk"),
    ("gb_hmt_sanctions", "uk"),
    ("eu_fsf", "eu"),
    ("un_sc_sanctions", "un"),
    ("il_mod_crypto", "il-nbctf"),
    ("fr_tresor_gels_avoir", "fr-gels"),
    ("jp_mof_sanctions", "jp-mof"),
];

/// Line of the file.
#[derive(Deserialize)]
struct Entity {
    id: String,
    schema: String,
    #[serde(default)]
    datasets: Vec<String>,
    #[serde(default)]
    last_change: Option<String>,
    #[serde(default)]
    properties: Properties,
}

/// The properties that are read.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Properties {
    name: Vec<String>,
    topics: Vec<String>,
    #[serde(rename = "publicKey")]
    public_key: Vec<String>,
    currency: Vec<String>,
    #[serde(rename = "currencySymbol")]
    currency_symbol: Vec<String>,
    holder: Vec<Reference>,
    #[serde(rename = "managingExchange")]
    managing_exchange: Vec<String>,
    /// Spelling of earlier versions of the schema.
    #[serde(rename = "mangingExchange")]
    manging_exchange: Vec<String>,
    #[serde(rename = "sourceUrl")]
    source_url: Vec<String>,
}

/// Another entity: its identifier, or the entity itself in nested files.
#[derive(Deserialize)]
#[serde(untagged)]
enum Reference {
    Id(String),
    Nested { id: String },
}

impl Reference {
    fn id(&self) -> &str {
        match self {
            Self::Id(id) | Self::Nested { id } => id,
        }
    }
}

struct Wallet {
    line: u64,
    keys: Vec<String>,
    currencies: Vec<String>,
    holders: Vec<String>,
    exchange: Option<String>,
    topics: Vec<String>,
    list: Option<ListId>,
    link: Option<String>,
}

/// Reads a file as labels of `source`.
///
/// # Errors
///
/// Returns an error if the file is not UTF-8 or too large, or a line is no entity.
pub fn read(input: impl BufRead, file: &str, source: &SourceId) -> Result<LabelSet, FileError> {
    let mut lines = TextLines::new(input).with_max_bytes(MAX_STREAMED_BYTES);
    let mut holders: HashMap<String, (String, Vec<String>)> = HashMap::new();
    let (mut wallets, mut names_bytes) = (Vec::new(), 0_usize);
    let mut newest: Option<Date> = None;
    while let Some((line, text)) = lines.next_line()? {
        if text.trim().is_empty() {
            continue;
        }
        let entity: Entity =
            serde_json::from_str(text.trim_end_matches(['\n', '\r'])).map_err(|error| {
                FileError::Syntax {
                    line,
                    format: "an entity of FollowTheMoney",
                    reason: json_reason(&error),
                }
            })?;
        newest = newest.max(entity.last_change.as_deref().and_then(day));
        if entity.schema == "CryptoWallet" {
            wallets.push(wallet(line, entity));
            if wallets.len() > MAX_WALLETS {
                return Err(FileError::TooMany { subject: "wallets", max: MAX_WALLETS });
            }
        } else if !entity.properties.name.is_empty() || !entity.properties.topics.is_empty() {
            let name = entity.properties.name.into_iter().next().unwrap_or_default();
            names_bytes += entity.id.len() + name.len() + 128;
            if names_bytes > MAX_NAMES_BYTES {
                let max = u64::try_from(MAX_NAMES_BYTES).unwrap_or(u64::MAX);
                return Err(FileError::TooLarge { max });
            }
            holders.insert(entity.id, (name, entity.properties.topics));
        }
    }
    let mut collector = LabelCollector::new(file, source);
    if let Some(newest) = newest {
        collector.written_on(newest);
    }
    for wallet in &wallets {
        let holders: Vec<_> = wallet.holders.iter().filter_map(|id| holders.get(id)).collect();
        keep(&mut collector, file, wallet, &holders)?;
    }
    Ok(collector.finish())
}

fn wallet(line: u64, entity: Entity) -> Wallet {
    let properties = entity.properties;
    let currencies = properties.currency.into_iter().chain(properties.currency_symbol);
    let exchanges = properties.managing_exchange.into_iter().chain(properties.manging_exchange);
    let list = |dataset: &String| {
        let (_, list) = LISTS.iter().find(|(known, _)| known == dataset)?;
        list.parse().ok()
    };
    Wallet {
        line,
        keys: properties.public_key,
        currencies: currencies.collect(),
        holders: properties.holder.iter().map(|holder| holder.id().to_owned()).collect(),
        exchange: exchanges.into_iter().next(),
        topics: properties.topics,
        list: entity.datasets.iter().find_map(list),
        link: properties.source_url.into_iter().next(),
    }
}

/// Adds the labels of a wallet, by its own topics, else by those of its holder.
fn keep(
    collector: &mut LabelCollector<'_>,
    file: &str,
    wallet: &Wallet,
    holders: &[&(String, Vec<String>)],
) -> Result<(), FileError> {
    let topics = wallet.topics.iter().chain(holders.iter().flat_map(|(_, topics)| topics));
    let topics: Vec<&str> = topics.map(String::as_str).collect();
    let category = TOPICS
        .iter()
        .find(|(topic, _)| topics.iter().any(|found| found == topic))
        .map_or(Category::Uncategorized, |(_, category)| *category);
    let codes = codes(&wallet.currencies);
    for key in wallet.keys.iter().flat_map(|text| keys(&codes, text)) {
        let position = || format!("{file}, line {}", wallet.line);
        let read = read_key(&codes, key);
        let claim = |address| LabelFields {
            entity: holders.iter().map(|(name, _)| name.as_str()).find(|name| !name.is_empty()),
            author: Some("OpenSanctions"),
            upstream: wallet.list.as_ref().map(ListId::as_str),
            term: topics.first().copied(),
            cites_list: wallet.list.clone(),
            reason: wallet.exchange.as_deref(),
            reference: wallet.link.as_deref(),
            ..LabelFields::new(address, category, Tier::Investigation, CONFIDENCE)
        };
        if read.is_empty() {
            collector.add(Err(unread(&codes, key)), position, claim)?;
        }
        for address in read {
            collector.add(Ok(address), position, claim)?;
        }
    }
    Ok(())
}

/// The codes of the currencies that the texts of a wallet name; a text that names none is a code itself.
fn codes(currencies: &[String]) -> Vec<&str> {
    let mut codes: Vec<&str> = Vec::new();
    for text in currencies {
        if ChainId::from_list_code(text).is_some() {
            codes.push(text.trim());
            continue;
        }
        let named = currency::currencies_near(text, "");
        codes.extend(named.iter().map(|currency| currency.code));
        if named.is_empty() && !text.trim().is_empty() {
            codes.push(text.trim());
        }
    }
    codes
}

/// The keys in a text: the text itself, or its parts if it holds several addresses.
fn keys<'a>(codes: &[&str], text: &'a str) -> Vec<&'a str> {
    if !read_key(codes, text).is_empty() {
        return vec![text];
    }
    let parts = published_parts(text, |part| !read_key(codes, part).is_empty());
    let read: Vec<&str> =
        parts.iter().copied().filter(|part| !read_key(codes, part).is_empty()).collect();
    // Parts of the length of an address are reported, words beside the addresses are not.
    let is_key = |part: &&str| read.contains(part) || part.len() >= SHORTEST_ADDRESS;
    if read.is_empty() { vec![text] } else { parts.into_iter().filter(is_key).collect() }
}

/// Reads a key by each currency whose chain has such addresses, else by its own form, else, under an unknown currency,
/// as an address of the chains without rules. The list is empty if it is none of them.
fn read_key(codes: &[&str], key: &str) -> Vec<CanonicalAddress> {
    let mut addresses: Vec<CanonicalAddress> = Vec::new();
    for code in codes {
        if let Ok(address) = chains::parse_address(None, Some(code), key)
            && !addresses.contains(&address)
        {
            addresses.push(address);
        }
    }
    if !addresses.is_empty() {
        return addresses;
    }
    if let [found] = found::find(key).as_slice()
        && found.text == key.trim()
        && let Ok(address) = chains::parse_address(None, Some(&found.asset_code), &found.text)
    {
        return vec![address];
    }
    let is_unknown = |code: &&str| AssetScope::for_code(code) == AssetScope::Unknown;
    let other = codes
        .iter()
        .any(is_unknown)
        .then(|| CanonicalAddress::parse_published(ChainId::OTHER, key).ok());
    other.flatten().into_iter().collect()
}

/// The reason why a key is no address.
fn unread(codes: &[&str], key: &str) -> LabelAddressError {
    let by_code = codes.first().map(|code| chains::parse_address(None, Some(code), key));
    match by_code {
        Some(Err(error)) => error,
        _ => LabelAddressError::Invalid("no currency is named".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wallet_has_the_topics_of_its_holder_and_cites_its_list() {
        let source = "opensanctions".parse().unwrap();
        let file = r#"
{"id":"w1","schema":"CryptoWallet","datasets":["us_ofac_sdn"],"properties":{"publicKey":["1KUCzSr49wPWckUDouJLybJuRYtViF5hfM"],"currency":["XBT"],"holder":["p1"]}}
{"id":"p1","schema":"Person","datasets":["us_ofac_sdn"],"last_change":"2026-01-02T00:00:00","properties":{"name":["DOE, Jane"],"topics":["sanction"],"birthDate":["1980"]}}
{"id":"w2","schema":"CryptoWallet","datasets":["x"],"properties":{"publicKey":["TDMpPL2PQ89MvXzYvhVupvgjFB3AomNWYF"],"topics":["crime.theft"],"mangingExchange":["OKX"]}}
{"id":"w4","schema":"CryptoWallet","datasets":["x"],"properties":{"publicKey":["0x098B716B8Aaf21512996dC57EB0615e2383E2f96, TUCsTq7TofTCJRRoHk6RvhMoS2mJLm5Yzq"],"currency":["USDT"]}}
{"id":"w5","schema":"CryptoWallet","datasets":["x"],"properties":{"publicKey":["TUCsTq7TofTCJRRoHk6RvhMoS2mJLm5Yzq; 12QtD5BFwRsdNsAZY76UVE1xyCGNTojH9h"],"currency":["BTC","USDT (TRC20)"]}}
{"id":"w6","schema":"CryptoWallet","datasets":["x"],"properties":{"publicKey":["k:85abc7701c01fc72"],"currency":["KDA"]}}
{"id":"w7","schema":"CryptoWallet","datasets":["x"],"properties":{"publicKey":["3LtcaPbCj87CwJHnRX3vh7c2y9RZQqeSy8 (exchange)"],"currency":["XBT, ETH"]}}
{"id":"w3","schema":"CryptoWallet","datasets":["x"],"properties":{"publicKey":["1kuczsr49wpwckudoujlybjurytvif5hfm"],"currency":["BTC"]}}
"#;
        let set = read(file.as_bytes(), "f.json", &source).unwrap();

        let rows: Vec<_> = set
            .labels
            .iter()
            .map(|label| {
                let (address, label) = (&label.address, &label.label);
                let list = label.cites_list.as_ref().map(ListId::as_str);
                (address.chain().as_str(), label.category.as_str(), label.entity.as_deref(), list)
            })
            .collect();
        assert_eq!(
            rows,
            [
                ("btc", "sanctions", Some("DOE, Jane"), Some("ofac-sdn")),
                ("trx", "stolen_funds", None, None),
                ("eth", "uncategorized", None, None),
                ("trx", "uncategorized", None, None),
                ("btc", "uncategorized", None, None),
                ("other", "uncategorized", None, None),
                ("btc", "uncategorized", None, None),
            ]
        );
        assert_eq!(set.published_on, Some(jiff::civil::date(2026, 1, 2)));
        assert!(set.rejected[0].reason.contains("all letters are lowercase"), "{:?}", set.rejected);
        let error = read("[]".as_bytes(), "f.json", &source).unwrap_err().to_string();
        assert!(
            error.starts_with("line 1 cannot be read as an entity of FollowTheMoney"),
            "{error}"
        );
    }
}
