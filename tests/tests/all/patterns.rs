//! A search finds the patterns that were planted and little else, and leaves ordinary people in peace.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

use assay_engine::{assessment::ComponentKind, evidence::Pattern, score::Score};
use assay_tests::{
    assay,
    behavior::{
        planted::{Count, PATTERNS, count, planted},
        profiles::{Profile, innocents},
    },
    sample,
};
use serde_json::{Value, json};

use crate::chain_tools::printed;

/// The least recall and precision of each pattern, in percent.
const LEAST: u32 = 98;
/// Worlds with five owners of each pattern.
const WORLDS: u64 = 8;
/// Innocents of each kind.
const INNOCENTS: u64 = 34;

#[test]
fn planted_patterns_are_found_and_others_are_not() {
    let mut counts: BTreeMap<Pattern, Count> = BTreeMap::new();
    for seed in 0..WORLDS {
        let (world, all) = planted(seed, 5);
        for (pattern, count) in count(&world, &all) {
            counts.entry(pattern).or_default().add(count);
        }
    }
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
    let mut scored: BTreeMap<(Profile, Pattern), u32> = BTreeMap::new();
    let worlds: Vec<_> = (0..INNOCENTS).map(innocents).collect();
    let all = || worlds.iter().flat_map(|(world, all)| all.iter().map(move |one| (world, one)));
    assert!(all().count() >= 200);
    for (world, (profile, owner)) in all() {
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
        eprintln!("{profile:?}: {} in {count} of {INNOCENTS}", pattern.as_str());
    }
    // Businesses of every day are told from bursts.
    assert_eq!(scored, BTreeMap::new());
}

/// The rows of `assay export patterns` of the demo data set.
fn exported(directory: &Path) -> Vec<Value> {
    let export = ["export", "patterns", "--sample", "--blockchain", "btc", "--format", "jsonl"];
    let text = printed(directory, &export);
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// A text of an object.
fn text(value: &Value, field: &str) -> String {
    value[field].as_str().unwrap_or_else(|| panic!("no {field}: {value}")).to_owned()
}

#[test]
fn an_export_a_check_and_an_answer_show_the_same_patterns() {
    // Given the demo data set,
    let (server, caller, _) = sample();
    let directory = server.directory();
    // when the patterns of all owners are exported,
    let rows = exported(directory.path());
    let kinds: BTreeSet<String> = rows.iter().map(|row| text(row, "kind")).collect();
    for kind in
        ["peel_chain", "layering", "structuring", "coinjoin_use", "mixer_use", "batch_payout"]
    {
        assert!(kinds.contains(kind), "{kind} is not in {kinds:?}");
    }
    // then a check of each address has those patterns with those transactions,
    let mut by_address: BTreeMap<String, BTreeSet<(String, String, u64, String)>> = BTreeMap::new();
    for row in &rows {
        assert_eq!((&row["blockchain"], row["block"].is_u64()), (&json!("btc"), true), "{row}");
        let key = (
            text(row, "kind"),
            text(row, "role"),
            row["confidence"].as_u64().unwrap(),
            text(row, "txid"),
        );
        by_address.entry(text(row, "address")).or_default().insert(key);
    }
    for (address, exported) in &by_address {
        let answer = caller.check("btc", address).json();
        let mut shown = BTreeSet::new();
        for pattern in answer["transaction_patterns"].as_array().unwrap() {
            for transaction in pattern["transactions"].as_array().unwrap() {
                shown.insert((
                    text(pattern, "pattern"),
                    text(pattern, "role"),
                    pattern["confidence"].as_u64().unwrap(),
                    transaction.as_str().unwrap().to_owned(),
                ));
            }
        }
        assert_eq!(&shown, exported, "{address}");
        assert_eq!(answer["coverage"]["behavior"]["status"], "assessed", "{address}");
    }
    // and CSV has the same rows.
    let csv = printed(directory.path(), &["export", "patterns", "--sample", "--blockchain", "btc"]);
    assert!(csv.starts_with("blockchain,txid,address,kind,confidence,role,block,time\n"), "{csv}");
    assert_eq!(csv.lines().count(), rows.len() + 1);
}

#[test]
fn the_command_line_shows_the_patterns_of_an_owner_and_the_forms_of_a_transaction() {
    let (server, ..) = sample();
    let directory = server.directory();
    let rows = exported(directory.path());
    let row = |kind: &str, role: &str| {
        let found = rows.iter().find(|row| row["kind"] == kind && row["role"] == role);
        found.unwrap_or_else(|| panic!("no {kind}")).clone()
    };
    let structured = row("structuring", "actor");
    let shown =
        printed(directory.path(), &["check", "--sample", "btc", &text(&structured, "address")]);
    let words: Vec<&str> = shown.split_whitespace().collect();
    let shown = words.join(" ");
    assert!(shown.contains("Behavior of the owner"), "{shown}");
    assert!(
        shown.contains("structuring (actor): paid 0.0485 BTC in transfers that are each"),
        "{shown}"
    );
    assert!(!shown.contains("peel step"), "forms are shown with --all: {shown}");
    let joint = text(&row("joint_transaction", "actor"), "txid");
    let shown = printed(directory.path(), &["tx", "--sample", "btc", &joint, "--json"]);
    let shown: Value = serde_json::from_str(&shown).unwrap();
    assert_eq!(shown["patterns"], json!(["joint_transaction"]));
    let batch = text(&row("batch_payout", "actor"), "txid");
    let shown = printed(directory.path(), &["tx", "--sample", "btc", &batch]);
    assert!(shown.contains("patterns: batch payout"), "{shown}");
    // A chain that is not there is named with what to do.
    let refused =
        assay(directory.path(), ["export", "patterns", "--sample", "--blockchain", "ltc"]);
    assert_eq!(refused.code, 1);
    assert!(refused.stderr.contains("assay ingest chain ltc"), "{}", refused.stderr);
}
