//! Labels by address and by key: hundreds of thousands of them in little space.
//!
//! An index is one run of bytes that is read in place ([`layout`]): all addresses are in one text, equal labels and equal
//! texts are stored once, and all lookups go by sorted hashes. It never changes after it is built, and is read from a file
//! where the store has a folder for it ([`file`]).

mod builder;
mod file;
mod hash;
mod layout;
mod record;
mod recorded;
#[cfg(test)]
mod tests;

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use assay_address::{CanonicalAddress, ChainId, KeyIdentity};
use assay_engine::evidence::{AddressLabel, AddressLabels, Label};
use assay_store::intel::{LabelRevision, Suppression};

pub use builder::LabelIndexBuilder;
pub(super) use file::LabelIndexFile;
pub(super) use hash::text_ends_hash;
use recorded::RecordedLabels;

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

impl LabelIndex {
    fn new(recorded: RecordedLabels) -> Self {
        Self { recorded: Arc::new(recorded), suppressed: Suppressed::default() }
    }

    /// The state of all labels that the index was built from.
    #[must_use]
    pub fn revision(&self) -> &LabelRevision {
        self.recorded.revision()
    }

    /// Number of labels; a label of several addresses counts once per address.
    #[must_use]
    pub fn len(&self) -> usize {
        self.recorded.claims().saturating_sub(self.suppressed.labels)
    }

    /// True if there are no labels.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Number of addresses with labels.
    #[must_use]
    pub fn addresses(&self) -> usize {
        self.recorded.addresses().saturating_sub(self.suppressed.hidden.len())
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
        self.shown()
            .filter(move |(_, of)| *of == chain)
            .filter_map(|(place, _)| self.recorded.address(place))
    }

    /// The chain of every labelled address.
    pub fn chains(&self) -> impl Iterator<Item = ChainId> {
        self.shown().map(|(_, chain)| chain)
    }

    /// The labelled addresses whose visible ends have a hash.
    pub(super) fn with_ends(&self, ends: u64) -> impl Iterator<Item = CanonicalAddress> {
        let places = self.recorded.with_ends(ends).filter(|place| self.is_shown(*place));
        places.filter_map(|place| self.recorded.address(place))
    }

    /// The labelled addresses that a key controls.
    pub fn controlled(&self, identity: &KeyIdentity) -> impl Iterator<Item = CanonicalAddress> {
        let places = self.recorded.controlled(identity).filter(|place| self.is_shown(*place));
        places.filter_map(move |place| {
            let address = self.recorded.address(place)?;
            address.key_identities().contains(identity).then_some(address)
        })
    }

    /// The number and the chain of every labelled address.
    fn shown(&self) -> impl Iterator<Item = (u32, ChainId)> {
        self.recorded.chains().filter(|(place, _)| self.is_shown(*place))
    }

    fn is_shown(&self, place: u32) -> bool {
        !self.suppressed.hidden.contains(&place)
    }
}
