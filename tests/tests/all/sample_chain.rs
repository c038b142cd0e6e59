//! The Bitcoin chain of the demo data set: answers agree with the scenario to the last unit.

use std::{fs, sync::Arc, thread, time::Duration};

use assay_address::ChainId;
use assay_chain::{BlockSource, jsonl::write_block};
use assay_engine::score::Verdict;
use assay_sample::{self, SampleChain};
use assay_tests::{Finished, Server, sample as sample_server};
use serde_json::Value;

use crate::{generated::section, support::wait_until};

/// The address of an example.
fn example(what: &str) -> String {
    let examples = assay_sample::examples();
    let found = examples.iter().find(|example| example.description == what);
    found.unwrap_or_else(|| panic!("no example `{what}`")).address.to_string()
}

fn check(server: &Server, what: &str) -> Value {
    let address = example(what);
    server.assay(&["check", "--sample", "btc", &address, "--json"]).ok().json()
}

/// The lines of exposure in one direction, as `entity or endpoint, direct or not: base units`, largest first.
fn flows(answer: &Value, direction: &str) -> Vec<String> {
    let lines = answer["exposure"].as_array().unwrap().iter();
    lines
        .filter(|line| line["direction"] == direction)
        .map(|line| {
            let who = line["entity"].as_str().or(line["endpoint_type"].as_str()).unwrap();
            let (hops, amount) = (&line["hops"], line["amount"]["value"].as_str().unwrap());
            format!("{who} at {hops}: {amount}")
        })
        .collect()
}

/// Asserts that all sums agree.
fn assert_sums_agree(answer: &Value) {
    let components = answer["scoring_components"].as_array().unwrap().iter();
    let tenths = |score: &Value| (score.as_f64().unwrap() * 10.0).round();
    let contributions: f64 = components.map(|component| tenths(&component["contribution"])).sum();
    assert!((contributions - tenths(&answer["risk_score"])).abs() < 0.5, "{answer:#}");
    let lines = answer["exposure"].as_array().unwrap();
    for direction in ["source", "destination"] {
        let lines = || lines.iter().filter(|line| line["direction"] == direction);
        if lines().next().is_none() {
            continue;
        }
        let share =
            |line: &Value| line["share"].as_str().unwrap().replace('.', "").parse::<u64>().unwrap();
        if answer["blockchain"] != "btc" {
            // Other chains have one sum of shares for each unit.
            continue;
        }
        assert_eq!(lines().map(share).sum::<u64>(), 1_000_000, "{answer:#}");
        let amount =
            |line: &Value| line["amount"]["value"].as_str().unwrap().parse::<u64>().unwrap();
        let received = answer["activity"]["in"][0]["value"].as_str().unwrap();
        assert_eq!(lines().map(amount).sum::<u64>().to_string(), received, "{answer:#}");
    }
}

#[test]
fn every_example_has_its_documented_verdict_and_sums_exactly() {
    let (_server, business, enterprise) = sample_server();
    for (index, example) in assay_sample::examples().into_iter().enumerate() {
        // Each tenant has a burst of its own.
        let caller = if index % 2 == 0 { &business } else { &enterprise };
        let check = || caller.check(example.address.chain().as_str(), example.address.as_str());
        let mut answer = check();
        while answer.status == 429 {
            // There are more examples than a burst has requests.
            thread::sleep(Duration::from_secs(1));
            answer = check();
        }
        let answer = answer.json();
        assert_eq!(
            answer["verdict"],
            example.verdict.as_str(),
            "{}: {answer:#}",
            example.description
        );
        let is_complete = example.verdict != Verdict::Indeterminate;
        assert_eq!(answer["complete"], is_complete, "{}: {answer:#}", example.description);
        assert_sums_agree(&answer);
    }
}

/// Ada got 0.4 and 0.25 from Harbor Lane: 0.65 in all. She paid 0.3 to Harbor Lane, 0.05 to Paper Kite and
/// 0.002 to the bakery, each with a fee of 0.0001: of the 0.65 she holds
/// 0.65 - 0.352 - 0.0003 = 0.2977.
///
/// The bakery sold Ada's 0.002 and Otto's 0.0015 together, for a fee of 0.0001: of Ada's 200,000 base
/// units 34/35 came to Meridian Square, 194,285.7, and 1/35 was fee, 5,714.3.
#[test]
fn a_customer_of_an_exchange_computed_by_hand() {
    let (server, ..) = sample_server();
    let answer = check(&server, "a customer of an exchange");
    assert_eq!(flows(&answer, "source"), ["Harbor Lane Exchange at 1: 65000000"]);
    assert_eq!(
        flows(&answer, "destination"),
        [
            "Harbor Lane Exchange at 1: 30000000",
            "unspent_by_subject at 0: 29770000",
            "Paper Kite Payments at 1: 5000000",
            "Meridian Square Exchange at 2: 194286",
            "fee at 1: 30000",
            "fee at 2: 5714",
        ]
    );
    let activity = &answer["activity"];
    assert_eq!(activity["balance"][0]["value"], "29770000");
    assert_eq!(
        (&activity["first_seen"], &activity["last_seen"]),
        (&Value::from("2024-06-03T12:00:00Z"), &Value::from("2025-08-11T12:00:00Z"))
    );
}

/// The dentists' 2.5 and the hauliers' 6 went to Sable together, 8.5 less the fee. Of whatever Sable paid, 2.5/8.5 were
/// the dentists': of the 1.2 for Jory's car, which he still has, 0.352941176 (held, 2 hops); of the mixer's 4,
/// 1.176470588 (2 hops: Sable's change is no hop); of the 1.2997 that Sable kept, 0.382264706 (held, 1 hop); of the
/// 1.9999 that Finch brought to Harbor Lane, 0.588205882 (3 hops). Four fees of 0.0001 bore 0.00002941176 each. Rounded
/// down, these lack three units, which go to the largest remainders: those of the mixer's amount and of the two held
/// amounts.
#[test]
fn the_destination_of_a_ransom_computed_by_hand() {
    let (server, ..) = sample_server();
    let answer = check(&server, "ransomware");
    // The victim had the coins from an exchange.
    assert_eq!(flows(&answer, "source"), ["Harbor Lane Exchange at 2: 250000000"]);
    assert_eq!(
        flows(&answer, "destination"),
        [
            "Quiet River Mixer at 2: 117647059",
            "Harbor Lane Exchange at 3: 58820588",
            "unspent_downstream at 1: 38226471",
            "unspent_downstream at 2: 35294118",
            "fee at 2: 8823",
            "fee at 1: 2941",
        ]
    );
}

/// Jory got 0.8 from Harbor Lane and 1.2 from Sable, whose coins were the gang's and nobody else's. He
/// paid 0.5 with the older coins, for a fee of 0.0001.
#[test]
fn paid_by_ransomware_over_two_hops_computed_by_hand() {
    let (server, ..) = sample_server();
    let answer = check(&server, "paid by ransomware over two hops");
    assert_eq!(
        flows(&answer, "source"),
        ["Blackfrost Ransomware at 2: 120000000", "Harbor Lane Exchange at 1: 80000000"]
    );
    assert_eq!(
        flows(&answer, "destination"),
        [
            "unspent_by_subject at 0: 149990000",
            "Paper Kite Payments at 1: 50000000",
            "fee at 1: 10000"
        ]
    );
    // 95 x 90 % x 2^(-1/2.4) = 64.05 for all of it; for 60 %: 64.05 x 0.6^0.4 = 52.2. At any distance:
    // 85.5 x 0.6^0.4 = 69.7, of which 59.9 count.
    assert_eq!(answer["risk_score"], 59.9);
}

/// Wim got 1.2 from Harbor Lane, 0.05 from GREYMARSH before he was listed (2025-06-02) and 0.03 after.
#[test]
fn paid_by_a_listed_party_computed_by_hand() {
    let (server, ..) = sample_server();
    let answer = check(&server, "paid directly by a listed party");
    assert_eq!(
        flows(&answer, "source"),
        ["Harbor Lane Exchange at 1: 120000000", "GREYMARSH, Ilja at 1: 8000000"]
    );
    let listed = answer["exposure"].as_array().unwrap().iter().find(|line| line["listed"] == true);
    let listed = listed.unwrap();
    assert_eq!(listed["before_listing"]["value"], "5000000");
    assert_eq!(listed["since_listing"]["value"], "3000000");
    assert_eq!(answer["reasons"][0]["code"], "direct_listed_counterparty");
    assert_eq!(answer["risk_score"], 50);
}

/// Nell got 0.3 from Harbor Lane, and 546 base units that she never touched.
#[test]
fn unsolicited_dust_is_shown_and_not_scored() {
    let (server, ..) = sample_server();
    let answer = check(&server, "dust from a listed party, unasked for");
    assert_eq!(
        flows(&answer, "source"),
        ["Harbor Lane Exchange at 1: 30000000", "GREYMARSH, Ilja at 1: 546"]
    );
    let dust = &answer["exposure"][1];
    assert_eq!((&dust["solicited"], &dust["scored"]), (&Value::from(false), &Value::from(false)));
}

/// Ten addresses lie between Tess and the market.
#[test]
fn a_long_peel_chain_is_followed_to_its_beginning_and_no_further_than_asked() {
    let (server, ..) = sample_server();
    let what = "at the end of a long peel chain";
    let answer = check(&server, what);
    assert_eq!(flows(&answer, "source"), ["Night Bazaar at 11: 150000000"]);
    let address = example(what);
    let trace = ["trace", "--sample", "btc", &address, "--direction", "source", "--json", "--hops"];
    let end = |hops: &str| {
        let run = server.assay(&[trace.as_slice(), &[hops]].concat()).ok().json();
        run["directions"][0]["endpoints"][0].clone()
    };
    let all = end("11");
    assert_eq!((&all["entity"], &all["hops"]), (&"Night Bazaar".into(), &11.into()));
    // Soon the server knows what lies behind the hops that were asked for.
    wait_until("it is known what transactions are made of", || {
        end("10")["unresolved_reason"].is_null()
    });
    let beyond = end("10");
    assert_eq!((&beyond["entity"], &beyond["hops"]), (&Value::Null, &Value::Null));
    assert_eq!(beyond["endpoint_type"], "darknet_market");
    assert_eq!(beyond["amount"], all["amount"]);
    assert!(beyond["further_than_transactions"].as_u64() > Some(0));
}

fn export(server: &Server) -> String {
    let export = ["export", "transfers", "btc", "--sample", "--format", "jsonl"];
    server.assay(&export).ok().stdout
}

#[test]
fn every_server_has_the_same_chain_and_a_restart_changes_nothing() {
    let (server, ..) = sample_server();
    let (other, ..) = sample_server();
    let first = export(&server);
    assert_eq!(first.lines().count(), 100 + 83, "a coinbase a block, and every payment");
    assert_eq!(export(&other), first);
    let directory = server.directory();
    drop(server);
    let again = Server::start(directory, &["--sample"]);
    assert_eq!(export(&again), first);
}

/// The beginning of the chain as JSON lines, with a block of another's after it.
fn other_chain_lines(blocks: u64) -> Vec<u8> {
    let mut chain = SampleChain::new().unwrap();
    let mut lines = Vec::new();
    for height in 0..=blocks {
        let mut block = chain.block_at(height).unwrap();
        if height == blocks {
            block.reference.hash = [7; 32];
            block.transactions.clear();
        }
        write_block(ChainId::BTC, &block, &mut lines).unwrap();
    }
    lines
}

fn ingest(directory: &std::path::Path, lines: &[u8]) -> Finished {
    fs::write(directory.join("blocks.jsonl"), lines).unwrap();
    assay_tests::assay(directory, ["ingest", "chain", "btc", "--sample", "--jsonl", "blocks.jsonl"])
}

#[test]
fn a_newer_demo_chain_replaces_an_older_one_and_other_blocks_stay() {
    let (server, ..) = sample_server();
    let whole = export(&server);
    drop(server);

    // Given a sample whose chain differs from block 40 on.
    let directory = Arc::new(tempfile::tempdir().unwrap());
    let _ = ingest(directory.path(), &other_chain_lines(40)).ok();
    let server = Server::start(directory, &["--sample"]);
    assert_eq!(export(&server), whole);
    drop(server);

    // Given blocks of the user's own, then they stay and the server serves.
    let directory = Arc::new(tempfile::tempdir().unwrap());
    let _ = ingest(directory.path(), &other_chain_lines(0)).ok();
    let server = Server::start(directory, &["--sample"]);
    assert_eq!(export(&server).lines().count(), 1);
    assert!(server.log().contains("the sample's own blocks were not loaded"), "{}", server.log());
}

#[test]
fn the_readme_shows_the_origin_of_money() {
    let (server, ..) = sample_server();
    let address = example("paid by ransomware over two hops");
    let drawn = server.assay(&["check", "--sample", "btc", &address]).ok().stdout;
    let (flows, _) = drawn.split_once("\nActivity").unwrap();
    let shown = format!("```\n$ assay check --sample btc {address}\n{flows}  …\n```\n");
    section("README.md", "flows", &shown);
}
