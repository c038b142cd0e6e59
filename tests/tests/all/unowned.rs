//! Addresses that nobody controls: their labels decide nothing, and money sent to them is destroyed.

use std::fs;

use assay_address::{CanonicalAddress, ChainId};
use assay_engine::{assessment::Assessment, score::Verdict, taxonomy::Category, utxo::ScriptOwner};
use assay_tests::{
    assay,
    world::{ChainBuilder, Claim, Claims, Form, World},
};
use jiff::{SignedDuration, civil::date};
use serde_json::{Value, json};

const COIN: u64 = 100_000_000;

/// The shares of what a subject sent, by kind of endpoint.
fn sent(assessment: &Assessment) -> Vec<(&'static str, String)> {
    let lines = assessment.exposure.iter();
    let lines =
        lines.filter(|line| line.direction == assay_engine::evidence::Direction::Destination);
    let mut sent: Vec<_> = lines.map(|line| (line.endpoint_type, line.share.clone())).collect();
    sent.sort();
    sent
}

#[test]
fn money_sent_to_nobody_is_destroyed_and_nobodys_labels_accuse_no_payer() {
    for (chain, burn) in [
        ("btc", "1BitcoinEaterAddressDontSendf59kuE"),
        ("doge", "DDogepartyxxxxxxxxxxxxxxxxxxw1dfzr"),
    ] {
        // Given a burn address that is listed and labelled, and an output of data with a value.
        let chain: ChainId = chain.parse().unwrap();
        let address = CanonicalAddress::parse(chain, burn).unwrap();
        let nobody = ScriptOwner::from_address(&address).unwrap();
        let data = ScriptOwner::from_script(chain, b"\x6a\x05hello");
        let now = date(2026, 11, 20).in_tz("UTC").unwrap().timestamp();
        let mut builder = ChainBuilder::new(chain, 7, now - SignedDuration::from_hours(24 * 300));
        let subject = builder.fresh_address(Form::KeyHash);
        let coins = builder.mine(&[(subject.clone(), 10 * COIN)]);
        builder.wait(SignedDuration::from_hours(24));
        let outputs = [(nobody.clone(), 4 * COIN), (data, COIN), (subject.clone(), 5 * COIN)];
        builder.pay(&coins, &outputs);
        let mut claims = Claims::default();
        claims.label(&nobody, Claim::investigated(Category::StolenFunds, "Bridge theft"));
        claims.list(&nobody, "DOE, Jane", date(2018, 11, 28));
        let world = World::new(builder, claims);
        // When the payer and the burn address are checked
        let payer = world.assess(&subject);
        let burnt = world.assess(&nobody);
        // Then
        assert_eq!(payer.verdict, Verdict::Allow, "{payer:#?}");
        let expected =
            [("destroyed", "0.500000".to_owned()), ("unspent_by_subject", "0.500000".to_owned())];
        assert_eq!(sent(&payer), expected, "{:#?}", payer.exposure);
        assert_eq!(burnt.verdict, Verdict::Allow, "{burnt:#?}");
        assert!(burnt.warnings.iter().any(|warning| warning.code == "unowned_address"));
    }
}

/// Issuers freeze what users sent to these addresses by mistake.
#[test]
fn frozen_balances_of_nobody_and_of_token_contracts_block_nobody() {
    // Given a TagPack and an explorer's file, as published.
    let directory = tempfile::tempdir().unwrap();
    let (null, token) = (
        "0x0000000000000000000000000000000000000000",
        "0xD533a949740bb3306d119CC777fa900bA034cd52",
    );
    let thief = "0x14ec0cd2acee4ce37260b925f74648127a889a28";
    let frozen = [null, token, thief].map(|address| format!("- address: '{address}'\n"));
    let pack = format!(
        "title: USDT blacklist\ncreator: GraphSense Core team\nlabel: USDT_blacklisted\n\
         confidence: ledger_immanent\nsource: https://ikna.io\ncurrency: ETH\n\
         category: black_list\ntags:\n{}",
        frozen.concat()
    );
    fs::write(directory.path().join("usdt.yaml"), pack).unwrap();
    let explorer = json!({
        null: {"name": "Null Address: 0x000...000", "labels": ["blocked", "burn", "genesis"]},
        token: {"name": "Curve.fi: CRV Token", "labels": ["blocked", "curve-fi"]},
        thief: {"name": "Yearn (yDai) Exploiter", "labels": ["blocked"]},
    });
    fs::create_dir(directory.path().join("explorers")).unwrap();
    fs::write(directory.path().join("explorers/etherscan.json"), explorer.to_string()).unwrap();
    for (location, format) in [("usdt.yaml", "tagpack"), ("explorers", "explorer")] {
        let arguments =
            ["ingest", "labels", location, "--format", format, "--source", format, "--json"];
        let _ = assay(directory.path(), arguments).ok();
    }
    // When
    let check = |address: &str| -> Value {
        assay(directory.path(), ["check", "eth", address, "--json"]).ok().json()
    };
    let statuses = |answer: &Value| -> Vec<String> {
        let labels = answer["labels"].as_array().unwrap().iter();
        labels.map(|label| label["status"].as_str().unwrap().to_owned()).collect()
    };
    // Then the null address scores nothing, but without a sanctions list nothing is allowed.
    let answer = check(null);
    assert_eq!(statuses(&answer), ["unowned", "unowned"], "{answer:#}");
    let found = answer["reasons"].as_array().unwrap().iter();
    assert!(found.clone().all(|reason| reason["code"] != "labeled"), "{answer:#}");
    assert_eq!(answer["verdict"], "indeterminate");
    // The contract of a token is reviewed, and a thief is blocked.
    let answer = check(token);
    assert_eq!(answer["verdict"], "review", "{answer:#}");
    assert_eq!(check(thief)["verdict"], "block");
}
