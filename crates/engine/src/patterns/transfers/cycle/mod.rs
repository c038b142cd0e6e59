//! Cycles: funds that leave an owner and return to that owner via other owners, each transfer later than the previous
//! one.
//!
//! The search follows transfers in the order of the chain from a first transfer, and only transfers from which the
//! payer of the first transfer can still be reached in time. To know such transfers, the search first walks backward
//! from the payer of the first transfer, and records for each owner the latest transfer that leads to the payer. Kumar
//! and Calders ("2SCENT", 2018) find the owners of cycles in a similar pass. In this search the records also hold the
//! number of transfers, and one walk serves all first transfers of a payer.
//!
//! - `through`: the cycles in which one owner takes part
//! - `departures`: the latest transfer of each owner that leads to an owner

mod departures;
mod through;

pub use through::cycles_through;

use std::time::Duration;

use super::TransferGraph;

/// A cycle: transfers between distinct owners. The payee of each transfer pays the next, and the payee of the last one
/// pays the first. The positions strictly increase.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Cycle {
    /// Indexes of the transfers, in the order of the chain; at least 2.
    pub transfers: Vec<u32>,
}

/// The conditions of a cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CycleRules {
    /// Longest time from the first transfer to the last.
    pub within: Duration,
    /// Largest number of transfers. Below 2 there are no cycles.
    pub longest: u8,
    /// Smallest percentage of a transfer's amount that the next amount may have; the inverse is the largest percentage.
    /// 0 allows all amounts; a value above 100 allows none.
    pub least_kept: u8,
}

/// The cycles that were found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cycles {
    /// The cycles, each once, ordered by the indexes of their transfers.
    pub cycles: Vec<Cycle>,
    /// False if the search stopped at its budget; then the graph may have more cycles.
    pub is_complete: bool,
}

impl CycleRules {
    /// True if the amounts of two transfers allow them to follow each other in a cycle.
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

/// The product of an amount and a percentage: the high part, and the low 64 bits.
const fn times(amount: u128, percent: u8) -> (u128, u128) {
    const LOW: u128 = u64::MAX as u128;
    let low = (amount & LOW) * percent as u128;
    ((amount >> 64) * percent as u128 + (low >> 64), low & LOW)
}
