//! The money in the output of `assay tx`, `assay trace` and the tree of `assay check` can be
//! checked by hand.

use std::path::Path;

use assay_address::ChainId;
use assay_tests::{assay, scenario::address};
use serde_json::{Value, json};
use tempfile::TempDir;

const COIN: u64 = 100_000_000;

/// Address of a party.
pub(crate) fn address_of(person: &str) -> String {
    address(ChainId::BTC, person).as_str().to_owned()
}

/// A transaction's identifier.
pub(crate) fn txid(number: u8) -> String {
    hex::encode([number; 32])
}

/// A line of a chain: a transaction in a block, paying whole coins.
pub(crate) fn line(height: u8, number: u8, inputs: &Value, pays: &[(&str, u64)]) -> String {
    let hash = |height: u8| hex::encode([0xb0, height].repeat(16));
    let outputs =
        pays.iter().map(|(who, coins)| json!({"address": address_of(who), "value": coins * COIN}));
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
pub(crate) fn ingested(lines: &[String]) -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("chain.jsonl"), lines.concat()).unwrap();
    let _ = assay(directory.path(), ["ingest", "chain", "btc", "--jsonl", "chain.jsonl"]).ok();
    directory
}

pub(crate) fn printed(directory: &Path, arguments: &[&str]) -> String {
    assay(directory, arguments).ok().stdout
}

#[test]
fn unknown_inputs_are_not_invented() {
    // Given a chain that is known from block 100 on, a payment of one coin from before, and one of a coin
    // from before and fifty that are known...
    let [before, also_before] =
        [0xe1, 0xe2].map(|number| json!({ "txid": txid(number), "index": 0 }));
    let known = json!({
        "txid": txid(0xe3), "index": 1, "address": address_of("walter"), "value": 50 * COIN,
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
    // ...then the fee of neither is known, and the missing inputs are counted separately.
    let (json, text) = shown(2);
    assert_eq!(json["fee"], Value::Null);
    let counts =
        |json: &Value| (json["inputs_count"].clone(), json["inputs_unknown_count"].clone());
    assert_eq!(counts(&json), (1.into(), 1.into()));
    assert_eq!(json["inputs_unknown"], "700000000");
    assert!(text.contains("fee unknown"), "{text}");
    assert!(text.contains("Inputs  1  at least 7.00000000 BTC"), "{text}");
    assert!(text.contains("1 of unknown value, from before the first block"), "{text}");

    let (json, text) = shown(4);
    assert_eq!(json["fee"], Value::Null);
    assert_eq!(counts(&json), (2.into(), 1.into()));
    assert_eq!(
        (&json["inputs_total"], &json["inputs_unknown"]),
        (&"5000000000".into(), &"0".into())
    );
    assert!(text.contains("fee unknown"), "{text}");
    assert!(text.contains("1 of unknown value, from before the first block"), "{text}");
    assert!(!text.contains("raise --most"), "{text}");

    // A fully known transaction has its fee, and omitted entries can be shown.
    let coinbase = shown(1).0;
    assert_eq!((&coinbase["fee"], &coinbase["inputs_unknown_count"]), (&"0".into(), &0.into()));
    let text = printed(directory.path(), &["tx", "btc", &txid(4), "--most", "0"]);
    assert_eq!(text.matches("1 more: raise --most to show").count(), 2, "{text}");
}

/// A chain on which the subject pays ten coins to each of ten people, who pay them on to an exchange, and
/// has labels for it.
fn through_ten() -> TempDir {
    let people: Vec<String> = (0..10).map(|number| format!("between-{number}")).collect();
    let mut lines = vec![line(0, 1, &json!([]), &[("subject", 100)])];
    let payees: Vec<_> = people.iter().map(|name| (name.as_str(), 10)).collect();
    lines.push(line(1, 2, &json!([{ "txid": txid(1), "index": 0 }]), &payees));
    for number in 0..10 {
        let paid = json!([{ "txid": txid(2), "index": number }]);
        lines.push(line(2, 10 + number, &paid, &[("north", 10)]));
    }
    let directory = ingested(&lines);
    let labels = format!(
        "blockchain,address,category,entity,confidence,tier,author\n\
         btc,{},exchange,North,100,investigation,The police\n",
        address_of("north")
    );
    std::fs::write(directory.path().join("labels.csv"), labels).unwrap();
    let import = ["ingest", "labels", "labels.csv", "--format", "csv", "--source", "police"];
    let _ = assay(directory.path(), import).ok();
    directory
}

/// A name as it is shortened.
fn short(address: &str) -> String {
    format!("{}...{}", &address[..8], &address[address.len() - 8..])
}

#[test]
fn the_tree_of_a_check_shows_amounts_at_every_address() {
    let directory = through_ten();
    let text = printed(directory.path(), &["check", "--all", "btc", &address_of("subject")]);
    let tree: Vec<&str> =
        text.lines().skip_while(|line| !line.contains("Destination of funds")).collect();
    assert!(tree[0].contains("100.00000000 BTC"), "{text}");
    // Of the ten, those with the largest paths are named, each with its amount...
    let between: Vec<String> =
        (0..10).map(|number| short(&address_of(&format!("between-{number}")))).collect();
    let named: Vec<&&str> =
        tree.iter().filter(|line| between.iter().any(|name| line.contains(name))).collect();
    assert_eq!(named.len(), 3, "{text}");
    assert!(named.iter().all(|line| line.contains(" 10.0 %  ")), "{text}");
    assert!(named.iter().all(|line| line.contains(" 10.00000000 BTC")), "{text}");
    // ...and the others together with the rest.
    let further: Vec<&&str> = tree.iter().filter(|line| line.contains("further paths")).collect();
    assert_eq!(further.len(), 1, "{text}");
    assert!(further[0].contains(" 70.0 %  ") && further[0].contains(" 70.00000000 BTC"), "{text}");
    // The exchange stands behind each of them.
    let ends: Vec<&&str> = tree.iter().filter(|line| line.contains("North (exchange)")).collect();
    assert_eq!(ends.len(), 4, "{text}");
}

#[test]
fn a_trace_loses_no_part_of_the_whole() {
    // Given an address that got a coin from each of three others, paid one of them on, and holds
    // the rest...
    let directory = ingested(&[
        line(0, 1, &json!([]), &[("a", 1), ("b", 1), ("c", 1)]),
        line(1, 2, &json!([{ "txid": txid(1), "index": 0 }]), &[("subject", 1)]),
        line(1, 3, &json!([{ "txid": txid(1), "index": 1 }]), &[("subject", 1)]),
        line(1, 4, &json!([{ "txid": txid(1), "index": 2 }]), &[("subject", 1)]),
        line(2, 5, &json!([{ "txid": txid(2), "index": 0 }]), &[("d", 1)]),
        line(3, 6, &json!([{ "txid": txid(5), "index": 0 }]), &[("south", 1)]),
    ]);
    let labels = format!(
        "blockchain,address,category,entity,confidence,tier,author\n\
         btc,{},exchange,South,100,investigation,The police\n\
         btc,{},gambling,Dice,100,investigation,The police\n\
         btc,{},gambling,Cards,100,investigation,The police\n",
        address_of("south"),
        address_of("a"),
        address_of("b"),
    );
    std::fs::write(directory.path().join("labels.csv"), labels).unwrap();
    let import = ["ingest", "labels", "labels.csv", "--format", "csv", "--source", "police"];
    let _ = assay(directory.path(), import).ok();
    let trace = |direction: &str, more: &[&str]| {
        let subject = address_of("subject");
        let arguments = [&["trace", "btc", &subject, "--direction", direction], more].concat();
        printed(directory.path(), &arguments)
    };
    // ...then the shares of thirds sum to one...
    let answer: Value = serde_json::from_str(&trace("source", &["--json"])).unwrap();
    let shares: Vec<u64> = answer["directions"][0]["endpoints"]
        .as_array()
        .unwrap()
        .iter()
        .map(|end| end["share"].as_str().unwrap().replace('.', "").parse().unwrap())
        .collect();
    assert_eq!(shares, [333_334, 333_333, 333_333], "{answer}");
    let drawn = trace("source", &[]);
    assert_eq!(drawn.matches("\n   33.3 %  ").count(), 3, "{drawn}");
    // ...each transaction has its date...
    assert!(drawn.contains(&format!("\n    2026-05-28  {}\n", txid(2))), "{drawn}");
    // ...without a direction, both are shown...
    let both: Value = serde_json::from_str(&printed(
        directory.path(),
        &["trace", "btc", &address_of("subject"), "--json"],
    ))
    .unwrap();
    assert_eq!(both["directions"][0], answer["directions"][0]);
    assert_eq!(both["directions"][1]["direction"], "destination");
    let drawn = printed(directory.path(), &["trace", "btc", &address_of("subject")]);
    assert!(drawn.contains("Source of funds  3.00000000 BTC"), "{drawn}");
    assert!(drawn.contains("Destination of funds  3.00000000 BTC"), "{drawn}");
    // ...and in a drawing all of the money leaves the subject, its balance included.
    let drawn = trace("destination", &["--dot"]);
    let subject = format!("\"{}\" -> ", address_of("subject"));
    let leaving: Vec<&str> = drawn.lines().filter(|line| line.contains(&subject)).collect();
    assert_eq!(leaving.len(), 2, "{drawn}");
    let held = leaving.iter().find(|line| line.contains("\"unspent_by_subject\"")).unwrap();
    assert!(held.contains("2.00000000 BTC\\nother"), "{drawn}");
    let paid = leaving.iter().find(|line| line.contains(&address_of("d"))).unwrap();
    assert!(paid.contains("1.00000000 BTC"), "{drawn}");
}
