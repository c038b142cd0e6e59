//! Labels: what a label set holds, and the readers, one module a format.
//!
//! A reader takes a file's bytes and name and the source it is imported as. What is wrong with one
//! label goes to [`LabelSet::rejected`]; what makes the whole file doubtful (another encoding, a
//! broken structure, a size that no real file has) is a [`LabelError`], and nothing is kept.
//!
//! - [`tagpack`]: GraphSense TagPack files
//! - [`explorer`]: name tags and labels of block explorers
//! - [`csv`] and [`jsonl`]: Assay's own, for labels of yours
//! - [`terms`]: what the sources' words mean in Assay's taxonomy

mod chains;
mod cites;
mod collect;
pub mod csv;
mod distinct;
mod error;
pub mod explorer;
pub mod jsonl;
mod row;
pub mod tagpack;
pub mod terms;
mod text;
mod web;

use std::collections::BTreeMap;

use assay_engine::evidence::AddressLabel;
use jiff::civil::Date;

pub use error::LabelError;
pub use row::FIELDS;

use self::distinct::Distinct;
use crate::sanctions::Rejected;

/// Labels as one file or several files of one source give them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LabelSet {
    /// The newest date that the files themselves give; `None` where they give none.
    pub published_on: Option<Date>,
    /// The labels, in the files' order; no two are the same.
    pub labels: Vec<AddressLabel>,
    /// What could not be taken in, with the reason.
    pub rejected: Vec<Rejected>,
    /// How often a source's own word is in no table. An unknown word for a category leaves its label
    /// `uncategorized`, with the word; an unknown word for a confidence, counted as
    /// `confidence: word`, is as good as none.
    pub unknown_terms: BTreeMap<String, u64>,
    /// How many labels are about chains that Assay does not read, by the source's code for them.
    pub unsupported: BTreeMap<String, u64>,
}

impl LabelSet {
    /// This and `other`, in this order, each label once. For more than two, collect them: that
    /// compares each label once only.
    #[must_use]
    pub fn merge(self, other: Self) -> Self {
        [self, other].into_iter().collect()
    }
}

impl FromIterator<Self> for LabelSet {
    fn from_iter<I: IntoIterator<Item = Self>>(sets: I) -> Self {
        let (mut whole, mut distinct) = (Self::default(), Distinct::default());
        for set in sets {
            whole.published_on = whole.published_on.max(set.published_on);
            for entry in set.labels {
                distinct.push(&mut whole.labels, entry);
            }
            whole.rejected.extend(set.rejected);
            for (word, count) in set.unknown_terms {
                *whole.unknown_terms.entry(word).or_default() += count;
            }
            for (code, count) in set.unsupported {
                *whole.unsupported.entry(code).or_default() += count;
            }
        }
        whole
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Bytes, and what is nearly one of the formats.
    fn anything() -> impl Strategy<Value = Vec<u8>> {
        let nearly = "(blockchain,address,category\n|btc|0x|,|\"|\\{|\\}|: |\n|- |address|tags|&a |\\*a|\\[|[ -~])*";
        prop_oneof![any::<Vec<u8>>(), nearly.prop_map(String::into_bytes)]
    }

    proptest! {
        #[test]
        fn no_input_stops_a_reader(bytes in anything()) {
            let source = "mine".parse().unwrap();
            let explorer = explorer::Explorer::of_file("etherscan").unwrap();
            let refused = [
                csv::read(&*bytes, "f", &source).err(),
                jsonl::read(&*bytes, "f", &source).err(),
                tagpack::read(&*bytes, "f", &source).err(),
                explorer::read(&*bytes, "f", &source, &explorer).err(),
            ];
            for error in refused.into_iter().flatten() {
                prop_assert!(error.to_string().starts_with("f, line "), "{error}");
            }
        }
    }

    fn set(text: &str) -> LabelSet {
        let text = format!("blockchain,address,category\n{text}");
        csv::read(text.as_bytes(), "f.csv", &"mine".parse().unwrap()).unwrap()
    }

    #[test]
    fn merging_keeps_each_label_once_and_adds_up_the_rest() {
        let one = "btc,1NDyJtNTjmwk5xPNhjgAMu4HDHigtobu1s,exchange\n";
        let two = "btc,3CTPRyUbCKkByGmAVvDV6ReZXT1WfV3UPd,exchange\n";
        let odd = "btc,3CTPRyUbCKkByGmAVvDV6ReZXT1WfV3UPd,odd\nada,x,exchange\nbtc,x,exchange\n";

        let mut left = set(&format!("{one}{odd}"));
        left.published_on = Some(jiff::civil::date(2024, 1, 2));
        let merged = left.merge(set(&format!("{two}{one}{odd}")));

        let categories: Vec<_> =
            merged.labels.iter().map(|entry| entry.label.category.as_str()).collect();
        assert_eq!(categories, ["exchange", "uncategorized", "exchange"]);
        assert_eq!(merged.rejected.len(), 2);
        assert_eq!(merged.unknown_terms, BTreeMap::from([("odd".to_owned(), 2)]));
        assert_eq!(merged.unsupported, BTreeMap::from([("ada".to_owned(), 2)]));
        assert_eq!(merged.published_on, Some(jiff::civil::date(2024, 1, 2)));
    }
}
