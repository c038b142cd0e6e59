//! Format `explorer`: name tags of block explorers, a JSON object from address to name and labels.

mod terms;

use std::{collections::HashMap, fmt, io::BufRead, sync::Arc};

use assay_address::{CanonicalAddress, ChainId};
use assay_engine::{evidence::Tier, names::SourceId, taxonomy::Category};
use assay_input::FileSelection;
use serde::{
    Deserialize,
    de::{Deserializer, Error as _, MapAccess, Visitor},
};

pub use self::terms::TERMS;
use super::{FileError, Format, FormatFile, FormatReader, ReadContext, ReadOption};
use crate::labels::{
    LabelSet, cited_list,
    collect::{LabelCollector, LabelFields},
    terms::rank,
    text,
};

/// Name tags of block explorers.
pub static FORMAT: Format = Format {
    id: "explorer",
    short_id: None,
    title: "Name tags of block explorers (JSON)",
    files: FileSelection { extensions: &["json"], several: true },
    options: &[ReadOption::Blockchain, ReadOption::PublishedOn],
    default_source: None,
    terms: Some(&TERMS),
    reader: FormatReader::Labels(|input, context| input.read_each(|file| read_file(file, context))),
};

/// Reads a file of the explorer that the context or the file's name gives.
fn read_file(file: FormatFile<'_>, context: &ReadContext<'_>) -> Result<LabelSet, FileError> {
    let stem = file.name.rsplit_once('.').map_or(file.name, |(stem, _)| stem);
    let explorer = match (context.blockchain, Explorer::of_file(stem)) {
        (Some(chain), Some(known)) => Explorer { chain, ..known },
        (Some(chain), None) => Explorer { chain, host: stem.to_owned() },
        (None, Some(known)) => known,
        (None, None) => {
            let known: Vec<&str> = Explorer::known().map(|(name, ..)| name).collect();
            return Err(FileError::UnknownExplorer { known: known.join(", ") });
        }
    };
    read(file.content, file.name, context.source, &explorer)
}

/// Block explorer: the chain that it shows, and its host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explorer {
    /// Chain that the explorer shows.
    pub chain: ChainId,
    /// Host of the explorer, which is the upstream of its labels.
    pub host: String,
}

/// File names without extensions, chain and host of each explorer.
static EXPLORERS: [(&[&str], &str, &str); 26] = [
    (&["etherscan"], "eth", "etherscan.io"),
    (&["bscscan"], "bsc", "bscscan.com"),
    (&["polygonscan"], "polygon", "polygonscan.com"),
    (&["arbiscan"], "arbitrum", "arbiscan.io"),
    (&["arbiscan-nova", "nova"], "arbitrum-nova", "nova.arbiscan.io"),
    (&["optimism", "optimistic"], "optimism", "optimistic.etherscan.io"),
    (&["basescan"], "base", "basescan.org"),
    (&["snowtrace"], "avalanche", "snowtrace.io"),
    (&["ftmscan"], "fantom", "ftmscan.com"),
    (&["sonicscan"], "sonic", "sonicscan.org"),
    (&["gnosisscan"], "gnosis", "gnosisscan.io"),
    (&["celoscan"], "celo", "celoscan.io"),
    (&["cronoscan"], "cronos", "cronoscan.com"),
    (&["moonscan", "moonbeam"], "moonbeam", "moonbeam.moonscan.io"),
    (&["moonriver"], "moonriver", "moonriver.moonscan.io"),
    (&["lineascan"], "linea", "lineascan.build"),
    (&["scrollscan"], "scroll", "scrollscan.com"),
    (&["blastscan"], "blast", "blastscan.io"),
    (&["mantlescan"], "mantle", "mantlescan.xyz"),
    (&["opbnbscan"], "opbnb", "opbnb.bscscan.com"),
    (&["uniscan"], "unichain", "uniscan.xyz"),
    (&["worldscan"], "worldchain", "worldscan.org"),
    (&["berascan"], "berachain", "berascan.com"),
    (&["apescan"], "apechain", "apescan.io"),
    (&["abscan"], "abstract", "abscan.org"),
    (&["tronscan"], "trx", "tronscan.org"),
];

impl Explorer {
    /// The explorer that a file is named after, such as `etherscan.json`, in any directory.
    #[must_use]
    pub fn of_file(file: &str) -> Option<Self> {
        let name = file.rsplit(['/', '\\']).next()?;
        let stem = name.split('.').next()?.to_ascii_lowercase();
        let (_, chain, host) = EXPLORERS.iter().find(|row| row.0.contains(&stem.as_str()))?;
        Some(Self { chain: chain.parse().ok()?, host: (*host).to_owned() })
    }

    /// The file names without extensions that name an explorer, each with its chain and host.
    pub fn known() -> impl Iterator<Item = (&'static str, &'static str, &'static str)> {
        let named = |row: &'static (&'static [&'static str], &'static str, &'static str)| {
            row.0.iter().map(|stem| (*stem, row.1, row.2))
        };
        EXPLORERS.iter().flat_map(named)
    }
}

/// Reads the labels of an explorer as labels of `source`. An address that appears twice, in different spellings, has
/// the words of both entries.
///
/// # Errors
///
/// Returns an error if the file is not UTF-8, too large, or no JSON object of this format.
pub fn read(
    input: impl BufRead,
    file: &str,
    source: &SourceId,
    explorer: &Explorer,
) -> Result<LabelSet, FileError> {
    // The whole file is one line: lines have no limit of their own.
    let text = text::read_whole(input, text::MAX_HELD_BYTES, None)?;
    let mut tags = Tags {
        explorer,
        collector: LabelCollector::new(file, source),
        tagged: Vec::new(),
        indices: HashMap::new(),
        entries: 0,
        error: None,
    };
    let mut json = serde_json::Deserializer::from_str(&text);
    let outcome = json.deserialize_map(FileVisitor(&mut tags)).and_then(|()| json.end());
    if let Some(error) = tags.error {
        return Err(error);
    }
    outcome.map_err(|error| FileError::Syntax {
        line: u64::try_from(error.line()).unwrap_or_default().max(1),
        format: "an explorer's labels in JSON",
        reason: text::json_reason(&error),
    })?;
    drop(text);

    let Tags { mut collector, tagged, .. } = tags;
    for tagged in tagged {
        tagged.collect(explorer, &mut collector)?;
    }
    Ok(collector.finish())
}

/// Name tag and labels of an address.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    name: String,
    labels: Vec<String>,
}

/// Content of a file while it is read.
struct Tags<'a> {
    explorer: &'a Explorer,
    collector: LabelCollector<'a>,
    tagged: Vec<TaggedAddress>,
    /// Index of an address in `tagged`.
    indices: HashMap<CanonicalAddress, usize>,
    entries: u64,
    /// Error of an entry, kept in this struct because the JSON reader passes on only errors of its own type.
    error: Option<FileError>,
}

impl Tags<'_> {
    fn add(&mut self, key: &str, entry: &Entry) -> Result<(), FileError> {
        self.entries += 1;
        let position = |file: &str, number| format!("{file}, entry {number}");
        let address = match CanonicalAddress::parse_published(self.explorer.chain, key) {
            Ok(address) => address,
            Err(error) => {
                let reason = format!("no address of {}: {error}", self.explorer.chain);
                return self.collector.reject(position(self.collector.file, self.entries), reason);
            }
        };
        let name = self.collector.intern(&entry.name);
        let words = entry.labels.iter().map(|word| self.collector.intern(word));
        let index = *self.indices.entry(address.clone()).or_insert(self.tagged.len());
        if let Some(tagged) = self.tagged.get_mut(index) {
            tagged.words.extend(words);
            if tagged.name.trim().is_empty() {
                tagged.name = name;
            }
        } else {
            let words = words.collect();
            self.tagged.push(TaggedAddress { entry: self.entries, address, name, words });
        }
        Ok(())
    }
}

struct FileVisitor<'t, 'a>(&'t mut Tags<'a>);

impl<'de> Visitor<'de> for FileVisitor<'_, '_> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object of addresses")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some((key, entry)) = map.next_entry::<String, Entry>()? {
            if let Err(error) = self.0.add(&key, &entry) {
                let json_error = A::Error::custom(&error);
                self.0.error = Some(error);
                return Err(json_error);
            }
        }
        Ok(())
    }
}

/// Address with its name tag and all labels of the explorer.
struct TaggedAddress {
    entry: u64,
    address: CanonicalAddress,
    name: Arc<str>,
    words: Vec<Arc<str>>,
}

impl TaggedAddress {
    /// Adds a label for the highest-ranking word. A tag word that cites a sanctions list ("ofac") becomes a separate
    /// label that lapses when the listing ends, so the category from the address's other tag words remains. If the word
    /// only states that an issuer froze the balance, a label tells too if the address is a smart contract.
    fn collect(
        &self,
        explorer: &Explorer,
        collector: &mut LabelCollector<'_>,
    ) -> Result<(), FileError> {
        let known = |word: &Arc<str>| Some((TERMS.category(word, &explorer.host)?, word.clone()));
        let (listed, others): (Vec<_>, Vec<_>) = self
            .words
            .iter()
            .filter_map(known)
            .partition(|(category, _)| *category == Category::Sanctions);
        let highest = others.iter().reduce(higher);
        let is_frozen = highest.is_some_and(|(category, _)| *category == Category::IssuerFrozen);
        let contract = others.iter().filter(|(category, _)| is_frozen && category.is_contract());
        let contract = contract.reduce(higher);
        let is_specific = |decided: &&(Category, Arc<str>)| {
            listed.is_empty() || decided.0 != Category::Uncategorized
        };
        let decided: Vec<_> =
            listed.first().into_iter().chain(highest.filter(is_specific)).chain(contract).collect();
        for (category, word) in &decided {
            self.add_label(*category, Some(word), explorer, collector)?;
        }
        if decided.is_empty() {
            for word in &self.words {
                collector.count_unknown_term(word)?;
            }
        }
        let is_open = decided.is_empty() || is_frozen && contract.is_none();
        let first = self.words.first().map(AsRef::as_ref);
        if is_open && is_token_name(&self.name) {
            self.add_label(Category::TokenContract, first, explorer, collector)?;
        } else if decided.is_empty() {
            self.add_label(Category::Uncategorized, first, explorer, collector)?;
        }
        Ok(())
    }

    fn add_label(
        &self,
        category: Category,
        word: Option<&str>,
        explorer: &Explorer,
        collector: &mut LabelCollector<'_>,
    ) -> Result<(), FileError> {
        // Explorers adopt users' reports of thefts and frauds; the other labels are their own work.
        let reported = [Category::PhishingDrainer, Category::StolenFunds, Category::Scam];
        let percent = if reported.contains(&category) { 85 } else { 90 };
        let claim = LabelFields {
            entity: Some(&self.name),
            upstream: Some(&explorer.host),
            term: word,
            cites_list: word
                .filter(|_| category == Category::Sanctions)
                .and_then(cited_list::named),
            ..LabelFields::new(self.address.clone(), category, Tier::Investigation, percent)
        };
        let position = format!("{}, entry {}", collector.file, self.entry);
        collector.keep(claim, || position)
    }
}

/// The higher-ranking of two categories with their words; the first if their ranks are equal.
fn higher<'a>(
    one: &'a (Category, Arc<str>),
    other: &'a (Category, Arc<str>),
) -> &'a (Category, Arc<str>) {
    if rank(other.0) > rank(one.0) { other } else { one }
}

/// True if a name tag is that of a token's contract, as explorers write them: `Curve.fi: CRV Token` or
/// `Chainlink (LINK)`.
fn is_token_name(name: &str) -> bool {
    let name = name.trim();
    let symbol = name.strip_suffix(')').and_then(|name| name.rsplit_once(" ("));
    let is_symbol = |symbol: &str| {
        (2..=MOST_SYMBOL).contains(&symbol.len())
            && symbol.bytes().all(|byte| byte.is_ascii_alphanumeric())
            && symbol.bytes().any(|byte| byte.is_ascii_uppercase())
    };
    name.ends_with(" Token") || symbol.is_some_and(|(_, symbol)| is_symbol(symbol))
}

/// Length of the longest symbol of a token.
const MOST_SYMBOL: usize = 11;

#[cfg(test)]
mod tests;
