//! Distinct labels, found without a second copy of all labels.

use std::{
    collections::{HashMap, hash_map::Entry},
    hash::{BuildHasher, RandomState},
};

use assay_engine::evidence::{AddressLabel, Label};

/// Index of a list of labels by hash.
#[derive(Default)]
pub(crate) struct DistinctLabels {
    hasher: RandomState,
    indices: HashMap<u64, usize>,
}

impl DistinctLabels {
    /// Appends `entry` to `labels` unless they contain it; returns true if it was appended.
    pub(crate) fn push(&mut self, labels: &mut Vec<AddressLabel>, entry: AddressLabel) -> bool {
        let mut hash = self.hash(&entry);
        loop {
            match self.indices.entry(hash) {
                Entry::Vacant(free) => {
                    free.insert(labels.len());
                    labels.push(entry);
                    return true;
                }
                Entry::Occupied(taken) if labels.get(*taken.get()) == Some(&entry) => return false,
                // Another label with this hash: probe the next one.
                Entry::Occupied(_) => hash = hash.wrapping_add(1),
            }
        }
    }

    fn hash(&self, entry: &AddressLabel) -> u64 {
        let AddressLabel { address, label } = entry;
        let Label {
            category,
            entity,
            tier,
            confidence,
            source,
            upstream,
            author,
            term,
            cites_list,
            reason,
            reference,
            valid_from,
            valid_until,
        } = label;
        let claim = (address, category, entity, tier, confidence, term, cites_list);
        let origin = (source, upstream, author, reason, reference, valid_from, valid_until);
        self.hasher.hash_one((claim, origin))
    }
}
