//! Who appears in a range of transactions: each once, in the order of appearance.

use std::collections::HashSet;

/// Transactions that are read at once.
pub(crate) const PAGE: i64 = 2048;

/// Numbers of owners, the first `most` that were seen.
#[derive(Debug)]
pub(crate) struct Touched {
    most: usize,
    seen: HashSet<i64>,
    order: Vec<i64>,
}

impl Touched {
    pub(crate) fn new(most: u32) -> Self {
        let most = usize::try_from(most).unwrap_or(usize::MAX);
        Self { most, seen: HashSet::new(), order: Vec::new() }
    }

    pub(crate) fn wants_more(&self) -> bool {
        self.order.len() < self.most
    }

    pub(crate) fn see(&mut self, owner: i64) {
        if self.wants_more() && self.seen.insert(owner) {
            self.order.push(owner);
        }
    }

    pub(crate) fn numbers(self) -> Vec<i64> {
        self.order
    }
}
