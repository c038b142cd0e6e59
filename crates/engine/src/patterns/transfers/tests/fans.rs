//! Tests of fans against an exhaustive search.

use std::{collections::BTreeSet, ops::Range, time::Duration};

use jiff::Timestamp;
use proptest::prelude::*;

use crate::{ledger::OwnerNumber, patterns::transfers::fan::fan_windows};

/// Finds the best window of a part of the list, then those of the parts before and after it.
fn exhaustive(
    list: &[(i64, u64)],
    part: Range<usize>,
    within: i64,
    fewest: usize,
    found: &mut Vec<(Range<usize>, usize)>,
) {
    let mut best: (Range<usize>, usize) = (0..0, 0);
    for start in part.clone() {
        let end = part.clone().rfind(|end| list[*end].0 - list[start].0 <= within).unwrap();
        let parties: BTreeSet<u64> = list[start..=end].iter().map(|(_, party)| *party).collect();
        if parties.len() > best.1 {
            best = (start..end + 1, parties.len());
        }
    }
    if best.1 >= fewest.max(1) {
        exhaustive(list, part.start..best.0.start, within, fewest, found);
        exhaustive(list, best.0.end..part.end, within, fewest, found);
        found.push(best);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn fans_are_those_of_an_exhaustive_search(
        mut list in prop::collection::vec((0..60_i64, 0..8_u64), 0..60),
        within in 0..25_u32,
        fewest in 0..5_u32,
    ) {
        list.sort_by_key(|(time, _)| *time);
        let transfers = list
            .iter()
            .map(|(time, party)| (Timestamp::from_second(*time).unwrap(), OwnerNumber(*party)));
        let found: Vec<(Range<usize>, usize)> =
            fan_windows(transfers, Duration::from_secs(within.into()), fewest)
                .into_iter()
                .map(|window| (window.transfers, window.parties as usize))
                .collect();
        prop_assert!(found.is_sorted_by_key(|(range, count)| (usize::MAX - count, range.start)));
        let mut expected = Vec::new();
        exhaustive(&list, 0..list.len(), within.into(), fewest as usize, &mut expected);
        expected.sort_by_key(|(range, count)| (usize::MAX - count, range.start));
        prop_assert_eq!(found, expected);
    }
}
