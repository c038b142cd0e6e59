//! Departures: the latest transfer of each owner from which funds still reach a target owner, by the number of
//! transfers to the target.

use std::ops::Range;

use crate::patterns::transfers::TransferGraph;

/// Largest number of transfers with a level of its own; a search for longer cycles has one level for all numbers of
/// transfers.
const LONGEST_LEVELED: u8 = 8;

/// For each owner and level the latest transfer that the owner pays and that leads to the target.
///
/// Level `r` covers paths of at most `r` transfers. Paths do not pass the target; they may pass another owner twice, so
/// a departure is a necessary, not a sufficient condition of a simple path. A departure only moves to later transfers,
/// until departures are [cleared](Self::clear).
#[derive(Debug)]
pub(super) struct Departures {
    levels: u8,
    /// True if the last level covers paths of any length.
    is_open: bool,
    /// Index of the transfer plus 1, by owner and level; 0 if there is no such transfer.
    latest: Vec<u32>,
    /// Owners that have a departure (a transfer from which funds reach the target).
    reached: Vec<u32>,
    /// Queue of departures to record: payer, level, transfer.
    waiting: Vec<(u32, u8, u32)>,
    /// Transfers visited since the start.
    pub(super) visited: u64,
}

impl Departures {
    /// Empty departures for cycles of at most `longest` transfers: the levels cover half of a cycle, and a search from
    /// the other side covers the rest.
    pub(super) fn new(graph: &TransferGraph, longest: u8) -> Self {
        let is_open = longest > LONGEST_LEVELED;
        let levels = if is_open { 1 } else { (longest / 2).max(1) };
        let latest = vec![0; graph.owners().len() * usize::from(levels)];
        Self { levels, is_open, latest, reached: Vec::new(), waiting: Vec::new(), visited: 0 }
    }

    /// Removes all departures.
    pub(super) fn clear(&mut self) {
        for owner in std::mem::take(&mut self.reached) {
            let start = owner as usize * usize::from(self.levels);
            if let Some(levels) = self.latest.get_mut(start..start + usize::from(self.levels)) {
                levels.fill(0);
            }
        }
    }

    /// Returns true if the last level covers paths of any length.
    pub(super) const fn is_open(&self) -> bool {
        self.is_open
    }

    /// Number of levels.
    pub(super) const fn levels(&self) -> u8 {
        self.levels
    }

    /// Owners that have a departure (a transfer from which funds reach the target), in the order in which they were
    /// reached.
    pub(super) fn reached(&self) -> &[u32] {
        &self.reached
    }

    /// Index plus 1 of the latest transfer of an owner from which at most `count` transfers, itself included, lead to
    /// the target; 0 if there is no such transfer, `None` if the transfer is not known.
    pub(super) fn latest(&self, owner: u32, count: u8) -> Option<u32> {
        if count > self.levels && !self.is_open {
            return None;
        }
        let level = count.min(self.levels).checked_sub(1)?;
        self.latest.get(self.slot(owner, level)).copied()
    }

    fn slot(&self, owner: u32, level: u8) -> usize {
        owner as usize * usize::from(self.levels) + usize::from(level)
    }

    /// Records a departure at a level, counted from 1, and all departures that lead to this departure by transfers from
    /// the index `from` on without passing the target. Returns false if more than `most` transfers were visited.
    pub(super) fn note(
        &mut self,
        graph: &TransferGraph,
        (payer, level, transfer): (u32, u8, u32),
        target: u32,
        from: u32,
        most: u64,
    ) -> bool {
        self.waiting.clear();
        self.waiting.push((payer, level, transfer));
        while let Some((owner, level, transfer)) = self.waiting.pop() {
            let Some(known) = self.raise(owner, level, transfer) else { continue };
            let next = level + 1;
            if next > self.levels && !self.is_open {
                continue;
            }
            let next = next.min(self.levels);
            // Those that lead to a departure that was known have been noted.
            let start = known.checked_sub(1).map_or(0, |known| graph.first_of_position(known));
            let earlier = from.max(start)..graph.first_of_position(transfer);
            for step in graph.by_payee.range(owner, earlier) {
                self.visited += 1;
                let slot = self.slot(step.party, next - 1);
                let is_later = self.latest.get(slot).is_some_and(|known| *known <= step.transfer);
                if is_later && step.party != target {
                    self.waiting.push((step.party, next, step.transfer));
                }
            }
            if self.visited > most {
                return false;
            }
        }
        true
    }

    /// Moves the departure of an owner at a level and at all higher levels to a later transfer. Returns the previous
    /// departure at that level; `None` if the previous departure was not earlier.
    fn raise(&mut self, owner: u32, level: u8, transfer: u32) -> Option<u32> {
        let (start, end) = (self.slot(owner, level.checked_sub(1)?), self.slot(owner, self.levels));
        let levels = self.latest.get_mut(start..end)?;
        let before = *levels.first()?;
        if before > transfer {
            return None;
        }
        for latest in &mut *levels {
            *latest = (*latest).max(transfer + 1);
        }
        if before == 0 {
            self.reached.push(owner);
        }
        Some(before)
    }

    /// True if a transfer of `owner` with an index of at least `from` may begin a path of at most `count` transfers to
    /// the target.
    pub(super) fn can_reach_target(&self, owner: u32, count: u8, from: u32) -> bool {
        self.latest(owner, count).is_none_or(|latest| latest > from)
    }

    /// The indexes from `from` on, before `end`, of transfers of an owner that may lead to the target by at most
    /// `count` transfers.
    pub(super) fn leading(&self, owner: u32, count: u8, from: u32, end: u32) -> Range<u32> {
        from..self.latest(owner, count).unwrap_or(end).min(end)
    }
}
