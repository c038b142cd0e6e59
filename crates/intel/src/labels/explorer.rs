//! Labels of block explorers: a JSON object from address to name and labels.

use std::{collections::HashMap, fmt, io::BufRead, sync::Arc};

use assay_engine::{
    address::CanonicalAddress, chain::ChainId, evidence::Tier, names::SourceId, score::Confidence,
    taxonomy::Category,
};
use serde::{
    Deserialize,
    de::{Deserializer, Error as _, MapAccess, Visitor},
};

use super::{
    LabelError, LabelSet, cites,
    collect::{Claim, Collector},
    terms::{self, EXPLORER},
    text,
};

/// A block explorer: the chain it shows and the host it is at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explorer {
    /// The chain.
    pub chain: ChainId,
    /// The host, which is who first made its claims.
    pub host: String,
}

/// Explorers by the names that files of their labels have, with the chain and the host.
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
    /// The explorer that a file is named after, such as `etherscan.json`, in whatever directory.
    #[must_use]
    pub fn of_file(file: &str) -> Option<Self> {
        let name = file.rsplit(['/', '\\']).next()?;
        let stem = name.split('.').next()?.to_ascii_lowercase();
        let (_, chain, host) = EXPLORERS.iter().find(|row| row.0.contains(&stem.as_str()))?;
        Some(Self { chain: chain.parse().ok()?, host: (*host).to_owned() })
    }

    /// The file names, without their ending, that name an explorer, each with its chain and host.
    pub fn known() -> impl Iterator<Item = (&'static str, &'static str, &'static str)> {
        let named = |row: &'static (&'static [&'static str], &'static str, &'static str)| {
            row.0.iter().map(|stem| (*stem, row.1, row.2))
        };
        EXPLORERS.iter().flat_map(named)
    }
}

/// Reads the labels of one explorer. An address that is there twice, in different spellings, has the
/// words of both.
///
/// # Errors
///
/// Where the file is not text, too large, or no such object.
pub fn read(
    input: impl BufRead,
    file: &str,
    source: &SourceId,
    explorer: &Explorer,
) -> Result<LabelSet, LabelError> {
    // The whole file is one line, so lines have no limit of their own.
    let text = text::whole(input, file, text::LARGEST_HELD, None)?;
    let mut tags = Tags {
        explorer,
        collector: Collector::new(file, source),
        tagged: Vec::new(),
        places: HashMap::new(),
        entries: 0,
        failed: None,
    };
    let mut json = serde_json::Deserializer::from_str(&text);
    let outcome = json.deserialize_map(InFile(&mut tags)).and_then(|()| json.end());
    if let Some(failed) = tags.failed {
        return Err(failed);
    }
    outcome.map_err(|error| LabelError::Broken {
        file: file.to_owned(),
        line: u64::try_from(error.line()).unwrap_or_default().max(1),
        format: "an explorer's labels in JSON",
        reason: text::json_reason(&error),
    })?;
    drop(text);

    let Tags { mut collector, tagged, .. } = tags;
    for tagged in tagged {
        tagged.label(explorer, &mut collector)?;
    }
    Ok(collector.finish())
}

/// What is said of one address.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    name: String,
    labels: Vec<String>,
}

/// What was read of a file so far.
struct Tags<'a> {
    explorer: &'a Explorer,
    collector: Collector<'a>,
    tagged: Vec<Tagged>,
    /// Where in it an address is.
    places: HashMap<CanonicalAddress, usize>,
    entries: u64,
    failed: Option<LabelError>,
}

impl Tags<'_> {
    fn take(&mut self, key: &str, entry: &Entry) -> Result<(), LabelError> {
        self.entries += 1;
        let place = |file: &str, number| format!("{file}, entry {number}");
        let address = match CanonicalAddress::parse_published(self.explorer.chain, key) {
            Ok(address) => address,
            Err(error) => {
                let reason = format!("no address of {}: {error}", self.explorer.chain);
                return self.collector.reject(place(self.collector.file, self.entries), reason);
            }
        };
        let name = self.collector.share(&entry.name);
        let words = entry.labels.iter().map(|word| self.collector.share(word));
        let place = *self.places.entry(address.clone()).or_insert(self.tagged.len());
        if let Some(tagged) = self.tagged.get_mut(place) {
            tagged.words.extend(words);
            if tagged.name.trim().is_empty() {
                tagged.name = name;
            }
        } else {
            self.tagged.push(Tagged { entry: self.entries, address, name, words: words.collect() });
        }
        Ok(())
    }
}

struct InFile<'t, 'a>(&'t mut Tags<'a>);

impl<'de> Visitor<'de> for InFile<'_, '_> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object of addresses")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some((key, entry)) = map.next_entry::<String, Entry>()? {
            if let Err(error) = self.0.take(&key, &entry) {
                let told = A::Error::custom(&error);
                self.0.failed = Some(error);
                return Err(told);
            }
        }
        Ok(())
    }
}

/// An address with all that the explorer says of it.
struct Tagged {
    entry: u64,
    address: CanonicalAddress,
    name: Arc<str>,
    words: Vec<Arc<str>>,
}

impl Tagged {
    /// Keeps what the weightiest word says. A word that only repeats a sanctions list makes a label
    /// of its own: it follows that list's status, and must not hide what else the address is once
    /// the list has dropped it.
    fn label(&self, explorer: &Explorer, collector: &mut Collector<'_>) -> Result<(), LabelError> {
        let known =
            |word: &Arc<str>| Some((EXPLORER.category(word, &explorer.host)?, word.clone()));
        let (listed, said): (Vec<_>, Vec<_>) = self
            .words
            .iter()
            .filter_map(known)
            .partition(|(category, _)| *category == Category::Sanctions);
        let weightiest = said.iter().reduce(|one, other| {
            if terms::weight(other.0) > terms::weight(one.0) { other } else { one }
        });
        let says_something = |decided: &&(Category, Arc<str>)| {
            listed.is_empty() || decided.0 != Category::Uncategorized
        };
        let decided: Vec<_> =
            listed.first().into_iter().chain(weightiest.filter(says_something)).collect();
        for (category, word) in &decided {
            self.keep(*category, Some(word), explorer, collector)?;
        }
        if decided.is_empty() {
            for word in &self.words {
                collector.unknown(word)?;
            }
            let first = self.words.first().map(AsRef::as_ref);
            self.keep(Category::Uncategorized, first, explorer, collector)?;
        }
        Ok(())
    }

    fn keep(
        &self,
        category: Category,
        word: Option<&str>,
        explorer: &Explorer,
        collector: &mut Collector<'_>,
    ) -> Result<(), LabelError> {
        // Explorers take over what users report of thefts and frauds; the rest is their own work.
        let reported = [Category::PhishingDrainer, Category::StolenFunds, Category::Scam];
        let percent = if reported.contains(&category) { 85 } else { 90 };
        let claim = Claim {
            address: self.address.clone(),
            category,
            tier: Tier::Investigation,
            confidence: Confidence::from_percent(percent),
            entity: Some(&self.name),
            author: None,
            upstream: Some(&explorer.host),
            term: word,
            cites_list: word.filter(|_| category == Category::Sanctions).and_then(cites::named),
            reason: None,
            reference: None,
            valid_from: None,
            valid_until: None,
        };
        let place = format!("{}, entry {}", collector.file, self.entry);
        collector.keep(claim, || place)
    }
}

#[cfg(test)]
mod tests;
