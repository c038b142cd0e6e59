//! Blocks of real chains, compared with their hashes and with what another program made of them.

use std::{env, fs, path::PathBuf};

use assay_address::ChainId;
use assay_engine::account::AccountAddress;
use ruint::aliases::U256;
use serde_json::{Value, json};

use crate::evm::{
    EvmParams, GenesisAllocation,
    answer::{BlockAnswer, LogAnswer, ReceiptAnswer, TransactionAnswer, WithdrawalAnswer},
    events::Event,
    hex::{Account, Fixed, Quantity},
    rlp::keccak,
    trace::{CallKind, TransactionTrace, of_call_tracer, of_trace_block},
    verify,
};

fn data(path: &str) -> PathBuf {
    let data =
        env::var_os("ASSAY_TEST_DATA").expect("ASSAY_TEST_DATA names the folder of test data");
    PathBuf::from(data).join("chains/evm").join(path)
}

fn text(path: &str) -> String {
    fs::read_to_string(data(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The result of a recorded answer.
fn recorded(path: &str) -> Value {
    let answer: Value = serde_json::from_str(&text(path)).unwrap();
    answer["result"].clone()
}

/// The result of a documented exchange: the line of the answer.
pub(in crate::evm) fn documented(path: &str) -> Value {
    let text = text(&format!("execution-apis/{path}"));
    let answer = text.lines().find_map(|line| line.strip_prefix("<< ")).unwrap();
    let answer: Value = serde_json::from_str(answer).unwrap();
    answer["result"].clone()
}

const FULL_BLOCKS: [&str; 6] = [
    "test_export_blocks_job/block_with_logs/web3_response.eth_getBlockByNumber_0x76250_true.json",
    "test_export_blocks_job/block_without_transactions/web3_response.eth_getBlockByNumber_0x0_true.json",
    "test_export_blocks_job/blocks_with_transactions/web3_response.eth_getBlockByNumber_0xb872_true.json",
    "test_export_blocks_job/blocks_with_transactions/web3_response.eth_getBlockByNumber_0xb873_true.json",
    "test_stream/blocks_1755634_1755635/web3_response.eth_getBlockByNumber_0x1ac9f2_true.json",
    "test_stream/blocks_1755634_1755635/web3_response.eth_getBlockByNumber_0x1ac9f3_true.json",
];

/// Every block of the test data with its transactions.
fn full_blocks() -> Vec<Value> {
    let mut blocks: Vec<_> =
        FULL_BLOCKS.iter().map(|path| recorded(&format!("ethereum-etl/{path}"))).collect();
    for tag in ["latest", "safe", "finalized"] {
        blocks.push(documented(&format!("eth_getBlockByNumber/get-{tag}.io")));
    }
    blocks
}

/// Given every recorded block with its transactions, then its header has its hash, and its transactions their hashes, their
/// senders and the header's root. Changed in any of them, it is refused.
#[test]
#[ignore = "needs test data"]
fn blocks_have_the_hashes_of_their_parts() {
    let params = EvmParams::of(ChainId::ETH).unwrap();
    let check = |block: &Value| {
        let json = block.to_string();
        let read: BlockAnswer<TransactionAnswer> = serde_json::from_str(&json).unwrap();
        verify::check_block(&params, &read, &json)
    };
    let (mut blocks, mut transactions) = (0, 0);
    for block in full_blocks() {
        let senders =
            check(&block).unwrap_or_else(|reason| panic!("{}: {reason}", block["number"]));
        blocks += 1;
        transactions += senders.len();
        let refused = |change: &dyn Fn(&mut Value), words: &str| {
            let mut changed = block.clone();
            change(&mut changed);
            let said = check(&changed).unwrap_err();
            assert!(said.contains(words), "{said} does not say `{words}`");
        };
        refused(&|it| it["gasUsed"] = json!("0x1234567"), "its header has the hash");
        refused(
            &|it| {
                it["parentHash"] = it["stateRoot"].clone();
                it["futureRoot"] = it["stateRoot"].clone();
            },
            "fields that are not known (futureRoot), which a newer version",
        );
        if senders.is_empty() {
            continue;
        }
        refused(
            &|it| it["transactions"][0]["value"] = json!("0x123456"),
            "its fields have the hash",
        );
        refused(
            &|it| it["transactions"][0]["from"] = json!(format!("0x{}", "1".repeat(40))),
            "it was signed by",
        );
        refused(&|it| it["transactions"][0]["type"] = json!("0x66"), "its type 0x66 is not known");
        refused(
            &|it| {
                it["transactions"].as_array_mut().unwrap().pop();
            },
            "its transactions have the root",
        );
    }
    assert_eq!((blocks, transactions > 20), (9, true));
}

/// Given headers of every upgrade, then each has its hash.
#[test]
#[ignore = "needs test data"]
fn headers_of_every_upgrade_have_their_hashes() {
    for name in
        ["genesis", "london-fork", "merge-fork", "shanghai-fork", "cancun-fork", "prague-fork"]
    {
        let file = if name == "genesis" {
            "get-genesis.io".to_owned()
        } else {
            format!("get-block-{name}.io")
        };
        let block = documented(&format!("eth_getBlockByNumber/{file}"));
        let header: BlockAnswer<serde::de::IgnoredAny> = serde_json::from_value(block).unwrap();
        assert_eq!(header.header_hash(), header.hash.0, "{name}");
    }
}

/// Given transactions of every type, then each has its hash and its sender.
#[test]
#[ignore = "needs test data"]
fn transactions_of_every_type_have_their_hash_and_sender() {
    let names = [
        ("legacy-tx", 0),
        ("legacy-create", 0),
        ("legacy-input", 0),
        ("access-list", 1),
        ("dynamic-fee", 2),
        ("blob-tx", 3),
        ("setcode-tx", 4),
    ];
    for (name, kind) in names {
        let transaction = documented(&format!("eth_getTransactionByHash/get-{name}.io"));
        let transaction: TransactionAnswer = serde_json::from_value(transaction).unwrap();
        let envelope = transaction.envelope().unwrap().unwrap();
        assert_eq!(transaction.kind(), kind, "{name}");
        assert_eq!(keccak(&envelope.encoded), transaction.hash.0, "{name}");
        assert_eq!(envelope.sender, transaction.from.0, "{name}");
    }
}

/// Given the receipts of a block of a test chain, then they have the root of its header; with a log added or changed, or
/// another status, they have not.
#[test]
#[ignore = "needs test data"]
fn receipts_have_the_root_of_their_block() {
    let params = EvmParams::of(ChainId::ETH).unwrap();
    let block = documented("eth_getBlockByNumber/get-latest.io");
    let block: BlockAnswer<TransactionAnswer> = serde_json::from_value(block).unwrap();
    let receipts = documented("eth_getBlockReceipts/get-block-receipts-latest.io");
    let check = |receipts: &Value| {
        let receipts: Vec<ReceiptAnswer> = serde_json::from_value(receipts.clone()).unwrap();
        verify::check_receipts(&params, &block, &receipts)
    };
    assert_eq!(check(&receipts), Ok(()));
    let with_log = (0..4).find(|index| !receipts[index]["logs"].as_array().unwrap().is_empty());
    let with_log = with_log.expect("a receipt with a log");
    let refused = |change: &dyn Fn(&mut Value), words: &str| {
        let mut changed = receipts.clone();
        change(&mut changed);
        let said = check(&changed).unwrap_err();
        assert!(said.contains(words), "{said} does not say `{words}`");
    };
    refused(&|it| it[0]["status"] = json!("0x0"), "its receipts have the root");
    refused(&|it| it[0]["gasUsed"] = json!("0x1"), "of gas");
    refused(&|it| it[with_log]["logs"][0]["data"] = json!("0x12"), "its receipts have the root");
    refused(
        &|it| {
            let logs = it[3]["logs"].as_array_mut().unwrap();
            let log = json!({
                "address": format!("0x{}", "1".repeat(40)), "topics": [], "data": "0x",
                "logIndex": "0x0", "transactionHash": receipts[3]["transactionHash"],
                "blockHash": receipts[3]["blockHash"],
            });
            logs.push(log);
        },
        "stands where log",
    );
}

/// Objects of JSON lines.
fn lines(path: &str) -> Vec<Value> {
    let text = text(path);
    text.lines()
        .filter(|line| !line.is_empty())
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

const LARGE: &str = "ethereum-etl/test_stream/blocks_17173049_17173050";

fn fixed<const N: usize>(value: &Value) -> Fixed<N> {
    serde_json::from_value(value.clone()).unwrap()
}

/// The logs of an exported file.
fn exported_logs(rows: &[Value]) -> Vec<LogAnswer> {
    let of = |row: &Value| LogAnswer {
        address: serde_json::from_value(row["address"].clone()).unwrap(),
        topics: serde_json::from_value(row["topics"].clone()).unwrap(),
        data: serde_json::from_value(row["data"].clone()).unwrap(),
        log_index: Quantity(row["log_index"].as_u64().unwrap()),
        transaction_hash: fixed(&row["transaction_hash"]),
        block_hash: fixed(&row["block_hash"]),
        removed: false,
    };
    rows.iter().map(of).collect()
}

/// Given two blocks of 17 million with their logs and withdrawals as another program exported them, then these have the roots
/// of the headers.
#[test]
#[ignore = "needs test data"]
fn receipts_and_withdrawals_of_exported_blocks_have_their_roots() {
    let root = |encoded: &[Vec<u8>]| alloy_trie::root::ordered_trie_root_encoded(encoded).0;
    let logs = exported_logs(&lines(&format!("{LARGE}/expected_logs.json")));
    let transactions = lines(&format!("{LARGE}/expected_transactions.json"));
    let blocks = lines(&format!("{LARGE}/expected_blocks.json"));
    assert_eq!(blocks.len(), 2);
    for block in blocks {
        let of_block = transactions.iter().filter(|row| row["block_hash"] == block["hash"]);
        let number = |value: &Value| Quantity(value.as_u64().unwrap());
        let receipt = |row: &Value| {
            let hash = fixed(&row["hash"]);
            let logs = logs.iter().filter(|log| log.transaction_hash == hash);
            let receipt = ReceiptAnswer {
                transaction_hash: hash,
                transaction_index: number(&row["transaction_index"]),
                block_hash: fixed(&row["block_hash"]),
                kind: Some(number(&row["transaction_type"])),
                status: Some(number(&row["receipt_status"])),
                root: None,
                cumulative_gas_used: number(&row["receipt_cumulative_gas_used"]),
                gas_used: number(&row["receipt_gas_used"]),
                effective_gas_price: None,
                logs: logs.cloned().collect(),
                blob_gas_used: None,
                blob_gas_price: None,
                deposit_nonce: None,
                deposit_receipt_version: None,
                l1_fee: None,
            };
            receipt.encoded().unwrap()
        };
        let receipts: Vec<_> = of_block.map(receipt).collect();
        assert_eq!(root(&receipts), fixed::<32>(&block["receipts_root"]).0, "{}", block["number"]);
        let withdrawals = block["withdrawals"].as_array().unwrap().iter().map(|it| {
            let withdrawal = WithdrawalAnswer {
                index: number(&it["index"]),
                validator_index: number(&it["validator_index"]),
                address: serde_json::from_value(it["address"].clone()).unwrap(),
                amount: number(&it["amount"]),
            };
            withdrawal.encoded()
        });
        let withdrawals: Vec<_> = withdrawals.collect();
        assert_eq!(root(&withdrawals), fixed::<32>(&block["withdrawals_root"]).0);
    }
}

/// Given a block whose header commits to uncles that the node does not name, then it is refused: their producers would get
/// nothing.
#[test]
#[ignore = "needs test data"]
fn uncles_are_not_left_out() {
    let params = EvmParams::of(ChainId::ETH).unwrap();
    let check = |uncles: &str| {
        let mut block = recorded(&format!("ethereum-etl/{}", FULL_BLOCKS[0]));
        block["sha3Uncles"] = json!(uncles);
        let block: BlockAnswer<TransactionAnswer> = serde_json::from_value(block).unwrap();
        verify::check_uncles::<_, serde::de::IgnoredAny>(&params, &block, &[])
    };
    let none = "0x1dcc4de8dec75d7aab85b567b6ccd41ad312451b948a7413f0a142fd40d49347";
    assert_eq!(check(none), Ok(()));
    assert!(check(&none.replace('1', "2")).unwrap_err().contains("its uncles have the hash"));
}

type Moved = (AccountAddress, AccountAddress, U256);

/// Given logs of real blocks, then the transfers of tokens are those that another program exported, without the tokens that
/// are not interchangeable, whose number that program takes for an amount, and with what wrapped coins log otherwise.
#[test]
#[ignore = "needs test data"]
fn token_transfers_are_those_of_another_program() {
    let logs = exported_logs(&lines(&format!("{LARGE}/expected_logs.json")));
    let expected = lines(&format!("{LARGE}/expected_token_transfers.json"));
    let (mut of_tokens, mut of_wrapped, mut not_interchangeable) = (0, 0, 0);
    for log in &logs {
        let index = log.log_index.0;
        let is_its_own = |row: &&Value| {
            row["log_index"].as_u64() == Some(index)
                && fixed::<32>(&row["block_hash"]) == log.block_hash
        };
        let expected = expected.iter().find(is_its_own);
        let read = Event::read(ChainId::ETH, log);
        match (read, expected) {
            (Some(Event::Transfer { from, to, amount }), Some(row)) => {
                let account = |field: &str| {
                    let Account(account) = serde_json::from_value(row[field].clone()).unwrap();
                    account
                };
                assert_eq!((from, to), (account("from_address"), account("to_address")));
                // Amounts above 64 bits are numbers of JSON, which lose digits here.
                let stated = row["value"].to_string();
                let float = |text: &str| text.parse::<f64>().unwrap();
                let (ours, stated) = (float(&amount.to_string()), float(&stated));
                assert!((ours - stated).abs() <= stated * 1e-15, "{ours} {stated}");
                of_tokens += 1;
            }
            (None, Some(_)) => {
                assert_eq!(log.topics.len(), 4, "log {index}");
                not_interchangeable += 1;
            }
            (Some(Event::Changed { .. }), None) => of_wrapped += 1,
            (Some(other), None) => panic!("log {index}: {other:?}"),
            (Some(other), Some(row)) => panic!("log {index}: {other:?}, {row}"),
            (None, None) => {}
        }
    }
    assert_eq!(of_tokens + not_interchangeable, expected.len());
    assert!(of_tokens > 200 && of_wrapped > 20, "{of_tokens} {of_wrapped} {not_interchangeable}");
}

/// Transfers of successful calls, as exported traces state them.
fn expected_moves(path: &str) -> Vec<Moved> {
    let mut reader = csv::Reader::from_path(data(path)).unwrap();
    let mut moves = Vec::new();
    for row in reader.deserialize() {
        let row: std::collections::HashMap<String, String> = row.unwrap();
        let is_moved = row["status"] != "0"
            && row["trace_type"] != "reward"
            && matches!(&*row["call_type"], "" | "call");
        let account = |field: &str| {
            let Account(account) = serde_json::from_value(json!(row[field])).unwrap();
            account
        };
        let amount: U256 = row["value"].parse().unwrap_or_default();
        if is_moved && !amount.is_zero() {
            moves.push((account("from_address"), account("to_address"), amount));
        }
    }
    moves
}

fn moves(traces: &[TransactionTrace]) -> Vec<Moved> {
    let calls = traces.iter().flat_map(|trace| &trace.calls);
    let moved = calls.filter(|call| {
        !call.is_failed && !matches!(call.kind, CallKind::Delegate | CallKind::Static)
    });
    let moved = moved.filter_map(|call| Some((call.from, call.to?, call.amount)));
    moved.filter(|(_, _, amount)| !amount.is_zero()).collect()
}

/// Given traces of real blocks in both forms, then they move what another program exported.
#[test]
#[ignore = "needs test data"]
fn traces_move_what_another_program_exported() {
    let blocks = [
        ("block_with_create", 0xf_44f2),
        ("block_with_error", 0xf_45bf),
        ("block_with_subtraces", 0xf_4240),
        ("block_with_suicide", 0xf_7105),
    ];
    let mut moved = 0;
    for (name, height) in blocks {
        let flat = format!("ethereum-etl/test_export_traces_job/{name}");
        let expected = expected_moves(&format!("{flat}/expected_traces.csv"));
        let answer = recorded(&format!("{flat}/web3_response.trace_block_0x{height:x}.json"));
        let traces = of_trace_block(&answer.to_string()).unwrap();
        assert_eq!(moves(&traces), expected, "{name}");
        moved += expected.len();
        let nested = format!("ethereum-etl/test_extract_geth_traces_job/{name}");
        let file = format!(
            "{nested}/web3_response.debug_traceBlockByNumber_0x{height:x}_tracer_calltracer.json"
        );
        let answer = recorded(&file);
        let read = of_call_tracer(&answer.to_string());
        if name == "block_with_suicide" {
            // The node's version left out what the contract paid.
            assert!(read.unwrap_err().contains("has no `from`: the node may need an update"));
            continue;
        }
        // The exported rows of this form do not say which calls failed: those of the other form do.
        assert_eq!(moves(&read.unwrap()), expected, "{name}");
    }
    for (height, folder) in
        [(2_112_234, "blocks_2112234_2112234"), (508_110, "blocks_508110_508110")]
    {
        let folder = format!("ethereum-etl/test_stream/{folder}");
        let answer = recorded(&format!("{folder}/web3_response.trace_block_0x{height:x}.json"));
        let traces = of_trace_block(&answer.to_string()).unwrap();
        let rows = lines(&format!("{folder}/expected_traces.json"));
        let rows = rows.iter().filter(|row| {
            row["status"] == json!(1)
                && row["trace_type"] != json!("reward")
                && matches!(row["call_type"].as_str(), None | Some("call"))
                && row["value"] != json!(0)
                && !row["value"].is_null()
        });
        let expected: Vec<_> = rows
            .map(|row| {
                let account = |field: &str| {
                    let Account(account) = serde_json::from_value(row[field].clone()).unwrap();
                    account
                };
                (account("from_address"), account("to_address"), row["value"].to_string())
            })
            .collect();
        let found: Vec<_> = moves(&traces)
            .into_iter()
            .map(|(from, to, amount)| (from, to, amount.to_string()))
            .collect();
        assert_eq!(found, expected, "{height}");
        moved += found.len();
    }
    assert!(moved > 5, "{moved}");
}

/// Given the genesis file of a test chain, then its accounts have the state of the first block; with another balance they
/// have not.
#[test]
#[ignore = "needs test data"]
fn the_coins_of_the_first_block_have_its_state() {
    let file = text("execution-apis/genesis.json");
    let block = documented("eth_getBlockByNumber/get-genesis.io");
    let Fixed(root) = fixed::<32>(&block["stateRoot"]);
    let allocation = GenesisAllocation::parse(&file).unwrap();
    assert_eq!(allocation.check(&root), Ok(()));
    let more = file.replacen("\"0x2a\"", "\"43\"", 1);
    let said = GenesisAllocation::parse(&more).unwrap().check(&root).unwrap_err();
    assert!(said.contains("its state has the root 0x"), "{said}");
    for (text, words) in [
        ("{}", "missing field `alloc`"),
        (r#"{"alloc":{"0x12":{}}}"#, "account 0x12 has no valid address"),
        (r#"{"alloc":{"00000961ef480eb55e80d19ad83579a64c007002":{"balance":"x"}}}"#, "balance"),
    ] {
        let said = GenesisAllocation::parse(text).unwrap_err().to_string();
        assert!(said.contains(words), "{said}");
    }
}
