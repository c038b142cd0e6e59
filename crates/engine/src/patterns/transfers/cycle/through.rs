//! The cycles in which one owner takes part, at any position.
//!
//! A cycle has one transfer that the owner pays. The search follows the cycle from this transfer: first onward in the
//! order of the chain to the last transfer, then from the first transfer until one pays the owner.

use super::{Cycle, CycleRules, Cycles, departures::Departures};
use crate::{
    ledger::OwnerNumber,
    patterns::transfers::{TransferGraph, adjacency::Step},
};

/// Number of the owner's transfers for which departures are recorded together.
const TOGETHER: usize = 32;

/// Finds the cycles of a graph in which an owner takes part. The search visits at most about `budget` transfers, each
/// counted as often as it is visited.
#[must_use]
pub fn cycles_through(
    graph: &TransferGraph,
    owner: OwnerNumber,
    rules: &CycleRules,
    budget: u64,
) -> Cycles {
    let Some(target) = graph.id(owner).filter(|_| rules.longest >= 2) else {
        return Cycles { cycles: Vec::new(), is_complete: true };
    };
    let mut search = Search {
        graph,
        rules,
        target,
        to_target: Departures::new(graph, rules.longest),
        to_last: Departures::new(graph, rules.longest),
        transfers: Vec::new(),
        owners: Vec::new(),
        paid: 0,
        end: 0,
        visited: 0,
        budget,
        cycles: Vec::new(),
    };
    let is_complete = search.run().is_some();
    let mut cycles = search.cycles;
    cycles.sort_unstable();
    Cycles { cycles, is_complete }
}

/// The state of the search. The methods of the search return `None` as soon as the budget is used up.
struct Search<'a> {
    graph: &'a TransferGraph,
    rules: &'a CycleRules,
    target: u32,
    /// Departures (latest transfers on a path) among the transfers before those of the owner, which lead back to the
    /// owner.
    to_target: Departures,
    /// Departures (latest transfers on a path) among the transfers after those of the owner, which lead to the last
    /// transfer of a cycle.
    to_last: Departures,
    /// The path so far, from the transfer that the owner pays.
    transfers: Vec<u32>,
    /// The owners that the path paid.
    owners: Vec<u32>,
    /// The transfer that the owner pays.
    paid: u32,
    /// Index from which on no transfer is in a window with the owner's transfer.
    end: u32,
    visited: u64,
    budget: u64,
    cycles: Vec<Cycle>,
}

impl Search<'_> {
    fn run(&mut self) -> Option<()> {
        let mut rest = self.graph.by_payer.of(self.target);
        while let Some(first) = rest.first() {
            let end = self.graph.end_of_window(first.transfer, self.rules.within);
            let count = rest.iter().take(TOGETHER).take_while(|step| step.transfer < end).count();
            let (together, others) = rest.split_at_checked(count.max(1))?;
            rest = others;
            self.note_departures(together)?;
            for step in together {
                self.paid = step.transfer;
                self.end = self.graph.end_of_window(step.transfer, self.rules.within);
                self.transfers.push(step.transfer);
                self.follow(step.party, step.transfer, self.rules.longest - 1)?;
                self.transfers.pop();
            }
        }
        Some(())
    }

    fn visit(&mut self) -> Option<()> {
        self.visited += 1;
        (self.total() <= self.budget).then_some(())
    }

    const fn total(&self) -> u64 {
        self.visited + self.to_target.visited + self.to_last.visited
    }

    /// Number of transfers that departures may still visit.
    const fn allowance(&self, departures: &Departures) -> u64 {
        departures.visited + self.budget.saturating_sub(self.total())
    }

    /// Records the departures for some transfers of the owner.
    fn note_departures(&mut self, together: &[Step]) -> Option<()> {
        let (first, last) = (together.first()?.transfer, together.last()?.transfer);
        let (graph, target) = (self.graph, self.target);
        let begin = graph.start_of_window(first, self.rules.within);
        let end = graph.end_of_window(last, self.rules.within);
        let after = graph.after(first);
        self.to_target.clear();
        self.to_last.clear();
        for step in graph.by_payee.range(target, begin..end).iter().rev() {
            self.visit()?;
            let departure = (step.party, 1, step.transfer);
            if step.transfer < graph.first_of_position(last) {
                let most = self.allowance(&self.to_target);
                self.to_target.note(graph, departure, target, begin, most).then_some(())?;
            }
            if step.transfer >= after {
                let most = self.allowance(&self.to_last);
                self.to_last.note(graph, departure, target, after, most).then_some(())?;
            }
        }
        for owner in self.to_target.reached().to_vec() {
            self.note_last_to(owner, after..end, begin)?;
        }
        Some(())
    }

    /// Records the departures that lead to an owner that may pay the first transfer of a cycle.
    fn note_last_to(&mut self, owner: u32, last: std::ops::Range<u32>, begin: u32) -> Option<()> {
        let (graph, target) = (self.graph, self.target);
        let from = last.start;
        for step in graph.by_payee.range(owner, last) {
            self.visit()?;
            if step.party == target {
                continue;
            }
            let window = graph.start_of_window(step.transfer, self.rules.within).max(begin);
            let levels = self.to_target.levels();
            let leads = |level: &u8| {
                self.to_target.latest(owner, *level).is_some_and(|latest| latest > window)
            };
            let Some(level) = (1..=levels).find(leads) else { continue };
            let level = if self.to_last.is_open() { levels } else { level + 1 };
            if level <= levels {
                let departure = (step.party, level, step.transfer);
                let most = self.allowance(&self.to_last);
                self.to_last.note(graph, departure, target, from, most).then_some(())?;
            }
        }
        Some(())
    }

    /// Follows the transfers of an owner after the transfer `last`, which paid the owner, for at most `left` transfers.
    fn follow(&mut self, owner: u32, last: u32, left: u8) -> Option<()> {
        let graph = self.graph;
        let from = graph.after(last);
        if self.to_last.can_reach_target(owner, 1, from) {
            self.close(owner, last, from..self.end)?;
        }
        self.owners.push(owner);
        if self.to_target.can_reach_target(owner, left, 0) {
            self.begin_anew(owner, last, left)?;
        }
        if left >= 2 {
            for step in
                graph.by_payer.range(owner, self.to_last.leading(owner, left, from, self.end))
            {
                self.visit()?;
                let next = graph.after(step.transfer);
                if step.party != self.target
                    && (self.to_last.can_reach_target(step.party, left - 1, next)
                        || self.to_target.can_reach_target(step.party, left - 1, 0))
                    && !self.owners.contains(&step.party)
                    && self.rules.allows_amounts(graph, last, step.transfer)
                {
                    self.transfers.push(step.transfer);
                    self.follow(step.party, step.transfer, left - 1)?;
                    self.transfers.pop();
                }
            }
        }
        self.owners.pop();
        Some(())
    }

    /// Treats a transfer as the last transfer of a cycle, and follows the first transfers of its payee.
    fn begin_anew(&mut self, owner: u32, last: u32, left: u8) -> Option<()> {
        let graph = self.graph;
        let begin = graph.start_of_window(last, self.rules.within);
        let end = graph.first_of_position(self.paid);
        let onward = self.transfers.len();
        for step in graph.by_payer.range(owner, self.to_target.leading(owner, left, begin, end)) {
            self.visit()?;
            if graph.is_within(step.transfer, last, self.rules.within) {
                self.lead_back(*step, onward, left)?;
            }
        }
        Some(())
    }

    /// Follows a transfer towards the owner; the first `onward` transfers of the path come after that transfer.
    fn lead_back(&mut self, step: Step, onward: usize, left: u8) -> Option<()> {
        let graph = self.graph;
        let (from, end) = (graph.after(step.transfer), graph.first_of_position(self.paid));
        if step.party == self.target {
            if self.rules.allows_amounts(graph, step.transfer, self.paid) {
                self.transfers.push(step.transfer);
                self.report(onward);
                self.transfers.pop();
            }
            return Some(());
        }
        let left = left - 1;
        if left == 0
            || !self.to_target.can_reach_target(step.party, left, from)
            || self.owners.contains(&step.party)
        {
            return Some(());
        }
        self.transfers.push(step.transfer);
        self.owners.push(step.party);
        let next = if left == 1 {
            graph.between(step.party, self.target, from..end)
        } else {
            graph.by_payer.range(step.party, self.to_target.leading(step.party, left, from, end))
        };
        for next in next {
            self.visit()?;
            if self.rules.allows_amounts(graph, step.transfer, next.transfer) {
                self.lead_back(*next, onward, left)?;
            }
        }
        self.owners.pop();
        self.transfers.pop();
        Some(())
    }

    /// Reports the cycles that begin with the owner's transfer and that one more transfer closes.
    fn close(&mut self, owner: u32, last: u32, indexes: std::ops::Range<u32>) -> Option<()> {
        let graph = self.graph;
        for step in graph.between(owner, self.target, indexes) {
            self.visit()?;
            if graph.is_within(self.paid, step.transfer, self.rules.within)
                && self.rules.allows_amounts(graph, last, step.transfer)
            {
                self.transfers.push(step.transfer);
                self.report(self.transfers.len());
                self.transfers.pop();
            }
        }
        Some(())
    }

    fn report(&mut self, onward: usize) {
        let mut transfers = self.transfers.clone();
        let count = transfers.len();
        transfers.rotate_left(onward.min(count));
        self.cycles.push(Cycle { transfers });
    }
}
