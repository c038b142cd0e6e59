//! Tests of cycles against an exhaustive search.

use std::{collections::BTreeSet, time::Duration};

use assay_test_random::Random;
use proptest::prelude::*;

use super::{Row, graph, rows};
use crate::{
    ledger::OwnerNumber,
    patterns::transfers::{
        Transfer, TransferGraph,
        cycle::{CycleRules, cycles_through},
    },
};

/// Finds all cycles by trying every transfer as the next one of every sequence.
fn exhaustive(transfers: &[Transfer], rules: &CycleRules) -> BTreeSet<Vec<u32>> {
    let mut found = BTreeSet::new();
    let mut sequences: Vec<Vec<usize>> = (0..transfers.len()).map(|first| vec![first]).collect();
    while let Some(sequence) = sequences.pop() {
        let (first, last) = (transfers[sequence[0]], transfers[sequence[sequence.len() - 1]]);
        if last.payee == first.payer {
            if last.time.duration_since(first.time).as_secs()
                <= rules.within.as_secs().cast_signed()
            {
                found.insert(sequence.iter().map(|index| u32::try_from(*index).unwrap()).collect());
            }
            continue;
        }
        if sequence.len() >= usize::from(rules.longest) {
            continue;
        }
        for (index, next) in transfers.iter().enumerate() {
            let is_new = sequence.iter().all(|before| transfers[*before].payee != next.payee);
            let kept = u128::from(rules.least_kept);
            let is_kept = kept == 0
                || (next.amount * 100 >= last.amount * kept
                    && next.amount * kept <= last.amount * 100);
            if next.payer == last.payee && next.position > last.position && is_new && is_kept {
                sequences.push([sequence.as_slice(), &[index]].concat());
            }
        }
    }
    found
}

fn through(graph: &TransferGraph, owner: OwnerNumber, rules: &CycleRules) -> Vec<Vec<u32>> {
    let found = cycles_through(graph, owner, rules, u64::MAX);
    assert!(found.is_complete);
    found.cycles.into_iter().map(|cycle| cycle.transfers).collect()
}

/// The cycles in which an owner takes part.
fn with(cycles: &BTreeSet<Vec<u32>>, graph: &TransferGraph, owner: OwnerNumber) -> Vec<Vec<u32>> {
    let pays = |cycle: &&Vec<u32>| {
        cycle.iter().any(|index| graph.transfer(*index).unwrap().payer == owner)
    };
    cycles.iter().filter(pays).cloned().collect()
}

fn assert_all_found(rows: &[Row], rules: &CycleRules) -> usize {
    let graph = graph(rows);
    let expected = exhaustive(graph.transfers(), rules);
    for owner in graph.owners() {
        assert_eq!(through(&graph, *owner, rules), with(&expected, &graph, *owner), "{owner:?}");
    }
    expected.len()
}

fn rules() -> impl Strategy<Value = CycleRules> {
    let longest = prop_oneof![2..=6_u8, Just(8), Just(9), Just(u8::MAX)];
    let kept = prop_oneof![Just(0), 0..=101_u8];
    (0..30_u64, longest, kept).prop_map(|(within, longest, least_kept)| CycleRules {
        within: Duration::from_secs(within),
        longest,
        least_kept,
    })
}

/// Adds a cycle via owners that have other transfers too.
fn plant(rows: &mut Vec<Row>, random: &mut Random, owners: u64, length: u64, spread: u64) {
    let mut members = Vec::new();
    while (members.len() as u64) < length {
        let owner = random.below(owners);
        if !members.contains(&owner) {
            members.push(owner);
        }
    }
    let mut position = random.below(1_000);
    for (index, payer) in members.iter().enumerate() {
        let payee = members[(index + 1) % members.len()];
        position += 1 + random.below(spread);
        rows.push((*payer, payee, position, position.cast_signed(), 1_000));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn cycles_are_those_of_an_exhaustive_search(rows in rows(12, 40), rules in rules()) {
        assert_all_found(&rows, &rules);
    }

    #[test]
    fn dense_graphs_of_few_owners_have_all_their_cycles(rows in rows(5, 25), rules in rules()) {
        assert_all_found(&rows, &rules);
    }

    #[test]
    fn a_search_within_a_budget_finds_no_others_and_tells_whether_it_found_all(
        rows in rows(6, 40),
        rules in rules(),
        budget in 0..200_u64,
    ) {
        let graph = graph(&rows);
        for owner in graph.owners() {
            let all = cycles_through(&graph, *owner, &rules, u64::MAX).cycles;
            let some = cycles_through(&graph, *owner, &rules, budget);
            prop_assert!(some.cycles.iter().all(|cycle| all.contains(cycle)));
            prop_assert!(!some.is_complete || some.cycles == all);
        }
    }

    #[test]
    fn planted_cycles_are_found_in_noise(seed in any::<u64>(), length in 2..=6_u64) {
        let mut random = Random::new(seed);
        let mut rows = Vec::new();
        plant(&mut rows, &mut random, 12, length, 5);
        for _ in 0..34 {
            let position = random.below(1_040);
            let amount = u128::from(random.below(2_000));
            rows.push((random.below(12), random.below(12), position, position.cast_signed(), amount));
        }
        let rules = CycleRules { within: Duration::from_secs(200), longest: 6, least_kept: 0 };
        prop_assert!(assert_all_found(&rows, &rules) > 0);
    }
}

#[test]
#[expect(clippy::print_stdout, reason = "the figures are for people who read the output")]
fn cycles_of_a_larger_graph_have_recall_and_precision_one() {
    let mut random = Random::new(7);
    let mut rows: Vec<Row> = Vec::new();
    for round in 0..50 {
        plant(&mut rows, &mut random, 300, 2 + round % 5, 6);
    }
    while rows.len() < 3_000 {
        let position = random.below(1_040);
        let (from, to) = (random.below(300), random.below(300));
        let from = if random.below(4) == 0 { from % 10 } else { from };
        rows.push((from, to, position, position.cast_signed(), 1_000));
    }
    let graph = graph(&rows);
    let rules = CycleRules { within: Duration::from_secs(100), longest: 6, least_kept: 0 };
    let expected = exhaustive(graph.transfers(), &rules);
    let found: BTreeSet<Vec<u32>> =
        graph.owners().iter().flat_map(|owner| through(&graph, *owner, &rules)).collect();
    let shared = found.intersection(&expected).count();
    for length in 2..=6 {
        let count = expected.iter().filter(|cycle| cycle.len() == length).count();
        println!("{count} cycles of {length} transfers");
        assert!(count > 0);
    }
    println!("recall {shared} of {}, precision {shared} of {}", expected.len(), found.len());
    assert_eq!((shared, shared), (expected.len(), found.len()));
    for owner in graph.owners() {
        assert_eq!(through(&graph, *owner, &rules), with(&expected, &graph, *owner));
    }
}

#[test]
fn a_used_up_budget_is_told() {
    let graph = graph(&[(0, 1, 1, 1, 5), (1, 2, 2, 2, 5), (2, 0, 3, 3, 5)]);
    let rules = CycleRules { within: Duration::from_secs(5), longest: 3, least_kept: 100 };
    let owner = OwnerNumber(1);
    let whole = cycles_through(&graph, owner, &rules, 100);
    assert_eq!((whole.cycles.len(), whole.is_complete), (1, true));
    assert!(!cycles_through(&graph, owner, &rules, 1).is_complete);
}

#[test]
fn amounts_beyond_64_bits_are_compared_exactly() {
    let rules = |least_kept| CycleRules { within: Duration::from_secs(5), longest: 2, least_kept };
    let whole = u128::MAX / 90 * 90;
    let kept = |amount, percent| {
        let graph = graph(&[(0, 1, 1, 1, whole), (1, 0, 2, 2, amount)]);
        through(&graph, OwnerNumber(1), &rules(percent)).len()
    };
    assert_eq!(kept(whole / 100 * 90 + 90, 90), 1);
    assert_eq!(kept(whole / 10 * 9 - 1, 90), 0);
    assert_eq!(kept(1, 0), 1);
}
