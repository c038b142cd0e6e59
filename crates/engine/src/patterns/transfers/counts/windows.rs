//! Counts of fans and degrees.

use super::{CountRules, PatternCounts};
use crate::patterns::transfers::{
    TransferGraph,
    adjacency::{Adjacency, Step},
};

/// Counts the windows of the transfers of each owner, by parties and by transfers, from these columns on.
pub(super) fn count(
    graph: &TransferGraph,
    adjacency: &Adjacency,
    starts: &[u32],
    rules: &CountRules,
    columns: [usize; 2],
    counts: &mut PatternCounts,
) {
    let owners = super::index_of(graph.owners().len());
    let least = rules.fan_sizes.least().first().copied().unwrap_or(u32::MAX);
    let mut inside = vec![0_u32; graph.owners().len()];
    let (mut by_parties, mut by_transfers) = (Vec::new(), Vec::new());
    for owner in 0..owners {
        let steps = adjacency.of(owner);
        if super::index_of(steps.len()) < least {
            continue;
        }
        measure(steps, starts, rules, &mut inside, (&mut by_parties, &mut by_transfers));
        let [parties, transfers] = columns;
        credit(steps, &by_parties, starts, rules, parties, counts);
        credit(steps, &by_transfers, starts, rules, transfers, counts);
    }
}

/// For the window that ends with each step: the ranges of its number of parties and of transfers.
fn measure(
    steps: &[Step],
    starts: &[u32],
    rules: &CountRules,
    inside: &mut [u32],
    (by_parties, by_transfers): (&mut Vec<Option<usize>>, &mut Vec<Option<usize>>),
) {
    by_parties.clear();
    by_transfers.clear();
    let (mut parties, mut transfers) = (0, 0);
    let mut leaving = steps.iter().peekable();
    for step in steps {
        if let Some(inside) = inside.get_mut(step.party as usize) {
            parties += u32::from(*inside == 0);
            *inside += 1;
        }
        transfers += 1;
        let start = starts.get(step.transfer as usize).copied().unwrap_or(0);
        while let Some(left) = leaving.next_if(|left| left.transfer < start) {
            if let Some(inside) = inside.get_mut(left.party as usize) {
                *inside -= 1;
                parties -= u32::from(*inside == 0);
            }
            transfers -= 1;
        }
        by_parties.push(rules.fan_sizes.range_of(parties));
        by_transfers.push(rules.fan_sizes.range_of(transfers));
    }
    for left in leaving {
        if let Some(inside) = inside.get_mut(left.party as usize) {
            *inside = 0;
        }
    }
}

/// Counts for each step the windows that it is in, by their ranges.
fn credit(
    steps: &[Step],
    ranges: &[Option<usize>],
    starts: &[u32],
    rules: &CountRules,
    column: usize,
    counts: &mut PatternCounts,
) {
    if ranges.iter().all(Option::is_none) {
        return;
    }
    let mut sums = vec![0_u32; rules.fan_sizes.least().len()];
    let mut total = 0_u32;
    let mut windows = steps.iter().zip(ranges).peekable();
    for (step, range) in steps.iter().zip(ranges) {
        let batch = rules.batch_of(step.transfer);
        let holds = |(last, _): &(&Step, &Option<usize>)| {
            let start = starts.get(last.transfer as usize).copied().unwrap_or(u32::MAX);
            start <= step.transfer && rules.batch_of(last.transfer) == batch
        };
        while let Some((_, range)) = windows.next_if(holds) {
            if let Some(sum) = range.and_then(|range| sums.get_mut(range)) {
                *sum += 1;
                total += 1;
            }
        }
        if total == 0 {
            continue;
        }
        let first = step.transfer as usize * counts.columns + column;
        if let Some(row) = counts.cells.get_mut(first..first + sums.len()) {
            row.copy_from_slice(&sums);
        }
        if let Some(sum) = range.and_then(|range| sums.get_mut(range)) {
            *sum -= 1;
            total -= 1;
        }
    }
}
