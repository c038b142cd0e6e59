//! Given exports that other programs made of real blocks, then the sums by asset are those of an own count of the rows.

use std::{
    collections::BTreeMap,
    env,
    fmt::Write,
    fs,
    path::{Path, PathBuf},
};

use assay_address::ChainId;
use assay_chain::transfers::{LeftOut, Sum};
use assay_engine::account::{Asset, TransferKind};
use serde_json::Value;

use super::{Done, Ingest, count};

fn data(path: &str) -> PathBuf {
    let data =
        env::var_os("ASSAY_TEST_DATA").expect("ASSAY_TEST_DATA names the folder of test data");
    PathBuf::from(data).join("chains").join(path)
}

const ETL: &str = "evm/ethereum-etl";

/// The rows of a CSV file, each as its cells by column.
fn rows(path: &Path) -> Vec<BTreeMap<String, String>> {
    let mut reader = csv::Reader::from_path(path).unwrap();
    reader.deserialize().map(|row| row.unwrap()).collect()
}

/// The objects of JSON lines. Numbers are kept as they are written.
fn objects(path: &Path) -> Vec<BTreeMap<String, String>> {
    let text = fs::read_to_string(path).unwrap();
    let lines = text.lines().filter(|line| !line.is_empty());
    lines
        .map(|line| {
            let object: BTreeMap<String, Box<serde_json::value::RawValue>> =
                serde_json::from_str(line).unwrap();
            let text = |value: &serde_json::value::RawValue| match value.get() {
                "null" => String::new(),
                other => other.trim_matches('"').to_owned(),
            };
            object.into_iter().map(|(key, value)| (key, text(&value))).collect()
        })
        .collect()
}

/// An amount, of which one program writes zeros at the end as an exponent.
fn number(text: &str) -> Sum {
    let (digits, zeros) = text.split_once('e').unwrap_or((text, "0"));
    let zeros = "0".repeat(zeros.parse().unwrap());
    format!("0{digits}{zeros}").parse().unwrap()
}

/// Number and sum of amounts by asset, as an own count.
type Counted = BTreeMap<String, (u64, Sum)>;

fn add(counted: &mut Counted, asset: &str, amount: Sum) {
    let entry = counted.entry(asset.to_lowercase()).or_default();
    entry.0 += 1;
    entry.1 += amount;
}

/// Asserts that the recorded sums are those of the own count.
fn assert_sums(ingest: &Ingest, expected: &Counted) {
    let sums = ingest.sums();
    let found: Counted = sums
        .iter()
        .map(|(asset, sum)| {
            let asset = match asset {
                Asset::Token(contract) => contract.to_string(),
                other => other.text(ingest.chain),
            };
            (asset, (sum.transfers, sum.amount))
        })
        .collect();
    assert_eq!(found, *expected);
}

/// The frames that move value or create a contract, by an own reading of ethereum-etl's columns.
fn count_traces(traces: &[BTreeMap<String, String>], counted: &mut Counted) -> u64 {
    let mut passed = 0;
    for trace in traces {
        let moves = match trace["trace_type"].as_str() {
            "create" => true,
            "call" => trace["call_type"] == "call" && trace["value"] != "0",
            "suicide" | "reward" => trace["value"] != "0",
            other => panic!("{other}"),
        };
        if moves && trace["status"] == "1" {
            add(counted, "native", number(&trace["value"]));
        } else {
            passed += 1;
        }
    }
    passed
}

fn passed_over(done: &Done) -> u64 {
    done.counts.left_out.values().sum()
}

#[test]
fn token_transfers_transactions_and_blocks_of_ethereum_etl_add_up() {
    let folder = data(ETL).join("test_stream/blocks_17173049_17173050");
    let file = |name: &str| folder.join(format!("expected_{name}.json"));
    let ingest = Ingest::new(ChainId::ETH);
    let files = ["token_transfers", "transactions", "blocks"].map(file);
    let done = ingest.run(&files).unwrap();

    let mut expected = Counted::new();
    for transfer in objects(&files[0]) {
        add(&mut expected, &transfer["token_address"], number(&transfer["value"]));
    }
    let blocks = objects(&files[2]);
    let (mut failed, mut without_value) = (0, 0);
    for transaction in objects(&files[1]) {
        let block = blocks.iter().find(|block| block["number"] == transaction["block_number"]);
        let base_fee = number(&block.unwrap()["base_fee_per_gas"]);
        let gas = number(&transaction["receipt_gas_used"]);
        let fee = gas * number(&transaction["receipt_effective_gas_price"]);
        add(&mut expected, "native", gas * base_fee);
        if fee > gas * base_fee {
            add(&mut expected, "native", fee - gas * base_fee);
        }
        let is_creation = !transaction["receipt_contract_address"].is_empty();
        match (&*transaction["receipt_status"], &*transaction["value"]) {
            (_, "0") if !is_creation => without_value += 1,
            ("1", value) => add(&mut expected, "native", number(value)),
            _ => failed += 1,
        }
    }
    let text = fs::read_to_string(&files[2]).unwrap();
    for line in text.lines() {
        let block: Value = serde_json::from_str(line).unwrap();
        for withdrawal in block["withdrawals"].as_array().unwrap() {
            let gwei = Sum::from(withdrawal["amount"].as_u64().unwrap());
            add(&mut expected, "native", gwei * Sum::from(1_000_000_000_u64));
        }
    }
    assert_sums(&ingest, &expected);
    assert_eq!(done.counts.left_out[&LeftOut::Failed], failed);
    assert_eq!(done.counts.left_out[&LeftOut::WithoutValue], without_value);
    assert_eq!(count(&done, TransferKind::Withdrawal), 32);
    // Every transaction has its sender, and a place that explorers show for each of its transfers apart from fees.
    let transactions = ingest.transactions();
    assert_eq!(done.counts.transactions_without_initiator, 0);
    let of_transactions = transactions.iter().filter(|it| it.initiator.is_some());
    assert_eq!(of_transactions.count(), 298);
}

#[test]
fn traces_of_ethereum_etl_add_up() {
    let mut expected = Counted::new();
    let (mut passed, mut files) = (0, Vec::new());
    let ingest = Ingest::new(ChainId::ETH);
    let mut times = String::from("number,timestamp\n");
    // In the order of their blocks.
    for (folder, block) in [
        ("subtraces", 1_000_000),
        ("create", 1_000_690),
        ("error", 1_000_895),
        ("suicide", 1_011_973),
    ] {
        let file = data(ETL)
            .join(format!("test_export_traces_job/block_with_{folder}/expected_traces.csv"));
        passed += count_traces(&rows(&file), &mut expected);
        let _ = writeln!(times, "{block},{}", 1_455_404_053 + block - 1_000_000);
        files.push(file);
    }
    // Without the times of blocks, the first row is refused with what to give along.
    let refused = ingest.run(&files[..1]).unwrap_err().to_string();
    assert!(refused.contains("expected_traces.csv, line 2: the time of the block"), "{refused}");
    assert!(refused.contains("blocks (number, timestamp)"), "{refused}");

    files.push(ingest.file("times.csv", times));
    let done = ingest.run(&files).unwrap();
    assert_sums(&ingest, &expected);
    assert_eq!(passed_over(&done), passed);
    assert_eq!(done.counts.left_out[&LeftOut::Failed], 1);
    assert_eq!(done.counts.left_out[&LeftOut::Delegate], 1);
    assert_eq!(count(&done, TransferKind::Create), 1);
    assert_eq!(count(&done, TransferKind::Reward), 4);

    let streamed = Ingest::new(ChainId::ETH);
    for block in ["508110", "2112234"] {
        let file = format!("test_stream/blocks_{block}_{block}/expected_traces.json");
        let file = data(ETL).join(file);
        let mut expected = Counted::new();
        let ingest = Ingest::new(ChainId::ETH);
        let _ = ingest.run(&[&file]).unwrap();
        count_traces(&objects(&file), &mut expected);
        assert_sums(&ingest, &expected);
        let _ = streamed.run(&[&file]).unwrap();
    }
    assert_eq!(streamed.transactions().len(), 3 + 2);
}

#[test]
fn exports_without_transactions_or_columns_are_refused_with_the_reason() {
    for folder in ["create", "error", "subtraces", "suicide"] {
        let file = data(ETL)
            .join(format!("test_extract_geth_traces_job/block_with_{folder}/expected_traces.csv"));
        let refused = Ingest::new(ChainId::ETH).run(&[file]).unwrap_err().to_string();
        assert!(refused.contains("line 2: the row names no transaction"), "{refused}");
        assert!(refused.contains("`trace_block`"), "{refused}");
    }
    let empty =
        data(ETL).join("test_export_traces_job/block_without_transactions/expected_traces.csv");
    let refused = Ingest::new(ChainId::ETH).run(&[empty]).unwrap_err().to_string();
    assert!(refused.contains("it is empty"), "{refused}");
}

#[test]
fn token_transfers_of_ethereum_etl_as_csv_add_up() {
    for (folder, with) in [
        (
            "test_export_token_transfers_job/block_with_transfers",
            "test_export_blocks_job/block_with_logs",
        ),
        ("test_extract_token_transfers_job/logs", ""),
    ] {
        let ingest = Ingest::new(ChainId::ETH);
        let transfers = data(ETL).join(folder).join("expected_token_transfers.csv");
        let times = if with.is_empty() {
            ingest.file("times.csv", "number,timestamp\n1452581,1462261990\n")
        } else {
            data(ETL).join(with).join("expected_blocks.csv")
        };
        let _ = ingest.run(&[&transfers, &times]).unwrap();
        let mut expected = Counted::new();
        for transfer in rows(&transfers) {
            add(&mut expected, &transfer["token_address"], number(&transfer["value"]));
        }
        assert_sums(&ingest, &expected);
    }
}

#[test]
fn traces_transactions_and_tokens_of_another_tracer_add_up() {
    let folder = data("evm/tokens-graph");
    let traces = folder.join("traces.csv");
    let tokens = folder.join("reference/USDT_token_transfers.json");
    let ingest = Ingest::new(ChainId::ETH);

    // The file of transactions ends with rows that its makers invented: they state other times for a block.
    let text = fs::read_to_string(folder.join("transactions.csv")).unwrap();
    let whole = ingest.file("whole.csv", &text);
    let refused = ingest.run(&[&whole, &tokens]).unwrap_err().to_string();
    assert!(
        refused.contains("whole.csv, line 328: block 15000004 has the time 2015-08-07T03:30:33Z"),
        "{refused}"
    );
    let real: Vec<_> = text.lines().take(327).collect();
    let transactions = ingest.file("transactions.csv", real.join("\n") + "\n");

    let (mut expected, mut passed) = (Counted::new(), 0);
    let all = rows(&traces);
    for trace in &all {
        let is_create = trace["traceId"].starts_with("create");
        let is_call = matches!(&*trace["callType"], "call" | "");
        let moves = is_create || (is_call && trace["value"] != "0");
        if moves && trace["status"] == "1" {
            add(&mut expected, "native", number(&trace["value"]));
        } else {
            passed += 1;
        }
    }
    let mut usdt = 0;
    for transfer in objects(&tokens) {
        usdt += 1;
        add(
            &mut expected,
            "0xdac17f958d2ee523a2206206994597c13d831ec7",
            number(&transfer["value"]),
        );
    }
    // The transactions state their times; blocks without transactions need theirs.
    let known: BTreeMap<u64, String> = rows(&transactions)
        .into_iter()
        .map(|it| (it["blockId"].parse().unwrap(), it["blockTimestamp"].clone()))
        .collect();
    let mut blocks: Vec<u64> = all.iter().map(|trace| trace["blockId"].parse().unwrap()).collect();
    blocks.dedup();
    let mut times = String::from("number,timestamp\n");
    for block in blocks.into_iter().filter(|block| !known.contains_key(block)) {
        let before = known.range(..block).next_back().map_or("0", |(_, time)| time);
        let _ = writeln!(times, "{block},{before}");
    }
    let times = ingest.file("times.csv", times);
    let done = ingest.run(&[&traces, &transactions, &tokens, &times]).unwrap();
    assert_sums(&ingest, &expected);
    assert_eq!(passed_over(&done), passed);
    assert_eq!(usdt, 143);
    assert_eq!(count(&done, TransferKind::Reward), 90 + 5);
    assert_eq!(count(&done, TransferKind::Create), 3);
}

#[test]
fn transactions_of_tron_add_up() {
    let file = data("tron/blocks-0-10000/transactions.json");
    let text = fs::read_to_string(&file).unwrap();
    let block = |line: &&str| {
        let object: Value = serde_json::from_str(line).unwrap();
        object["blockId"].as_u64().unwrap()
    };
    let ingest = Ingest::new(ChainId::TRX);
    // As it was exported, its blocks go backwards.
    let done = ingest.run(&[&file]).unwrap();
    assert_eq!(done.sorted, 1);
    let mut lines: Vec<_> = text.lines().collect();
    lines.sort_by_key(block);
    let sorted = Ingest::new(ChainId::TRX);
    let _ = sorted.ingest("sorted.json", lines.join("\n")).unwrap();
    assert_eq!(sorted.digest(), ingest.digest());

    let (mut expected, mut without_receiver, mut without_value) = (Counted::new(), 0, 0);
    let transactions = objects(&file);
    assert_eq!(transactions.len(), 2_172);
    for transaction in &transactions {
        assert_eq!(transaction["receiptStatus"], "1");
        match (&*transaction["value"], transaction.contains_key("toAddress")) {
            ("0", _) => without_value += 1,
            (_, false) => without_receiver += 1,
            (value, true) => add(&mut expected, "native", number(value)),
        }
    }
    assert_sums(&ingest, &expected);
    assert_eq!(done.counts.left_out[&LeftOut::WithoutReceiver], without_receiver);
    assert_eq!(done.counts.left_out[&LeftOut::WithoutValue], without_value);
    // Base64 of the file and base58 of the chain name the same account.
    let first = ingest.transactions().remove(0);
    let sender = first.initiator.unwrap().on(ChainId::TRX).unwrap();
    assert!(sender.as_str().starts_with('T'));
}
