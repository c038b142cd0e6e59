//! Terms: the words of a format for categories, and their meaning in Assay's taxonomy.
//!
//! The tables are data, so that the documentation can print them.

use assay_engine::taxonomy::Category;

/// Row of a table of terms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Term {
    /// Word of the format, in lower case.
    pub word: &'static str,
    /// Category that the word stands for.
    pub category: Category,
    /// Hosts to whose labels the row is limited, for which it precedes the row for all hosts; empty: the row is for all
    /// hosts.
    pub only_from: &'static [&'static str],
}

/// Table of the terms of a format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TermTable {
    /// Terms that are limited to some hosts.
    pub exceptions: &'static [Term],
    /// Words by category.
    pub groups: &'static [(Category, &'static [&'static str])],
}

impl TermTable {
    /// The rows, those limited to some hosts first.
    pub fn rows(&self) -> impl Iterator<Item = Term> {
        let grouped = |(category, words): &'static (Category, &'static [&'static str])| {
            words.iter().map(|word| Term { word, category: *category, only_from: &[] })
        };
        self.exceptions.iter().copied().chain(self.groups.iter().flat_map(grouped))
    }

    /// The category of `word` in a label of the host `upstream`; `None` for an unknown word. Case and the
    /// choice of spaces, `_` or `-` between words make no difference.
    #[must_use]
    pub fn category(&self, word: &str, upstream: &str) -> Option<Category> {
        self.rows()
            .find(|row| {
                is_same(row.word, word)
                    && (row.only_from.is_empty() || row.only_from.contains(&upstream))
            })
            .map(|row| row.category)
    }
}

/// True if two words differ only in case and separators.
pub(crate) fn is_same(known: &str, word: &str) -> bool {
    let plain = |byte: u8| match byte {
        b' ' | b'-' => b'_',
        byte => byte.to_ascii_lowercase(),
    };
    known.len() == word.len() && known.bytes().map(plain).eq(word.bytes().map(plain))
}

/// Rank of a category among several categories of one label: specific categories before `uncategorized`, then by
/// severity.
pub(crate) fn rank(category: Category) -> (bool, u8) {
    (category != Category::Uncategorized, category.info().severity)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::formats::{FORMATS, explorer, tagpack};

    #[test]
    fn a_term_has_one_meaning_in_a_table() {
        for table in FORMATS.iter().filter_map(|format| format.terms) {
            let mut seen = BTreeSet::new();
            for row in table.rows() {
                let word = row.word.replace(['-', ' '], "_");
                assert_eq!(word, word.to_lowercase());
                assert!(seen.insert((word, row.only_from)), "{} twice", row.word);
            }
        }
    }

    #[test]
    fn separators_and_case_make_no_difference() {
        for word in ["mixing_service", "Mixing Service", "MIXING-SERVICE"] {
            assert_eq!(tagpack::TERMS.category(word, ""), Some(Category::Mixer), "{word}");
        }
        assert_eq!(tagpack::TERMS.category("mixing", ""), Some(Category::Mixer));
        assert_eq!(tagpack::TERMS.category("mixing_servic", ""), None);
        assert_eq!(explorer::TERMS.category("phish-hack", ""), Some(Category::PhishingDrainer));
    }

    #[test]
    fn market_is_a_darknet_market_except_from_explorers() {
        assert_eq!(
            tagpack::TERMS.category("market", "treasury.gov"),
            Some(Category::DarknetMarket)
        );
        assert_eq!(
            tagpack::TERMS.category("market", "etherscan.io"),
            Some(Category::Uncategorized)
        );
    }

    #[test]
    fn every_category_ranks_above_uncategorized() {
        assert!(rank(Category::Exchange) > rank(Category::Uncategorized));
        assert!(rank(Category::Mixer) > rank(Category::Exchange));
    }
}
