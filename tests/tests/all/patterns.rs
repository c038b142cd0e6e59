//! The search finds planted patterns and hardly any others, and none of ordinary people.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

use assay_address::ChainId;
use assay_engine::{
    assessment::{ComponentKind, CoverageStatus},
    evidence::{Pattern, PatternRole, UnscoredReason},
    patterns::rules::{AROUND_READS, CHAIN_READS},
    score::Score,
    taxonomy::Category,
    utxo::ScriptOwner,
};
use assay_tests::{
    assay,
    behavior::{
        payouts::{Payouts, Split, paid_out, split_up},
        planted::{DetectionCount, PATTERNS, count, planted},
        profiles::{Profile, innocents},
        rings::{Ring, RingForm, rings},
    },
    sample,
    world::{ChainBuilder, Claim, Claims, Form, Utxo, World},
};
use jiff::SignedDuration;
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
    let mut counts: BTreeMap<Pattern, DetectionCount> = BTreeMap::new();
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

#[test]
fn payouts_are_no_structuring() {
    for kind in Payouts::ALL {
        for seed in 0..4 {
            let (world, owners) = paid_out(kind, seed);
            for owner in &owners {
                let found = world.behavior(owner).patterns;
                let structuring = found.iter().find(|it| it.pattern == Pattern::Structuring);
                assert!(structuring.is_none(), "{kind:?} {seed}: {structuring:#?}");
            }
        }
    }
}

#[test]
fn a_sum_that_is_split_is_found_beside_payouts_over_others_and_again() {
    for kind in Split::ALL {
        for seed in 0..4 {
            let (world, owner) = split_up(kind, seed);
            let found = world.behavior(&owner).patterns;
            let structuring = found.iter().find(|it| it.pattern == Pattern::Structuring);
            let made = structuring.unwrap_or_else(|| panic!("{kind:?} {seed}: {found:#?}"));
            assert_eq!((made.role, made.unscored), (PatternRole::Actor, None), "{kind:?}");
        }
    }
}

/// A ring is found from each of its members, or the answer says that the search is partial.
#[test]
fn a_ring_is_found_from_each_of_its_members_or_the_search_is_partial() {
    let mut counts: BTreeMap<RingForm, [u32; 3]> = BTreeMap::new();
    for (chain, seed) in [("btc", 1), ("ltc", 2), ("btc", 3), ("ltc", 4)] {
        let (world, all) = rings(chain.parse().unwrap(), seed);
        for Ring { form, members } in &all {
            for member in members {
                let behavior = world.behavior(member);
                let cycle = behavior.patterns.iter().find(|it| it.pattern == Pattern::Cycle);
                let is_partial = !behavior.searched.is_whole || !behavior.searched.is_whole_around;
                let outcome = if cycle.is_some() { 0 } else { 1 + usize::from(!is_partial) };
                counts.entry(*form).or_default()[outcome] += 1;
                if *form == RingForm::Plain {
                    let length = cycle.and_then(|cycle| cycle.details.length);
                    assert_eq!(length, Some(members.len() as u64), "{chain}: {behavior:#?}");
                }
            }
        }
    }
    for (form, [found, partial, missed]) in &counts {
        eprintln!("{form:?}: {found} found, {partial} partial, {missed} missed");
    }
    assert!(counts.values().all(|[_, _, missed]| *missed == 0), "{counts:?}");
}

const COIN: u64 = 100_000_000;
const FEE: u64 = 1_000;

fn chain() -> ChainBuilder {
    ChainBuilder::new(ChainId::BTC, 7, "2024-01-01T00:00:00Z".parse().unwrap())
}

/// Passes a coin through `times` fresh addresses, ten minutes each, and then to `to`.
fn pass_coin_on(chain: &mut ChainBuilder, coin: Utxo, times: usize, to: &ScriptOwner) -> Utxo {
    let mut coin = coin;
    for _ in 0..times {
        let next = chain.fresh_address(Form::WitnessKey);
        let value = coin.value - FEE;
        coin = chain.pay(&[coin], &[(next, value)]).remove(0);
        chain.wait(SignedDuration::from_mins(10));
    }
    let value = coin.value - FEE;
    chain.pay(&[coin], &[(to.clone(), value)]).remove(0)
}

fn mint_coin(chain: &mut ChainBuilder, value: u64) -> Utxo {
    let owner = chain.fresh_address(Form::WitnessKey);
    let coin = chain.mine(&[(owner, value)]).remove(0);
    chain.wait(SignedDuration::from_hours(100));
    coin
}

/// The reason for which a pattern of an owner in a role does not count; `None` if it counts.
fn unscored_reason(
    world: &World,
    owner: &ScriptOwner,
    (pattern, role): (Pattern, PatternRole),
) -> Option<UnscoredReason> {
    let patterns = world.assess(owner).transaction_patterns;
    let found = patterns.iter().find(|it| (it.pattern, it.role) == (pattern, role));
    let found = found.unwrap_or_else(|| panic!("no {pattern:?}: {patterns:#?}"));
    assert_eq!(found.scored, found.unscored_reason.is_none());
    found.unscored_reason
}

#[test]
fn nobody_is_scored_for_what_others_do_to_him() {
    let mut chain = chain();
    // Somebody sends a little through eight addresses to a person with a coin, and much to another one.
    let [victim, mule] = [(); 2].map(|()| chain.fresh_address(Form::WitnessKey));
    let own = mint_coin(&mut chain, COIN);
    let _paid = chain.pay(&[own], &[(victim.clone(), COIN - FEE)]);
    for (value, to) in [(COIN / 1_000, &victim), (COIN, &mule)] {
        let coin = mint_coin(&mut chain, value);
        let _coin = pass_coin_on(&mut chain, coin, 8, to);
    }
    // A customer pays somebody who sends it through eight addresses.
    let coin = mint_coin(&mut chain, COIN);
    let customer = coin.owner.clone();
    let thief = chain.fresh_address(Form::WitnessKey);
    let outputs = [(thief, COIN / 2), (customer.clone(), COIN / 2 - FEE)];
    let stolen = chain.pay(&[coin], &outputs).remove(0);
    chain.wait(SignedDuration::from_mins(10));
    let exit = chain.fresh_address(Form::WitnessKey);
    let _coin = pass_coin_on(&mut chain, stolen, 8, &exit);
    // Somebody dusts thirty addresses, and a person among them.
    let dusted = chain.fresh_address(Form::WitnessKey);
    let mut outputs = vec![(dusted.clone(), 546)];
    outputs.extend((0..30).map(|_| (chain.fresh_address(Form::WitnessKey), 546)));
    let coin = mint_coin(&mut chain, COIN);
    let sender = coin.owner.clone();
    let _dust = chain.pay(&[coin], &outputs);
    let world = World::new(chain, Claims::default());

    let reason = |owner, pattern| unscored_reason(&world, owner, pattern);
    let received = (Pattern::Layering, PatternRole::Recipient);
    assert_eq!(reason(&victim, received), Some(UnscoredReason::LittleReceived));
    assert_eq!(reason(&mule, received), None, "a coin is much");
    let paid = (Pattern::Layering, PatternRole::Actor);
    assert_eq!(reason(&customer, paid), Some(UnscoredReason::PaidIntoOnly));
    let dust = |role| (Pattern::Dusting, role);
    assert_eq!(reason(&dusted, dust(PatternRole::Victim)), Some(UnscoredReason::Victim));
    assert_eq!(reason(&sender, dust(PatternRole::Actor)), None);
}

#[test]
fn money_that_comes_back_makes_a_cycle_unless_it_passed_an_exchange() {
    for is_exchange in [false, true] {
        // Ada pays Bob, Bob pays a third party, and that pays Ada.
        let mut chain = chain();
        let coin = mint_coin(&mut chain, COIN);
        let ada = coin.owner.clone();
        let [bob, third] = [(); 2].map(|()| chain.fresh_address(Form::WitnessKey));
        let mut coin = coin;
        for to in [&bob, &third, &ada] {
            let (payer, value) = (coin.owner.clone(), coin.value);
            let outputs = [(to.clone(), value / 10 * 8), (payer, value / 10)];
            coin = chain.pay(&[coin], &outputs).remove(0);
            chain.wait(SignedDuration::from_hours(5));
        }
        let mut claims = Claims::default();
        if is_exchange {
            claims.label(&third, Claim::investigated(Category::Exchange, "Exchange"));
        }
        let world = World::new(chain, claims);
        for owner in [&ada, &bob] {
            let patterns = world.behavior(owner).patterns;
            let cycle = patterns.iter().find(|it| it.pattern == Pattern::Cycle);
            assert_eq!(cycle.is_none(), is_exchange, "{patterns:#?}");
            assert_eq!(cycle.and_then(|it| it.details.length), (!is_exchange).then_some(3));
        }
    }
}

#[test]
fn a_long_pause_and_a_form_of_transactions_are_told() {
    let mut chain = chain();
    let coins: Vec<Utxo> = (0..6).map(|_| mint_coin(&mut chain, COIN)).collect();
    let owner = chain.fresh_address(Form::WitnessKey);
    let mut own = Vec::new();
    for coin in coins {
        own.extend(chain.pay(&[coin], &[(owner.clone(), COIN - FEE)]));
    }
    chain.wait(SignedDuration::from_hours(500 * 24));
    let other = chain.fresh_address(Form::WitnessKey);
    let _all = chain.pay(&own, &[(other, 6 * (COIN - FEE) - FEE)]);
    let world = World::new(chain, Claims::default());
    let patterns = world.assess(&owner).transaction_patterns;
    let of = |pattern| patterns.iter().find(|it| it.pattern == pattern);
    let dormant = of(Pattern::DormantReactivation).expect("a pause");
    assert!(dormant.scored);
    assert_eq!(
        dormant.description,
        "moved 5.99994 BTC, at least half of its balance, within 30 days after 500 days without activity"
    );
    let joined = of(Pattern::Consolidation).expect("six inputs in one output");
    assert_eq!(joined.unscored_reason, Some(UnscoredReason::FormOfTransaction));
    assert_eq!((joined.count, joined.share.as_str()), (1, "1.000000"));
}

/// A hub of a million outputs is searched within the same bounds: `cargo bench -p assay-tests --bench chain_trace`.
#[test]
fn a_search_is_bounded_and_says_where_it_ended() {
    let mut chain = chain();
    let hub = chain.fresh_address(Form::WitnessKey);
    for _ in 0..75 {
        let outputs: Vec<_> =
            (0..20).map(|_| (chain.fresh_address(Form::WitnessKey), 50_000)).collect();
        for coin in chain.mine(&outputs) {
            let _paid = chain.pay(&[coin], &[(hub.clone(), 49_000)]);
        }
        chain.wait(SignedDuration::from_mins(10));
    }
    let world = World::new(chain, Claims::default());
    let searched = world.behavior(&hub).searched;
    assert_eq!(searched.transactions, 1_000, "of 1,500");
    assert!(!searched.is_whole && !searched.is_whole_around, "{searched:?}");
    assert!(searched.around <= u64::from(CHAIN_READS + AROUND_READS), "{searched:?}");
    let coverage = world.assess(&hub).coverage.behavior;
    assert_eq!(coverage.status, CoverageStatus::Partial, "{coverage:?}");
    assert!(
        coverage.detail.starts_with("1000 transactions of the address, not all"),
        "{coverage:?}"
    );
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
    let (server, _, caller) = sample();
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
        // The mining pool was paid more often than is followed.
        let status = text(&answer["coverage"]["behavior"], "status");
        assert!(["assessed", "partial"].contains(&status.as_str()), "{address}: {status}");
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
    let check = |options: &[&str]| {
        let address = text(&structured, "address");
        let arguments = [&["check", "--sample", "btc", &address], options].concat();
        let shown = printed(directory.path(), &arguments);
        shown.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let (summary, full) = (check(&[]), check(&["--all"]));
    assert!(summary.contains("Behavior structuring (actor)"), "{summary}");
    assert!(!summary.contains("peel step"), "forms are shown with --all: {summary}");
    assert!(full.contains("Behavior of the owner"), "{full}");
    assert!(full.contains("structuring (actor): made 5 payments of 0.0485 BTC together"), "{full}");
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
