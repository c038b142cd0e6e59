//! All cycles of a graph, by their first transfers.

use super::{CycleRules, departures::Departures};
use crate::patterns::transfers::{TransferGraph, index_of};

/// Calls `found` with every cycle of a graph, each once: the indexes of its transfers in the order of the chain.
///
/// Cycles come by the payer of their first transfer.
pub fn each_cycle(graph: &TransferGraph, rules: &CycleRules, mut found: impl FnMut(&[u32])) {
    if rules.longest < 2 {
        return;
    }
    let departures = Departures::new(graph, rules.longest);
    let (transfers, owners) = (Vec::new(), Vec::new());
    let mut search = Search { graph, rules, departures, transfers, owners, end: 0, target: 0 };
    for target in 0..index_of(graph.owners().len()) {
        search.search_payer(target, &mut found);
    }
}

struct Search<'a> {
    graph: &'a TransferGraph,
    rules: &'a CycleRules,
    departures: Departures,
    /// The way so far.
    transfers: Vec<u32>,
    /// The owners that it paid.
    owners: Vec<u32>,
    /// Index from which on no transfer is in the window of the first.
    end: u32,
    /// The payer of the first.
    target: u32,
}

impl Search<'_> {
    /// The cycles whose first transfer an owner pays.
    fn search_payer(&mut self, target: u32, found: &mut impl FnMut(&[u32])) {
        let graph = self.graph;
        let mut returns = graph.by_payee.of(target).iter().peekable();
        if returns.peek().is_none() {
            return;
        }
        self.target = target;
        self.departures.clear();
        for first in graph.by_payer.of(target) {
            let from = graph.after(first.transfer);
            self.end = graph.end_of_window(first.transfer, self.rules.within);
            while let Some(step) = returns.next_if(|step| step.transfer < self.end) {
                if step.transfer >= from {
                    let departure = (step.party, 1, step.transfer);
                    self.departures.note(graph, departure, target, from, u64::MAX);
                }
            }
            if self.departures.may_lead(first.party, self.rules.longest - 1, from) {
                self.transfers.push(first.transfer);
                self.follow(first.party, first.transfer, self.rules.longest - 1, found);
                self.transfers.pop();
            }
        }
    }

    /// Follows what an owner pays after it was paid by a transfer, by at most `left` transfers.
    fn follow(&mut self, owner: u32, last: u32, left: u8, found: &mut impl FnMut(&[u32])) {
        let (graph, rules) = (self.graph, self.rules);
        let from = graph.after(last);
        if self.departures.may_lead(owner, 1, from) {
            self.close(owner, last, from, found);
        }
        if left < 2 {
            return;
        }
        self.owners.push(owner);
        for step in
            graph.by_payer.range(owner, self.departures.leading(owner, left, from, self.end))
        {
            if step.party != self.target
                && self.departures.may_lead(step.party, left - 1, graph.after(step.transfer))
                && !self.owners.contains(&step.party)
                && rules.allows_amounts(graph, last, step.transfer)
            {
                self.transfers.push(step.transfer);
                self.follow(step.party, step.transfer, left - 1, found);
                self.transfers.pop();
            }
        }
        self.owners.pop();
    }

    /// Reports the cycles that one more transfer of an owner closes.
    fn close(&mut self, owner: u32, last: u32, from: u32, found: &mut impl FnMut(&[u32])) {
        let (graph, rules) = (self.graph, self.rules);
        let Some(first) = self.transfers.first().copied() else { return };
        for step in graph.between(owner, self.target, from..self.end) {
            if graph.is_within(first, step.transfer, rules.within)
                && rules.allows_amounts(graph, last, step.transfer)
            {
                self.transfers.push(step.transfer);
                found(&self.transfers);
                self.transfers.pop();
            }
        }
    }
}
