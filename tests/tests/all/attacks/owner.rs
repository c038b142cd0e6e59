//! An owner is more than one address: a direct dealing of another address of the cluster with a listed party leads to a
//! review.

use std::{fs, sync::Arc};

use assay_address::ChainId;
use assay_engine::{
    assessment::{Assessment, CoverageStatus, ScoringComponent},
    evidence::Tier,
    score::Verdict,
    taxonomy::Category,
    utxo::ScriptOwner,
};
use assay_tests::{
    Server, assay,
    laundering::tricks::{COIN, chain, clean},
    plan_with_tenant,
    world::{ChainBuilder, Claim, Claims, Form, Utxo, World},
};
use jiff::{SignedDuration, civil::date};
use serde_json::{Value, json};

use crate::{
    chain_tools::{address_of, ingested, line},
    clusters::spend,
    support::wait_until,
};

const RULE: &str = "cluster_listed_counterparty";
const FEE: u64 = 10_000;

fn chains() -> [ChainId; 2] {
    [ChainId::BTC, "ltc".parse().unwrap()]
}

/// A wallet with two addresses of which only one deals with a listed party.
struct Wallet {
    builder: ChainBuilder,
    claims: Claims,
    listed: ScriptOwner,
    /// The address that deals with nobody but miners and shops.
    quiet: ScriptOwner,
    sibling: ScriptOwner,
}

impl Wallet {
    fn new(id: ChainId) -> Self {
        let mut builder = chain(id, 7);
        let [listed, quiet, sibling] =
            [(), (), ()].map(|()| builder.fresh_address(Form::WitnessKey));
        Self { builder, claims: Claims::default(), listed, quiet, sibling }
    }

    /// Mines clean coins of an amount to an address.
    fn fund(&mut self, to: &ScriptOwner, amount: u64) -> Utxo {
        let coins = clean(&mut self.builder, amount + FEE);
        self.builder.pay(&coins, &[(to.clone(), amount)]).remove(0)
    }

    /// Spends coins of both addresses together, `times` times.
    fn co_spend(&mut self, times: u32) {
        for _ in 0..times {
            let inputs = [self.quiet.clone(), self.sibling.clone()].map(|it| self.fund(&it, COIN));
            let shop = self.builder.fresh_address(Form::WitnessKey);
            let change = self.builder.fresh_address(Form::WitnessKey);
            let outputs = [(shop, COIN + COIN / 2), (change, COIN / 2 - FEE)];
            let _paid = self.builder.pay(&inputs, &outputs);
            self.builder.wait(SignedDuration::from_hours(3));
        }
    }

    /// The listed party pays the sibling.
    fn receive(&mut self, amount: u64) {
        let listed = self.listed.clone();
        let coin = self.fund(&listed, amount + FEE);
        let _paid = self.builder.pay(&[coin], &[(self.sibling.clone(), amount)]);
    }

    /// The sibling pays the listed party.
    fn send(&mut self, amount: u64) {
        let sibling = self.sibling.clone();
        let coin = self.fund(&sibling, amount + FEE);
        let _paid = self.builder.pay(&[coin], &[(self.listed.clone(), amount)]);
    }

    fn list(&mut self, since: jiff::civil::Date) {
        self.claims.list(&self.listed, "Lazarus", since);
    }

    /// The assessment of the quiet address, two days later.
    fn assess(mut self) -> Assessment {
        self.builder.wait(SignedDuration::from_hours(48));
        World::new(self.builder, self.claims).assess(&self.quiet)
    }
}

fn rule(assessment: &Assessment) -> Option<&ScoringComponent> {
    assessment.scoring_components.iter().find(|it| it.rule.as_deref() == Some(RULE))
}

fn assert_review(assessment: &Assessment, moved: &str) {
    assert_eq!(assessment.verdict, Verdict::Review, "{assessment:#?}");
    let rule = rule(assessment).unwrap();
    assert_eq!(rule.tier, Some(Tier::Heuristic));
    for words in
        ["another address of its co-spend cluster", moved, "Lazarus (OFAC SDN List, CYBER2"]
    {
        assert!(rule.detail.contains(words), "{}", rule.detail);
    }
    assert!(assessment.reasons.iter().any(|reason| reason.code == RULE));
    // The sibling, the payment, the listed address, the entry of the list, and the co-spends: two on Bitcoin, where one
    // alone may be a PayJoin.
    let co_spends = if assessment.blockchain == ChainId::BTC { 2 } else { 1 };
    assert_eq!(rule.evidence.len(), 4 + co_spends, "{:#?}", rule.evidence);
}

#[test]
fn a_sibling_that_took_money_from_a_listed_party_leads_to_a_review() {
    for id in chains() {
        // Given an address that deals with nobody, whose owner's other address took 30 coins from a listed party,
        let mut wallet = Wallet::new(id);
        wallet.list(date(2020, 1, 1));
        wallet.co_spend(2);
        wallet.receive(30 * COIN);
        // when the quiet address is checked, then it is reviewed, with the evidence.
        let code = id.info().native().code;
        assert_review(
            &wallet.assess(),
            &format!("received 30 {code} directly from a listed party"),
        );
    }
}

#[test]
fn a_sibling_that_paid_a_listed_party_leads_to_a_review() {
    for id in chains() {
        let mut wallet = Wallet::new(id);
        wallet.list(date(2020, 1, 1));
        // The co-spends came after the payment, too.
        wallet.send(2 * COIN);
        wallet.co_spend(2);
        let code = id.info().native().code;
        assert_review(&wallet.assess(), &format!("sent 2 {code} directly to a listed party"));
    }
}

#[test]
fn what_is_no_dealing_of_the_owner_with_a_listed_party_accuses_nobody() {
    type Deed = fn(&mut Wallet);
    let innocent: [(&str, Deed); 6] = [
        ("dust", |wallet| {
            wallet.list(date(2020, 1, 1));
            wallet.co_spend(2);
            wallet.receive(900);
        }),
        ("before the listing", |wallet| {
            wallet.list(date(2100, 1, 1));
            wallet.co_spend(2);
            wallet.receive(30 * COIN);
        }),
        ("a party that no list names", |wallet| {
            wallet.co_spend(2);
            wallet.receive(30 * COIN);
        }),
        ("one co-spend that may be a PayJoin", |wallet| {
            wallet.list(date(2020, 1, 1));
            wallet.co_spend(1);
            wallet.receive(30 * COIN);
        }),
        ("the address is a service", |wallet| {
            wallet.list(date(2020, 1, 1));
            wallet.co_spend(2);
            wallet.receive(30 * COIN);
            let claim = Claim::investigated(Category::Exchange, "North");
            wallet.claims.label(&wallet.quiet.clone(), claim);
        }),
        ("the other address is a service", |wallet| {
            wallet.list(date(2020, 1, 1));
            wallet.co_spend(2);
            wallet.receive(30 * COIN);
            let claim = Claim::investigated(Category::Exchange, "North");
            wallet.claims.label(&wallet.sibling.clone(), claim);
        }),
    ];
    for (title, deed) in innocent {
        let mut wallet = Wallet::new(ChainId::BTC);
        deed(&mut wallet);
        let assessment = wallet.assess();
        assert!(rule(&assessment).is_none(), "{title}: {assessment:#?}");
        assert_eq!(assessment.verdict, Verdict::Allow, "{title}: {assessment:#?}");
        assert_eq!(assessment.coverage.association.status, CoverageStatus::Assessed, "{title}");
    }
}

#[test]
fn a_report_that_calls_the_sibling_a_service_excuses_nothing() {
    let mut wallet = Wallet::new(ChainId::BTC);
    wallet.list(date(2020, 1, 1));
    wallet.co_spend(2);
    wallet.receive(30 * COIN);
    let claim = Claim::reported(Category::Exchange, 90, "anybody");
    wallet.claims.label(&wallet.sibling.clone(), claim);
    assert_review(&wallet.assess(), "received 30 BTC");
}

/// A line of a chain like [`line`], of a time shortly before now.
fn recent(height: u8, number: u8, inputs: &Value, pays: &[(&str, u64)]) -> String {
    let mut line: Value = serde_json::from_str(&line(height, number, inputs, pays)).unwrap();
    #[expect(clippy::disallowed_methods, reason = "the newest block is one of now")]
    let now = jiff::Timestamp::now().as_second();
    line["block"]["time"] = json!(now - 3_600 + 60 * i64::from(height));
    format!("{line}\n")
}

#[test]
fn blocks_that_come_later_join_the_owner_with_the_listed_party() {
    // Given a server of a chain on which an address of two was checked while nobody dealt with a listed party,
    let inputs = [spend(1, 0), spend(1, 1)];
    let directory = Arc::new(ingested(&[
        recent(0, 1, &json!([]), &[("quiet", 10), ("other", 10), ("sibling", 20), ("listed", 60)]),
        recent(1, 2, &json!(inputs), &[("quiet", 15), ("other", 5)]),
        recent(2, 3, &json!([spend(2, 0), spend(2, 1)]), &[("quiet", 10), ("quiet", 10)]),
    ]));
    let here = directory.path();
    let listing = format!(
        "list,entity_id,entity,asset_code,address,entity_listed_on\nofac-sdn,7,Lazarus,XBT,{},2020-01-01\n",
        address_of("listed")
    );
    fs::write(here.join("listings.csv"), listing).unwrap();
    let manifests = format!(
        "{}---\n{}",
        "apiVersion: assay.dev/v1alpha1\nkind: RiskPolicy\nmetadata: {name: default}\n\
         spec: {lists: {ofac-sdn: blocking}}\n",
        plan_with_tenant("roomy", "{name: burst, requests: 1000000, window: 5s, counts: requests}")
    );
    fs::write(here.join("all.yaml"), manifests).unwrap();
    let run = |arguments: &str| assay(here, arguments.split(' ')).ok().stdout;
    let published = "--format csv --source ofac-sdn --published-on 2020-01-02";
    let _ = run(&format!("ingest sanctions listings.csv {published}"));
    let _ = run("apply -f all.yaml");
    let key = run("keys create --tenant acme");
    let server = Server::start(Arc::clone(&directory), &[]);
    let caller = server.caller(key.trim());
    let body = json!({"blockchain": "btc", "address": address_of("quiet")}).to_string();
    let checked = || {
        let anew = [("cache-control", "no-cache")];
        caller.post("/api/v1/check/address", &body, &anew).json()
    };
    let is_accused = |answer: &Value| {
        let reasons = answer["reasons"].as_array().unwrap();
        reasons.iter().any(|reason| reason["code"] == RULE)
    };
    assert!(!is_accused(&checked()), "{}", checked());
    // when the listed party pays the sibling, and two payments join it with the quiet address,
    let more = [
        recent(3, 4, &json!([spend(1, 3)]), &[("sibling", 30), ("listed", 30)]),
        recent(4, 5, &json!([spend(1, 2), spend(3, 0)]), &[("shop", 25), ("change", 5)]),
        recent(5, 6, &json!([spend(4, 0), spend(3, 1)]), &[("shop", 35), ("change", 5)]),
    ];
    for (lines, height) in more.iter().zip(3..) {
        assert!(!is_accused(&checked()), "before block {height}");
        fs::write(here.join("more.jsonl"), lines).unwrap();
        let _ = run("ingest chain btc --jsonl more.jsonl");
        let newest = |answer: &Value| {
            let sources = answer["sources"].as_array().unwrap();
            sources.iter().any(|it| it["latest_block"]["height"] == height)
        };
        wait_until("the block is there", || newest(&checked()));
    }
    // then the quiet address is accused, by the server and by the command line, whose index is a new one.
    let answer = checked();
    assert!(is_accused(&answer), "{answer}");
    let printed = run(&format!("check btc {} --json", address_of("quiet")));
    assert!(is_accused(&serde_json::from_str(&printed).unwrap()), "{printed}");
}
