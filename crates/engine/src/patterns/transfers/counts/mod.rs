//! Counts of patterns for every transfer of a graph: numbers for an export, such as features of a statistical model.
//!
//! Each pattern ends with a transfer, the last one of it, and is counted for all transfers in it, by its size:
//!
//! - fan in: the transfers to the payee of the last one in the window that ends with it; size: distinct payers
//! - fan out: the transfers of its payer in that window; size: distinct payees
//! - degree in and out: the same; size: transfers
//! - cycle: the transfers by which money of the payee of the last one may have come to its payer over the same other
//!   owners, each later than the one before, and the last one; size: owners. Cycles over the same owners that end with
//!   the same transfer are one pattern.
//!
//! The graph feature preprocessor of Snap ML (Blanuša et al., 2024) counts transfers by patterns in this way.
//!
//! Windows are measured by times that never go backward: a time before that of an earlier transfer is taken as the
//! latest before it.

mod cycles;
mod windows;

use std::time::Duration;

use super::{TransferGraph, index_of, later};

/// Which patterns are counted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CountRules {
    /// Time from the first transfer of a fan or degree to the last, at most.
    pub fan_within: Duration,
    /// Sizes of fans and degrees that are told apart.
    pub fan_sizes: Sizes,
    /// Time from the first transfer of a cycle to the last, at most.
    pub cycle_within: Duration,
    /// Sizes of cycles that are told apart.
    pub cycle_sizes: Sizes,
    /// Number of owners in a cycle, at most. Below 2 no cycles are counted.
    pub longest: u8,
    /// Number of transfers in a batch, in the order of the chain; 0 for one batch of all. A pattern is counted for the
    /// transfers of the batch of its last transfer, so that later batches do not change the counts. It may begin in
    /// earlier batches.
    pub batch: u32,
}

/// Ranges of sizes, by the least size of each, ascending. A range ends before the next one, the last does not end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sizes(Vec<u32>);

impl Sizes {
    /// The ranges that begin at these sizes.
    #[must_use]
    pub fn new(mut least: Vec<u32>) -> Self {
        least.sort_unstable();
        least.dedup();
        Self(least)
    }

    /// The least size of each range.
    #[must_use]
    pub fn least(&self) -> &[u32] {
        &self.0
    }

    /// The range of a size.
    fn range_of(&self, size: u32) -> Option<usize> {
        let first = *self.0.first()?;
        let nth = size.checked_sub(first)? as usize;
        // Mostly every size has a range of its own.
        if self.0.get(nth) == Some(&size) {
            return Some(nth);
        }
        self.0.partition_point(|least| *least <= size).checked_sub(1)
    }
}

/// The counts: a row for each transfer by index, a column for each pattern and range of sizes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PatternCounts {
    columns: usize,
    cells: Vec<u32>,
}

impl PatternCounts {
    /// The counts of the transfer of an index, in the order of [`CountRules::columns`].
    #[must_use]
    pub fn row(&self, index: u32) -> Option<&[u32]> {
        let start = index as usize * self.columns;
        self.cells.get(start..start + self.columns)
    }

    /// The counts of all transfers, row after row.
    #[must_use]
    pub fn cells(&self) -> &[u32] {
        &self.cells
    }

    fn cell(&mut self, index: u32, column: usize) -> Option<&mut u32> {
        self.cells.get_mut(index as usize * self.columns + column)
    }
}

impl CountRules {
    /// Names of the columns: the pattern and the least size, such as `fan_in_2`.
    #[must_use]
    pub fn columns(&self) -> Vec<String> {
        let patterns = [
            ("fan_in", &self.fan_sizes),
            ("fan_out", &self.fan_sizes),
            ("degree_in", &self.fan_sizes),
            ("degree_out", &self.fan_sizes),
            ("cycle", &self.cycle_sizes),
        ];
        let names = |(pattern, sizes): (&'static str, &Sizes)| {
            sizes.0.iter().map(move |least| format!("{pattern}_{least}")).collect::<Vec<_>>()
        };
        patterns.into_iter().flat_map(names).collect()
    }

    /// The batch of a transfer.
    fn batch_of(&self, index: u32) -> u32 {
        index.checked_div(self.batch).unwrap_or(0)
    }
}

/// Counts the patterns of a graph.
#[must_use]
pub fn count_patterns(graph: &TransferGraph, rules: &CountRules) -> PatternCounts {
    let fans = rules.fan_sizes.0.len();
    let columns = 4 * fans + rules.cycle_sizes.0.len();
    let cells = vec![0; columns * graph.transfers.len()];
    let mut counts = PatternCounts { columns, cells };
    let starts = window_starts(graph, rules.fan_within);
    windows::count(graph, &graph.by_payee, &starts, rules, [0, 2 * fans], &mut counts);
    windows::count(graph, &graph.by_payer, &starts, rules, [fans, 3 * fans], &mut counts);
    if rules.longest >= 2 {
        let starts = window_starts(graph, rules.cycle_within);
        cycles::count(graph, &starts, rules, 4 * fans, &mut counts);
    }
    counts
}

/// For each transfer the index of the first one in the window that ends with it.
fn window_starts(graph: &TransferGraph, within: Duration) -> Vec<u32> {
    let times = &graph.order.latest_until;
    let mut ends = times.iter().map(|time| later(*time, within));
    let mut end = ends.next();
    let mut start = 0_usize;
    let start_of = |time| {
        while end.is_some_and(|end| end < time) {
            end = ends.next();
            start += 1;
        }
        index_of(start)
    };
    times.iter().copied().map(start_of).collect()
}
