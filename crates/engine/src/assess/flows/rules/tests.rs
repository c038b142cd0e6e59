//! Tests of each condition, and of the properties of every rule.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::{policy::PolicySpec, score::Confidence, taxonomy::Category};

/// A policy whose only rules are the given ones.
fn policy(rules: &[Value]) -> Policy {
    let defaults = Policy::default();
    let off = defaults.rules().iter().map(|rule| json!({"id": rule.id, "enabled": false}));
    let rules: Vec<Value> = off.chain(rules.iter().cloned()).collect();
    let spec: PolicySpec = serde_json::from_value(json!({"rules": rules})).unwrap();
    Policy::compile(spec).unwrap()
}

/// A policy whose only rule has these conditions.
fn rule(conditions: &Value) -> Policy {
    let mut rule = json!({"id": "own", "description": "Own rule"});
    rule.as_object_mut().unwrap().extend(conditions.as_object().unwrap().clone());
    policy(&[rule])
}

fn claim(category: Category) -> RuleClaim {
    RuleClaim {
        category,
        tier: Tier::Investigation,
        hops: Some(1),
        direct: true,
        listed: false,
        confidence: Confidence::CERTAIN,
        joint: false,
        unasked: false,
        paid_back: false,
    }
}

fn distant(category: Category, hops: u16) -> RuleClaim {
    RuleClaim { hops: Some(hops), direct: false, ..claim(category) }
}

fn funds(amount: u128, recent: u128, claims: Vec<RuleClaim>) -> RuleFunds {
    RuleFunds { amount, recent, outstanding: None, since_listing: None, scored: true, claims }
}

fn of(category: Category, amount: u128) -> RuleFunds {
    funds(amount, 0, vec![claim(category)])
}

/// Funds without attribution.
fn clean(amount: u128, recent: u128) -> RuleFunds {
    funds(amount, recent, vec![])
}

fn fired(policy: &Policy, direction: Direction, funds: Vec<RuleFunds>) -> Option<FiredRule> {
    let view = RuleView { direction, unit: "BTC", decimals: 8, funds };
    let mut fired = policy.rules().iter().filter_map(|rule| evaluate(rule, &view, policy));
    fired.next()
}

#[track_caller]
fn expect(conditions: &Value, fires: &[RuleFunds], silent: &[RuleFunds]) {
    let policy = rule(conditions);
    assert!(fired(&policy, Direction::Source, fires.to_vec()).is_some(), "fires on {fires:?}");
    let silent_answer = fired(&policy, Direction::Source, silent.to_vec());
    assert_eq!(silent_answer, None, "does not fire on {silent:?}");
}

#[test]
fn what_went_round_lowers_other_shares_only_as_far_as_it_was_outstanding() {
    let round = |outstanding| RuleFunds { outstanding, ..of(Category::Exchange, 99) };
    let scam = || of(Category::Scam, 1);
    let conditions = json!({"categories": ["scam"], "shareFrom": "10%"});
    expect(&conditions, &[scam(), round(Some(9))], &[scam(), round(Some(10))]);
    let silent = [scam(), round(None)];
    expect(&conditions, &[scam(), round(Some(0))], &silent);
    // What the rule selects counts whole.
    let conditions = json!({"categories": ["exchange"], "shareFrom": "99%"});
    expect(&conditions, &[scam(), round(Some(1))], &[of(Category::Scam, 2), round(Some(1))]);
    let recent = |outstanding| RuleFunds { recent: 99, ..round(outstanding) };
    let scam = funds(1, 1, vec![claim(Category::Scam)]);
    let conditions = json!({"categories": ["scam"], "recentShareFrom": "10%"});
    expect(&conditions, &[scam.clone(), recent(Some(9))], &[scam, recent(None)]);
}

#[test]
fn what_nobody_asked_for_is_neither_in_the_recent_share_nor_in_its_whole() {
    let conditions = json!({"categories": ["scam"], "recentShareFrom": "10%"});
    let scam = |unasked| funds(10, 10, vec![RuleClaim { unasked, ..claim(Category::Scam) }]);
    expect(&conditions, &[scam(false), clean(90, 90)], &[scam(true), clean(90, 90)]);
    expect(&conditions, &[scam(false), scam(true), clean(90, 90)], &[scam(true)]);
    // It moved lately nevertheless.
    let conditions = json!({"categories": ["scam"], "recentPartFrom": "50%"});
    expect(&conditions, &[scam(true), clean(10, 0)], &[scam(true), clean(11, 0)]);
    let conditions = json!({"categories": ["scam"], "shareFrom": "10%"});
    expect(&conditions, &[scam(true), clean(90, 0)], &[scam(true), clean(91, 0)]);
}

#[test]
fn categories_select_by_any_claim() {
    let behind = funds(1, 0, vec![claim(Category::Exchange), claim(Category::Gambling)]);
    expect(&json!({"categories": ["gambling", "atm"]}), &[behind], &[of(Category::Exchange, 1)]);
}

#[test]
fn severity_selects_by_the_severities_of_the_policy() {
    let conditions = json!({"severityFrom": 85});
    expect(&conditions, &[of(Category::DarknetMarket, 1)], &[of(Category::Scam, 1)]);
    let spec = json!({
        "severities": {"scam": 85},
        "rules": [{"id": "own", "description": "x", "severityFrom": 85}],
    });
    let policy = Policy::compile(serde_json::from_value(spec).unwrap()).unwrap();
    let own = policy.rules().iter().find(|rule| rule.id == "own").unwrap();
    let view = RuleView {
        direction: Direction::Source,
        unit: "BTC",
        decimals: 8,
        funds: vec![of(Category::Scam, 1)],
    };
    assert!(evaluate(own, &view, &policy).is_some());
}

#[test]
fn a_direction_excludes_the_other() {
    let scam = || vec![of(Category::Scam, 1)];
    let both = rule(&json!({"categories": ["scam"]}));
    let sent = rule(&json!({"categories": ["scam"], "direction": "destination"}));
    for (policy, direction, fires) in [
        (&both, Direction::Source, true),
        (&both, Direction::Destination, true),
        (&sent, Direction::Source, false),
        (&sent, Direction::Destination, true),
    ] {
        assert_eq!(fired(policy, direction, scam()).is_some(), fires, "{direction:?}");
    }
}

#[test]
fn distance_is_that_of_the_claim() {
    let conditions = json!({"categories": ["scam"], "direct": true});
    let direct = funds(1, 0, vec![distant(Category::Exchange, 3), claim(Category::Scam)]);
    let indirect = funds(1, 0, vec![claim(Category::Exchange), distant(Category::Scam, 2)]);
    expect(&conditions, &[direct], &[indirect]);
    let hops = |hops| funds(1, 0, vec![distant(Category::Scam, hops)]);
    expect(&json!({"categories": ["scam"], "hopsUpTo": 3}), &[hops(3)], &[hops(4)]);
}

#[test]
fn one_claim_meets_all_conditions() {
    let tier = |tier| RuleClaim { tier, ..claim(Category::Scam) };
    let conditions = json!({"categories": ["scam"], "tierFrom": "community"});
    let mixed = funds(1, 0, vec![claim(Category::Exchange), tier(Tier::Heuristic)]);
    expect(&conditions, &[funds(1, 0, vec![tier(Tier::Community)])], &[mixed]);
}

#[test]
fn a_role_follows_from_direction_and_category() {
    let victim = rule(&json!({"role": "possible_victim"}));
    let other = rule(&json!({"role": "counterparty", "severityFrom": 1}));
    for (direction, category, is_victim) in [
        (Direction::Destination, Category::Ransomware, true),
        (Direction::Destination, Category::Mixer, false),
        (Direction::Source, Category::Ransomware, false),
    ] {
        assert_eq!(fired(&victim, direction, vec![of(category, 1)]).is_some(), is_victim);
        assert_eq!(fired(&other, direction, vec![of(category, 1)]).is_some(), !is_victim);
    }
}

#[test]
fn funds_before_a_listing_do_not_count_since_it() {
    let listed = |since_listing| RuleFunds {
        since_listing,
        claims: vec![RuleClaim { listed: true, ..claim(Category::Sanctions) }],
        ..funds(10, 0, vec![])
    };
    let conditions = json!({"sinceListing": true, "shareFrom": "10%"});
    expect(&conditions, &[listed(Some(1))], &[listed(Some(0))]);
    expect(&conditions, &[listed(None)], &[of(Category::Sanctions, 10)]);
    let half = fired(&rule(&conditions), Direction::Source, vec![listed(Some(5)), clean(10, 0)]);
    assert_eq!(half.map(|fired| (fired.amount, fired.share)), Some((5, 250_000)));
}

#[test]
fn a_share_is_that_of_all_funds_of_the_direction() {
    let conditions = json!({"categories": ["scam"], "shareFrom": "2.5%"});
    let beside = |clean_amount| [of(Category::Scam, 25), clean(clean_amount, 0)];
    expect(&conditions, &beside(975), &beside(976));
}

#[test]
fn a_recent_share_has_full_weight_from_a_tenth_of_recent_funds_on() {
    let conditions = json!({"categories": ["scam"], "recentShareFrom": "10%"});
    let scam = |recent| funds(recent, recent, vec![claim(Category::Scam)]);
    // A tenth of all funds is recent, and a tenth of these is from the scam.
    expect(&conditions, &[scam(10), clean(990, 90)], &[scam(9), clean(990, 91)]);
    // Half of that is recent: a fifth of it counts as a tenth.
    expect(&conditions, &[scam(10), clean(990, 40)], &[scam(9), clean(990, 40)]);
    expect(&conditions, &[scam(1)], &[funds(1, 0, vec![claim(Category::Scam)])]);
}

#[test]
fn a_recent_part_is_that_of_all_funds() {
    let conditions = json!({"categories": ["scam"], "recentPartFrom": "25%"});
    let scam = || funds(1, 1, vec![claim(Category::Scam)]);
    expect(&conditions, &[scam(), clean(99, 24)], &[scam(), clean(100, 24)]);
}

#[test]
fn an_amount_holds_in_its_unit_alone() {
    let conditions = json!({"categories": ["scam"], "amountFrom": {"BTC": "0.5"}});
    let half = 50_000_000;
    expect(&conditions, &[of(Category::Scam, half)], &[of(Category::Scam, half - 1)]);
    let dollars = rule(&json!({"categories": ["scam"], "amountFrom": {"USD": 1}}));
    assert_eq!(fired(&dollars, Direction::Source, vec![of(Category::Scam, u128::MAX)]), None);
}

#[test]
fn one_group_of_several_is_enough() {
    let conditions = json!({
        "categories": ["scam"],
        "anyOf": [{"shareFrom": "50%"}, {"direct": true, "shareFrom": "10%"}],
    });
    let scam = |claim| funds(10, 0, vec![claim]);
    expect(
        &conditions,
        &[scam(claim(Category::Scam)), clean(90, 0)],
        &[scam(distant(Category::Scam, 2)), clean(90, 0)],
    );
}

#[test]
fn funds_that_do_not_count_select_nothing() {
    let unsolicited = RuleFunds { scored: false, ..of(Category::Scam, 1) };
    expect(&json!({"categories": ["scam"]}), &[of(Category::Scam, 1)], &[unsolicited]);
}

#[test]
fn a_block_needs_evidence_that_can_block() {
    let block = rule(&json!({"categories": ["scam"], "shareFrom": "10%", "verdict": "block"}));
    let weak = |amount| {
        funds(amount, 0, vec![RuleClaim { tier: Tier::Community, ..claim(Category::Scam) }])
    };
    let can_block = |funds| fired(&block, Direction::Source, funds).map(|fired| fired.can_block);
    assert_eq!(can_block(vec![weak(10), clean(90, 0)]), Some(false));
    assert_eq!(can_block(vec![of(Category::Scam, 10), clean(90, 0)]), Some(true));
    let both = vec![of(Category::Scam, 9), weak(5), clean(86, 0)];
    assert_eq!(can_block(both), Some(false), "the strong part alone is below a tenth of the rest");
    assert_eq!(
        can_block(vec![of(Category::Scam, 10), weak(500), clean(90, 0)]),
        Some(true),
        "weak evidence beside it takes nothing from strong evidence"
    );
    let review = rule(&json!({"categories": ["scam"]}));
    let fired = fired(&review, Direction::Source, vec![of(Category::Scam, 1)]);
    assert_eq!(fired.map(|fired| fired.can_block), Some(false));
}

#[test]
fn a_written_rule_replaces_the_default_of_its_id_or_switches_it_off() {
    let ids = |rules: Value| {
        let spec = serde_json::from_value(json!({"rules": rules})).unwrap();
        let policy = Policy::compile(spec).unwrap();
        policy.rules().iter().map(|rule| rule.id.clone()).collect::<Vec<_>>()
    };
    let defaults = ids(json!([]));
    assert_eq!(
        defaults,
        [
            "direct_listed_counterparty",
            "severe_category_exposure",
            "direct_mixing",
            "direct_illicit_income",
            "mixed_income"
        ]
    );
    let own = json!({"id": "atm", "description": "ATMs", "categories": ["atm"]});
    assert_eq!(ids(json!([own])), [&defaults[..], &["atm".to_owned()]].concat());
    let off = json!({"id": "direct_mixing", "enabled": false});
    let replaced =
        json!({"id": "severe_category_exposure", "description": "x", "severityFrom": 80});
    assert_eq!(ids(json!([off, replaced])), [&defaults[..2], &defaults[3..]].concat());

    let policy = |rules: Value| {
        Policy::compile(serde_json::from_value(json!({"rules": rules})).unwrap()).unwrap()
    };
    assert_eq!(policy(json!([off])).within(Policy::default().spec().trace).rules().len(), 4);
    assert_eq!(
        policy(json!([off, replaced])).revision(),
        policy(json!([replaced, off])).revision()
    );
    assert_ne!(policy(json!([off])).revision(), Policy::default().revision());
    let unused = json!({"id": "unused", "enabled": false});
    assert_eq!(policy(json!([unused])).revision(), Policy::default().revision());
    let written: Vec<_> = Policy::default().spec().rules.clone();
    let written = serde_json::to_value(written).unwrap();
    assert_eq!(policy(written), Policy::default(), "the defaults, spelled out");
}

/// The rule would stop firing if older stolen funds counted as clean.
#[test]
fn older_selected_funds_do_not_make_recent_ones_less() {
    let stolen = |amount, recent| funds(amount, recent, vec![claim(Category::StolenFunds)]);
    for condition in ["recentPartFrom", "recentShareFrom"] {
        let conditions = json!({"severityFrom": 90, condition: "10%"});
        let fires = [stolen(1, 1), stolen(1_000, 0), clean(9, 0)];
        expect(&conditions, &fires, &[stolen(1_000, 0), clean(9, 0)]);
        expect(&conditions, &fires, &[stolen(1_000, 0)]);
    }
}

/// The recent share of some selected funds would fall if the other selected funds counted as clean.
#[test]
fn money_that_a_rule_selects_is_no_clean_money_beside_other_such_money() {
    let policy = Policy::default();
    let severe = |amount, recent| funds(amount, recent, vec![claim(Category::StolenFunds)]);
    let before = vec![severe(1, 1), clean(99, 9)];
    assert!(fired(&policy, Direction::Source, before.clone()).is_some());
    let more = funds(5, 0, vec![distant(Category::StolenFunds, 4)]);
    let after = [before, vec![more]].concat();
    assert!(fired(&policy, Direction::Source, after).is_some());
}

/// A label of a category with a confidence in percent.
fn label(category: Category, percent: u8) -> RuleClaim {
    RuleClaim { confidence: Confidence::from_percent(percent), ..claim(category) }
}

fn by(claim: RuleClaim) -> Vec<RuleFunds> {
    vec![funds(1, 0, vec![claim])]
}

#[test]
fn a_rule_hears_a_label_whose_own_address_would_be_reviewed() {
    let severe = json!({"severityFrom": 1});
    // Stolen funds, 90: 90 x 0.56 = 50.4, 90 x 0.55 = 49.5.
    expect(&severe, &by(label(Category::StolenFunds, 56)), &by(label(Category::StolenFunds, 55)));
    expect(&severe, &by(label(Category::NoKycExchange, 100)), &by(label(Category::Gambling, 100)));
    let behavior = RuleClaim { tier: Tier::Behavior, ..label(Category::StolenFunds, 100) };
    expect(&severe, &by(label(Category::StolenFunds, 100)), &by(behavior));
}

#[test]
fn the_review_threshold_of_the_policy_decides_what_is_heard() {
    let fires = |thresholds: Value, percent| {
        let spec = json!({"thresholds": thresholds});
        let policy = Policy::compile(serde_json::from_value(spec).unwrap()).unwrap();
        let stolen = by(label(Category::StolenFunds, percent));
        fired(&policy, Direction::Source, stolen).is_some()
    };
    assert!(fires(json!({"review": 63}), 70) && !fires(json!({"review": 63.1}), 70));
}

#[test]
fn a_rule_hears_every_listing_and_every_joint_transaction() {
    let defaults = Policy::default();
    let doubtful = label(Category::Sanctions, 10);
    let listed = RuleClaim { listed: true, ..doubtful };
    let joint = RuleClaim { joint: true, tier: Tier::Heuristic, ..label(Category::Coinjoin, 50) };
    for (claim, fires) in [
        (doubtful, false),
        (listed, true),
        (joint, true),
        (RuleClaim { joint: false, ..joint }, false),
    ] {
        let fired = fired(&defaults, Direction::Source, by(claim));
        assert_eq!(fired.is_some(), fires, "{claim:?}");
    }
}

#[test]
fn a_rule_of_the_policys_own_hears_what_it_names_from_half_a_certainty_on() {
    let own = json!({"categories": ["gambling"]});
    expect(&own, &by(label(Category::Gambling, 50)), &by(label(Category::Gambling, 49)));
    // A default rule that is written as it is stays one; its replacement is the policy's own.
    let mixer = by(label(Category::Mixer, 60));
    let written = |share| {
        let amounts = json!({
            "USD": 50_000, "BTC": 1, "LTC": 500, "BCH": 100, "BSV": 2_000, "BTG": 10_000,
            "DOGE": 250_000, "DASH": 1_000, "ZEC": 500, "XVG": 5_000_000,
        });
        let rule = json!({
            "id": "direct_mixing",
            "description": "Direct use of mixing services or joint transactions",
            "categories": ["mixer", "coinjoin"],
            "direct": true,
            "anyOf": [{"shareFrom": share}, {"amountFrom": amounts}],
        });
        let spec = serde_json::from_value(json!({"rules": [rule]})).unwrap();
        fired(&Policy::compile(spec).unwrap(), Direction::Source, mixer.clone()).is_some()
    };
    assert!(!written("10%") && written("9%"));
}

#[test]
fn labels_of_records_without_a_confidence_are_heard() {
    let record = json!({
        "category": "stolen_funds", "tier": "community", "hops": 1, "direct": true, "listed": false,
    });
    let claim: RuleClaim = serde_json::from_value(record).unwrap();
    assert_eq!((claim.confidence, claim.joint), (Confidence::CERTAIN, false));
}

fn any_claim() -> impl Strategy<Value = RuleClaim> {
    let tiers = prop::sample::select(&Tier::ALL[..]);
    let percent = prop_oneof![Just(100), 0..=100_u8];
    let flags = any::<(bool, bool, bool)>();
    (prop::sample::select(Category::ALL), tiers, 1..4_u16, flags, percent).prop_map(
        |(category, tier, hops, (listed, joint, unasked), percent)| RuleClaim {
            category,
            tier,
            hops: Some(hops),
            direct: hops == 1,
            listed,
            confidence: Confidence::from_percent(percent),
            joint,
            unasked,
            paid_back: false,
        },
    )
}

fn any_funds() -> impl Strategy<Value = RuleFunds> {
    let amount = prop_oneof![0..1000_u128, 0..1_000_000_000_000_u128];
    let claims = prop::collection::vec(any_claim(), 0..3);
    let percent = || prop::option::of(0..=100_u128);
    (amount, 0..=100_u128, [percent(), percent()], prop::bool::weighted(0.9), claims).prop_map(
        |(amount, recent, [since, outstanding], scored, claims)| RuleFunds {
            amount,
            recent: amount * recent / 100,
            since_listing: since.map(|since| amount * since / 100),
            outstanding: outstanding.map(|percent| amount * percent / 100),
            scored,
            claims,
        },
    )
}

fn any_share() -> impl Strategy<Value = Option<String>> {
    prop::option::weighted(0.3, (1..=60_u8).prop_map(|percent| format!("{percent}%")))
}

/// The thresholds and the distance of a rule or of a condition group.
fn any_conditions() -> impl Strategy<Value = Value> {
    let amount = prop::option::weighted(0.3, 1..100_u64);
    (any_share(), any_share(), any_share(), amount, any::<bool>()).prop_map(
        |(share, recent_share, recent_part, amount, direct)| {
            let mut conditions = json!({"direct": direct});
            for (name, share) in [
                ("shareFrom", share),
                ("recentShareFrom", recent_share),
                ("recentPartFrom", recent_part),
            ] {
                if let Some(share) = share {
                    conditions[name] = share.into();
                }
            }
            if let Some(amount) = amount {
                conditions["amountFrom"] = json!({"BTC": amount});
            }
            conditions
        },
    )
}

fn any_rule() -> impl Strategy<Value = Value> {
    let groups = prop::collection::vec(any_conditions(), 0..4);
    let selects = prop_oneof![
        prop::sample::select(vec![20, 50, 80, 90])
            .prop_map(|severity| json!({"severityFrom": severity})),
        Just(json!({"categories": ["mixer", "coinjoin", "scam"]})),
        Just(json!({"sinceListing": true})),
    ];
    (any_conditions(), groups, selects).prop_map(|(alone, mut groups, selects)| {
        let mut rule = json!({"id": "own", "description": "x"});
        rule.as_object_mut().unwrap().extend(selects.as_object().unwrap().clone());
        // A group's condition stands in no rule, and no group is empty.
        groups.retain_mut(|group| {
            let group = group.as_object_mut().unwrap();
            group.retain(|_, value| *value != json!(false));
            !group.is_empty()
        });
        if groups.is_empty() {
            rule.as_object_mut().unwrap().extend(alone.as_object().unwrap().clone());
        } else {
            rule["anyOf"] = groups.into();
        }
        rule
    })
}

proptest! {
    #[test]
    fn more_money_that_a_rule_selects_never_stops_it(
        rule in any_rule(), parts in prop::collection::vec(any_funds(), 1..6), added in any_funds(),
        same in any::<prop::sample::Index>(), copies in any::<bool>(),
    ) {
        let policy = policy(&[rule]);
        let Some(before) = fired(&policy, Direction::Source, parts.clone()) else { return Ok(()) };
        let like = &parts[before.funds[same.index(before.funds.len())]];
        let added = if copies { RuleFunds { claims: like.claims.clone(), ..added } } else { added };
        // All of the added money is selected: counted, and moved since the listing.
        let added = RuleFunds { since_listing: None, scored: true, ..added };
        let alone = RuleView { direction: Direction::Source, unit: "BTC", decimals: 8, funds: vec![added.clone()] };
        let selection = |alternative: &Alternative| {
            let evaluation = Evaluation { rule: &policy.rules()[0], view: &alone, policy: &policy };
            evaluation.select(&alternative.selection).into_iter().sum::<Sum>().amount == U256::from(added.amount)
        };
        if !policy.rules()[0].alternatives.iter().any(selection) {
            return Ok(());
        }
        let more = [parts, vec![added]].concat();
        prop_assert!(fired(&policy, Direction::Source, more).is_some());
    }

    #[test]
    fn more_confidence_never_stops_a_rule(
        rule in any_rule(), parts in prop::collection::vec(any_funds(), 1..6),
        which in any::<prop::sample::Index>(), percent in 0..=100_u8,
    ) {
        let policy = policy(&[rule]);
        if fired(&policy, Direction::Source, parts.clone()).is_none() {
            return Ok(());
        }
        let mut surer = parts;
        let which = which.index(surer.len());
        for claim in &mut surer[which].claims {
            claim.confidence = claim.confidence.max(Confidence::from_percent(percent));
        }
        prop_assert!(fired(&policy, Direction::Source, surer).is_some());
    }

    #[test]
    fn splitting_funds_changes_nothing(
        rule in any_rule(), parts in prop::collection::vec(any_funds(), 1..6), which in any::<prop::sample::Index>(),
    ) {
        let policy = policy(&[rule]);
        let which = which.index(parts.len());
        // What was outstanding is rounded for each part.
        let parts: Vec<_> =
            parts.into_iter().map(|part| RuleFunds { outstanding: None, ..part }).collect();
        let mut split = parts.clone();
        let half = |funds: &RuleFunds| RuleFunds {
            amount: funds.amount / 2,
            recent: funds.recent / 2,
            since_listing: funds.since_listing.map(|since| since / 2),
            ..funds.clone()
        };
        let piece = half(&split[which]);
        // A part's recent amount is not known by its listing, so that only whole parts are split there.
        if piece.since_listing.is_some() {
            return Ok(());
        }
        split[which].amount -= piece.amount;
        split[which].recent -= piece.recent;
        split.push(piece);
        let sum = |fired: Option<FiredRule>| fired.map(|fired| (fired.amount, fired.share));
        prop_assert_eq!(
            sum(fired(&policy, Direction::Source, split)),
            sum(fired(&policy, Direction::Source, parts))
        );
    }
}
