//! Tests of scatter-gathers against an exhaustive search.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use proptest::prelude::*;

use super::{Row, graph, rows};
use crate::{
    ledger::OwnerNumber,
    patterns::transfers::{
        TransferGraph,
        scatter_gather::{
            ScatterGather, ScatterGatherRules, scatter_gathers_from, scatter_gathers_to,
        },
    },
};

/// For each payer and payee the most intermediaries of any window, by trying all windows and pairs of transfers.
fn exhaustive(graph: &TransferGraph, rules: &ScatterGatherRules) -> BTreeMap<(u64, u64), usize> {
    let mut most = BTreeMap::new();
    let transfers = graph.transfers();
    for window in transfers {
        let is_inside = |time: jiff::Timestamp| {
            let seconds = time.duration_since(window.time).as_secs();
            (0..=rules.within.as_secs().cast_signed()).contains(&seconds)
        };
        let mut over: BTreeMap<(u64, u64), BTreeSet<u64>> = BTreeMap::new();
        for paid in transfers {
            for pays in transfers {
                if paid.payee == pays.payer
                    && paid.payer != pays.payee
                    && paid.position < pays.position
                    && is_inside(paid.time)
                    && is_inside(pays.time)
                {
                    over.entry((paid.payer.0, pays.payee.0)).or_default().insert(paid.payee.0);
                }
            }
        }
        for (pair, intermediaries) in over {
            let count = most.entry(pair).or_insert(0);
            *count = intermediaries.len().max(*count);
        }
    }
    most.retain(|_, count| *count >= rules.fewest.max(1) as usize);
    most
}

/// Number of intermediaries of a scatter-gather, after a check of every field of the scatter-gather.
fn checked(graph: &TransferGraph, found: &ScatterGather, rules: &ScatterGatherRules) -> usize {
    let mut times = Vec::new();
    let mut owners = BTreeSet::new();
    for intermediary in &found.intermediaries {
        let paid = graph.transfer(intermediary.paid).unwrap();
        let pays = graph.transfer(intermediary.pays).unwrap();
        assert_eq!((paid.payer, paid.payee), (found.payer, intermediary.owner));
        assert_eq!((pays.payer, pays.payee), (intermediary.owner, found.payee));
        assert!(paid.position < pays.position && found.payer != found.payee);
        assert!(owners.insert(intermediary.owner.0));
        times.extend([paid.time, pays.time]);
    }
    let spread = times.iter().max().unwrap().duration_since(*times.iter().min().unwrap());
    assert!(spread.as_secs() <= rules.within.as_secs().cast_signed());
    found.intermediaries.len()
}

fn assert_all_found(rows: &[Row], rules: &ScatterGatherRules) -> usize {
    let graph = graph(rows);
    let expected = exhaustive(&graph, rules);
    let (mut from, mut to) = (BTreeMap::new(), BTreeMap::new());
    for owner in graph.owners() {
        for (found, search) in [
            (&mut from, scatter_gathers_from(&graph, *owner, rules, u64::MAX)),
            (&mut to, scatter_gathers_to(&graph, *owner, rules, u64::MAX)),
        ] {
            assert!(search.is_complete);
            for one in &search.found {
                let pair = (one.payer.0, one.payee.0);
                assert_eq!(found.insert(pair, checked(&graph, one, rules)), None, "each pair once");
            }
        }
    }
    assert_eq!(from, expected);
    assert_eq!(to, expected);
    expected.len()
}

fn rules() -> impl Strategy<Value = ScatterGatherRules> {
    (0..30_u64, 0..4_u32).prop_map(|(within, fewest)| ScatterGatherRules {
        within: Duration::from_secs(within),
        fewest,
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn scatter_gathers_are_those_of_an_exhaustive_search(rows in rows(12, 40), rules in rules()) {
        assert_all_found(&rows, &rules);
    }

    #[test]
    fn dense_graphs_of_few_owners_have_all_their_scatter_gathers(
        rows in rows(5, 40),
        rules in rules(),
    ) {
        assert_all_found(&rows, &rules);
    }

    #[test]
    fn planted_scatter_gathers_are_found_in_noise(
        noise in rows(12, 25),
        times in prop::collection::vec((0..10_u64, 10..20_u64), 3..=6),
    ) {
        let mut rows = noise;
        for (member, (paid, pays)) in (2..).zip(times) {
            rows.push((0, member, paid, paid.cast_signed(), 5));
            rows.push((member, 1, pays, pays.cast_signed(), 5));
        }
        let rules = ScatterGatherRules { within: Duration::from_secs(20), fewest: 3 };
        prop_assert!(assert_all_found(&rows, &rules) > 0);
    }
}

#[test]
fn a_used_up_budget_is_told() {
    let graph = graph(&[(0, 1, 1, 1, 5), (0, 2, 2, 2, 5), (1, 3, 3, 3, 5), (2, 3, 4, 4, 5)]);
    let rules = ScatterGatherRules { within: Duration::from_secs(5), fewest: 2 };
    let whole = scatter_gathers_from(&graph, OwnerNumber(0), &rules, 100);
    assert_eq!((whole.found.len(), whole.is_complete), (1, true));
    assert!(!scatter_gathers_from(&graph, OwnerNumber(0), &rules, 5).is_complete);
    assert!(!scatter_gathers_to(&graph, OwnerNumber(3), &rules, 1).is_complete);
}
