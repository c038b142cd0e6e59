//! Labels: the content of a label set, and the parts that readers of several formats share.
//!
//! A label with a fault is reported in [`LabelSet::rejected`]. A fault that makes the whole file doubtful
//! (another encoding, broken syntax, a size that no real file has) is a
//! [`FileError`](crate::formats::FileError), and nothing of the file is kept.

pub(crate) mod chains;
pub(crate) mod cited_list;
pub(crate) mod collect;
mod distinct;
pub(crate) mod row;
pub mod terms;
pub(crate) mod text;
pub(crate) mod web;

use std::collections::BTreeMap;

use assay_engine::evidence::AddressLabel;
use jiff::civil::Date;

pub use row::FIELDS;

use self::distinct::DistinctLabels;
use crate::listings::Rejected;

/// Labels of one or several files of a source.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LabelSet {
    /// The newest date that the files state; `None` if they state none.
    pub published_on: Option<Date>,
    /// Distinct labels, in the order of the files.
    pub labels: Vec<AddressLabel>,
    /// Rows that are left out, each with the reason.
    pub rejected: Vec<Rejected>,
    /// Number of uses of each term that is in no table. A label with an unknown term for its category is
    /// `uncategorized` and keeps the term. An unknown term for a confidence is counted as `confidence: TERM`, and
    /// treated as no term.
    pub unknown_terms: BTreeMap<String, u64>,
    /// Number of labels that are left out because Assay does not support their chain, by the source's code
    /// for the chain.
    pub unsupported: BTreeMap<String, u64>,
}

impl LabelSet {
    /// The labels of this set, then those of `other`; equal labels are kept once. To merge more than two sets, use
    /// `collect`, which compares each label only once.
    #[must_use]
    pub fn merge(self, other: Self) -> Self {
        [self, other].into_iter().collect()
    }
}

impl FromIterator<Self> for LabelSet {
    fn from_iter<I: IntoIterator<Item = Self>>(sets: I) -> Self {
        let (mut whole, mut distinct) = (Self::default(), DistinctLabels::default());
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
    use crate::formats::{explorer, labels_csv, labels_jsonl, tagpack};

    /// Random bytes, and texts that are nearly one of the formats.
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
                labels_csv::read(&*bytes, "f", &source).err(),
                labels_jsonl::read(&*bytes, "f", &source).err(),
                tagpack::read(&*bytes, "f", &source).err(),
                explorer::read(&*bytes, "f", &source, &explorer).err(),
            ];
            for error in refused.into_iter().flatten() {
                prop_assert!(error.to_string().starts_with("line "), "{error}");
            }
        }
    }

    fn set(text: &str) -> LabelSet {
        let text = format!("blockchain,address,category\n{text}");
        labels_csv::read(text.as_bytes(), "f.csv", &"mine".parse().unwrap()).unwrap()
    }

    #[test]
    fn merging_keeps_each_label_once_and_adds_up_the_rest() {
        let one = "btc,1NDyJtNTjmwk5xPNhjgAMu4HDHigtobu1s,exchange\n";
        let two = "btc,3CTPRyUbCKkByGmAVvDV6ReZXT1WfV3UPd,exchange\n";
        let odd = "btc,3CTPRyUbCKkByGmAVvDV6ReZXT1WfV3UPd,odd\nkda,x,exchange\nbtc,x,exchange\n";

        let mut left = set(&format!("{one}{odd}"));
        left.published_on = Some(jiff::civil::date(2024, 1, 2));
        let merged = left.merge(set(&format!("{two}{one}{odd}")));

        let categories: Vec<_> =
            merged.labels.iter().map(|entry| entry.label.category.as_str()).collect();
        assert_eq!(categories, ["exchange", "uncategorized", "exchange"]);
        assert_eq!(merged.rejected.len(), 2);
        assert_eq!(merged.unknown_terms, BTreeMap::from([("odd".to_owned(), 2)]));
        assert_eq!(merged.unsupported, BTreeMap::from([("kda".to_owned(), 2)]));
        assert_eq!(merged.published_on, Some(jiff::civil::date(2024, 1, 2)));
    }
}
