//! Building of a label index from labels.

use std::{collections::HashMap, hash::Hash, sync::Arc};

use assay_address::{CanonicalAddress, ChainId};
use assay_engine::{
    evidence::{AddressLabel, Label, Tier},
    names::{ListId, SourceId},
    taxonomy::Category,
};
use assay_store::intel::LabelRevision;

use super::{
    LabelIndex, hash,
    layout::Layout,
    record::{AddressRecord, HashRecord, LabelRecord, Vocabulary},
    recorded::RecordedLabels,
};
use crate::snapshot::look_alike::ends_hash;

/// Builds an index from labels.
#[derive(Debug, Default)]
pub struct LabelIndexBuilder {
    chains: Numbers<ChainId>,
    categories: Numbers<Category>,
    tiers: Numbers<Tier>,
    sources: Numbers<SourceId>,
    lists: Numbers<ListId>,
    texts: Numbers<Arc<str>>,
    labels: Numbers<LabelRecord>,
    addresses: Vec<AddressRecord>,
    address_texts: Vec<u8>,
    claims: Vec<u32>,
    by_address: Vec<HashRecord>,
    by_key: Vec<HashRecord>,
    by_ends: Vec<HashRecord>,
    last: Option<CanonicalAddress>,
}

/// Distinct values, numbered from 0 on.
#[derive(Debug)]
struct Numbers<T> {
    numbers: HashMap<T, u32>,
    values: Vec<T>,
}

impl<T> Default for Numbers<T> {
    fn default() -> Self {
        Self { numbers: HashMap::new(), values: Vec::new() }
    }
}

impl<T: Clone + Eq + Hash> Numbers<T> {
    /// The number of a value.
    fn number(&mut self, value: &T) -> u32 {
        if let Some(number) = self.numbers.get(value) {
            return *number;
        }
        let next = count(self.values.len());
        self.numbers.insert(value.clone(), next);
        self.values.push(value.clone());
        next
    }

    /// The number of a value, if there is one.
    fn optional(&mut self, value: Option<&T>) -> Option<u32> {
        value.map(|value| self.number(value))
    }
}

impl LabelIndexBuilder {
    /// Adds a label. The index is smallest if an address's labels are added one after the other.
    pub fn add(&mut self, AddressLabel { address, label }: AddressLabel) {
        let record = self.record(&label);
        let label = self.labels.number(&record);
        if self.last.as_ref() != Some(&address) {
            self.add_address(&address);
            self.last = Some(address);
        }
        self.claims.push(label);
    }

    fn add_address(&mut self, address: &CanonicalAddress) {
        let (chain, text) = (address.chain(), address.as_str());
        let number = count(self.addresses.len());
        let entry = |hash| HashRecord { hash, address: number };
        self.by_address.push(entry(hash::address_hash(chain, text)));
        self.by_ends.extend(ends_hash(chain, text).map(entry));
        let keys = address.key_identities();
        self.by_key.extend(keys.iter().map(|key| entry(hash::key_hash(key))));
        self.addresses.push(AddressRecord {
            chain: self.chains.number(&chain),
            text: self.address_texts.len() as u64,
            claims: count(self.claims.len()),
        });
        self.address_texts.extend(text.as_bytes());
    }

    fn record(&mut self, label: &Label) -> LabelRecord {
        let texts = &mut self.texts;
        LabelRecord {
            category: self.categories.number(&label.category),
            tier: self.tiers.number(&label.tier),
            source: self.sources.number(&label.source),
            cites_list: self.lists.optional(label.cites_list.as_ref()),
            upstream: texts.number(&label.upstream),
            entity: texts.optional(label.entity.as_ref()),
            author: texts.optional(label.author.as_ref()),
            term: texts.optional(label.term.as_ref()),
            reason: texts.optional(label.reason.as_ref()),
            reference: texts.optional(label.reference.as_ref()),
            valid_from: label.valid_from,
            valid_until: label.valid_until,
            confidence: label.confidence.percent(),
        }
    }

    /// Builds the index of a state of all labels.
    #[must_use]
    pub fn finish(mut self, revision: LabelRevision) -> LabelIndex {
        let vocabulary = Vocabulary {
            chains: self.chains.values,
            categories: self.categories.values,
            tiers: self.tiers.values,
            sources: self.sources.values,
            lists: self.lists.values,
        };
        let mut starts = Vec::new();
        let mut texts = Vec::new();
        for text in &self.texts.values {
            starts.extend((texts.len() as u64).to_le_bytes());
            texts.extend(text.as_bytes());
        }
        for hashes in [&mut self.by_address, &mut self.by_key, &mut self.by_ends] {
            hashes.sort_unstable();
        }
        let hashes = |records: &[HashRecord]| records.iter().flat_map(|it| it.to_bytes()).collect();
        // In the order of the sections.
        let sections = [
            serde_json::to_vec(&vocabulary).unwrap_or_default(),
            self.addresses.iter().flat_map(|record| record.to_bytes()).collect(),
            self.address_texts,
            self.claims.iter().flat_map(|claim| claim.to_le_bytes()).collect(),
            self.labels.values.iter().flat_map(|record| record.to_bytes()).collect(),
            starts,
            texts,
            hashes(&self.by_address),
            hashes(&self.by_key),
            hashes(&self.by_ends),
        ];
        let (layout, bytes) = Layout::join(&revision, &sections);
        LabelIndex::new(RecordedLabels::new(bytes, layout, revision, vocabulary))
    }
}

/// A number of records. An index has far fewer than 32 bits can count: they are in memory while it is built.
fn count(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
}
