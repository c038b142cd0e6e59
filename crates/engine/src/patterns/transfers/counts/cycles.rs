//! Counts of cycles, by their last transfers and their owners.
//!
//! From the last transfer of a cycle the search goes backward from owner to owner, each time by the latest transfer of
//! each payer. It keeps to owners that money of the payee of the last transfer has reached by then in the window.

use super::{CountRules, PatternCounts};
use crate::patterns::transfers::{TransferGraph, index_of};

/// Index of no transfer.
const NONE: u32 = u32::MAX;

/// Counts the cycles, from this column on.
pub(super) fn count(
    graph: &TransferGraph,
    starts: &[u32],
    rules: &CountRules,
    column: usize,
    counts: &mut PatternCounts,
) {
    let owners = graph.owners().len();
    let mut search = Search {
        graph,
        rules,
        next_of_pair: next_of_pair(graph),
        arrivals: Arrivals {
            earliest: vec![NONE; owners],
            reached: Vec::new(),
            waiting: Vec::new(),
        },
        path: Vec::new(),
        origin: 0,
        last: 0,
        start: 0,
        column,
        counts,
    };
    for origin in 0..index_of(owners) {
        search.search_origin(origin, starts);
    }
}

/// For each transfer the next one from the same payer to the same payee.
fn next_of_pair(graph: &TransferGraph) -> Vec<u32> {
    let mut next = vec![NONE; graph.transfers().len()];
    for owner in 0..index_of(graph.owners().len()) {
        for pair in graph.by_pair.of(owner).windows(2) {
            if let [one, other] = pair
                && one.party == other.party
                && let Some(next) = next.get_mut(one.transfer as usize)
            {
                *next = other.transfer;
            }
        }
    }
    next
}

/// The earliest transfer by which money of the origin has reached each owner. It only gets earlier until it is
/// forgotten.
struct Arrivals {
    earliest: Vec<u32>,
    reached: Vec<u32>,
    waiting: Vec<(u32, u32)>,
}

impl Arrivals {
    fn forget(&mut self) {
        for owner in self.reached.drain(..) {
            if let Some(earliest) = self.earliest.get_mut(owner as usize) {
                *earliest = NONE;
            }
        }
    }

    fn of(&self, owner: u32) -> u32 {
        self.earliest.get(owner as usize).copied().unwrap_or(NONE)
    }

    /// Notes that a transfer of the origin reaches an owner, and all that follows from it before the index `end`.
    fn note(&mut self, graph: &TransferGraph, arrival: (u32, u32), origin: u32, end: u32) {
        self.waiting.push(arrival);
        while let Some((owner, transfer)) = self.waiting.pop() {
            let Some(earliest) = self.earliest.get_mut(owner as usize) else { continue };
            let known = std::mem::replace(earliest, transfer.min(*earliest));
            if known <= transfer {
                continue;
            }
            if known == NONE {
                self.reached.push(owner);
            }
            // What follows from the arrival that was known has been noted.
            let onward = graph.after(transfer)..end.min(graph.after(known));
            for step in graph.by_payer.range(owner, onward) {
                if step.party != origin && step.transfer < self.of(step.party) {
                    self.waiting.push((step.party, step.transfer));
                }
            }
        }
    }
}

struct Search<'a> {
    graph: &'a TransferGraph,
    rules: &'a CountRules,
    next_of_pair: Vec<u32>,
    arrivals: Arrivals,
    /// Owners from the payer of the last transfer backward, each with the latest transfer that it can pay.
    path: Vec<(u32, u32)>,
    /// The payee of the last transfer.
    origin: u32,
    /// The last transfer.
    last: u32,
    /// The first transfer of its window.
    start: u32,
    column: usize,
    counts: &'a mut PatternCounts,
}

impl Search<'_> {
    /// Counts the cycles whose last transfer pays an owner, the latest first.
    fn search_origin(&mut self, origin: u32, starts: &[u32]) {
        let graph = self.graph;
        let mut pays = graph.by_payer.of(origin).iter().rev().peekable();
        if pays.peek().is_none() {
            return;
        }
        self.origin = origin;
        self.arrivals.forget();
        for step in graph.by_payee.of(origin).iter().rev() {
            self.last = step.transfer;
            self.start = starts.get(step.transfer as usize).copied().unwrap_or(0);
            let end = graph.first_of_position(step.transfer);
            while let Some(first) = pays.next_if(|first| first.transfer >= self.start) {
                if first.transfer < end {
                    self.arrivals.note(graph, (first.party, first.transfer), origin, end);
                }
            }
            if self.arrivals.of(step.party) < end {
                self.path.push((step.party, step.transfer));
                self.follow(step.party, step.transfer);
                self.path.pop();
            }
        }
    }

    /// Goes on from an owner to those that paid it before a transfer that it pays.
    fn follow(&mut self, owner: u32, pays: u32) {
        let graph = self.graph;
        let end = graph.first_of_position(pays);
        let is_longest = self.path.len() + 1 >= usize::from(self.rules.longest);
        let earliest = self.arrivals.of(owner);
        for step in graph.by_payee.range(owner, self.start.max(earliest)..end) {
            let next = self.next_of_pair.get(step.transfer as usize).copied().unwrap_or(NONE);
            if next < end {
                // Another transfer of the same payer is later.
                continue;
            }
            if step.party == self.origin {
                self.path.push((step.party, step.transfer));
                self.credit();
                self.path.pop();
            } else if !is_longest
                && self.arrivals.of(step.party) < graph.first_of_position(step.transfer)
                && self.path.iter().all(|(owner, _)| *owner != step.party)
            {
                self.path.push((step.party, step.transfer));
                self.follow(step.party, step.transfer);
                self.path.pop();
            }
        }
    }

    /// Counts the cycle of the path for all its transfers.
    fn credit(&mut self) {
        let graph = self.graph;
        let Some(range) = self.rules.cycle_sizes.range_of(index_of(self.path.len())) else {
            return;
        };
        let column = self.column + range;
        let batch = self.rules.batch_of(self.last);
        if let Some(cell) = self.counts.cell(self.last, column) {
            *cell += 1;
        }
        // From the origin onward: for each other transfer those in its place, from the earliest to the latest.
        let mut from = self.start;
        let hops = self.path.iter().rev().zip(self.path.iter().rev().skip(1));
        for ((payer, latest), (payee, _)) in hops {
            let steps = graph.between(*payer, *payee, from..latest.saturating_add(1));
            from = steps.first().map_or(NONE, |step| graph.after(step.transfer));
            for step in steps {
                if self.rules.batch_of(step.transfer) == batch
                    && let Some(cell) = self.counts.cell(step.transfer, column)
                {
                    *cell += 1;
                }
            }
        }
    }
}
