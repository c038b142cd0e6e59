//! Scatter-gathers: one owner pays several intermediaries, and each of them later pays the same owner.

use std::time::Duration;

use jiff::Timestamp;

use super::{TransferGraph, adjacency::Step, later};
use crate::ledger::OwnerNumber;

/// Funds that pass from one owner to another via several intermediaries in one window of time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScatterGather {
    /// Owner that pays the intermediaries.
    pub payer: OwnerNumber,
    /// Owner that the intermediaries pay.
    pub payee: OwnerNumber,
    /// The intermediaries, each once, in the order of the transfers that they pay.
    pub intermediaries: Vec<Intermediary>,
}

/// An owner that is paid and then pays on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Intermediary {
    /// The owner.
    pub owner: OwnerNumber,
    /// Index of the transfer that pays the intermediary.
    pub paid: u32,
    /// Index of the transfer that the intermediary pays, at a larger position than the received one.
    pub pays: u32,
}

/// The conditions of a scatter-gather.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScatterGatherRules {
    /// Longest time from the earliest transfer to the latest.
    pub within: Duration,
    /// Fewest intermediaries. 0 counts as 1.
    pub fewest: u32,
}

/// The scatter-gathers that were found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScatterGathers {
    /// One scatter-gather for each pair of a payer and a payee: the window with the most intermediaries, of several
    /// windows the earliest.
    pub found: Vec<ScatterGather>,
    /// False if the search stopped at its budget; there may be more scatter-gathers then.
    pub is_complete: bool,
}

/// Finds the scatter-gathers whose first transfers an owner pays. The search visits at most about `budget` transfers.
#[must_use]
pub fn scatter_gathers_from(
    graph: &TransferGraph,
    owner: OwnerNumber,
    rules: &ScatterGatherRules,
    budget: u64,
) -> ScatterGathers {
    let mut search = Search::new(graph, rules, budget);
    let is_complete = graph.id(owner).is_none_or(|payer| search.search_payer(payer).is_some());
    ScatterGathers { found: search.found, is_complete }
}

/// Finds the scatter-gathers whose last transfers pay an owner. The search visits at most about `budget` transfers.
#[must_use]
pub fn scatter_gathers_to(
    graph: &TransferGraph,
    owner: OwnerNumber,
    rules: &ScatterGatherRules,
    budget: u64,
) -> ScatterGathers {
    let mut search = Search::new(graph, rules, budget);
    let is_complete = graph.id(owner).is_none_or(|payee| search.search_payee(payee).is_some());
    ScatterGathers { found: search.found, is_complete }
}

/// The state of the search. The methods of the search return `None` as soon as the budget is used up.
struct Search<'a> {
    graph: &'a TransferGraph,
    rules: &'a ScatterGatherRules,
    left: u64,
    found: Vec<ScatterGather>,
}

/// A passage via one intermediary: two transfers with the earliest and latest time.
struct Passage {
    start: Timestamp,
    end: Timestamp,
    /// Index of the intermediary.
    nth: usize,
    paid: u32,
    pays: u32,
}

impl<'a> Search<'a> {
    const fn new(graph: &'a TransferGraph, rules: &'a ScatterGatherRules, budget: u64) -> Self {
        Self { graph, rules, left: budget, found: Vec::new() }
    }

    fn visit(&mut self, count: usize) -> Option<()> {
        self.left = self.left.checked_sub(count as u64)?;
        Some(())
    }

    fn search_payer(&mut self, payer: u32) -> Option<()> {
        let graph = self.graph;
        let paid = graph.by_pair.of(payer);
        self.visit(paid.len())?;
        // Each payee with an intermediary that pays it.
        let mut ends = Vec::new();
        for same in paid.chunk_by(|one, other| one.party == other.party) {
            let (Some(first), Some(last)) = (same.first(), same.last()) else { continue };
            let end = graph.end_of_window(last.transfer, self.rules.within);
            let pays = graph.by_payer.range(first.party, graph.after(first.transfer)..end);
            self.visit(pays.len())?;
            ends.extend(pays.iter().map(|step| (step.party, first.party)));
        }
        ends.retain(|(payee, _)| *payee != payer);
        self.each_end(ends, |search, payee, over| search.pass((payer, payee), over))
    }

    fn search_payee(&mut self, payee: u32) -> Option<()> {
        let graph = self.graph;
        let mut pays: Vec<Step> = graph.by_payee.of(payee).to_vec();
        self.visit(pays.len())?;
        pays.sort_unstable_by_key(|step| (step.party, step.transfer));
        // Each payer with an intermediary that it pays.
        let mut ends = Vec::new();
        for same in pays.chunk_by(|one, other| one.party == other.party) {
            let (Some(first), Some(last)) = (same.first(), same.last()) else { continue };
            let start = graph.start_of_window(first.transfer, self.rules.within);
            let end = graph.first_of_position(last.transfer);
            let paid = graph.by_payee.range(first.party, start..end);
            self.visit(paid.len())?;
            ends.extend(paid.iter().map(|step| (step.party, first.party)));
        }
        ends.retain(|(payer, _)| *payer != payee);
        self.each_end(ends, |search, payer, over| search.pass((payer, payee), over))
    }

    /// Calls `pass` for each payer or payee at the other end that enough intermediaries share.
    fn each_end(
        &mut self,
        mut ends: Vec<(u32, u32)>,
        pass: impl Fn(&mut Self, u32, &[(u32, u32)]) -> Option<()>,
    ) -> Option<()> {
        ends.sort_unstable();
        ends.dedup();
        for same in ends.chunk_by(|one, other| one.0 == other.0) {
            if same.len() as u64 >= self.fewest()
                && let Some((end, _)) = same.first()
            {
                pass(self, *end, same)?;
            }
        }
        Some(())
    }

    fn fewest(&self) -> u64 {
        u64::from(self.rules.fewest.max(1))
    }

    /// Finds the best window of the passages from a payer to a payee via these intermediaries.
    fn pass(&mut self, ends: (u32, u32), over: &[(u32, u32)]) -> Option<()> {
        let mut passages = Vec::new();
        for (nth, (_, intermediary)) in over.iter().enumerate() {
            self.passages(ends, (nth, *intermediary), &mut passages)?;
        }
        passages.sort_unstable_by_key(|passage| (passage.end, passage.start));
        let Some((count, end)) = self.best_end(&passages, over.len()) else { return Some(()) };
        if (count as u64) < self.fewest() {
            return Some(());
        }
        let mut is_in = vec![false; over.len()];
        let mut intermediaries = Vec::new();
        for passage in &passages {
            let is_inside = passage.end <= end && later(passage.start, self.rules.within) >= end;
            let (Some(is_in), Some((_, owner))) =
                (is_in.get_mut(passage.nth), over.get(passage.nth))
            else {
                continue;
            };
            if is_inside && !std::mem::replace(is_in, true) {
                let owner = self.graph.owner(*owner);
                intermediaries.push(Intermediary { owner, paid: passage.paid, pays: passage.pays });
            }
        }
        intermediaries.sort_unstable_by_key(|intermediary| (intermediary.pays, intermediary.paid));
        self.found.push(ScatterGather {
            payer: self.graph.owner(ends.0),
            payee: self.graph.owner(ends.1),
            intermediaries,
        });
        Some(())
    }

    /// The shortest passages via one intermediary: at most two for each transfer that it pays.
    fn passages(
        &mut self,
        (first, last): (u32, u32),
        (nth, intermediary): (usize, u32),
        passages: &mut Vec<Passage>,
    ) -> Option<()> {
        let graph = self.graph;
        for pays in graph.between(intermediary, last, 0..u32::MAX) {
            self.visit(1)?;
            let Some(time) = graph.time(pays.transfer) else { continue };
            let start = graph.start_of_window(pays.transfer, self.rules.within);
            let earlier = start..graph.first_of_position(pays.transfer);
            // Times mostly increase, and then the last transfer before is the closest.
            let (mut before, mut behind) = (None, None);
            for paid in graph.between(first, intermediary, earlier).iter().rev() {
                self.visit(1)?;
                let Some(at) = graph.time(paid.transfer) else { continue };
                if at <= time {
                    before = before.max(Some((at, paid.transfer)));
                } else {
                    let closest = behind.unwrap_or((at, paid.transfer));
                    behind = Some(closest.min((at, paid.transfer)));
                }
                let latest = graph.order.latest_until.get(paid.transfer as usize);
                if before.is_some_and(|(before, _)| latest.is_some_and(|latest| *latest <= before))
                {
                    break;
                }
            }
            for (at, paid) in before.into_iter().chain(behind) {
                let (start, end) = (at.min(time), at.max(time));
                if end <= later(start, self.rules.within) {
                    passages.push(Passage { start, end, nth, paid, pays: pays.transfer });
                }
            }
        }
        Some(())
    }

    /// The number of intermediaries in the best window and the window's end. The best window has the most
    /// intermediaries; of several such windows, the earliest is the best. Passages are sorted by their ends.
    fn best_end(&self, passages: &[Passage], intermediaries: usize) -> Option<(usize, Timestamp)> {
        let mut by_start: Vec<&Passage> = passages.iter().collect();
        by_start.sort_unstable_by_key(|passage| passage.start);
        let mut leaving = by_start.into_iter().peekable();
        let mut inside = vec![0_u32; intermediaries];
        let mut count = 0_usize;
        let mut best: Option<(usize, Timestamp)> = None;
        for passage in passages {
            let is_out = |other: &&Passage| later(other.start, self.rules.within) < passage.end;
            if let Some(inside) = inside.get_mut(passage.nth) {
                count += usize::from(*inside == 0);
                *inside += 1;
            }
            while let Some(other) = leaving.next_if(is_out) {
                if let Some(inside) = inside.get_mut(other.nth) {
                    *inside -= 1;
                    count -= usize::from(*inside == 0);
                }
            }
            if best.is_none_or(|(most, _)| count > most) {
                best = Some((count, passage.end));
            }
        }
        best
    }
}
