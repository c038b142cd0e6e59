//! What the sources' own words mean: one table a format, and how sure GraphSense's words are.
//!
//! The tables are data, so that the documentation can print them and a reader can check them.

mod explorer;
mod graphsense;

use assay_engine::taxonomy::Category;

pub use graphsense::{CONFIDENCES, ConfidenceWord};

/// One row of a table of words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Term {
    /// The source's word, lowercase.
    pub word: &'static str,
    /// What it means here.
    pub category: Category,
    /// Where the row holds for claims of these hosts only, ahead of the row that holds for all.
    pub only_from: &'static [&'static str],
}

/// Words of one kind of source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TermTable {
    /// The format that uses them: `tagpack` or `explorer`.
    pub format: &'static str,
    exceptions: &'static [Term],
    groups: &'static [(Category, &'static [&'static str])],
}

/// The words of TagPack files: the concepts of GraphSense and INTERPOL's working group.
pub static TAGPACK: TermTable =
    TermTable { format: "tagpack", exceptions: graphsense::EXCEPTIONS, groups: graphsense::GROUPS };

/// The labels of block explorers.
pub static EXPLORER: TermTable =
    TermTable { format: "explorer", exceptions: &[], groups: explorer::GROUPS };

/// Every table.
#[must_use]
pub fn tables() -> [&'static TermTable; 2] {
    [&TAGPACK, &EXPLORER]
}

impl TermTable {
    /// Every row.
    pub fn rows(&self) -> impl Iterator<Item = Term> {
        let grouped = |(category, words): &'static (Category, &'static [&'static str])| {
            words.iter().map(|word| Term { word, category: *category, only_from: &[] })
        };
        self.exceptions.iter().copied().chain(self.groups.iter().flat_map(grouped))
    }

    /// What `word` means in a claim first made by `upstream`; `None` for a word of no table. Case,
    /// and whether words are joined by spaces, `_` or `-`, make no difference.
    #[must_use]
    pub fn category(&self, word: &str, upstream: &str) -> Option<Category> {
        self.rows()
            .find(|row| {
                same(row.word, word)
                    && (row.only_from.is_empty() || row.only_from.contains(&upstream))
            })
            .map(|row| row.category)
    }
}

fn same(known: &str, word: &str) -> bool {
    let plain = |byte: u8| match byte {
        b' ' | b'-' => b'_',
        byte => byte.to_ascii_lowercase(),
    };
    known.len() == word.len() && known.bytes().map(plain).eq(word.bytes().map(plain))
}

/// How much a category weighs where several are claimed at once: one that says something before
/// `uncategorized`, then the more severe one.
pub(super) fn weight(category: Category) -> (bool, u8) {
    (category != Category::Uncategorized, category.info().severity)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn no_table_says_two_things_of_one_word() {
        for table in tables() {
            let mut seen = BTreeSet::new();
            for row in table.rows() {
                let word = row.word.replace(['-', ' '], "_");
                assert_eq!(word, word.to_lowercase());
                assert!(seen.insert((word, row.only_from)), "{} twice", row.word);
            }
        }
    }

    #[test]
    fn words_are_found_however_they_are_joined() {
        for word in ["mixing_service", "Mixing Service", "MIXING-SERVICE"] {
            assert_eq!(TAGPACK.category(word, ""), Some(Category::Mixer), "{word}");
        }
        assert_eq!(TAGPACK.category("mixing", ""), Some(Category::Mixer));
        assert_eq!(TAGPACK.category("mixing_servic", ""), None);
        assert_eq!(EXPLORER.category("phish-hack", ""), Some(Category::PhishingDrainer));
    }

    #[test]
    fn a_word_for_confidence_is_one_of_fourteen() {
        let words: BTreeSet<_> = CONFIDENCES.iter().map(|known| known.word).collect();
        assert_eq!(words.len(), 14);
        assert_eq!(ConfidenceWord::of("unknown"), Some(ConfidenceWord::unknown()));
        assert_eq!(
            ConfidenceWord::of("Service Data").map(|known| known.confidence.percent()),
            Some(90)
        );
        assert_eq!(ConfidenceWord::of("sure"), None);
    }

    #[test]
    fn a_market_is_dark_unless_an_explorer_says_it() {
        assert_eq!(TAGPACK.category("market", "treasury.gov"), Some(Category::DarknetMarket));
        assert_eq!(TAGPACK.category("market", "etherscan.io"), Some(Category::Uncategorized));
    }

    #[test]
    fn what_says_something_weighs_more_than_uncategorized() {
        assert!(weight(Category::Exchange) > weight(Category::Uncategorized));
        assert!(weight(Category::Mixer) > weight(Category::Exchange));
    }
}
