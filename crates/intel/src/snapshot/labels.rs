//! Labels in memory: hundreds of thousands of them in little space.
//!
//! All addresses are stored in one text, equal labels once, and all indexes are sorted hashes. An index never changes
//! after it is built.

use std::{
    collections::{HashMap, HashSet},
    hash::{DefaultHasher, Hash, Hasher},
    ops::Range,
    sync::Arc,
};

use assay_address::{CanonicalAddress, ChainId, KeyIdentity};
use assay_engine::evidence::{AddressLabel, AddressLabels, Label};
use assay_store::intel::Suppression;

use super::look_alike::ends_hash;

/// Number of labels from which on the labels of an address are held ready.
const CROWD: usize = 64;

/// An immutable index of labels by address and by key, without the labels that are suppressed.
#[derive(Clone, Debug, Default)]
pub struct LabelIndex {
    recorded: Arc<RecordedLabels>,
    suppressed: Suppressed,
}

/// The effect of suppressions on an index.
#[derive(Clone, Debug, Default)]
struct Suppressed {
    /// The labels that remain of addresses with suppressed labels.
    remaining: HashMap<CanonicalAddress, AddressLabels>,
    /// Indices of addresses of which no label remains.
    hidden: HashSet<u32>,
    /// Number of suppressed labels.
    labels: usize,
}

/// Labels by address and by key, suppressed ones included.
#[derive(Debug, Default)]
struct RecordedLabels {
    generation: u64,
    /// The canonical addresses, one after the other.
    texts: String,
    addresses: Vec<LabelledAddress>,
    /// Indices in `labels`, those of one address together.
    claims: Vec<u32>,
    /// Every distinct label.
    labels: Vec<Label>,
    /// The labels of addresses with many of them, ready for use, by address and chain.
    crowded: HashMap<CanonicalAddress, AddressLabels>,
    /// Hash of an address and index in `addresses`; sorted.
    by_address: Vec<(u64, u32)>,
    /// Hash of a key identity and index in `addresses`; sorted.
    by_key: Vec<(u64, u32)>,
    /// Hash of the visible ends of an address and index in `addresses`; sorted.
    by_ends: Vec<(u64, u32)>,
}

/// An address with labels. The text and the labels of an address end at the beginning of those of the next address.
#[derive(Clone, Copy, Debug)]
struct LabelledAddress {
    chain: ChainId,
    text: u32,
    claims: u32,
}

impl LabelIndex {
    /// Number of changes to labels by imports before this index was built.
    #[must_use]
    pub fn generation(&self) -> u64 {
        self.recorded.generation
    }

    /// Number of labels; a label of several addresses counts once per address.
    #[must_use]
    pub fn len(&self) -> usize {
        self.recorded.claims.len() - self.suppressed.labels
    }

    /// True if there are no labels.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Number of addresses with labels.
    #[must_use]
    pub fn addresses(&self) -> usize {
        self.recorded.addresses.len() - self.suppressed.hidden.len()
    }

    /// The same labels, of which these suppressions alone hold. No label is copied but those of the addresses that the
    /// suppressions name.
    #[must_use]
    pub fn with_suppressions(&self, suppressions: &[Suppression]) -> Self {
        let recorded = Arc::clone(&self.recorded);
        let mut suppressed = Suppressed::default();
        for address in suppressions.iter().map(|suppression| &suppression.address) {
            if suppressed.remaining.contains_key(address) {
                continue;
            }
            let all = recorded.labels_of(address);
            let is_covered = |label: &Label| {
                let entry = AddressLabel { address: address.clone(), label: label.clone() };
                suppressions.iter().any(|suppression| suppression.covers(&entry))
            };
            let remaining: AddressLabels =
                all.iter().filter(|label| !is_covered(label)).cloned().collect();
            suppressed.labels += all.len() - remaining.len();
            if remaining.is_empty() {
                suppressed.hidden.extend(recorded.places_of(address));
            }
            suppressed.remaining.insert(address.clone(), remaining);
        }
        Self { recorded, suppressed }
    }

    /// True if an address has labels.
    #[must_use]
    pub fn has_labels(&self, address: &CanonicalAddress) -> bool {
        self.recorded.places_of(address).any(|place| self.is_shown(place))
    }

    /// Labels of an address. An address with many labels costs no more than one with few.
    #[must_use]
    pub fn labels_of(&self, address: &CanonicalAddress) -> AddressLabels {
        match self.suppressed.remaining.get(address) {
            Some(remaining) => remaining.clone(),
            None => self.recorded.labels_of(address),
        }
    }

    /// The labelled addresses of a chain.
    pub fn labelled(&self, chain: ChainId) -> impl Iterator<Item = CanonicalAddress> {
        self.shown().filter(move |(labelled, _)| labelled.chain == chain).filter_map(
            move |(_, place)| CanonicalAddress::parse(chain, self.recorded.text(place)).ok(),
        )
    }

    /// The chain of every labelled address.
    pub fn chains(&self) -> impl Iterator<Item = ChainId> {
        self.shown().map(|(labelled, _)| labelled.chain)
    }

    /// The labelled addresses whose visible ends have a hash.
    pub(super) fn with_ends(&self, ends: u64) -> impl Iterator<Item = CanonicalAddress> {
        let places = matching(&self.recorded.by_ends, ends).filter(|place| self.is_shown(*place));
        places.filter_map(|place| self.recorded.address(place))
    }

    /// The labelled addresses that a key controls.
    pub fn controlled(&self, identity: &KeyIdentity) -> impl Iterator<Item = CanonicalAddress> {
        let places = matching(&self.recorded.by_key, hash(identity));
        places.filter(|place| self.is_shown(*place)).filter_map(move |place| {
            let address = self.recorded.address(place)?;
            address.key_identities().contains(identity).then_some(address)
        })
    }

    fn shown(&self) -> impl Iterator<Item = (&LabelledAddress, u32)> {
        self.recorded.addresses.iter().zip(0..).filter(|(_, place)| self.is_shown(*place))
    }

    fn is_shown(&self, place: u32) -> bool {
        !self.suppressed.hidden.contains(&place)
    }
}

impl RecordedLabels {
    fn labels_of(&self, address: &CanonicalAddress) -> AddressLabels {
        match self.crowded.get(address) {
            Some(labels) => labels.clone(),
            None => self.collect(address),
        }
    }

    fn collect(&self, address: &CanonicalAddress) -> AddressLabels {
        self.places_of(address).flat_map(|place| self.labels_at(place)).cloned().collect()
    }

    /// The indices in `addresses` of an address.
    fn places_of(&self, address: &CanonicalAddress) -> impl Iterator<Item = u32> {
        let wanted = hash(&(address.chain(), address.as_str()));
        matching(&self.by_address, wanted).filter(move |place| self.is_at(*place, address))
    }

    fn address(&self, place: u32) -> Option<CanonicalAddress> {
        let labelled = self.addresses.get(usize::try_from(place).ok()?)?;
        CanonicalAddress::parse(labelled.chain, self.text(place)).ok()
    }

    fn is_at(&self, place: u32, address: &CanonicalAddress) -> bool {
        let chain = usize::try_from(place).ok().and_then(|place| self.addresses.get(place));
        chain.is_some_and(|labelled| labelled.chain == address.chain())
            && self.text(place) == address.as_str()
    }

    fn text(&self, place: u32) -> &str {
        let range = self.range(place, |labelled| labelled.text, self.texts.len());
        self.texts.get(range).unwrap_or_default()
    }

    fn labels_at(&self, place: u32) -> impl Iterator<Item = &Label> {
        let range = self.range(place, |labelled| labelled.claims, self.claims.len());
        let claims = self.claims.get(range).unwrap_or_default();
        claims.iter().filter_map(|claim| self.labels.get(usize::try_from(*claim).ok()?))
    }

    fn range(&self, place: u32, of: impl Fn(&LabelledAddress) -> u32, end: usize) -> Range<usize> {
        let place = usize::try_from(place).unwrap_or(usize::MAX);
        let at = |place: usize| self.addresses.get(place).and_then(|l| usize::try_from(of(l)).ok());
        at(place).unwrap_or(end)..at(place.saturating_add(1)).unwrap_or(end)
    }
}

/// The indices with a hash.
fn matching(index: &[(u64, u32)], hash: u64) -> impl Iterator<Item = u32> {
    let from = index.partition_point(|(other, _)| *other < hash);
    let rest = index.get(from..).unwrap_or_default();
    rest.iter().take_while(move |(other, _)| *other == hash).map(|(_, place)| *place)
}

/// A hash that is equal in every run of the program. Texts with equal hashes are distinguished by comparison.
fn hash(value: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

/// The labels of addresses with at least [`CROWD`] labels.
fn crowded(index: &RecordedLabels) -> HashMap<CanonicalAddress, AddressLabels> {
    let mut numbers: HashMap<CanonicalAddress, usize> = HashMap::new();
    for (labelled, place) in index.addresses.iter().zip(0..) {
        // An address whose labels were not added one after the other has several places.
        let count = index.labels_at(place).count();
        if count >= CROWD / 2
            && let Ok(address) = CanonicalAddress::parse(labelled.chain, index.text(place))
        {
            *numbers.entry(address).or_default() += count;
        }
    }
    let many = numbers.into_iter().filter(|(_, number)| *number >= CROWD);
    many.map(|(address, _)| {
        let labels = index.collect(&address);
        (address, labels)
    })
    .collect()
}

/// Builds an index from labels.
#[derive(Debug, Default)]
pub struct LabelIndexBuilder {
    index: RecordedLabels,
    /// Indices of known labels.
    known: HashMap<Label, u32>,
    last: Option<CanonicalAddress>,
}

impl LabelIndexBuilder {
    /// Adds a label. The index is smallest if an address's labels are added one after the other.
    pub fn add(&mut self, AddressLabel { address, label }: AddressLabel) {
        let index = &mut self.index;
        let place = |length: usize| u32::try_from(length).unwrap_or(u32::MAX);
        let claim = *self.known.entry(label).or_insert_with_key(|label| {
            index.labels.push(label.clone());
            place(index.labels.len() - 1)
        });
        if self.last.as_ref() != Some(&address) {
            let at = place(index.addresses.len());
            index.by_address.push((hash(&(address.chain(), address.as_str())), at));
            index
                .by_ends
                .extend(ends_hash(address.chain(), address.as_str()).map(|ends| (ends, at)));
            for identity in address.key_identities() {
                index.by_key.push((hash(&identity), at));
            }
            let (text, claims) = (place(index.texts.len()), place(index.claims.len()));
            index.addresses.push(LabelledAddress { chain: address.chain(), text, claims });
            index.texts.push_str(address.as_str());
            self.last = Some(address);
        }
        index.claims.push(claim);
    }

    /// Builds the index of a generation.
    #[must_use]
    pub fn finish(self, generation: u64) -> LabelIndex {
        let mut index = RecordedLabels { generation, ..self.index };
        index.by_address.sort_unstable();
        index.by_key.sort_unstable();
        index.by_ends.sort_unstable();
        index.texts.shrink_to_fit();
        index.addresses.shrink_to_fit();
        index.claims.shrink_to_fit();
        index.labels.shrink_to_fit();
        index.by_address.shrink_to_fit();
        index.by_key.shrink_to_fit();
        index.by_ends.shrink_to_fit();
        index.crowded = crowded(&index);
        LabelIndex { recorded: Arc::new(index), suppressed: Suppressed::default() }
    }
}
