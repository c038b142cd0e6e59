//! What `assay tx`, `assay trace` and the tree of `assay check` say of money can be checked by hand.

use std::path::Path;

use assay_engine::chain::ChainId;
use assay_tests::{assay, story::address};
use serde_json::{Value, json};
use tempfile::TempDir;

const COIN: u64 = 100_000_000;

/// Somebody's address.
fn of(person: &str) -> String {
    address(ChainId::BTC, person).as_str().to_owned()
}

/// A transaction's identifier.
fn txid(number: u8) -> String {
    hex::encode([number; 32])
}

/// A line of a chain: a transaction in a block, paying whole coins.
fn line(height: u8, number: u8, inputs: &Value, pays: &[(&str, u64)]) -> String {
    let hash = |height: u8| hex::encode([0xb0, height].repeat(16));
    let outputs =
        pays.iter().map(|(who, coins)| json!({"address": of(who), "value": coins * COIN}));
    let line = json!({
        "block": {
            "height": height,
            "hash": hash(height),
            "parent": hash(height.wrapping_sub(1)),
            "time": 1_780_000_000 + u64::from(height) * 600,
        },
        "txid": txid(number),
        "inputs": inputs,
        "outputs": outputs.collect::<Vec<_>>(),
    });
    format!("{line}\n")
}

/// A data directory with a chain.
fn ingested(lines: &[String]) -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("chain.jsonl"), lines.concat()).unwrap();
    let _ = assay(directory.path(), ["ingest", "chain", "btc", "--jsonl", "chain.jsonl"]).ok();
    directory
}

fn printed(directory: &Path, arguments: &[&str]) -> String {
    assay(directory, arguments).ok().stdout
}

#[test]
fn what_is_not_known_of_inputs_is_not_made_up() {
    // Given a chain that is known from block 100 on, a payment of one coin from before, and one of a coin
    // from before and fifty that are known...
    let [before, also_before] =
        [0xe1, 0xe2].map(|number| json!({ "txid": txid(number), "index": 0 }));
    let known = json!({
        "txid": txid(0xe3), "index": 1, "address": of("walter"), "value": 50 * COIN,
    });
    let directory = ingested(&[
        line(100, 1, &json!([]), &[("miner", 50)]),
        line(100, 2, &json!([before]), &[("yvonne", 7)]),
        line(101, 3, &json!([]), &[("miner", 50)]),
        line(101, 4, &json!([also_before, known]), &[("yvonne", 49)]),
    ]);
    let shown = |number: u8| {
        let txid = txid(number);
        let json = printed(directory.path(), &["tx", "btc", &txid, "--json"]);
        let text = printed(directory.path(), &["tx", "btc", &txid]);
        (serde_json::from_str::<Value>(&json).unwrap(), text)
    };
    // ...then neither has a fee that anybody knows, and what is missing is counted apart.
    let (json, text) = shown(2);
    assert_eq!(json["fee"], Value::Null);
    let counts =
        |json: &Value| (json["inputs_count"].clone(), json["inputs_unknown_count"].clone());
    assert_eq!(counts(&json), (1.into(), 1.into()));
    assert_eq!(json["inputs_unknown"], "700000000");
    assert!(text.contains("fee not known"), "{text}");
    assert!(text.contains("Inputs  1  at least 7.00000000 BTC"), "{text}");
    assert!(text.contains("(1 not known, from before the first block)"), "{text}");

    let (json, text) = shown(4);
    assert_eq!(json["fee"], Value::Null);
    assert_eq!(counts(&json), (2.into(), 1.into()));
    assert_eq!(
        (&json["inputs_total"], &json["inputs_unknown"]),
        (&"5000000000".into(), &"0".into())
    );
    assert!(text.contains("fee not known"), "{text}");
    assert!(text.contains("(1 not known, from before the first block)"), "{text}");
    assert!(!text.contains("--most shows them"), "{text}");

    // What is known in full has its fee, and what is left out can be shown.
    let coinbase = shown(1).0;
    assert_eq!((&coinbase["fee"], &coinbase["inputs_unknown_count"]), (&"0".into(), &0.into()));
    let text = printed(directory.path(), &["tx", "btc", &txid(4), "--most", "0"]);
    assert_eq!(text.matches("and 1 more: --most shows them").count(), 2, "{text}");
}
