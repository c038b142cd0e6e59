//! Tests of the model's properties on generated facts.

use super::common::*;
use assay_engine::{
    assessment::{Assessment, ComponentKind},
    evidence::{
        CarriedLabel, CarriedPart, FlowDistance, FlowEnd, FlowPart, Label, LabelDistance, Pattern,
        PatternFact, PatternRole, Solicitation, Tier,
    },
    facts::{AccountControl, Facts},
    policy::{Policy, PolicySpec},
    score::{Confidence, Verdict},
    taxonomy::Category,
};
use proptest::prelude::*;
use serde_json::json;

fn any_category() -> impl Strategy<Value = Category> {
    prop::sample::select(Category::ALL)
}

fn any_tier() -> impl Strategy<Value = Tier> {
    prop::sample::select(&Tier::ALL[1..])
}

fn any_label() -> impl Strategy<Value = Label> {
    (any_category(), any_tier(), 0..=100_u8, "[ab]")
        .prop_map(|(category, tier, percent, upstream)| label(category, tier, percent, &upstream))
}

/// Labels without contradictions, so that the rules of conflicts do not apply.
fn risky_label() -> impl Strategy<Value = Label> {
    let risky = Category::ALL
        .iter()
        .copied()
        .filter(|category| category.info().severity >= 25 && !category.info().service);
    (prop::sample::select(risky.collect::<Vec<_>>()), any_label())
        .prop_map(|(category, label)| Label { category, ..label })
}

fn any_part() -> impl Strategy<Value = FlowPart> {
    let amount = prop_oneof![0..1000_u128, 0..1_000_000_000_000_u128];
    let outstanding = prop::option::weighted(0.3, 0..=100_u128);
    let solicitation = prop::sample::select(vec![
        Solicitation::Solicited,
        Solicitation::Solicited,
        Solicitation::Untouched,
        Solicitation::PaidBack,
    ]);
    let more = (outstanding, solicitation);
    (any_category(), any_tier(), 0..=100_u8, 1..7_u16, amount, 0..=100_u128, any::<bool>(), more)
        .prop_map(|(category, tier, percent, hops, amount, recent, is_unresolved, more)| {
            let flow = FlowPart {
                outstanding: more.0.map(|percent| amount * percent / 100),
                solicitation: more.1,
                tier,
                distance: FlowDistance::Hops(hops),
                confidence: Confidence::from_percent(percent),
                recent: amount * recent / 100,
                ..part(category, amount)
            };
            if is_unresolved && percent < 20 {
                FlowPart { recent: flow.recent, solicitation: more.1, ..unresolved(amount) }
            } else {
                flow
            }
        })
}

fn parts() -> impl Strategy<Value = Vec<FlowPart>> {
    prop::collection::vec(any_part(), 0..8)
}

fn asked_for(parts: Vec<FlowPart>) -> Vec<FlowPart> {
    let asked = |part: FlowPart| FlowPart { solicitation: Solicitation::Solicited, ..part };
    parts.into_iter().map(asked).collect()
}

fn some_parts() -> impl Strategy<Value = Vec<FlowPart>> {
    prop::collection::vec(any_part(), 1..8)
}

fn any_facts() -> impl Strategy<Value = Facts> {
    let pattern =
        (prop::sample::select(Pattern::ALL), 0..=100_u8).prop_map(|(pattern, percent)| {
            PatternFact::plain(pattern, PatternRole::Actor, Confidence::from_percent(percent))
        });
    let labels = prop::collection::vec(any_label(), 0..5);
    let cluster = prop::option::of(prop::collection::vec(any_label(), 0..3));
    let lists = prop::collection::vec(prop::sample::select(vec!["ofac-sdn", "il-nbctf"]), 0..2);
    (parts(), parts(), labels, cluster, lists, prop::collection::vec(pattern, 0..3), any::<bool>())
        .prop_map(|(source, destination, labels, cluster, lists, patterns, listed_key)| {
            let mut chain = flows_in("USD", 2, source, destination);
            if let assay_engine::evidence::ChainState::Followed(facts) = &mut chain {
                facts.behavior = Some(behavior(patterns));
            }
            let key = same_key(AccountControl::Key, vec![listing("ofac-sdn")], vec![]);
            Facts {
                labels: labels.into(),
                listings: lists.into_iter().map(listing).collect(),
                same_key: if listed_key { vec![key] } else { vec![] },
                cluster: cluster.map(|labels| cluster_with(90, labels, vec![])),
                chain,
                ..nothing_known()
            }
        })
}

fn money(source: Vec<FlowPart>, destination: Vec<FlowPart>, labels: Vec<Label>) -> Assessment {
    money_by(&Policy::default(), source, destination, labels)
}

fn money_by(
    policy: &Policy,
    source: Vec<FlowPart>,
    destination: Vec<FlowPart>,
    labels: Vec<Label>,
) -> Assessment {
    let chain = flows_in("USD", 2, source, destination);
    assess_by(&Facts { chain, labels: labels.into(), ..nothing_known() }, policy)
}

fn policy_of(spec: serde_json::Value) -> Policy {
    let spec: PolicySpec = serde_json::from_value(spec).unwrap();
    Policy::compile(spec).unwrap()
}

/// The default policy without its rules on named categories, which no longer match funds that get another category.
fn rules_by_severity() -> Policy {
    policy_of(json!({"rules": [
        {"id": "direct_mixing", "enabled": false},
        {"id": "direct_illicit_income", "enabled": false},
        {"id": "mixed_income", "enabled": false},
    ]}))
}

fn any_rule() -> impl Strategy<Value = serde_json::Value> {
    let selects = prop_oneof![
        (1..=100_u8).prop_map(|severity| json!({"severityFrom": severity})),
        any_category().prop_map(|category| json!({"categories": [category.as_str()]})),
        Just(json!({"sinceListing": true})),
        Just(json!({"role": "possible_victim"})),
    ];
    let verdict = prop::sample::select(vec!["review", "block"]);
    let thresholds = prop_oneof![
        Just(json!({})),
        (1..=100_u8).prop_map(|percent| json!({"shareFrom": format!("{percent}%")})),
        (1..=100_u8).prop_map(|percent| json!({"recentShareFrom": format!("{percent}%")})),
        (1..=1_000_000_u32).prop_map(|dollars| json!({"amountFrom": {"USD": dollars}})),
    ];
    (selects, verdict, thresholds, any::<bool>()).prop_map(
        |(selects, verdict, thresholds, direct)| {
            let mut rule =
                json!({"id": "own", "description": "x", "verdict": verdict, "direct": direct});
            for fields in [selects, thresholds] {
                rule.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
            }
            rule
        },
    )
}

proptest! {
    /// A pattern raises a score within its verdict, and does not reduce the contributions of other evidence.
    #[test]
    fn patterns_never_change_a_verdict(facts in any_facts()) {
        let with = assess_facts(&facts);
        let mut bare = facts;
        if let assay_engine::evidence::ChainState::Followed(chain) = &mut bare.chain {
            chain.behavior.as_mut().unwrap().patterns.clear();
        }
        let without = assess_facts(&bare);
        prop_assert_eq!(with.verdict, without.verdict);
        prop_assert!(with.risk_score >= without.risk_score);
        let is_pattern = |kind| kind == ComponentKind::Behavior;
        let points = |answer: &Assessment, of_patterns: bool| -> u16 {
            let components = answer.scoring_components.iter();
            let counted = components.filter(|it| is_pattern(it.kind) == of_patterns);
            // A minimum score rule lifts from the score of all evidence.
            let counted = counted.filter(|it| it.kind != ComponentKind::MinimumScoreRule);
            counted.filter(|it| it.kind != ComponentKind::Incomplete).map(|it| it.contribution.tenths()).sum()
        };
        prop_assert_eq!(points(&with, false), points(&without, false));
        for pattern in &with.transaction_patterns {
            let own = with.scoring_components.iter().find(|it| it.pattern == Some(pattern.pattern));
            let own = own.map_or(0, |component| component.contribution.tenths());
            prop_assert_eq!(pattern.contribution.tenths(), if pattern.scored { own } else { 0 });
        }
    }

    /// Bounds, exact sums and the rest of the invariants are checked inside `assess_facts`.
    #[test]
    fn the_same_facts_give_the_same_digest_in_any_order(facts in any_facts(), seed in any::<u64>()) {
        let first = assess_facts(&facts);
        prop_assert_eq!(first.digest(), assess_facts(&facts).digest());
        let mut shuffled = facts;
        let mut labels = shuffled.labels.to_vec();
        rotate(&mut labels, seed);
        shuffled.labels = labels.into();
        rotate(&mut shuffled.listings, seed);
        if let assay_engine::evidence::ChainState::Followed(chain) = &mut shuffled.chain {
            rotate(&mut chain.behavior.as_mut().unwrap().patterns, seed);
            for ledger in &mut chain.flows.ledgers {
                rotate(&mut ledger.source.parts, seed);
                rotate(&mut ledger.destination.parts, seed);
            }
        }
        prop_assert_eq!(assess_facts(&shuffled), first);
    }

    #[test]
    fn calling_money_riskier_never_lowers_the_score(
        mut source in some_parts(), destination in parts(), which in any::<prop::sample::Index>(),
        worse in any::<prop::sample::Index>(), labels in prop::collection::vec(risky_label(), 0..3),
    ) {
        let which = which.index(source.len());
        source[which].solicitation = Solicitation::Solicited;
        let policy = rules_by_severity();
        let before = money_by(&policy, source.clone(), destination.clone(), labels.clone());
        let severity = source[which].end.category().map_or(18, |category| policy.severity(category));
        let worse_ones: Vec<_> =
            Category::ALL.iter().filter(|category| policy.severity(**category) >= severity).collect();
        let worse = *worse_ones[worse.index(worse_ones.len())];
        let amounts = (source[which].amount, source[which].recent);
        let known = source[which].end.category().is_some();
        source[which] = FlowPart {
            recent: amounts.1,
            tier: if known { source[which].tier } else { Tier::Behavior },
            distance: if known { source[which].distance } else { FlowDistance::Hops(1) },
            confidence: if known { source[which].confidence } else { Confidence::CERTAIN },
            outstanding: source[which].outstanding,
            ..part(worse, amounts.0)
        };
        let after = money_by(&policy, source, destination, labels);
        prop_assert!(after.risk_score >= before.risk_score, "{} then {}", before.risk_score, after.risk_score);
    }

    #[test]
    fn raising_a_severity_never_lowers_the_score(
        source in parts(), destination in parts(), category in any_category(), severity in 0..=100_u8,
    ) {
        // Risky money counts less if nobody asked for it.
        let (source, destination) = (asked_for(source), asked_for(destination));
        let before = money(source.clone(), destination.clone(), vec![]);
        let severity = severity.max(category.info().severity);
        let policy = policy_of(json!({"severities": {category.as_str(): severity}}));
        let after = money_by(&policy, source, destination, vec![]);
        prop_assert!(after.risk_score >= before.risk_score, "{} then {}", before.risk_score, after.risk_score);
    }

    #[test]
    fn adding_a_rule_never_lowers_the_score(facts in any_facts(), rule in any_rule()) {
        let before = assess_facts(&facts);
        let after = assess_by(&facts, &policy_of(json!({"rules": [rule]})));
        prop_assert!(after.risk_score >= before.risk_score);
    }

    #[test]
    fn a_rule_leads_to_its_verdict_where_its_evidence_may(facts in any_facts(), rule in any_rule()) {
        let answer = assess_by(&facts, &policy_of(json!({"rules": [&rule]})));
        let fired = answer.scoring_components.iter().filter(|c| c.rule.as_deref() == Some("own"));
        for component in fired {
            let expected = match (rule["verdict"].as_str(), component.standalone_score.tenths()) {
                (Some("review"), 500) | (Some("block"), 749) => "review",
                (Some("block"), 750) => "block",
                other => panic!("{other:?}"),
            };
            let verdict = verdict(&answer);
            prop_assert!(verdict == expected || verdict == "block", "{verdict}");
            prop_assert!(!component.evidence.is_empty());
        }
    }

    #[test]
    fn raising_a_tier_never_lowers_the_score(
        mut source in some_parts(), destination in parts(), which in any::<prop::sample::Index>(),
        tier in any_tier(), mut labels in prop::collection::vec(risky_label(), 0..3),
    ) {
        let before = money(source.clone(), destination.clone(), labels.clone());
        let which_part = which.index(source.len());
        source[which_part].tier = source[which_part].tier.min(tier);
        for label in &mut labels {
            label.tier = label.tier.min(tier);
        }
        let after = money(source, destination, labels);
        prop_assert!(after.risk_score >= before.risk_score);
    }

    #[test]
    fn adding_a_communitys_label_to_money_never_lowers_the_score(
        mut source in some_parts(), destination in parts(), which in any::<prop::sample::Index>(), added in risky_label(),
    ) {
        let before = money(source.clone(), destination.clone(), vec![]);
        let which = which.index(source.len());
        let part = &mut source[which];
        let label = CarriedLabel {
            tier: Tier::Community,
            category: added.category,
            confidence: added.confidence,
            severity: added.category.info().severity,
            entity: None,
            coinjoin: None,
        };
        let distance = LabelDistance { hops: part.distance.hops().unwrap(), decayed: part.decayed };
        part.carried.push(CarriedPart { label, distance });
        let after = money(source, destination, vec![]);
        prop_assert!(after.risk_score >= before.risk_score, "{} then {}", before.risk_score, after.risk_score);
    }

    #[test]
    fn asking_for_risky_money_never_lowers_the_score(
        benign in parts(), risky in any_part(), category in any_category(),
    ) {
        let is_risky = |category: Category| category.info().severity >= 25;
        prop_assume!(is_risky(category));
        let mut parts: Vec<FlowPart> =
            benign.into_iter().filter(|part| !part.end.category().is_some_and(is_risky)).collect();
        let risky = FlowPart { end: FlowEnd::Attributed(category), ..risky };
        parts.push(FlowPart { solicitation: Solicitation::Untouched, ..risky.clone() });
        let unasked = money(parts.clone(), vec![], vec![]);
        prop_assert!(verdict(&unasked) != "block");
        let last = parts.len() - 1;
        parts[last].solicitation = Solicitation::Solicited;
        let asked = money(parts, vec![], vec![]);
        prop_assert!(asked.risk_score >= unasked.risk_score, "{} then {}", unasked.risk_score, asked.risk_score);
    }

    #[test]
    fn adding_risky_evidence_never_lowers_the_score(
        source in parts(), destination in parts(), labels in prop::collection::vec(risky_label(), 0..3),
        added in risky_label(), listed in any::<bool>(),
    ) {
        let before = money(source.clone(), destination.clone(), labels.clone());
        let mut more = labels.clone();
        more.push(added);
        let after = money(source.clone(), destination.clone(), more);
        prop_assert!(after.risk_score >= before.risk_score);
        let list = if listed { "ofac-sdn" } else { "il-nbctf" };
        let chain = flows_in("USD", 2, source, destination);
        let after = assess_facts(&Facts { chain, labels: labels.into(), listings: vec![listing(list)], ..nothing_known() });
        prop_assert!(after.risk_score >= before.risk_score);
    }

    #[test]
    fn an_inherited_label_only_adds(
        facts in any_facts(), inherited in prop::collection::vec(any_label(), 1..4), is_certain in any::<bool>(),
    ) {
        let alone = assess_facts(&Facts { cluster: None, ..facts.clone() });
        let cluster = Some(cluster_of(90, vec![member(inherited, vec![], is_certain)]));
        let answer = assess_facts(&Facts { cluster, ..facts });
        prop_assert!(answer.risk_score >= alone.risk_score, "{} then {}", alone.risk_score, answer.risk_score);
        // By itself it leads to a review at most.
        prop_assert!(verdict(&answer) != "block" || verdict(&alone) != "allow");
        prop_assert_eq!(answer.exposure, alone.exposure);
    }

    #[test]
    fn splitting_a_flow_over_more_addresses_changes_nothing(
        source in some_parts(), destination in parts(), which in any::<prop::sample::Index>(),
        cut in 0..=100_u128, recent_cut in 0..=100_u128,
    ) {
        let which = which.index(source.len());
        // What was outstanding is rounded for each part.
        let mut split = source;
        split[which].outstanding = None;
        let before = money(split.clone(), destination.clone(), vec![]);
        let recent = split[which].recent * recent_cut / 100;
        let earlier = (split[which].amount - split[which].recent) * cut / 100;
        let amount = earlier + recent;
        let piece = FlowPart { amount, recent, ..split[which].clone() };
        split[which].amount -= amount;
        split[which].recent -= recent;
        split.push(piece);
        let after = money(split, destination, vec![]);
        prop_assert_eq!(after.risk_score, before.risk_score);
        prop_assert_eq!(after.verdict, before.verdict);
    }

    #[test]
    fn added_clean_money_never_lowers_the_score_below_the_amount_term(
        source in parts(), destination in parts(), clean in any_part(),
    ) {
        // Beside endless money that says nothing, shares vanish: only amounts are left.
        let endless = u128::MAX >> 40;
        let endless = FlowPart { end: FlowEnd::Unspent, recent: endless, ..part(Category::Exchange, endless) };
        let with = |mut parts: Vec<FlowPart>, added: &FlowPart| {
            parts.push(added.clone());
            parts
        };
        let amounts_alone = money(with(source.clone(), &endless), with(destination.clone(), &endless), vec![]);
        let after = money(with(source, &clean), destination, vec![]);
        prop_assert!(after.risk_score >= amounts_alone.risk_score);
    }

    #[test]
    fn no_benign_label_removes_a_minimum_score(
        benign in prop::collection::vec(any_label(), 1..4), mut facts in any_facts(),
    ) {
        facts.labels = vec![].into();
        facts.cluster = Some(cluster_with(100, vec![], vec![listing("uk")]));
        let minimum = if !facts.listings.is_empty() && facts.listings.iter().any(|l| l.entry.list.as_str() == "ofac-sdn") {
            1000
        } else if facts.same_key.is_empty() {
            500
        } else {
            900
        };
        facts.labels = benign.into();
        prop_assert!(tenths(&assess_facts(&facts)) >= minimum);
    }

    #[test]
    fn no_tier_exceeds_its_cap(labels in prop::collection::vec(any_label(), 0..6), source in parts(), weakest in any_tier()) {
        let labels: Vec<_> = labels.into_iter().map(|label| Label { tier: label.tier.max(weakest), ..label }).collect();
        let source: Vec<_> = source.into_iter().map(|part| FlowPart { tier: part.tier.max(weakest), ..part }).collect();
        let answer = money(source, vec![], labels);
        let raised = answer.scoring_components.iter().any(|c| c.kind == assay_engine::assessment::ComponentKind::MinimumScoreRule);
        let cap = Policy::default().cap(weakest).tenths();
        prop_assert!(tenths(&answer) <= cap || (raised && tenths(&answer) == 500));
    }
}

proptest! {
    #[test]
    fn a_review_or_block_names_what_decided_it_and_nothing_else_does(facts in any_facts()) {
        let answer = assess_facts(&facts);
        let is_decided = matches!(answer.verdict, Verdict::Review | Verdict::Block);
        prop_assert_eq!(answer.decisive.is_some(), is_decided);
        let Some(decisive) = &answer.decisive else { return Ok(()) };
        prop_assert!(decisive.risk_score < answer.risk_score);
        prop_assert!(decisive.verdict != answer.verdict && decisive.verdict != Verdict::Block);
        prop_assert!(!decisive.components.is_empty());
        prop_assert!(decisive.components.is_sorted_by(|one, next| one < next));
        for index in &decisive.components {
            let component = &answer.scoring_components[*index];
            prop_assert!(component.kind != ComponentKind::Behavior, "no pattern changes a verdict");
        }
    }

    #[test]
    fn without_the_labels_that_decided_the_answer_is_as_it_says(labels in prop::collection::vec(risky_label(), 1..7)) {
        // Each by a source of its own, so that none takes another one's place.
        let labels: Vec<Label> = labels.into_iter().enumerate().map(|(index, label)| Label {
            upstream: format!("upstream {index}").into(),
            entity: Some(format!("entity {index}").into()),
            ..label
        }).collect();
        let answer = money(vec![], vec![], labels.clone());
        let Some(decisive) = &answer.decisive else { return Ok(()) };
        let gone: Vec<_> = decisive.components.iter().map(|index| answer.scoring_components[*index].entity.clone()).collect();
        let left = labels.into_iter().filter(|label| !gone.contains(&label.entity.as_deref().map(str::to_owned)));
        let without = money(vec![], vec![], left.collect());
        prop_assert_eq!((without.risk_score, without.verdict), (decisive.risk_score, decisive.verdict));
    }
}

fn rotate<T>(items: &mut [T], seed: u64) {
    if !items.is_empty() {
        let by = usize::try_from(seed % items.len() as u64).unwrap();
        items.rotate_left(by);
        if seed.is_multiple_of(2) {
            items.reverse();
        }
    }
}
