//! A search finds the patterns that were planted and little else, and leaves ordinary people in peace.

use std::collections::BTreeMap;

use assay_engine::{assessment::ComponentKind, evidence::Pattern, score::Score};
use assay_tests::behavior::{
    planted::{PATTERNS, count, planted},
    profiles::{Profile, innocents},
};

/// The least recall and precision of each pattern, in percent.
const LEAST: u32 = 98;

#[test]
fn planted_patterns_are_found_and_others_are_not() {
    let (world, all) = planted(36, 40);
    let counts = count(&world, &all);
    for (pattern, count) in &counts {
        eprintln!(
            "{:18} recall {:3} %, precision {:3} %  ({count:?})",
            pattern.as_str(),
            count.recall(),
            count.precision(),
        );
    }
    for pattern in PATTERNS {
        let count = counts.get(&pattern).copied().unwrap_or_default();
        assert!(count.right > 0, "{pattern:?} is never found");
        assert!(count.recall() >= LEAST && count.precision() >= LEAST, "{pattern:?}: {count:?}");
    }
    let others = counts.iter().filter(|(pattern, _)| !PATTERNS.contains(pattern));
    assert_eq!(others.count(), 0, "patterns that nobody planted: {counts:?}");
}

#[test]
fn ordinary_people_and_businesses_keep_their_verdicts() {
    let (world, all) = innocents(200, 34);
    assert!(all.len() >= 200);
    let mut scored: BTreeMap<(Profile, Pattern), u32> = BTreeMap::new();
    for (profile, owner) in &all {
        let (answer, bare) = (world.assess(owner), world.assess_without_behavior(owner));
        assert_eq!(answer.verdict, bare.verdict, "{profile:?}");
        for pattern in answer.transaction_patterns.iter().filter(|pattern| pattern.scored) {
            *scored.entry((*profile, pattern.pattern)).or_default() += 1;
            let weight = Score::from_points(pattern.pattern.severity());
            assert!(pattern.contribution <= weight, "{profile:?}: {pattern:?}");
            let component =
                answer.scoring_components.iter().find(|it| it.pattern == Some(pattern.pattern));
            let component = component.expect("a pattern that counts has a component");
            assert_eq!(component.kind, ComponentKind::Behavior);
            assert!(component.standalone_score <= weight, "{profile:?}: {pattern:?}");
        }
    }
    for ((profile, pattern), count) in &scored {
        eprintln!("{profile:?}: {} in {count} of {}", pattern.as_str(), all.len() / 6);
    }
    // Businesses of every day are told from bursts.
    assert_eq!(scored, BTreeMap::new());
}
