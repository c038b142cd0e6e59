//! Answers about money that goes through contracts, as programs give them.

use std::{fs, path::Path};

use assay_tests::assay;
use serde_json::Value;
use tempfile::TempDir;

use crate::account_answers::{HEADER, address, recorded, row};

const USDC: &str = "0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48";
const TOKEN: &str = "0x00000000000000000000000000000000000fa15e";
const ETHER: u128 = 1_000_000_000_000_000_000;
const DOLLAR: u128 = 1_000_000;

/// A transfer in a transaction of another account than the payer.
fn row_of(initiator: &str, row: &str, index: u32) -> String {
    let mut cells: Vec<String> = row.split(',').map(str::to_owned).collect();
    cells[3] = index.to_string();
    cells[8] = address(initiator);
    cells.join(",")
}

/// A row that an account has code, beside a row of its transaction.
fn code(beside: &str, person: &str) -> String {
    let cells: Vec<&str> = beside.split(',').collect();
    let [block, time, txid] = [cells[0], cells[1], cells[2]];
    let (contract, initiator) = (address(person), cells[8]);
    format!("{block},{time},{txid},,,{contract},,,{initiator},code,,")
}

/// Rows by which Ann sells ether of the exchange at a pool, with a listed party's tokens beside.
fn rows() -> Vec<String> {
    let sale = row(4, 0, "native", "ann", "pool", 8 * ETHER);
    vec![
        row(1, 0, "native", "exchange", "pool", 500 * ETHER),
        row(2, 0, USDC, "exchange", "pool", 1_500_000 * DOLLAR),
        row(3, 0, "native", "exchange", "ann", 10 * ETHER),
        row_of("ann", &row(4, 0, USDC, "pool", "ann", 24_000 * DOLLAR), 1),
        code(&sale, "pool"),
        sale,
        row(5, 0, TOKEN, "jane", "bob", 99),
        row(6, 0, "native", "exchange", "bob", ETHER),
    ]
}

/// A data directory with the rows, prices, a list and labels.
fn directory(rows: &[String]) -> TempDir {
    let labels = [("exchange", "exchange", "Some Exchange"), ("pool", "dex", "Some Pool")];
    let directory = recorded(&[], &labels);
    let days = ["2023-11-13", "2023-11-14"].map(|day| format!("eth/native,{day},3000\n"));
    let jane = address("jane");
    let list =
        format!("list,entity_id,entity,asset_code,address\nofac-sdn,1,\"DOE, Jane\",ETH,{jane}\n");
    for (name, content) in [
        ("prices.csv", format!("asset,day,usd\n{}", days.concat())),
        ("list.csv", list),
        ("transfers.csv", format!("{HEADER}\n{}\n", rows.join("\n"))),
    ] {
        fs::write(directory.path().join(name), content).unwrap();
    }
    for import in [
        &["ingest", "prices", "prices.csv"][..],
        &["ingest", "sanctions", "list.csv", "--format", "csv", "--source", "ofac-sdn"],
        &["ingest", "chain", "eth", "--transfers", "transfers.csv"],
    ] {
        let _ = assay(directory.path(), import).ok();
    }
    directory
}

fn check(directory: &Path, person: &str) -> Value {
    assay(directory, ["check", "eth", &address(person), "--json"]).ok().json()
}

/// The verdict of screening in full.
fn screened(directory: &Path, person: &str) -> Value {
    let row = format!("{{\"blockchain\":\"eth\",\"address\":\"{}\"}}\n", address(person));
    fs::write(directory.join("rows.jsonl"), row).unwrap();
    let printed = assay(directory, ["screen", "rows.jsonl", "--scope", "full"]).ok().stdout;
    serde_json::from_str::<Value>(&printed).unwrap()
}

#[test]
fn a_swap_is_told_in_json_and_in_words() {
    let directory = directory(&rows());
    let answer = check(directory.path(), "ann");
    let kept = &answer["contracts"]["kept"][0];
    assert_eq!((&kept["way"], &kept["via"]["entity"]), (&"exchanged".into(), &"Some Pool".into()));
    let sentence = "bought 24000 USDC with own 8 ETH at Some Pool: what the contract holds is not the address's";
    assert_eq!(kept["detail"], sentence);
    let stated = |side: &str| (kept[side][0]["asset"].clone(), kept[side][0]["value"].clone());
    assert_eq!(stated("gave"), ("ETH".into(), (8 * ETHER).to_string().into()));
    assert_eq!(stated("got"), ("USDC".into(), (24_000 * DOLLAR).to_string().into()));
    assert_eq!(kept["transactions"].as_array().map(Vec::len), Some(1));
    // The dollars are no income.
    let whole: u64 = answer["exposure"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|line| line["direction"] == "source")
        .map(|line| line["amount"]["value"].as_str().unwrap().parse::<u64>().unwrap())
        .sum();
    assert_eq!(whole, 3_000_000);
    let text = assay(directory.path(), ["check", "eth", &address("ann"), "--all"]).ok().stdout;
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains(&format!("Contracts {sentence}")), "{text}");
}

#[test]
fn tokens_sent_to_a_listed_party_are_reviewed_by_checks_and_by_screening() {
    let mut rows = rows();
    rows.push(row(7, 0, TOKEN, "bob", "jane", 9));
    for (rows, code) in [(&rows[..], "listed_token_dealing"), (&rows[..8], "no_findings")] {
        let directory = directory(rows);
        let answer = check(directory.path(), "bob");
        let codes: Vec<_> =
            answer["reasons"].as_array().unwrap().iter().map(|it| &it["code"]).collect();
        assert!(codes.contains(&&code.into()) || code == "no_findings", "{codes:?}");
        let is_fired = codes.contains(&&"listed_token_dealing".into());
        assert_eq!(is_fired, code == "listed_token_dealing", "{codes:?}");
        let screened = screened(directory.path(), "bob");
        assert_eq!(screened["verdict"], answer["verdict"], "{screened} {answer}");
        assert_eq!(screened["reason"], answer["reasons"][0]["message"], "{screened} {answer}");
    }
}
