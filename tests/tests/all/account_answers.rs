//! Answers about account chains: amounts in the units of their assets.

use std::{fmt::Write, fs, path::Path};

use assay_tests::assay;
use serde_json::{Value, json};
use tempfile::TempDir;

const USDT: &str = "0xdAC17F958D2ee523a2206206994597C13D831ec7";
/// One ETH in base units.
const ETHER: u128 = 1_000_000_000_000_000_000;

/// The address of a person.
fn address(person: &str) -> String {
    let bytes: Vec<u8> = person.bytes().chain(std::iter::repeat(0x11)).take(20).collect();
    format!("0x{}", bytes.iter().fold(String::new(), |text, byte| format!("{text}{byte:02x}")))
}

/// The identifier of a transaction.
fn txid(number: u64) -> String {
    format!("0x{number:064x}")
}

/// A row of a file of transfers, in a transaction that its payer sent.
fn row(transaction: u64, index: u32, asset: &str, from: &str, to: &str, amount: u128) -> String {
    row_by(from, transaction, index, asset, (from, to), amount)
}

/// A row of a file of transfers, in a transaction that an initiator sent.
fn row_by(
    initiator: &str,
    transaction: u64,
    index: u32,
    asset: &str,
    (from, to): (&str, &str),
    amount: u128,
) -> String {
    let (block, time) = (20_000_000 + transaction, 1_700_000_000 + 12 * transaction);
    let (txid, initiator) = (txid(transaction), address(initiator));
    let (from, to) = (address(from), address(to));
    format!("{block},{time},{txid},{index},{asset},{from},{to},{amount},{initiator},transfer,,")
}

const HEADER: &str =
    "block,time,txid,index,asset,from,to,amount,initiator,kind,log_index,trace_index";

/// A data directory with the transfers of rows, and labels: person, category, entity.
fn recorded(rows: &[String], labels: &[(&str, &str, &str)]) -> TempDir {
    let directory = TempDir::new().unwrap();
    let mut text = "blockchain,address,category,tier,confidence,entity\n".to_owned();
    for (person, category, entity) in labels {
        writeln!(text, "eth,{},{category},investigation,95,{entity}", address(person)).unwrap();
    }
    fs::write(directory.path().join("labels.csv"), text).unwrap();
    let import = ["ingest", "labels", "labels.csv", "--format", "csv", "--source", "own"];
    let _ = assay(directory.path(), import).ok();
    ingest(directory.path(), rows);
    directory
}

fn ingest(directory: &Path, rows: &[String]) {
    fs::write(directory.join("transfers.csv"), format!("{HEADER}\n{}\n", rows.join("\n"))).unwrap();
    let _ = assay(directory, ["ingest", "chain", "eth", "--transfers", "transfers.csv"]).ok();
}

/// A thief's ETH that reaches Ann over Bob, and the USDT for which Ann sells a part of it.
fn swap() -> TempDir {
    recorded(
        &[
            row(1, 0, "native", "exchange", "cid", 2 * ETHER),
            row(2, 0, USDT, "exchange", "cid", 40_000_000_000),
            row(3, 0, "native", "thief", "bob", 100 * ETHER),
            row(4, 0, "native", "bob", "ann", 50 * ETHER),
            row(5, 0, "native", "ann", "pool", 40 * ETHER),
            row_by("ann", 5, 1, USDT, ("pool", "ann"), 100_000_500_000),
            row(6, 0, USDT, "ann", "dan", 100_000_500_000),
        ],
        &[("exchange", "exchange", "Example Exchange"), ("thief", "stolen_funds", "Example theft")],
    )
}

/// The standard output of a command, in one line.
fn printed(directory: &Path, arguments: &[&str]) -> String {
    let text = assay(directory, arguments).ok().stdout;
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn json_of(directory: &Path, arguments: &[&str]) -> Value {
    assay(directory, arguments.iter().chain(&["--json"])).ok().json()
}

#[test]
fn each_unit_of_an_answer_is_drawn_by_itself_with_its_own_decimals() {
    let directory = swap();
    for all in [&[][..], &["--all"]] {
        let check = ["check", "eth", &address("ann")];
        let text = printed(directory.path(), &[&check[..], all].concat());
        for expected in [
            "Source of funds USD 100,000.50",
            "Source of funds 50 ETH",
            "Destination of funds USD 100,000.50",
            "Destination of funds 40 ETH",
            "10 ETH",
            "50 ETH, 100000.5 USDT in 2 transactions",
        ] {
            assert!(text.contains(expected), "{expected}: {text}");
        }
    }
}

#[test]
fn amounts_of_an_exposure_are_base_units_like_all_others() {
    let directory = swap();
    let answer = json_of(directory.path(), &["check", "eth", &address("ann")]);
    let exposure = answer["exposure"].as_array().unwrap();
    let stolen = exposure.iter().find(|line| line["category"] == "stolen_funds").unwrap();
    let whole = json!((50 * ETHER).to_string());
    assert_eq!(stolen["amount"], json!({"value": whole, "asset": "ETH", "usd": null}));
    assert_eq!(stolen["parts"][0]["amount"], whole);
    assert_eq!(stolen["paths"][0]["amount"]["value"], whole);
    assert_eq!(stolen["paths"][0]["steps"][0]["amount"], whole);
    let dollars = exposure.iter().find(|line| line["amount"]["asset"] == "USD").unwrap();
    assert_eq!(
        (&dollars["amount"]["value"], &dollars["amount"]["usd"]),
        (&json!("10000050"), &json!("100000.50"))
    );
    // The rules of a policy measure the same funds in a recorded answer.
    fs::write(directory.path().join("answer.json"), answer.to_string()).unwrap();
    let tested = json_of(directory.path(), &["policy", "test", "answer.json"]);
    assert_eq!(tested["before"], tested["after"], "{tested:#}");
}

#[test]
fn a_trace_shows_each_unit_with_paths_by_asset_and_place() {
    let mut rows = vec![row(1, 0, USDT, "thief", "bob", 7_000_000)];
    rows.push(row(2, 0, USDT, "bob", "ann", 6_500_000).replace("transfer,,", "transfer,12,"));
    rows.push(row(3, 0, "native", "exchange", "ann", ETHER));
    let labels = [("thief", "stolen_funds", "Example theft"), ("exchange", "exchange", "X")];
    let directory = recorded(&rows, &labels);
    let ann = address("ann");
    let text = printed(directory.path(), &["trace", "eth", &ann]);
    for expected in [
        "Source of funds USD 6.50",
        "path of USD 6.50",
        "6.5 USDT, log 12",
        "7 USDT; Example theft (stolen_funds)",
        "Source of funds 1 ETH",
        "2023-11-14",
    ] {
        assert!(text.contains(expected), "{expected}: {text}");
    }
    let answer = json_of(directory.path(), &["trace", "eth", &ann, "--direction", "source"]);
    let units: Vec<&Value> =
        answer["directions"].as_array().unwrap().iter().map(|it| &it["asset"]).collect();
    assert_eq!(units, ["USD", "ETH"]);
    assert_eq!(answer["directions"][1]["total_amount"], ETHER.to_string());
    let dot = printed(directory.path(), &["trace", "eth", &ann, "--dot"]);
    assert!(dot.contains("USD 6.50"), "{dot}");
    // Hops are a bound of traces on chains of outputs.
    let refused = assay(directory.path(), ["trace", "eth", &ann, "--hops", "3"]);
    assert_eq!(refused.code, 2);
    assert!(refused.stderr.contains("leave the flag out"), "{}", refused.stderr);
}
