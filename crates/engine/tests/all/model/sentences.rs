//! Tests of the sentences of answers.

use std::sync::Arc;

use assay_engine::{
    assessment::{Assessment, ComponentKind},
    evidence::{
        CarriedLabel, CarriedPart, ChainState, FlowEnd, FlowPart, LabelDistance, ListingPeriod,
        PartyListing, Pattern, PatternFact, PatternRole, Solicitation, Tier, UnresolvedReason,
    },
    facts::Facts,
    ledger::Mass,
    policy::Policy,
    score::Confidence,
    taxonomy::Category,
};
use jiff::civil::date;
use serde_json::{Value, json};

use super::common::*;

fn message<'a>(answer: &'a Assessment, code: &str) -> Option<&'a str> {
    let found = answer.reasons.iter().find(|reason| reason.code == code);
    found.map(|reason| reason.message.as_str())
}

fn unread(reason: UnresolvedReason, amount: u128) -> FlowPart {
    FlowPart { end: FlowEnd::Unresolved(reason), entity: None, ..unresolved(amount) }
}

/// Flows of 1,000 units in one direction, of which a trace left `left` units unread after `transactions` transactions.
fn stopped(left: u128, transactions: u32, sent: bool) -> ChainState {
    let parts =
        vec![unread(UnresolvedReason::TraceLimit, left), part(Category::Exchange, 1_000 - left)];
    let (source, destination) = if sent { (vec![], parts) } else { (parts, vec![]) };
    let mut chain = flows(source, destination);
    if let ChainState::Followed(facts) = &mut chain {
        for ledger in &mut facts.flows.ledgers {
            ledger.source.transactions = transactions;
            ledger.destination.transactions = transactions;
        }
    }
    chain
}

fn under(policy: Value, chain: ChainState) -> Assessment {
    let policy = Policy::compile(serde_json::from_value(policy).unwrap()).unwrap();
    assess_by(&Facts { chain, ..nothing_known() }, &policy)
}

#[test]
fn an_exhausted_trace_is_told_with_the_share_that_was_not_read() {
    let told = |chain| {
        let answer = assess_flows(chain);
        assert_eq!(verdict(&answer), "allow", "an honest receiver looks the same");
        message(&answer, "trace_limit").map(str::to_owned)
    };
    assert_eq!(
        told(stopped(960, 100_000, false)).as_deref(),
        Some(
            "Assay stopped reading after 100,000 transactions; the origin of 96 % of the money is \
             not known"
        )
    );
    assert_eq!(
        told(stopped(125, 1, true)).as_deref(),
        Some(
            "Assay stopped reading after 1 transaction; the destination of 12.5 % of the money is \
             not known"
        )
    );
    assert_eq!(
        told(stopped(500, 0, false)).as_deref(),
        Some(
            "Assay did not read all transactions of the address; the origin of 50 % of the money \
             is not known"
        )
    );
    assert!(told(stopped(100, 2_000, false)).is_some(), "from a tenth on");
    assert_eq!(told(stopped(99, 2_000, false)), None);
}

#[test]
fn a_policy_that_permits_less_unread_money_makes_an_allow_indeterminate() {
    let most =
        |share: &str, left| under(json!({"maximumUnread": share}), stopped(left, 100_000, false));
    let answer = most("20%", 201);
    assert_eq!((verdict(&answer), answer.complete), ("indeterminate", false));
    assert_eq!(
        message(&answer, "flows_unread"),
        Some(
            "Assay stopped reading after 100,000 transactions; the origin of 20.1 % of the money \
             is not known; the policy permits 20 %"
        )
    );
    assert_eq!(verdict(&most("20%", 200)), "allow");
    let sent = under(json!({"maximumUnread": "5%"}), stopped(60, 7, true));
    assert_eq!(verdict(&sent), "indeterminate", "in either direction, and below a tenth");
}

#[test]
fn a_limit_is_called_no_party() {
    for reason in [
        UnresolvedReason::DepthLimit,
        UnresolvedReason::BelowThreshold,
        UnresolvedReason::TraceLimit,
        UnresolvedReason::Conversion,
        UnresolvedReason::UnknownOrigin,
    ] {
        let both = flows(vec![unread(reason, 1_000)], vec![unread(reason, 1_000)]);
        let details: Vec<String> =
            assess_flows(both).scoring_components.into_iter().map(|part| part.detail).collect();
        let why = reason.in_words();
        let said = |text: &str| details.iter().any(|detail| detail == &format!("{text} ({why})"));
        assert!(said("received, origin not known"), "{details:?}");
        assert!(said("sent, destination not known"), "{details:?}");
    }
}

/// Funds of an exchange that passed an address with a community label of ransomware.
fn by_a_customer(percent: u8, amount: u128) -> FlowPart {
    let label = CarriedLabel {
        tier: Tier::Community,
        category: Category::Ransomware,
        confidence: Confidence::from_percent(percent),
        severity: 95,
        entity: None,
        coinjoin: None,
    };
    let distance = LabelDistance { hops: 1, decayed: Mass::from_base_units(amount, false) };
    FlowPart {
        entity: Some("Harbor Lane Exchange".to_owned()),
        carried: vec![CarriedPart { label, distance }],
        ..part(Category::Exchange, amount)
    }
}

#[test]
fn an_exchange_is_not_accused_of_what_a_report_says_of_its_customer() {
    let answer = assess_flows(flows(vec![by_a_customer(80, 1_000)], vec![]));
    assert_eq!(verdict(&answer), "review");
    let fact = "via an address labelled ransomware (community, 80 %)";
    let why = message(&answer, "severe_category_exposure").unwrap();
    assert_eq!(
        why,
        format!(
            "Exposure to sanctions or severe-crime categories: 0.00001 TEST received (100.0 % of \
             all funds received); {fact}"
        )
    );
    let rule = answer
        .scoring_components
        .iter()
        .find(|component| component.kind == ComponentKind::MinimumScoreRule);
    assert_eq!(rule.unwrap().detail, why, "the same stands under Score");
    let claims = &answer.exposure[0].parts[0].claims;
    let label = claims.iter().find(|claim| claim.category == Category::Ransomware).unwrap();
    assert_eq!((label.tier, label.confidence.percent()), (Tier::Community, 80), "and under Source");
}

#[test]
fn no_adverse_findings_never_stands_above_a_finding() {
    let code = |answer: &Assessment| answer.reasons[0].code;
    let clean = assess_flows(flows(vec![part(Category::Exchange, 1_000)], vec![]));
    assert_eq!(code(&clean), "no_findings");

    let dust = FlowPart { solicitation: Solicitation::Dust, ..listed_part(500) };
    let dusted =
        assess_flows(flows_in("BTC", 8, vec![dust, part(Category::Exchange, 100_000_000)], vec![]));
    assert_eq!((verdict(&dusted), code(&dusted)), ("allow", "minor_findings"));
    assert_eq!(
        dusted.reasons[0].message,
        "no findings that lead to a review; found: direct exposure to a sanctioned party: some \
         sanctions (a sanctions list); funds received; not checked: labels"
    );

    // A ten-thousandth of all money: it adds nothing to the score.
    let trace_of_scam = vec![part(Category::Scam, 1), part(Category::Exchange, 9_999)];
    let little = assess_flows(flows(trace_of_scam, vec![]));
    assert_ne!(code(&little), "no_findings", "{:?}", little.reasons);

    let (role, sure) = (PatternRole::Actor, Confidence::CERTAIN);
    let pattern = PatternFact::plain(Pattern::RapidPassThrough, role, sure);
    let mut chain = flows(vec![part(Category::Exchange, 1_000)], vec![]);
    if let ChainState::Followed(facts) = &mut chain {
        facts.behavior = Some(behavior(vec![pattern]));
    }
    assert_eq!(code(&assess_flows(chain)), "minor_findings");

    let labels = vec![
        label(Category::Exchange, Tier::Investigation, 95, "explorer"),
        label(Category::Scam, Tier::Community, 80, "forum"),
    ];
    let overruled = assess_facts(&Facts { labels: labels.into(), ..nothing_known() });
    assert_eq!((verdict(&overruled), code(&overruled)), ("allow", "minor_findings"));
    let service = Facts {
        labels: vec![label(Category::Exchange, Tier::Investigation, 95, "explorer")].into(),
        chain: flows(vec![listed_part(1_000)], vec![]),
        ..nothing_known()
    };
    assert_eq!(code(&assess_facts(&service)), "minor_findings", "its dealings are shown");
}

#[test]
fn dealings_before_a_listing_name_amount_days_entity_and_transaction() {
    let listing = PartyListing {
        list_name: "OFAC SDN List".to_owned(),
        list: "ofac-sdn".parse().unwrap(),
        programs: vec!["CYBER2".to_owned()],
        entity_id: "25308".to_owned(),
        listed_on: Some(date(2022, 8, 8)),
    };
    let part = FlowPart {
        entity: Some("DOE, John".to_owned()),
        listed_by: Some(Arc::new(listing.clone())),
        listing_period: Some(ListingPeriod::Before),
        days_before_listing: Some(1_184),
        ..listed_part(1_000)
    };
    let answer = assess_flows(flows(vec![], vec![part]));
    let transaction = "aa".repeat(32);
    assert_eq!(
        answer.scoring_components[0].detail,
        format!(
            "direct exposure to a sanctioned party: DOE, John (OFAC SDN List, CYBER2); 0.00001 \
             TEST sent on 2019-05-12, 1184 days before it was listed on 2022-08-08 as entity \
             25308; transaction {transaction}"
        )
    );
    assert_eq!(answer.exposure[0].listing, Some(listing), "the exposure names the entry");
}
