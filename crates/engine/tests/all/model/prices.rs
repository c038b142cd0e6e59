//! Values in US dollars: shown by the price of the day, and without effect on score and verdict.

use std::sync::Arc;

use assay_address::{CanonicalAddress, ChainId};
use assay_engine::{
    account::{AssetId, Prices},
    assess,
    assessment::Assessment,
    evidence::{
        ActivityFacts, AddressLabels, AssetActivity, ChainState, Pattern, PatternFact, PatternRole,
    },
    facts::{Counterparties, Counterparty, Facts},
    policy::Policy,
    score::Confidence,
    taxonomy::Category,
};
use jiff::civil::Date;
use serde_json::Value;

use super::common::*;

fn prices(rows: &[(&str, &str)]) -> Arc<Prices> {
    let coin = AssetId::native(ChainId::BTC);
    let rows = rows.iter().map(|(day, usd)| (coin, day.parse().unwrap(), usd.parse().unwrap()));
    Arc::new(Prices::new(rows))
}

/// Facts with amounts of every kind: flows, activity and counterparties.
fn busy() -> Facts {
    let source = vec![part(Category::Scam, 60_000_000), unresolved(140_000_000)];
    let mut chain = flows_in("BTC", 8, source, vec![part(Category::Exchange, 123_456_789)]);
    if let ChainState::Followed(facts) = &mut chain {
        let mut found =
            PatternFact::plain(Pattern::FanIn, PatternRole::Actor, Confidence::from_percent(90));
        (found.amount, found.whole) = (50_000_000, 200_000_000);
        facts.behavior = Some(behavior(vec![found]));
        facts.activity = Some(ActivityFacts {
            first_seen: "2020-01-02T03:04:05Z".parse().unwrap(),
            last_seen: "2026-01-02T03:04:05Z".parse().unwrap(),
            transfers_in: 2,
            transfers_out: 1,
            amounts: vec![AssetActivity {
                asset: "BTC".into(),
                received: 200_000_000,
                sent: 123_456_789,
                balance: 76_543_211,
            }],
        });
    }
    let payer = Counterparty {
        address: CanonicalAddress::parse(ChainId::BTC, "12QtD5BFwRsdNsAZY76UVE1xyCGNTojH9h")
            .unwrap(),
        is_funder: true,
        labels: AddressLabels::default(),
        listings: vec![],
        freezes: Vec::new(),
        received: 60_000_000,
        sent: 5,
        by_asset: vec![],
        role: None,
        transactions: vec!["aa".repeat(32)],
        first_seen: "2020-01-02T03:04:05Z".parse().unwrap(),
        last_seen: "2020-01-02T03:04:05Z".parse().unwrap(),
    };
    let counterparties = Counterparties { strongest: vec![payer], found: 1 };
    Facts { chain, counterparties, ..nothing_known() }
}

fn priced(prices: Arc<Prices>) -> Assessment {
    assess_facts(&Facts { prices, ..busy() })
}

/// Every amount in an answer.
fn amounts(value: &Value, found: &mut Vec<Value>) {
    match value {
        Value::Object(fields) => {
            if fields.contains_key("usd") && fields.contains_key("asset") {
                found.push(value.clone());
            }
            fields.values().for_each(|value| amounts(value, found));
        }
        Value::Array(values) => values.iter().for_each(|value| amounts(value, found)),
        _ => {}
    }
}

fn amounts_of(answer: &Assessment) -> Vec<Value> {
    let mut found = Vec::new();
    amounts(&serde_json::to_value(answer).unwrap(), &mut found);
    found
}

#[test]
fn every_amount_has_its_value_by_the_price_of_the_day() {
    let answer = priced(prices(&[("2026-11-20", "90000.5")]));
    let found = amounts_of(&answer);
    assert!(found.len() >= 14, "{found:#?}");
    for amount in &found {
        assert!(amount["usd"].is_string() && amount.get("price_day").is_none(), "{amount}");
    }
    // 1.23456789 * 90000.5 = 111111.727..., rounded down.
    assert_eq!(answer.activity.out[0].usd.as_deref(), Some("111111.72"));
    assert_eq!(answer.activity.r#in[0].usd.as_deref(), Some("180001.00"));
}

#[test]
fn an_earlier_price_is_carried_for_seven_days_and_its_day_is_stated() {
    let carried = |day: &str| priced(prices(&[(day, "100")])).activity.r#in[0].clone();
    let amount = carried("2026-11-13");
    assert_eq!(amount.usd.as_deref(), Some("200.00"));
    assert_eq!(amount.price_day, Some("2026-11-13".parse::<Date>().unwrap()));
    for day in ["2026-11-12", "2026-11-21"] {
        let amount = carried(day);
        assert_eq!((amount.usd, amount.price_day), (None, None), "none is invented: {day}");
    }
}

#[test]
fn prices_change_neither_score_nor_verdict() {
    let without = assess_facts(&busy());
    assert!(amounts_of(&without).iter().all(|amount| amount["usd"].is_null()));
    for usd in ["0.000000000000000001", "90000", "340282366920938463463"] {
        let mut with = serde_json::to_value(priced(prices(&[("2026-11-20", usd)]))).unwrap();
        without_values(&mut with);
        let mut plain = serde_json::to_value(&without).unwrap();
        without_values(&mut plain);
        assert_eq!(with, plain, "{usd}");
    }
}

fn without_values(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.remove("usd");
            fields.values_mut().for_each(without_values);
        }
        Value::Array(values) => values.iter_mut().for_each(without_values),
        _ => {}
    }
}

#[test]
fn tokens_of_account_chains_have_the_values_of_their_contracts() {
    // Given amounts of a coin, a stablecoin, a token without a price and one outside the table.
    let assets =
        [("ETH", "2000000000000000000"), ("USDT", "5000000"), ("WETH", "1"), ("PEPE", "1")];
    let mut chain = followed(vec![], vec![]);
    if let ChainState::Followed(facts) = &mut chain {
        let amounts = assets.map(|(asset, value)| {
            let received = value.parse().unwrap();
            AssetActivity { asset: asset.into(), received, sent: 0, balance: 0 }
        });
        facts.activity = Some(ActivityFacts {
            first_seen: now(),
            last_seen: now(),
            transfers_in: 4,
            transfers_out: 0,
            amounts: amounts.into(),
        });
    }
    let day = "2026-11-20".parse().unwrap();
    let coin = AssetId::native(ChainId::ETH);
    let prices = Arc::new(Prices::new([(coin, day, "3000.5".parse().unwrap())]));
    let facts = Facts { chain, prices, ..nothing_known() };
    let address = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed";
    let address = CanonicalAddress::parse(ChainId::ETH, address).unwrap();
    let answer = assess(&address, &facts, &Policy::default(), now());
    let values: Vec<_> = answer.activity.r#in.iter().map(|amount| amount.usd.as_deref()).collect();
    assert_eq!(values, [Some("6001.00"), Some("5.00"), None, None]);
}

#[test]
fn prices_of_other_assets_give_no_value() {
    let ether = AssetId::native(ChainId::ETH);
    let day = "2026-11-20".parse().unwrap();
    let others = Arc::new(Prices::new([(ether, day, "3000".parse().unwrap())]));
    assert!(amounts_of(&priced(others)).iter().all(|amount| amount["usd"].is_null()));
    // A unit that is not the chain's coin is not priced as the coin.
    let chain = flows(vec![part(Category::Exchange, 1_000)], vec![]);
    let facts = Facts { chain, prices: prices(&[("2026-11-20", "1")]), ..nothing_known() };
    assert!(assess_facts(&facts).exposure.iter().all(|line| line.amount.usd.is_none()));
}
