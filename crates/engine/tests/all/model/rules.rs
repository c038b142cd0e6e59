//! Tests of the default rules and of custom rules in assessments.

use assay_engine::{
    assessment::{Amount, Assessment, ComponentKind, ScoringComponent},
    evidence::{FlowDistance, FlowPart, ListingPeriod, Solicitation, Tier},
    facts::Facts,
    ledger::Mass,
    policy::{Policy, PolicySpec, Role},
    taxonomy::Category,
};
use serde_json::{Value, json};

use super::common::*;

fn rules(answer: &Assessment) -> Vec<&str> {
    fired(answer).filter_map(|component| component.rule.as_deref()).collect()
}

fn fired(answer: &Assessment) -> impl Iterator<Item = &ScoringComponent> {
    answer.scoring_components.iter().filter(|c| c.kind == ComponentKind::MinimumScoreRule)
}

fn own_rules(rules: &Value) -> Policy {
    let spec: PolicySpec = serde_json::from_value(json!({"rules": rules})).unwrap();
    Policy::compile(spec).unwrap()
}

/// One flow part, and clean funds of an exchange that were received more than 90 days ago.
fn with_clean_money(part_of: FlowPart, clean: u128) -> Vec<FlowPart> {
    vec![part_of, part(Category::Exchange, clean)]
}

fn distant(part_of: FlowPart) -> FlowPart {
    FlowPart { distance: FlowDistance::Hops(5), ..part_of }
}

#[test]
fn a_rule_is_a_component_with_its_id_its_measure_and_its_transactions() {
    let answer = assess_flows(flows(with_clean_money(part(Category::Scam, 50), 950), vec![]));
    assert_eq!(rules(&answer), ["direct_illicit_income"]);
    let component = fired(&answer).next().unwrap();
    assert_eq!(component.share.as_deref(), Some("0.050000"));
    assert_eq!(component.amount.as_ref().unwrap().value, "50");
    assert_eq!(component.standalone_score.tenths(), 500);
    assert_eq!(component.evidence.len(), 1);
    assert_eq!(
        component.detail,
        "Funds received directly from a party of a high-risk category: 0.0000005 TEST received \
         (5.0 % of all funds received); some scam"
    );
    let reason = answer.reasons.iter().find(|reason| reason.message == component.detail);
    assert_eq!(reason.map(|reason| reason.code), Some("direct_illicit_income"));
    assert_eq!(verdict(&answer), "review");
}

#[test]
fn a_listing_rule_is_a_component_with_its_id() {
    let answer = assess_facts(&Facts { listings: vec![listing("il-nbctf")], ..nothing_known() });
    assert_eq!(rules(&answer), ["listed_advisory"]);
}

#[test]
fn direct_dealing_with_a_listed_party_counts_since_its_listing() {
    let listed = |amount, period| FlowPart { listing_period: Some(period), ..listed_part(amount) };
    let answer = |mut listed: Vec<FlowPart>| {
        listed.push(part(Category::Exchange, 1_000_000));
        assess_flows(flows(vec![], listed))
    };
    let (before, since) = (listed(10, ListingPeriod::Before), listed(1, ListingPeriod::Since));
    let both = answer(vec![before.clone(), since.clone()]);
    assert_eq!(rules(&both), ["direct_listed_counterparty"]);
    let line = &both.exposure[1];
    let amount = |amount: &Option<Amount>| amount.as_ref().map(|amount| amount.value.clone());
    assert_eq!(amount(&line.before_listing).as_deref(), Some("10"));
    assert_eq!(amount(&line.since_listing).as_deref(), Some("1"));
    assert!(rules(&answer(vec![before])).is_empty(), "all of it moved before the listing");
    let undated = answer(vec![listed_part(11)]);
    assert_eq!(rules(&undated), ["direct_listed_counterparty"], "day not known");
    assert!(rules(&answer(vec![distant(since)])).is_empty(), "not direct");
}

#[test]
fn money_from_before_a_listing_leads_to_review_at_most() {
    let moved = |period, days| FlowPart {
        listing_period: Some(period),
        days_before_listing: days,
        ..listed_part(1_000)
    };
    let answer = |part| assess_flows(flows(vec![], vec![part]));
    let since = answer(moved(ListingPeriod::Since, None));
    assert_eq!(verdict(&since), "block");
    let before = answer(moved(ListingPeriod::Before, Some(1_190)));
    assert_eq!((verdict(&before), before.risk_score.tenths()), ("review", 599));
    assert_eq!(before.scoring_components[0].tier, Some(Tier::Heuristic));
}

#[test]
fn money_that_a_victim_may_have_lost_leads_to_review_at_most() {
    for category in Role::HARMS_PAYERS {
        let sent = assess_flows(flows(vec![], vec![part(category, 1_000)]));
        let score = sent.risk_score.tenths();
        assert_eq!((verdict(&sent), score), ("review", 599), "{category}");
        let detail = &sent.scoring_components[0].detail;
        assert!(detail.ends_with("; possibly lost to it as a victim"), "{detail}");
        let received = assess_flows(flows(vec![part(category, 1_000)], vec![]));
        assert_eq!(verdict(&received), "block", "{category}");
    }
}

#[test]
fn money_that_came_back_from_a_thief_leads_to_review_at_most() {
    let back = |category, amount| FlowPart {
        solicitation: Solicitation::PaidBack,
        ..part(category, amount)
    };
    for category in Role::HARMS_PAYERS {
        let received = assess_flows(flows(vec![back(category, 1_000)], vec![]));
        assert_eq!((verdict(&received), received.risk_score.tenths()), ("review", 599));
        let detail = &received.scoring_components[0].detail;
        assert!(detail.contains("possibly given back to a victim"), "{detail}");
        // Behind somebody else, it is any thief's money.
        let far =
            FlowPart { is_direct: false, distance: FlowDistance::Hops(2), ..back(category, 1_000) };
        let far = assess_flows(flows(vec![far], vec![]));
        let detail = &far.scoring_components[0].detail;
        assert!(!detail.contains("given back"), "{detail}");
    }
    // A first profit is no income of a scam, and stolen money is.
    let fires = |category, amount: u128, is_back: bool| {
        let paid = if is_back { back(category, amount) } else { part(category, amount) };
        let found = assess_flows(flows(with_clean_money(paid, 1_000 - amount), vec![]));
        rules(&found).contains(&"direct_illicit_income")
    };
    assert!(fires(Category::Scam, 50, false) && !fires(Category::Scam, 99, true));
    assert!(fires(Category::Scam, 100, true) && fires(Category::StolenFunds, 50, true));
    // A market is nobody's thief.
    let market = assess_flows(flows(vec![back(Category::DarknetMarket, 1_000)], vec![]));
    assert_eq!(verdict(&market), "block");
}

#[test]
fn risky_money_that_nobody_asked_for_and_moved_leads_to_review_at_most_and_is_not_recent() {
    let unasked = |part_of: FlowPart| FlowPart {
        solicitation: Solicitation::Untouched,
        recent: part_of.amount,
        mass: Mass::from_base_units(part_of.amount, true),
        decayed: Mass::from_base_units(part_of.amount, true),
        ..part_of
    };
    let asked =
        |part_of: FlowPart| FlowPart { solicitation: Solicitation::Solicited, ..unasked(part_of) };
    for category in [Category::Ransomware, Category::DarknetMarket, Category::Sanctions] {
        let is_listed = category == Category::Sanctions;
        let money = FlowPart { listed: is_listed, ..part(category, 1_000) };
        let moved = assess_flows(flows(vec![asked(money.clone())], vec![]));
        let held = assess_flows(flows(vec![unasked(money)], vec![]));
        assert_eq!((verdict(&moved), verdict(&held)), ("block", "review"), "{category}");
        let detail = &held.scoring_components[0].detail;
        assert!(detail.ends_with("; came unasked and was not moved"), "{detail}");
        assert!(held.exposure[0].untouched && !moved.exposure[0].untouched);
        let fires = rules(&held).contains(&"direct_listed_counterparty");
        assert_eq!(fires, is_listed, "{category}");
    }
    // Of all money 4 %, of recent money all of it.
    let of_a_saver = |gift: FlowPart| {
        assess_flows(flows(with_clean_money(gift, 960), vec![])).risk_score.tenths()
    };
    let gift = || part(Category::StolenFunds, 40);
    let old = FlowPart { solicitation: Solicitation::Untouched, ..gift() };
    assert_eq!(of_a_saver(unasked(gift())), of_a_saver(old));
    assert!(of_a_saver(unasked(gift())) < of_a_saver(asked(gift())));
    // Benign money is the same, asked for or not, and one line.
    let exchange = || part(Category::Exchange, 500);
    let one =
        assess_flows(flows(vec![asked(exchange()), asked(part(Category::Exchange, 500))], vec![]));
    let both = assess_flows(flows(vec![asked(exchange()), unasked(exchange())], vec![]));
    assert_eq!(both.exposure, one.exposure);
    assert_eq!((both.risk_score, both.scoring_components.len()), (one.risk_score, 1));
}

#[test]
fn severe_categories_lead_to_review_by_any_of_five_measures() {
    let stolen = |amount| part(Category::StolenFunds, amount);
    let recent = |part_of: FlowPart| FlowPart { recent: part_of.amount, ..part_of };
    let fires = |unit, parts: Vec<FlowPart>| {
        let received = assess_flows(flows_in(unit, 8, parts.clone(), vec![]));
        let sent = assess_flows(flows_in(unit, 8, vec![], parts));
        assert_eq!(rules(&received), rules(&sent), "received and sent alike");
        rules(&received).contains(&"severe_category_exposure")
    };
    let shares = |parts| fires("TEST", parts);
    assert!(
        shares(with_clean_money(distant(stolen(100)), 900)),
        "a tenth of all funds, at any distance"
    );
    assert!(!shares(with_clean_money(distant(stolen(99)), 901)));

    // Half as much of all funds is recent as full weight needs, so that a fifth counts as a tenth.
    let some_recent = |part_of: FlowPart, clean: u128| {
        let clean = FlowPart { recent: clean, ..part(Category::Merchant, clean) };
        vec![recent(part_of), clean, part(Category::Exchange, 950)]
    };
    assert!(shares(some_recent(stolen(10), 40)), "a fifth of few recent funds, directly");
    assert!(!shares(some_recent(stolen(9), 41)));
    assert!(!shares(some_recent(distant(stolen(10)), 40)), "too few recent funds at a distance");
    let a_quarter = |stolen: FlowPart, clean: u128| {
        let clean = FlowPart { recent: clean, ..part(Category::Merchant, clean) };
        vec![recent(stolen), clean, part(Category::Exchange, 750)]
    };
    assert!(shares(a_quarter(distant(stolen(25)), 225)), "a tenth of a recent quarter");
    assert!(!shares(a_quarter(distant(stolen(24)), 225)));

    let coins = |part_of: FlowPart, whole| fires("BTC", with_clean_money(part_of, whole));
    let one = 100_000_000;
    assert!(coins(stolen(one), 1000 * one), "one bitcoin directly, at any share");
    assert!(!coins(stolen(one - 1), 1000 * one));
    assert!(coins(distant(stolen(one)), 49 * one), "one bitcoin at a distance, from 2 % on");
    assert!(!coins(distant(stolen(one)), 50 * one));
    assert!(!coins(distant(stolen(one - 1)), 48 * one));
}

#[test]
fn direct_use_of_mixing_leads_to_review_by_share_or_amount() {
    let one = 100_000_000;
    for (part_of, unit, clean, fires) in [
        (part(Category::Mixer, 100), "TEST", 900, true),
        (part(Category::Coinjoin, 100), "TEST", 900, true),
        (part(Category::Mixer, 99), "TEST", 901, false),
        (distant(part(Category::Mixer, 100)), "TEST", 900, false),
        (part(Category::Mixer, one), "BTC", 100 * one, true),
        (part(Category::Mixer, one - 1), "BTC", 100 * one, false),
    ] {
        let parts = with_clean_money(part_of, clean);
        for (source, destination) in [(parts.clone(), vec![]), (vec![], parts)] {
            let answer = assess_flows(flows_in(unit, 8, source, destination));
            let expected: &[&str] = if fires { &["direct_mixing"] } else { &[] };
            assert_eq!(rules(&answer), expected, "{clean}");
        }
    }
}

#[test]
fn a_twentieth_received_directly_from_illicit_trade_leads_to_review() {
    for category in [Category::DarknetMarket, Category::FraudShop, Category::Scam] {
        let of = |part_of: FlowPart, clean| {
            assess_flows(flows(with_clean_money(part_of, clean), vec![]))
        };
        assert_eq!(rules(&of(part(category, 50), 950)), ["direct_illicit_income"]);
        assert!(rules(&of(part(category, 49), 951)).is_empty());
        assert!(rules(&of(distant(part(category, 50)), 950)).is_empty());
    }
    let sent = assess_flows(flows(vec![], with_clean_money(part(Category::Scam, 50), 950)));
    assert!(rules(&sent).is_empty(), "a victim sends");
}

#[test]
fn a_rule_of_the_policy_blocks_by_strong_evidence_and_stops_just_below_by_weak_one() {
    let policy = own_rules(&json!([{
        "id": "gambling_limit", "description": "Gambling", "categories": ["gambling"],
        "shareFrom": "20%", "verdict": "block",
    }]));
    let answer = |tier| {
        let gambling = FlowPart { tier, ..part(Category::Gambling, 20) };
        let chain = flows(with_clean_money(gambling, 80), vec![]);
        assess_by(&Facts { chain, ..nothing_known() }, &policy)
    };
    let strong = answer(Tier::Investigation);
    assert_eq!((tenths(&strong), verdict(&strong)), (750, "block"));
    assert_eq!(rules(&strong), ["gambling_limit"]);
    assert_eq!(strong.reasons[0].code, "minimum_score_rule");
    let weak = answer(Tier::Community);
    assert_eq!((tenths(&weak), verdict(&weak)), (749, "review"));
}

#[test]
fn the_strictest_rule_comes_first() {
    let policy = own_rules(&json!([{
        "id": "strict", "description": "Strict", "severityFrom": 90, "verdict": "block",
    }]));
    let stolen = FlowPart { distance: FlowDistance::Hops(6), ..part(Category::StolenFunds, 200) };
    let chain = flows(with_clean_money(stolen, 800), vec![]);
    let answer = assess_by(&Facts { chain, ..nothing_known() }, &policy);
    assert_eq!(rules(&answer), ["strict", "severe_category_exposure"]);
    let points: Vec<_> = fired(&answer).map(|component| component.contribution.tenths()).collect();
    assert!(points[0] > 0 && points[1] == 0, "{points:?}");
}

#[test]
fn a_default_rule_is_switched_off_by_its_id() {
    let off = own_rules(&json!([{"id": "direct_mixing", "enabled": false}]));
    let mixer = || flows(with_clean_money(part(Category::Mixer, 100), 900), vec![]);
    let answer = assess_by(&Facts { chain: mixer(), ..nothing_known() }, &off);
    assert_eq!((rules(&answer), verdict(&answer)), (vec![], "allow"));
    assert_eq!(verdict(&assess_flows(mixer())), "review");
}

#[test]
fn no_rule_on_funds_applies_to_a_service() {
    let exchange = label(Category::Exchange, Tier::Investigation, 90, "explorer");
    let chain = flows(vec![listed_part(1000)], vec![]);
    let answer = assess_facts(&Facts { labels: vec![exchange].into(), chain, ..nothing_known() });
    assert!(rules(&answer).is_empty());
    assert!(!answer.exposure[0].scored, "its flows are shown and not scored");
}

#[test]
fn risky_dust_counts_where_it_is_more_than_a_little_in_all() {
    let risky =
        |amount, solicitation| FlowPart { solicitation, ..part(Category::StolenFunds, amount) };
    let answer = |parts: Vec<FlowPart>| assess_flows(flows_in("BTC", 8, parts, vec![]));
    let dust = |amount| risky(amount, Solicitation::Dust);
    let scored = |answer: &Assessment| {
        answer.exposure.iter().filter(|line| line.dust).all(|line| line.scored)
    };
    // 20 payments of 1,000 satoshi.
    let little = answer(vec![dust(20_000)]);
    assert!(!scored(&little) && little.risk_score.tenths() == 0);
    assert_eq!(little.warnings[0].code, "dust");
    let more = answer(vec![dust(20_001)]);
    assert!(scored(&more) && more.warnings.is_empty());
    assert_eq!(verdict(&more), "review", "all of its money is stolen, and nobody asked for it");
    // Of 1 BTC, 1 % is more than that.
    let of_one = |dust_of: Vec<FlowPart>| {
        let sum: u128 = dust_of.iter().map(|part| part.amount).sum();
        let clean = part(Category::Exchange, 100_000_000 - sum);
        answer([dust_of, vec![clean]].concat())
    };
    assert!(!scored(&of_one(vec![dust(1_000_000)])) && scored(&of_one(vec![dust(1_000_001)])));
    let asked_by_nobody = risky(600_000, Solicitation::Unsolicited);
    let both = of_one(vec![dust(500_000), asked_by_nobody]);
    assert!(scored(&both), "together with unsolicited risky money");
    let of_an_exchange =
        FlowPart { solicitation: Solicitation::Dust, ..part(Category::Exchange, 90_000_000) };
    assert!(!scored(&answer(vec![of_an_exchange])), "dust that is not risky never counts");
}
