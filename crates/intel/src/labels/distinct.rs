//! Telling whether a label is there already, without keeping a second copy of all of them.

use std::{
    collections::{HashMap, hash_map::Entry},
    hash::{BuildHasher, RandomState},
};

use assay_engine::evidence::{AddressLabel, Label};

/// Where labels stand in a list, by hash.
#[derive(Default)]
pub(super) struct Distinct {
    hasher: RandomState,
    places: HashMap<u64, usize>,
}

impl Distinct {
    /// Appends `entry` to `labels` unless it is there; says whether it was not.
    pub(super) fn push(&mut self, labels: &mut Vec<AddressLabel>, entry: AddressLabel) -> bool {
        let mut hash = self.hash(&entry);
        loop {
            match self.places.entry(hash) {
                Entry::Vacant(free) => {
                    free.insert(labels.len());
                    labels.push(entry);
                    return true;
                }
                Entry::Occupied(taken) if labels.get(*taken.get()) == Some(&entry) => return false,
                // Another label with this hash: the next number is as good.
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
        let what = (address, category, entity, tier, confidence, term, cites_list);
        let who = (source, upstream, author, reason, reference, valid_from, valid_until);
        self.hasher.hash_one((what, who))
    }
}
