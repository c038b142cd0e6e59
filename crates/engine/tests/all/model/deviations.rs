//! Tests of cases that decide between definitions of the model (`docs/decisions.md`).

use assay_engine::{
    evidence::{FlowDistance, FlowPart, Label, Tier},
    facts::{AccountControl, Facts},
    policy::{Policy, PolicySpec},
    score::Confidence,
    taxonomy::Category,
};

use super::common::*;

#[test]
fn splitting_into_old_and_recent_money_changes_nothing() {
    let clean = || FlowPart { recent: 0, ..part(Category::Exchange, 80) };
    let scam = |amount, recent| FlowPart { recent, ..part(Category::Scam, amount) };
    let whole = assess_flows(flows(vec![clean(), scam(20, 10)], vec![]));
    let split = assess_flows(flows(vec![clean(), scam(10, 0), scam(10, 10)], vec![]));
    assert_eq!((tenths(&whole), tenths(&split)), (800, 800));
}

#[test]
fn calling_a_fortune_riskier_never_lowers_the_score() {
    let with_malware_at = |severity| {
        let spec = PolicySpec {
            severities: [("malware".to_owned(), severity)].into(),
            ..PolicySpec::default()
        };
        let dollars = 100;
        let source = vec![
            part(Category::Scam, 100_000 * dollars),
            part(Category::Malware, 100_000 * dollars),
            part(Category::Exchange, 1_000_000_000_000 * dollars),
        ];
        let facts = Facts { chain: flows_in("USD", 2, source, vec![]), ..nothing_known() };
        tenths(&assess_by(&facts, &Policy::compile(spec).unwrap()))
    };
    assert_eq!((with_malware_at(79), with_malware_at(80)), (429, 430));
}

#[test]
fn half_from_sanctioned_parties_blocks_however_many_they_are() {
    let of_sanctioned = |parties: u128| {
        let from_each = FlowPart { listed: false, ..listed_part(600 / parties) };
        let mut source = vec![from_each; usize::try_from(parties).unwrap()];
        source.push(part(Category::Exchange, 600));
        let answer = assess_flows(flows(source, vec![]));
        (tenths(&answer), verdict(&answer))
    };
    assert_eq!(of_sanctioned(1), (758, "block"));
    assert_eq!(of_sanctioned(3), (758, "block"));
}

#[test]
fn categories_more_severe_than_stolen_funds_are_severe_too() {
    for category in [Category::StolenFunds, Category::HumanTrafficking] {
        let rumour = FlowPart {
            tier: Tier::Heuristic,
            confidence: Confidence::from_percent(60),
            distance: FlowDistance::Hops(5),
            ..part(category, 100)
        };
        let answer = assess_flows(flows(vec![rumour, part(Category::Exchange, 900)], vec![]));
        assert_eq!((tenths(&answer), verdict(&answer)), (500, "review"), "{category}");
    }
}

#[test]
fn repeating_a_claim_never_lowers_it() {
    let claim = |tier, percent| label(Category::Scam, tier, percent, "one upstream");
    let of = |labels: Vec<Label>| {
        let answer = assess_facts(&Facts { labels: labels.into(), ..nothing_known() });
        (tenths(&answer), verdict(&answer))
    };
    let report = claim(Tier::Community, 80);
    assert_eq!(of(vec![report.clone()]), (640, "review"));
    assert_eq!(of(vec![report, claim(Tier::Investigation, 30)]), (640, "review"));

    let strong = claim(Tier::Investigation, 95);
    assert_eq!(of(vec![strong.clone()]), (760, "block"));
    let surer_rumour = claim(Tier::Community, 100);
    assert!(of(vec![strong, surer_rumour]) >= (760, "block"));
}

#[test]
fn contradicting_facts_do_not_weaken_a_listed_key() {
    let listed = same_key(AccountControl::Key, vec![listing("ofac-sdn")], vec![]);
    let labels = vec![
        label(Category::Scam, Tier::OnChainProof, 100, "a"),
        label(Category::Exchange, Tier::OnChainProof, 100, "b"),
    ];
    let answer =
        assess_facts(&Facts { same_key: vec![listed], labels: labels.into(), ..nothing_known() });
    assert!(tenths(&answer) >= 900);
    assert_eq!(verdict(&answer), "block");
}

#[test]
fn an_inherited_label_is_as_sure_as_its_weaker_link() {
    let inherited = |percent, own| {
        let labels = vec![label(Category::Scam, Tier::Investigation, own, "police")];
        let cluster = cluster_with(percent, labels, vec![]);
        tenths(&assess_facts(&Facts { cluster: Some(cluster), ..nothing_known() }))
    };
    assert_eq!((inherited(100, 50), inherited(50, 100), inherited(50, 50)), (400, 400, 400));
}

#[test]
fn a_weaker_claim_about_a_cluster_does_not_weaken_a_stronger_one() {
    let named = |category, tier, name: &str| Label {
        entity: Some(name.into()),
        ..label(category, tier, 100, name)
    };
    let stolen = || vec![named(Category::StolenFunds, Tier::Investigation, "Thief")];
    let with = |other| {
        let cluster = Some(cluster_of(90, vec![member(stolen(), vec![], true), other]));
        assess_facts(&Facts { cluster, ..nothing_known() })
    };
    // An anonymous report about another member, or an investigation of an address that a PayJoin connects.
    let report = vec![named(Category::Scam, Tier::Community, "Shop")];
    let answer = with(member(report, vec![], true));
    assert_eq!((verdict(&answer), answer.warnings.len()), ("review", 0));
    let investigated = || vec![named(Category::Scam, Tier::Investigation, "Shop")];
    let answer = with(member(investigated(), vec![], false));
    assert_eq!((verdict(&answer), answer.warnings.len()), ("review", 0));
    // An investigation of an address that is surely connected contradicts.
    let answer = with(member(investigated(), vec![], true));
    assert_eq!((verdict(&answer), answer.warnings[0].code), ("review", "cluster_conflict"));
    // Reports contradict nothing, also if they name different services.
    let service = |tier, name| named(Category::Exchange, tier, name);
    let services = |tier| vec![service(tier, "North"), service(tier, "South")];
    let answer = with(member(services(Tier::Community), vec![], true));
    assert_eq!((verdict(&answer), answer.warnings.len()), ("review", 0));
    // Different services of investigations pass nothing on.
    let answer = with(member(services(Tier::Investigation), vec![], true));
    assert_eq!((verdict(&answer), answer.warnings[0].code), ("review", "cluster_conflict"));
    let mut categories = answer.scoring_components.iter().map(|component| component.category);
    assert!(categories.all(|category| category != Some(Category::Exchange)));
}

#[test]
fn money_that_gets_another_category_leaves_the_rules_that_name_its_own() {
    let of = |category| {
        let source = vec![part(category, 100), part(Category::Exchange, 900)];
        let answer = assess_flows(flows(source, vec![]));
        (tenths(&answer), verdict(&answer))
    };
    assert_eq!(of(Category::Mixer), (500, "review"));
    assert_eq!(of(Category::IllegalService), (299, "allow"));
}

#[test]
fn more_stolen_money_never_takes_a_review_away() {
    let stolen = |amount| part(Category::StolenFunds, amount);
    let mut source = vec![
        FlowPart { recent: 1, ..stolen(1) },
        FlowPart { recent: 9, ..part(Category::Merchant, 9) },
        part(Category::Exchange, 90),
    ];
    assert_eq!(verdict(&assess_flows(flows(source.clone(), vec![]))), "review");
    source.push(FlowPart { distance: FlowDistance::Hops(4), ..stolen(5) });
    assert_eq!(verdict(&assess_flows(flows(source, vec![]))), "review");
}
