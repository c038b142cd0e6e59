//! Records of a label index: a labelled address, a label, and an entry of an index of hashes.

use assay_address::ChainId;
use assay_engine::{
    evidence::Tier,
    names::{ListId, SourceId},
    taxonomy::Category,
};
use jiff::civil::Date;
use serde::{Deserialize, Serialize};

use super::layout::take;

/// The values that records name by their numbers. A program that does not know one of them cannot read the index.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Vocabulary {
    pub(super) chains: Vec<ChainId>,
    pub(super) categories: Vec<Category>,
    pub(super) tiers: Vec<Tier>,
    pub(super) sources: Vec<SourceId>,
    pub(super) lists: Vec<ListId>,
}

/// A labelled address. Its text and its claims end at the beginning of those of the next address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct AddressRecord {
    /// Number of the chain in the vocabulary.
    pub(super) chain: u32,
    /// Beginning of the canonical text among the texts of addresses.
    pub(super) text: u64,
    /// Beginning of the labels among the claims.
    pub(super) claims: u32,
}

/// Bytes of an address's record.
pub(super) type AddressBytes = [u8; 16];

impl AddressRecord {
    pub(super) fn to_bytes(self) -> Vec<u8> {
        let Self { chain, text, claims } = self;
        [&chain.to_le_bytes()[..], &text.to_le_bytes(), &claims.to_le_bytes()].concat()
    }

    pub(super) fn read(bytes: &AddressBytes) -> Self {
        let mut rest = &bytes[..];
        Self { chain: word(&mut rest), text: long(&mut rest), claims: word(&mut rest) }
    }
}

/// A label by numbers: of its values in the vocabulary, and of its texts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct LabelRecord {
    pub(super) category: u32,
    pub(super) tier: u32,
    pub(super) source: u32,
    pub(super) cites_list: Option<u32>,
    pub(super) upstream: u32,
    pub(super) entity: Option<u32>,
    pub(super) author: Option<u32>,
    pub(super) term: Option<u32>,
    pub(super) reason: Option<u32>,
    pub(super) reference: Option<u32>,
    pub(super) valid_from: Option<Date>,
    pub(super) valid_until: Option<Date>,
    /// Confidence in percent.
    pub(super) confidence: u8,
}

/// Bytes of a label's record.
pub(super) type LabelBytes = [u8; 49];

impl LabelRecord {
    pub(super) fn to_bytes(self) -> Vec<u8> {
        let Self {
            category,
            tier,
            source,
            cites_list,
            upstream,
            entity,
            author,
            term,
            reason,
            reference,
            valid_from,
            valid_until,
            confidence,
        } = self;
        let words = [category, tier, source, upstream];
        let optional = [cites_list, entity, author, term, reason, reference];
        let mut bytes: Vec<u8> = words.into_iter().flat_map(u32::to_le_bytes).collect();
        bytes.extend(optional.into_iter().flat_map(|number| {
            // 0 is none.
            number.map_or(0, |number| number.saturating_add(1)).to_le_bytes()
        }));
        bytes.extend([valid_from, valid_until].into_iter().flat_map(day_bytes));
        bytes.push(confidence);
        bytes
    }

    pub(super) fn read(bytes: &LabelBytes) -> Self {
        let rest = &mut &bytes[..];
        let (category, tier, source, upstream) = (word(rest), word(rest), word(rest), word(rest));
        Self {
            category,
            tier,
            source,
            upstream,
            cites_list: word(rest).checked_sub(1),
            entity: word(rest).checked_sub(1),
            author: word(rest).checked_sub(1),
            term: word(rest).checked_sub(1),
            reason: word(rest).checked_sub(1),
            reference: word(rest).checked_sub(1),
            valid_from: day(rest),
            valid_until: day(rest),
            confidence: take(rest).map_or(0, |[percent]| percent),
        }
    }
}

/// A hash and the number of an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct HashRecord {
    pub(super) hash: u64,
    pub(super) address: u32,
}

/// Bytes of a hash's record.
pub(super) type HashBytes = [u8; 12];

impl HashRecord {
    pub(super) fn to_bytes(self) -> Vec<u8> {
        [&self.hash.to_le_bytes()[..], &self.address.to_le_bytes()].concat()
    }

    pub(super) fn read(bytes: &HashBytes) -> Self {
        let mut rest = &bytes[..];
        Self { hash: long(&mut rest), address: word(&mut rest) }
    }
}

fn word(bytes: &mut &[u8]) -> u32 {
    take(bytes).map_or(0, u32::from_le_bytes)
}

fn long(bytes: &mut &[u8]) -> u64 {
    take(bytes).map_or(0, u64::from_le_bytes)
}

/// Year, month and day; the month 0 is no day.
fn day_bytes(day: Option<Date>) -> [u8; 4] {
    let (year, month, day) = day.map_or((0, 0, 0), |day| (day.year(), day.month(), day.day()));
    let ([low, high], [month], [day]) =
        (year.to_le_bytes(), month.to_le_bytes(), day.to_le_bytes());
    [low, high, month, day]
}

fn day(bytes: &mut &[u8]) -> Option<Date> {
    let [low, high, month, day] = take(bytes)?;
    let year = i16::from_le_bytes([low, high]);
    Date::new(year, i8::from_le_bytes([month]), i8::from_le_bytes([day])).ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn days() -> impl Strategy<Value = Option<Date>> {
        prop::option::of((-9999_i16..=9999, 1_i8..=12, 1_i8..=28))
            .prop_map(|day| day.map(|(year, month, day)| Date::new(year, month, day).unwrap()))
    }

    proptest! {
        #[test]
        fn records_are_read_as_they_were_written(
            words in any::<[u32; 4]>(),
            optional in prop::array::uniform6(prop::option::of(0..u32::MAX)),
            (valid_from, valid_until) in (days(), days()),
            confidence in any::<u8>(),
            (chain, text, claims) in any::<(u32, u64, u32)>(),
            (hash, address) in any::<(u64, u32)>(),
        ) {
            let [category, tier, source, upstream] = words;
            let [cites_list, entity, author, term, reason, reference] = optional;
            let label = LabelRecord {
                category, tier, source, cites_list, upstream, entity, author, term, reason,
                reference, valid_from, valid_until, confidence,
            };
            let bytes = label.to_bytes();
            prop_assert_eq!(LabelRecord::read(bytes.first_chunk().unwrap()), label);
            prop_assert_eq!(bytes.len(), size_of::<LabelBytes>());
            let labelled = AddressRecord { chain, text, claims };
            let bytes = labelled.to_bytes();
            prop_assert_eq!(AddressRecord::read(bytes.first_chunk().unwrap()), labelled);
            prop_assert_eq!(bytes.len(), size_of::<AddressBytes>());
            let entry = HashRecord { hash, address };
            let bytes = entry.to_bytes();
            prop_assert_eq!(HashRecord::read(bytes.first_chunk().unwrap()), entry);
            prop_assert_eq!(bytes.len(), size_of::<HashBytes>());
        }
    }
}
