//! Owners in a range of transactions: each once, in the order of appearance.

use std::collections::HashSet;

/// The numbers of the first `most` owners that appear.
#[derive(Debug)]
pub struct TouchedOwners {
    most: usize,
    seen: HashSet<i64>,
    order: Vec<i64>,
}

impl TouchedOwners {
    /// An empty list of at most `most` owners.
    #[must_use]
    pub fn new(most: u32) -> Self {
        let most = usize::try_from(most).unwrap_or(usize::MAX);
        Self { most, seen: HashSet::new(), order: Vec::new() }
    }

    /// True if another owner can be added.
    #[must_use]
    pub fn wants_more(&self) -> bool {
        self.order.len() < self.most
    }

    /// Adds an owner's number unless it is there already or there is no room.
    pub fn add(&mut self, owner: i64) {
        if self.wants_more() && self.seen.insert(owner) {
            self.order.push(owner);
        }
    }

    /// The numbers in the order of appearance.
    #[must_use]
    pub fn numbers(self) -> Vec<i64> {
        self.order
    }
}
