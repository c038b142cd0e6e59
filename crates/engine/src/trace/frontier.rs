//! A priority queue of the waypoints at which funds wait to be followed (`docs/model/trace.md` T8).

use std::collections::BTreeSet;

use rustc_hash::FxHashMap;

use super::{
    flow::{Flow, FlowKey, Flows},
    path::Paths,
};
use crate::{
    evidence::Direction,
    ledger::TransactionNumber,
    reading::{ReadRequest, Waypoint},
};

/// Rank of a transaction in the order of a direction: towards sources the latest transactions of the chain come first,
/// towards destinations the earliest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Rank(u64);

impl Rank {
    pub(super) const fn new(direction: Direction, position: u64) -> Self {
        match direction {
            Direction::Source => Self(u64::MAX - position),
            Direction::Destination => Self(position),
        }
    }
}

/// The next step of a direction.
#[derive(Clone, Copy, Debug)]
pub(super) enum FrontierStep {
    /// All waypoints of the present level that have not been looked up: their transactions must be looked up before
    /// funds are followed.
    LookupResult,
    /// A transaction.
    Pass(TransactionNumber),
}

/// Funds by waypoint, in the order in which they are followed: by level, then waypoints that have not been looked up,
/// then by the order of the chain.
///
/// The level of a waypoint is its magnitude, `floor(log2(whole / amount))`, or the level that is followed now, if the
/// latter is larger. Funds that reach a transaction by many successive payments are therefore not followed before the
/// rest has arrived.
#[derive(Debug)]
pub(super) struct Frontier {
    whole: u128,
    waiting: FxHashMap<Waypoint, WaitingMoney>,
    /// Waypoints that were looked up, by rank.
    ranked: BTreeSet<(u32, Rank, TransactionNumber)>,
    /// Waypoints that were not looked up.
    unranked: BTreeSet<(u32, Waypoint)>,
    /// Waypoints that were neither looked up nor requested; `None` before the first request.
    unasked: Option<BTreeSet<(u32, Waypoint)>>,
    /// Largest level that was followed so far.
    pub(super) level: u32,
    /// Total of all waiting funds.
    pub(super) total: u128,
}

#[derive(Debug)]
struct WaitingMoney {
    flows: Flows,
    total: u128,
    level: u32,
    rank: Option<Rank>,
}

impl Frontier {
    /// An empty frontier for a direction with this total, in the unit of a trace.
    pub(super) fn new(whole: u128) -> Self {
        Self {
            whole,
            waiting: FxHashMap::default(),
            ranked: BTreeSet::new(),
            unranked: BTreeSet::new(),
            unasked: None,
            level: 0,
            total: 0,
        }
    }

    /// True if no funds wait at a waypoint.
    pub(super) fn is_new(&self, waypoint: Waypoint) -> bool {
        !self.waiting.contains_key(&waypoint)
    }

    /// Adds funds at a waypoint. `rank` is the rank of a transaction that was looked up; only the rank of the first
    /// funds counts.
    pub(super) fn add(
        &mut self,
        waypoint: Waypoint,
        rank: Option<Rank>,
        (key, flow): (FlowKey, Flow),
        paths: &Paths,
    ) {
        let amount = flow.mass.total();
        self.total = self.total.saturating_add(amount);
        let Some(waiting) = self.waiting.get_mut(&waypoint) else {
            let level = magnitude(self.whole, amount).max(self.level);
            let flows = Flows::one(key, flow);
            self.waiting.insert(waypoint, WaitingMoney { flows, total: amount, level, rank });
            return self.queue(waypoint, level, rank);
        };
        waiting.flows.add(key, flow, paths);
        waiting.total = waiting.total.saturating_add(amount);
        let level = magnitude(self.whole, waiting.total).max(self.level);
        if level != waiting.level {
            let before = std::mem::replace(&mut waiting.level, level);
            let rank = waiting.rank;
            let was_asked = self.dequeue(waypoint, before, rank);
            self.queue(waypoint, level, rank);
            if was_asked && let Some(unasked) = &mut self.unasked {
                unasked.remove(&(level, waypoint));
            }
        }
    }

    fn queue(&mut self, waypoint: Waypoint, level: u32, rank: Option<Rank>) {
        if let (Waypoint::Transaction(number), Some(rank)) = (waypoint, rank) {
            self.ranked.insert((level, rank, number));
            return;
        }
        self.unranked.insert((level, waypoint));
        if let Some(unasked) = &mut self.unasked {
            unasked.insert((level, waypoint));
        }
    }

    /// Removes a waypoint from the queues. Returns true if the waypoint was requested.
    fn dequeue(&mut self, waypoint: Waypoint, level: u32, rank: Option<Rank>) -> bool {
        if let (Waypoint::Transaction(number), Some(rank)) = (waypoint, rank) {
            self.ranked.remove(&(level, rank, number));
            return false;
        }
        self.unranked.remove(&(level, waypoint));
        self.unasked.as_mut().is_some_and(|unasked| !unasked.remove(&(level, waypoint)))
    }

    /// Removes a waypoint with the waiting funds, and returns the funds.
    pub(super) fn take(&mut self, waypoint: Waypoint) -> Flows {
        let Some(WaitingMoney { flows, total, level, rank }) = self.waiting.remove(&waypoint)
        else {
            return Flows::default();
        };
        self.dequeue(waypoint, level, rank);
        self.total = self.total.saturating_sub(total);
        flows
    }

    /// Sorts the waiting transactions again by their present ranks, which `rank_of` returns.
    pub(super) fn rank_anew<E>(
        &mut self,
        mut rank_of: impl FnMut(TransactionNumber) -> Result<Option<Rank>, E>,
    ) -> Result<(), E> {
        for (level, before, number) in std::mem::take(&mut self.ranked) {
            let rank = rank_of(number)?.unwrap_or(before);
            self.ranked.insert((level, rank, number));
            if let Some(waiting) = self.waiting.get_mut(&Waypoint::Transaction(number)) {
                waiting.rank = Some(rank);
            }
        }
        Ok(())
    }

    /// Returns the next step, and sets the present level to that of the step.
    pub(super) fn next(&mut self) -> Option<FrontierStep> {
        let (ranked, unranked) = (self.ranked.first(), self.unranked.first());
        let (level, next) = match (ranked, unranked) {
            (Some((level, ..)), Some((other, _))) if other <= level => {
                (*other, FrontierStep::LookupResult)
            }
            (Some((level, _, number)), _) => (*level, FrontierStep::Pass(*number)),
            (None, Some((level, _))) => (*level, FrontierStep::LookupResult),
            (None, None) => return None,
        };
        self.level = level;
        Some(next)
    }

    /// Any waypoint at which funds wait.
    pub(super) fn any(&self) -> Option<Waypoint> {
        let ranked = self.ranked.first().map(|(.., number)| Waypoint::Transaction(*number));
        ranked.or_else(|| self.unranked.first().map(|(_, waypoint)| *waypoint))
    }

    /// Waypoints of the present level that have not been looked up.
    pub(super) fn unranked_of_level(&self) -> impl Iterator<Item = Waypoint> {
        let of_level = self.unranked.iter().take_while(|(level, _)| *level <= self.level);
        of_level.map(|(_, waypoint)| *waypoint)
    }

    /// Adds the first `most` waypoints that were neither looked up nor requested to a request.
    pub(super) fn ask(&mut self, most: usize, request: &mut ReadRequest) {
        let unranked = &self.unranked;
        let unasked = self.unasked.get_or_insert_with(|| unranked.clone());
        for (_, waypoint) in std::iter::from_fn(|| unasked.pop_first()).take(most) {
            request.push(waypoint);
        }
    }

    /// The magnitude of an amount: `floor(log2(whole / amount))`.
    pub(super) const fn magnitude(&self, amount: u128) -> u32 {
        magnitude(self.whole, amount)
    }

    /// True if no funds wait.
    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }
}

/// `floor(log2(whole / amount))`.
pub(super) const fn magnitude(whole: u128, amount: u128) -> u32 {
    if amount == 0 {
        return u32::MAX;
    }
    if amount >= whole {
        return 0;
    }
    // The difference of the positions of the highest bits, or one less. Nothing is shifted out.
    let most = whole.ilog2() - amount.ilog2();
    if amount << most > whole { most - 1 } else { most }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_within_a_factor_of_two_have_one_magnitude() {
        assert_eq!(magnitude(100, 100), 0);
        assert_eq!(magnitude(100, 51), 0);
        assert_eq!(magnitude(100, 50), 1);
        assert_eq!(magnitude(100, 26), 1);
        assert_eq!(magnitude(100, 25), 2);
        assert_eq!(magnitude(100, 1), 6);
        assert_eq!(magnitude(u128::MAX, 1), 127);
    }
}
