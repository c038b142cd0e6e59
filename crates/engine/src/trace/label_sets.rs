//! Interned sets of the labels that funds carry (`docs/model/trace.md` T12).

use std::{collections::HashMap, sync::Arc};

use crate::evidence::CarriedLabel;

/// Identifier of a set of labels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct LabelSet(usize);

impl LabelSet {
    /// The set without labels.
    pub(super) const EMPTY: Self = Self(0);
}

/// All sets so far, each with its sorted labels.
#[derive(Debug)]
pub(super) struct LabelSets {
    sets: Vec<Arc<[CarriedLabel]>>,
    numbers: HashMap<Arc<[CarriedLabel]>, LabelSet>,
}

impl Default for LabelSets {
    fn default() -> Self {
        let mut sets = Self { sets: Vec::new(), numbers: HashMap::new() };
        sets.of(Arc::from([]));
        sets
    }
}

impl LabelSets {
    /// The set of these sorted labels.
    pub(super) fn of(&mut self, labels: Arc<[CarriedLabel]>) -> LabelSet {
        let sets = &mut self.sets;
        *self.numbers.entry(labels).or_insert_with_key(|labels| {
            sets.push(Arc::clone(labels));
            LabelSet(sets.len() - 1)
        })
    }

    /// The labels of a set.
    pub(super) fn labels(&self, set: LabelSet) -> &[CarriedLabel] {
        self.sets.get(set.0).map(|labels| &**labels).unwrap_or_default()
    }
}
