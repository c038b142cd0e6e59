//! Cycles: money that leaves an owner and returns to it over other owners, each transfer later than the one before.
//!
//! The search follows transfers in the order of the chain from a first one and keeps to those from which the payer of
//! the first is still reached in time: before it follows them, it walks backward from that payer and notes for each
//! owner the latest transfer that leads there. Kumar and Calders ("2SCENT", 2018) find the owners of cycles in such a
//! pass of their own. Here the notes also tell by how many transfers, and one walk serves all first transfers of a
//! payer.
//!
//! - `through`: the cycles in which one owner takes part
//! - `departures`: the latest transfer of each owner that leads to an owner

mod departures;
mod through;

pub use through::cycles_through;

use std::time::Duration;

use super::TransferGraph;

/// A cycle: transfers between distinct owners, each paid by the owner that the one before paid, the first by the owner
/// that the last one paid. Their positions strictly increase.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Cycle {
    /// Indexes of the transfers, in the order of the chain; at least 2.
    pub transfers: Vec<u32>,
}

/// The conditions of a cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CycleRules {
    /// Time from the first transfer to the last, at most.
    pub within: Duration,
    /// Number of transfers, at most. Below 2 there are no cycles.
    pub longest: u8,
    /// Percentage of the amount before that each transfer's amount is at least; and at most its inverse. 0 allows all
    /// amounts; above 100 none.
    pub least_kept: u8,
}

/// The cycles that were found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cycles {
    /// Each cycle once, ordered by the indexes of their transfers.
    pub cycles: Vec<Cycle>,
    /// False if the budget was used up before the search was complete; there may be more cycles then.
    pub is_complete: bool,
}

impl CycleRules {
    /// True if a transfer may come directly after another by their amounts.
    fn allows_amounts(&self, graph: &TransferGraph, before: u32, next: u32) -> bool {
        if self.least_kept == 0 {
            return true;
        }
        let (Some(before), Some(next)) = (graph.transfer(before), graph.transfer(next)) else {
            return false;
        };
        let (all, least) = (100, self.least_kept);
        times(next.amount, all) >= times(before.amount, least)
            && times(next.amount, least) <= times(before.amount, all)
    }
}

/// An amount times a percentage: the high part, and the low 64 bits.
const fn times(amount: u128, percent: u8) -> (u128, u128) {
    const LOW: u128 = u64::MAX as u128;
    let low = (amount & LOW) * percent as u128;
    ((amount >> 64) * percent as u128 + (low >> 64), low & LOW)
}
