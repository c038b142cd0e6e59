//! Counts against a plain search.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use proptest::prelude::*;

use super::{Row, graph, rows};
use crate::patterns::transfers::{
    Transfer, TransferGraph,
    counts::{CountRules, Sizes, count_patterns},
    cycle::{CycleRules, each_cycle},
};

/// A party of a transfer.
type Party = fn(&Transfer) -> u64;

/// The graph of some rows with times that never go backward.
fn in_order(rows: &[Row]) -> TransferGraph {
    let mut transfers = graph(rows).transfers().to_vec();
    let mut latest = jiff::Timestamp::MIN;
    for transfer in &mut transfers {
        latest = latest.max(transfer.time);
        transfer.time = latest;
    }
    TransferGraph::new(transfers)
}

/// Column, transfer and count, by patterns that are listed one by one.
fn expected(graph: &TransferGraph, rules: &CountRules) -> BTreeMap<(String, usize), u32> {
    let mut counts = BTreeMap::new();
    let transfers = graph.transfers();
    let mut count =
        |pattern: &str, sizes: &Sizes, size: usize, last: usize, members: &BTreeSet<usize>| {
            let Some(least) = sizes.least().iter().rfind(|least| **least as usize <= size) else {
                return;
            };
            let batch =
                |index: usize| if rules.batch == 0 { 0 } else { index / rules.batch as usize };
            for member in members.iter().filter(|member| batch(**member) == batch(last)) {
                *counts.entry((format!("{pattern}_{least}"), *member)).or_insert(0) += 1;
            }
        };
    let windows: [(&str, &str, Party, Party); 2] = [
        ("fan_in", "degree_in", |transfer| transfer.payee.0, |transfer| transfer.payer.0),
        ("fan_out", "degree_out", |transfer| transfer.payer.0, |transfer| transfer.payee.0),
    ];
    for (last, end) in transfers.iter().enumerate() {
        for (fan, degree, owner, party) in windows {
            let is_member = |index: &usize| {
                let age = end.time.duration_since(transfers[*index].time);
                owner(&transfers[*index]) == owner(end) && age.unsigned_abs() <= rules.fan_within
            };
            let members: BTreeSet<usize> = (0..=last).filter(is_member).collect();
            let parties: BTreeSet<u64> =
                members.iter().map(|index| party(&transfers[*index])).collect();
            count(fan, &rules.fan_sizes, parties.len(), last, &members);
            count(degree, &rules.fan_sizes, members.len(), last, &members);
        }
    }
    let mut cycles: BTreeMap<(u32, Vec<u64>), BTreeSet<usize>> = BTreeMap::new();
    let cycle_rules =
        CycleRules { within: rules.cycle_within, longest: rules.longest, least_kept: 0 };
    each_cycle(graph, &cycle_rules, |cycle| {
        let owners = cycle.iter().map(|index| transfers[*index as usize].payer.0).collect();
        let members = cycles.entry((*cycle.last().unwrap(), owners)).or_default();
        members.extend(cycle.iter().map(|index| *index as usize));
    });
    for ((last, owners), members) in cycles {
        count("cycle", &rules.cycle_sizes, owners.len(), last as usize, &members);
    }
    counts
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn counts_are_those_of_patterns_that_are_listed_one_by_one(
        rows in prop_oneof![rows(12, 40), rows(4, 30)],
        within in (0..30_u64, 0..30_u64),
        fan_sizes in prop::collection::vec(1..8_u32, 1..5),
        cycle_sizes in prop::collection::vec(2..8_u32, 1..5),
        longest in prop_oneof![0..7_u8, Just(u8::MAX)],
        batch in 0..45_u32,
    ) {
        let graph = in_order(&rows);
        let rules = CountRules {
            fan_within: Duration::from_secs(within.0),
            fan_sizes: Sizes::new(fan_sizes),
            cycle_within: Duration::from_secs(within.1),
            cycle_sizes: Sizes::new(cycle_sizes),
            longest,
            batch,
        };
        let counts = count_patterns(&graph, &rules);
        let mut found = BTreeMap::new();
        for (index, _) in (0..).zip(graph.transfers()) {
            for (column, count) in rules.columns().into_iter().zip(counts.row(index).unwrap()) {
                if *count > 0 {
                    found.insert((column, index as usize), *count);
                }
            }
        }
        prop_assert_eq!(found, expected(&graph, &rules));
    }
}
