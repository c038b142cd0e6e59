//! Recorded labels, read in place from the bytes of an index.

use std::{
    collections::HashMap,
    fmt,
    ops::Range,
    sync::{Arc, PoisonError, RwLock},
};

use assay_address::{CanonicalAddress, ChainId, KeyIdentity};
use assay_engine::{
    evidence::{AddressLabels, Label},
    score::Confidence,
};
use assay_store::intel::LabelRevision;

use super::{
    hash,
    layout::{LabelIndexError, Layout, Section},
    record::{
        AddressBytes, AddressRecord, HashBytes, HashRecord, LabelBytes, LabelRecord, Vocabulary,
    },
};

/// Number of labels from which on the labels of an address are kept once they were read.
const CROWD: usize = 64;

/// Labels by address and by key, suppressed ones included.
pub(super) struct RecordedLabels {
    /// The whole index, in memory: its checksum holds for as long as the labels are in use.
    bytes: Vec<u8>,
    layout: Layout,
    revision: LabelRevision,
    vocabulary: Vocabulary,
    /// Labels of addresses with many of them that were read.
    crowded: RwLock<HashMap<CanonicalAddress, AddressLabels>>,
}

impl Default for RecordedLabels {
    fn default() -> Self {
        let (layout, vocabulary) = (Layout::default(), Vocabulary::default());
        Self::new(Vec::new(), layout, LabelRevision::default(), vocabulary)
    }
}

impl fmt::Debug for RecordedLabels {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (addresses, claims) = (self.addresses(), self.claims());
        formatter
            .debug_struct("RecordedLabels")
            .field("addresses", &addresses)
            .field("claims", &claims)
            .finish_non_exhaustive()
    }
}

impl RecordedLabels {
    pub(super) fn new(
        bytes: Vec<u8>,
        layout: Layout,
        revision: LabelRevision,
        vocabulary: Vocabulary,
    ) -> Self {
        Self { bytes, layout, revision, vocabulary, crowded: RwLock::default() }
    }

    /// Checks the bytes of an index and opens it.
    ///
    /// # Errors
    ///
    /// Returns an error if they are not a complete index that this program can read.
    pub(super) fn open(bytes: Vec<u8>) -> Result<Self, LabelIndexError> {
        let (layout, revision) = Layout::read(&bytes)?;
        let vocabulary = layout.section(Section::Vocabulary, &bytes);
        let vocabulary = serde_json::from_slice(vocabulary)
            .map_err(|error| LabelIndexError::Vocabulary(error.to_string()))?;
        Ok(Self::new(bytes, layout, revision, vocabulary))
    }

    /// The bytes of the index.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The state of all labels that the index was built from.
    pub(super) const fn revision(&self) -> &LabelRevision {
        &self.revision
    }

    /// Number of addresses with labels.
    pub(super) fn addresses(&self) -> usize {
        self.address_records().len()
    }

    /// Number of labels; a label of several addresses counts once per address.
    pub(super) fn claims(&self) -> usize {
        self.claim_records().len()
    }

    /// The labels of an address.
    pub(super) fn labels_of(&self, address: &CanonicalAddress) -> AddressLabels {
        let places: Vec<u32> = self.places_of(address).collect();
        let number: usize = places.iter().map(|place| self.claims_at(*place).len()).sum();
        if number < CROWD {
            return self.collect(&places);
        }
        let known =
            self.crowded.read().unwrap_or_else(PoisonError::into_inner).get(address).cloned();
        known.unwrap_or_else(|| {
            let mut crowded = self.crowded.write().unwrap_or_else(PoisonError::into_inner);
            let labels = crowded.entry(address.clone()).or_insert_with(|| self.collect(&places));
            labels.clone()
        })
    }

    fn collect(&self, places: &[u32]) -> AddressLabels {
        places
            .iter()
            .flat_map(|place| self.claims_at(*place))
            .filter_map(|claim| self.label(claim))
            .collect()
    }

    /// The numbers of an address: several if its labels were not added one after the other.
    pub(super) fn places_of(&self, address: &CanonicalAddress) -> impl Iterator<Item = u32> {
        let wanted = hash::address_hash(address.chain(), address.as_str());
        self.with_hash(Section::ByAddress, wanted).filter(move |place| {
            self.chain(*place) == Some(address.chain()) && self.text(*place) == address.as_str()
        })
    }

    /// The numbers of the addresses that a key may control.
    pub(super) fn controlled(&self, identity: &KeyIdentity) -> impl Iterator<Item = u32> {
        self.with_hash(Section::ByKey, hash::key_hash(identity))
    }

    /// The numbers of the addresses whose visible ends have a hash.
    pub(super) fn with_ends(&self, ends: u64) -> impl Iterator<Item = u32> {
        self.with_hash(Section::ByEnds, ends)
    }

    /// The number and the chain of each address.
    pub(super) fn chains(&self) -> impl Iterator<Item = (u32, ChainId)> {
        let records = (0..).zip(self.address_records());
        records.filter_map(|(place, record)| {
            let chain = AddressRecord::read(record).chain;
            Some((place, *at(&self.vocabulary.chains, chain)?))
        })
    }

    /// The address of a number.
    pub(super) fn address(&self, place: u32) -> Option<CanonicalAddress> {
        CanonicalAddress::parse(self.chain(place)?, self.text(place)).ok()
    }

    fn chain(&self, place: u32) -> Option<ChainId> {
        let record = AddressRecord::read(at(self.address_records(), place)?);
        at(&self.vocabulary.chains, record.chain).copied()
    }

    fn text(&self, place: u32) -> &str {
        let texts = self.section(Section::AddressTexts);
        let beginning = |record: AddressRecord| usize::try_from(record.text).ok();
        let text = texts.get(self.range(place, beginning, texts.len())).unwrap_or_default();
        str::from_utf8(text).unwrap_or_default()
    }

    /// The numbers of the labels of an address.
    fn claims_at(&self, place: u32) -> impl ExactSizeIterator<Item = u32> {
        let claims = self.claim_records();
        let beginning = |record: AddressRecord| usize::try_from(record.claims).ok();
        let claims = claims.get(self.range(place, beginning, claims.len())).unwrap_or_default();
        claims.iter().map(|claim| u32::from_le_bytes(*claim))
    }

    /// The range of what belongs to an address: from its beginning to that of the next address.
    fn range(
        &self,
        place: u32,
        beginning: impl Fn(AddressRecord) -> Option<usize>,
        end: usize,
    ) -> Range<usize> {
        let record = |place| at(self.address_records(), place).map(AddressRecord::read);
        let start = |place| record(place).and_then(&beginning).unwrap_or(end);
        start(place)..start(place.saturating_add(1))
    }

    fn label(&self, number: u32) -> Option<Label> {
        let (records, _) = self.section(Section::Labels).as_chunks();
        let record = LabelRecord::read(at::<LabelBytes>(records, number)?);
        let words = &self.vocabulary;
        let text = |number: Option<u32>| number.map(|number| Arc::from(self.label_text(number)));
        Some(Label {
            category: *at(&words.categories, record.category)?,
            entity: text(record.entity),
            tier: *at(&words.tiers, record.tier)?,
            confidence: Confidence::from_percent(record.confidence),
            source: at(&words.sources, record.source)?.clone(),
            upstream: self.label_text(record.upstream).into(),
            author: text(record.author),
            term: text(record.term),
            cites_list: record.cites_list.and_then(|list| at(&words.lists, list)).cloned(),
            reason: text(record.reason),
            reference: text(record.reference),
            valid_from: record.valid_from,
            valid_until: record.valid_until,
        })
    }

    fn label_text(&self, number: u32) -> &str {
        let (starts, _) = self.section(Section::TextStarts).as_chunks();
        let texts = self.section(Section::Texts);
        let start = |number| {
            let start = at(starts, number).map(|start| u64::from_le_bytes(*start));
            start.and_then(|start| usize::try_from(start).ok()).unwrap_or(texts.len())
        };
        let text = texts.get(start(number)..start(number.saturating_add(1))).unwrap_or_default();
        str::from_utf8(text).unwrap_or_default()
    }

    /// The numbers of addresses with a hash in a section of hashes.
    fn with_hash(&self, section: Section, hash: u64) -> impl Iterator<Item = u32> {
        let (records, _): (&[HashBytes], _) = self.section(section).as_chunks();
        let from = records.partition_point(|record| HashRecord::read(record).hash < hash);
        let rest = records.get(from..).unwrap_or_default().iter().map(HashRecord::read);
        rest.take_while(move |record| record.hash == hash).map(|record| record.address)
    }

    fn address_records(&self) -> &[AddressBytes] {
        self.section(Section::Addresses).as_chunks().0
    }

    fn claim_records(&self) -> &[[u8; 4]] {
        self.section(Section::Claims).as_chunks().0
    }

    fn section(&self, section: Section) -> &[u8] {
        self.layout.section(section, self.bytes())
    }
}

/// The value of a number.
fn at<T>(values: &[T], number: u32) -> Option<&T> {
    values.get(usize::try_from(number).ok()?)
}
