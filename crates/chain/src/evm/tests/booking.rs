//! Transfers of a block, by what moves money.

use alloy_primitives::hex;
use assay_address::ChainId;
use assay_engine::account::{AccountTransaction, FreezeChange, PublishedPlace, TransferKind};
use serde_json::{Value, json};

use super::build::{
    EMPTY_ROOT, NodeBlock, PRODUCER, account, address, hash, lines, log, quantity, transfer, word,
};
use crate::{Tracer, evm::rlp::keccak};

const TOKEN: &str = "0x00000000000000000000000000000000000000aa";
const USDT: &str = "0xdac17f958d2ee523a2206206994597c13d831ec7";
const USDC: &str = "0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48";
const WETH: &str = "0xc02aaa39b223fe8d0a0e5c4f27ead9083c756cc2";
const PYUSD: &str = "0x6c3ea9036406852006290770bedfcaba0e23a0e8";
const USDT_ON_POLYGON: &str = "0xc2132d05d31c914a87c6611c10748aeb04b58e8f";
const ENTRY_POINT: &str = "0x0000000071727de22e5e9d8baf0edac6f37da032";

const DEPOSIT: &str = "0xe1fffcc4923d04b559f4d29a8bfc6cda04eb5b0d3c460751c2402c5c5cc9109c";
const WITHDRAWAL: &str = "0x7fcf532c15f0a6db0bd6d0e038bea71d30d808c7d98cb3bf7268a95bf5081b65";
const ISSUE: &str = "0xcb8241adb0c3fdb35b70c24ce35c5eb0c17af7431c99f827d44a445ca624176a";
const REDEEM: &str = "0x702d5967f45f6513a38ffc42d6ba9bf230bd40e8f53b16363c7eb4fd2deb9a44";
const DESTROYED: &str = "0x61e6e66b0d6339b2980aecc6ccc0039736791f0ccde9ed512e789a7fbdd698c6";
const ADDED: &str = "0x42e160154868087d6bfdc0ca23d96a1c1cfa32f1b72ba9ba27b69b98a0d819dc";
const REMOVED: &str = "0xd7e9ec6e6ecd65492dce6bf513cd6867560d49544421d0783ddf06e76c24470c";
const BLACKLISTED: &str = "0xffa4e6181777692565cf28528fc88fd1516ea86b56da075235fa575af6a4b855";
const USER_OPERATION: &str = "0x49628fd1471006c1482da88028e9ce4dbb080b815c9b0344d39e5a8e6ec1419f";

fn frame(kind: &str, from: u64, to: u64, value: u64, calls: &[Value]) -> Value {
    json!({ "type": kind, "from": account(from), "to": account(to), "value": quantity(value), "calls": calls })
}

fn failed(mut frame: Value) -> Value {
    frame["error"] = json!("execution reverted");
    frame
}

fn topic(text: &str) -> String {
    text.to_owned()
}

/// Given calls of every kind, then those move coins that transfer value in the account that they are of.
#[test]
fn calls_move_coins_by_their_kind() {
    let calls = frame(
        "CALL",
        1,
        2,
        100,
        &[
            frame("DELEGATECALL", 2, 3, 100, &[frame("CALL", 2, 4, 10, &[])]),
            frame("STATICCALL", 2, 5, 0, &[]),
            frame("CALLCODE", 2, 6, 7, &[]),
            failed(frame("CALL", 2, 7, 20, &[frame("CALL", 7, 8, 20, &[])])),
            frame("CREATE", 2, 9, 0, &[]),
            frame("CREATE2", 2, 10, 5, &[]),
            frame("CALL", 2, 11, 0, &[]),
            frame("SELFDESTRUCT", 2, 12, 55, &[]),
        ],
    );
    let node_block = NodeBlock::new(ChainId::ETH).transaction(1, Some(2), 100, &[]).traced(&calls);
    let expected = [
        "transfer native 1 -> 2: 100",
        "transfer native 2 -> 4: 10",
        "create native 2 -> 9: 0",
        "create native 2 -> a: 5",
        "transfer native 2 -> c: 55",
    ];
    assert_eq!(node_block.lines(), expected);
    let block = node_block.read().unwrap();
    let places = block.transactions[0].transfers.iter().map(|it| it.place.published.clone());
    let paths = ["", "0,0", "4", "5", "7"].map(|path| Some(PublishedPlace::Trace(path.into())));
    assert_eq!(places.collect::<Vec<_>>(), paths);
}

/// Given a contract that leaves its coins to itself, then they are destroyed until Cancun, then only where the transaction
/// created it, and since Amsterdam never.
#[test]
fn a_contract_that_leaves_its_coins_to_itself_destroys_them_by_the_rules_of_the_block() {
    let of_old = frame("CALL", 1, 2, 0, &[frame("SELFDESTRUCT", 2, 2, 9, &[])]);
    let of_new =
        frame("CALL", 1, 2, 0, &[frame("CREATE", 2, 3, 9, &[frame("SELFDESTRUCT", 3, 3, 9, &[])])]);
    let lines = |fields: &[&str], calls: &Value| {
        let mut node_block =
            NodeBlock::new(ChainId::ETH).transaction(1, Some(2), 0, &[]).traced(calls);
        for field in fields {
            node_block.block[*field] = json!(hash(1));
        }
        node_block.lines()
    };
    let (cancun, amsterdam) = ("parentBeaconBlockRoot", "blockAccessListHash");
    assert_eq!(lines(&[], &of_old), ["burn native 2 -> 0: 9"]);
    assert!(lines(&[cancun], &of_old).is_empty());
    let created = ["create native 2 -> 3: 9", "burn native 3 -> 0: 9"];
    assert_eq!(lines(&[cancun], &of_new), created);
    assert_eq!(lines(&[cancun, amsterdam], &of_new), created[..1]);
}

/// Given a node without a tracer, then the value of a transaction counts if it succeeded.
#[test]
fn without_traces_the_value_of_transactions_counts() {
    let mut node_block = NodeBlock::new(ChainId::ETH)
        .transaction(1, Some(2), 5, &[])
        .transaction(1, Some(2), 6, &[])
        .transaction(1, None, 0, &[]);
    node_block.receipts[1]["status"] = json!("0x0");
    let read = node_block.lines();
    assert_eq!(read[0], "transfer native 1 -> 2: 5");
    assert!(read[1].starts_with("create native 1 -> ") && read.len() == 2, "{read:?}");
    // Before Byzantium only a trace says whether a transaction failed.
    node_block.receipts[0]["status"] = Value::Null;
    node_block.receipts[0]["root"] = json!(hash(1));
    let said = node_block.read().unwrap_err();
    assert!(said.contains("before Byzantium") && said.contains("tracer"), "{said}");
}

/// Given a failed transaction, then it pays its fee only: the base fee and blobs are destroyed, the rest is the producer's.
#[test]
fn failed_transactions_pay_fees_only() {
    let calls = failed(frame("CALL", 1, 2, 100, &[frame("CALL", 2, 3, 50, &[])]));
    let mut node_block =
        NodeBlock::new(ChainId::ETH).transaction(1, Some(2), 100, &[]).traced(&calls);
    node_block.block["baseFeePerGas"] = json!("0x7");
    let transaction = &mut node_block.block["transactions"][0];
    transaction["type"] = json!("0x3");
    transaction["maxFeePerGas"] = json!("0x14");
    transaction["maxPriorityFeePerGas"] = json!("0x3");
    transaction["maxFeePerBlobGas"] = json!("0x2");
    transaction["blobVersionedHashes"] = json!([hash(1), hash(2)]);
    let receipt = &mut node_block.receipts[0];
    receipt["status"] = json!("0x0");
    receipt["effectiveGasPrice"] = json!("0xa");
    receipt["blobGasPrice"] = json!("0x1");
    receipt["blobGasUsed"] = json!("0x40000");
    let expected = [
        format!("fee native 1 -> 0: {}", 21_000 * 7 + 2 * 131_072),
        format!("fee native 1 -> {PRODUCER:x}: {}", 21_000 * 3),
    ];
    assert_eq!(node_block.lines(), expected);
    node_block.receipts[0]["blobGasPrice"] = json!("0x3");
    assert!(node_block.read().unwrap_err().contains("above its limit of 2"));
}

/// Given logs with the topic of transfers, then only those of interchangeable tokens are transfers.
#[test]
fn logs_are_transfers_by_their_form() {
    let words = |numbers: &[u64]| numbers.iter().map(|number| word(*number)).collect::<Vec<_>>();
    let with_topics = |contract: &str, indexed: &[u64], data: &[u64]| {
        let topics = [vec![topic(super::build::TRANSFER)], words(indexed)].concat();
        log(contract, &topics, &words(data))
    };
    let mut dirty = transfer(TOKEN, 1, 2, 3);
    dirty["topics"][1] = json!(format!("0x{}", "1".repeat(64)));
    let node_block = NodeBlock::new(ChainId::ETH).transaction(
        1,
        Some(2),
        0,
        &[
            transfer(TOKEN, 1, 2, 5),
            // Zero: it moves nothing, and poisoning is found by it.
            transfer(TOKEN, 1, 2, 0),
            transfer(TOKEN, 0, 2, 6),
            transfer(TOKEN, 2, 0, 7),
            // The same twice is two transfers.
            transfer(TOKEN, 1, 2, 5),
            // A token that is not interchangeable.
            with_topics(TOKEN, &[1, 2, 3], &[]),
            // Arguments that are not indexed, of anybody and of a listed token.
            with_topics(TOKEN, &[], &[1, 2, 8]),
            with_topics(TOKEN, &[1], &[2, 8]),
            with_topics(USDC, &[], &[1, 2, 8]),
            with_topics(USDC, &[1], &[2, 9]),
            // The chain's own account, which logs its coin so (EIP-7708).
            transfer("0xfffffffffffffffffffffffffffffffffffffffe", 1, 2, 10),
            dirty,
        ],
    );
    let usdc = &USDC[2..];
    let expected = [
        "transfer aa 1 -> 2: 5".to_owned(),
        "transfer aa 1 -> 2: 0".to_owned(),
        "mint aa 0 -> 2: 6".to_owned(),
        "burn aa 2 -> 0: 7".to_owned(),
        "transfer aa 1 -> 2: 5".to_owned(),
        format!("transfer {usdc} 1 -> 2: 8"),
        format!("transfer {usdc} 1 -> 2: 9"),
    ];
    assert_eq!(node_block.lines(), expected);
    let block = node_block.read().unwrap();
    let last = block.transactions[0].transfers.last().unwrap();
    assert_eq!((last.place.index, &last.place.published), (6, &Some(PublishedPlace::Log(9))));
}

/// Given a wrapped coin, then its deposits are new units and its withdrawals destroyed ones, once each. A contract that is
/// not listed says nothing by such events.
#[test]
fn wrapped_coins_are_made_and_destroyed() {
    let of = |contract: &str, event: &str, account: u64, amount: u64| {
        log(contract, &[topic(event), word(account)], &[word(amount)])
    };
    let node_block = NodeBlock::new(ChainId::ETH).transaction(
        1,
        Some(2),
        0,
        &[
            of(WETH, DEPOSIT, 1, 5),
            of(WETH, WITHDRAWAL, 1, 3),
            of(TOKEN, DEPOSIT, 1, 7),
            // One that logs a transfer too, before or after.
            transfer(WETH, 0, 4, 9),
            of(WETH, DEPOSIT, 4, 9),
            of(WETH, DEPOSIT, 4, 9),
        ],
    );
    let weth = &WETH[2..];
    let expected = [
        format!("mint {weth} 0 -> 1: 5"),
        format!("burn {weth} 1 -> 0: 3"),
        format!("mint {weth} 0 -> 4: 9"),
        format!("mint {weth} 0 -> 4: 9"),
    ];
    assert_eq!(node_block.lines(), expected);
}

/// Given Tether's issues and redemptions, which name no account, then they are the caller's, whom the trace tells. Funds that
/// it destroys leave the account that the event names.
#[test]
fn tether_is_issued_redeemed_and_destroyed() {
    let through_wallet = |calls: &[Value]| {
        let mut frame = frame("CALL", 1, 2, 0, calls);
        frame["calls"][0]["to"] = json!(USDT);
        frame
    };
    let logs = [
        log(USDT, &[topic(ISSUE)], &[word(100)]),
        log(USDT, &[topic(REDEEM)], &[word(30)]),
        log(USDT, &[topic(DESTROYED)], &[word(8), word(70)]),
        log(TOKEN, &[topic(ISSUE)], &[word(1)]),
        log(USDC, &[topic(ISSUE)], &[word(1)]),
    ];
    let usdt = &USDT[2..];
    let expected = [
        format!("mint {usdt} 0 -> 2: 100"),
        format!("burn {usdt} 2 -> 0: 30"),
        format!("burn {usdt} 8 -> 0: 70"),
    ];
    // A wallet of several keys (2) is called, and calls the token.
    let node_block = NodeBlock::new(ChainId::ETH).transaction(1, Some(2), 0, &logs);
    assert_eq!(node_block.lines(), expected);
    let traced = node_block.traced(&through_wallet(&[frame("CALL", 2, 0, 0, &[])]));
    assert_eq!(traced.lines(), expected);
}

/// Given freezes and their ends in the forms of several issuers, then their transaction has them. Those of other tokens are
/// none.
#[test]
fn freezes_of_issuers_are_read() {
    let [placed, released] = ["BlockPlaced(address)", "BlockReleased(address)"].map(signature);
    let frozen = signature("AddressFrozen(address)");
    let of = |chain, logs: &[Value]| {
        let block = NodeBlock::new(chain).transaction(1, Some(2), 0, logs).read().unwrap();
        assert_eq!(block.transactions.len(), 1);
        assert!(block.transactions[0].transfers.is_empty());
        let freezes = block.transactions[0].freezes.iter();
        freezes.map(|it| (it.account, it.change, it.log)).collect::<Vec<_>>()
    };
    let on_ethereum = of(
        ChainId::ETH,
        &[
            log(USDT, &[topic(ADDED)], &[word(5)]),
            log(USDC, &[topic(BLACKLISTED), word(6)], &[]),
            log(TOKEN, &[topic(ADDED)], &[word(7)]),
            log(USDT, &[topic(REMOVED)], &[word(5)]),
            log(PYUSD, &[frozen.clone(), word(8)], &[]),
            // Not a stablecoin, and not one account.
            log(WETH, &[frozen.clone(), word(9)], &[]),
            log(PYUSD, &[frozen, word(8)], &[word(9)]),
        ],
    );
    let expected = [
        (address(5), FreezeChange::Frozen, 0),
        (address(6), FreezeChange::Frozen, 1),
        (address(5), FreezeChange::Lifted, 3),
        (address(8), FreezeChange::Frozen, 4),
    ];
    assert_eq!(on_ethereum, expected);
    let on_polygon = of(
        "polygon".parse().unwrap(),
        &[
            log(USDT_ON_POLYGON, &[placed, word(5)], &[]),
            log(USDT_ON_POLYGON, &[released, word(5)], &[]),
        ],
    );
    let expected = [(address(5), FreezeChange::Frozen, 0), (address(5), FreezeChange::Lifted, 1)];
    assert_eq!(on_polygon, expected);
}

/// Given destroyed funds of a token that logs their transfer too, then they are booked once, and the account is frozen.
#[test]
fn destroyed_funds_are_of_frozen_accounts() {
    let destroyed = signature("DestroyedBlockedFunds(address,uint256)");
    let logs = [
        transfer(USDT_ON_POLYGON, 5, 0, 70),
        log(USDT_ON_POLYGON, &[destroyed, word(5)], &[word(70)]),
    ];
    let polygon = "polygon".parse().unwrap();
    let node_block = NodeBlock::new(polygon).transaction(1, Some(2), 0, &logs);
    let token = USDT_ON_POLYGON.trim_start_matches("0x");
    assert_eq!(node_block.lines(), [format!("burn {token} 5 -> 0: 70")]);
    let freezes = &node_block.read().unwrap().transactions[0].freezes;
    let changes: Vec<_> = freezes.iter().map(|it| (it.account, it.change)).collect();
    assert_eq!(changes, [(address(5), FreezeChange::Destroyed)]);
}

/// The topic of an event.
fn signature(of: &str) -> String {
    format!("0x{}", hex::encode(keccak(of)))
}

/// Given positions of logs among calls, then transfers stand in the order in which they happened. Without them, tokens stand
/// behind the calls.
#[test]
fn positions_of_logs_order_transfers() {
    let logs = [transfer(TOKEN, 1, 2, 1), transfer(TOKEN, 2, 3, 2), transfer(TOKEN, 3, 4, 3)];
    let placed = |log: &Value, position: u64| {
        let mut log = log.clone();
        log["position"] = json!(quantity(position));
        log
    };
    let mut inner = frame("CALL", 2, 3, 20, &[frame("CALL", 3, 4, 30, &[])]);
    inner["logs"] = json!([placed(&logs[1], 0)]);
    let mut calls = frame("CALL", 1, 2, 10, &[inner]);
    calls["logs"] = json!([placed(&logs[0], 0), placed(&logs[2], 1)]);
    let node_block = NodeBlock::new(ChainId::ETH).transaction(1, Some(2), 10, &logs).traced(&calls);
    let expected = [
        "transfer native 1 -> 2: 10",
        "transfer aa 1 -> 2: 1",
        "transfer native 2 -> 3: 20",
        "transfer aa 2 -> 3: 2",
        "transfer native 3 -> 4: 30",
        "transfer aa 3 -> 4: 3",
    ];
    assert_eq!(node_block.lines(), expected);
    // Logs that are not those of the receipt place nothing.
    calls["logs"][0]["data"] = json!(word(9));
    let mut apart = node_block.lines();
    apart.sort_by_key(|line| line.contains("aa"));
    assert_eq!(node_block.traced(&calls).lines(), apart);
}

/// Given a bundle, then it was sent for the account that the entry point names, and for nobody if it names several.
#[test]
fn a_bundle_is_sent_for_the_account_that_the_entry_point_names() {
    let operation = |contract: &str, sender: u64| {
        let data: Vec<_> = (0..4).map(word).collect();
        log(contract, &[topic(USER_OPERATION), hash(77), word(sender), word(0)], &data)
    };
    let initiator = |events: &[Value]| {
        let logs = [&[transfer(TOKEN, 5, 6, 1)], events].concat();
        let node_block = NodeBlock::new(ChainId::ETH).transaction(1, Some(2), 0, &logs);
        node_block.read().unwrap().transactions[0].initiator
    };
    assert_eq!(initiator(&[]), Some(address(1)));
    assert_eq!(
        initiator(&[operation(ENTRY_POINT, 5), operation(ENTRY_POINT, 5)]),
        Some(address(5))
    );
    assert_eq!(initiator(&[operation(ENTRY_POINT, 5), operation(ENTRY_POINT, 6)]), None);
    assert_eq!(initiator(&[operation(TOKEN, 5)]), Some(address(1)));
}

/// Given a signer who pays himself beside a bundle, then he sent the transaction, so that nobody else answers for it. Any contract
/// may log that he paid a token of its own.
#[test]
fn a_signer_who_pays_is_the_sender_beside_bundles() {
    let data: Vec<_> = (0..4).map(word).collect();
    let operation =
        |contract: &str| log(contract, &[topic(USER_OPERATION), hash(77), word(5), word(0)], &data);
    let initiator = |value: u64, paid: &[Value]| {
        let logs = [&[operation(ENTRY_POINT), transfer(TOKEN, 5, 6, 1)], paid].concat();
        let node_block = NodeBlock::new(ChainId::ETH).transaction(1, Some(2), value, &logs);
        node_block.read().unwrap().transactions[0].initiator
    };
    assert_eq!(initiator(0, &[]), Some(address(5)));
    assert_eq!(initiator(3, &[]), Some(address(1)));
    assert_eq!(initiator(0, &[transfer(USDT, 1, 6, 2)]), Some(address(1)));
    assert_eq!(initiator(0, &[transfer(TOKEN, 1, 6, 2)]), Some(address(5)));
    let newest = "0x433709009b8330fda32311df1c2afa402ed8d009";
    let logs = [operation(newest), transfer(TOKEN, 5, 6, 1)];
    let node_block = NodeBlock::new(ChainId::ETH).transaction(1, Some(2), 0, &logs);
    assert_eq!(node_block.read().unwrap().transactions[0].initiator, Some(address(5)));
}

/// Given logs of a failed transaction, which some nodes keep, then they moved nothing.
#[test]
fn logs_of_failed_transactions_move_nothing() {
    let logs = [transfer(TOKEN, 1, 2, 3)];
    let mut node_block = NodeBlock::new(ChainId::ETH).transaction(1, Some(2), 5, &logs);
    node_block.receipts[0]["status"] = json!("0x0");
    assert_eq!(node_block.lines(), [""; 0]);
}

/// Given lists that are `null` and errors that are empty, then they state nothing.
#[test]
fn nulls_and_empty_errors_state_nothing() {
    let mut call = frame("CALL", 1, 2, 5, &[frame("CALL", 2, 3, 4, &[])]);
    call["error"] = json!("");
    call["logs"] = Value::Null;
    call["calls"][0]["calls"] = Value::Null;
    let mut node_block = NodeBlock::new(ChainId::ETH).transaction(1, Some(2), 5, &[]).traced(&call);
    node_block.receipts[0]["logs"] = Value::Null;
    node_block.block["withdrawals"] = Value::Null;
    node_block.block["uncles"] = Value::Null;
    let expected = ["transfer native 1 -> 2: 5", "transfer native 2 -> 3: 4"];
    assert_eq!(node_block.lines(), expected);
}

/// Given a delegated account (EIP-7702), then its calls move its coins like those of a contract.
#[test]
fn delegated_accounts_pay_by_calls() {
    let calls = frame("CALL", 1, 1, 0, &[frame("CALL", 1, 3, 4, &[])]);
    let mut node_block =
        NodeBlock::new(ChainId::ETH).transaction(1, Some(1), 0, &[]).traced(&calls);
    let transaction = &mut node_block.block["transactions"][0];
    transaction["type"] = json!("0x4");
    transaction["maxFeePerGas"] = json!("0x0");
    transaction["maxPriorityFeePerGas"] = json!("0x0");
    assert_eq!(node_block.lines(), ["transfer native 1 -> 3: 4"]);
}

/// Given a block with a difficulty, then its producer and those of its uncles get new coins; without one nobody does,
/// whatever its height.
#[test]
fn rewards_follow_the_difficulty() {
    let records = |chain: ChainId, height: u64, difficulty: &str, uncle: Option<u64>| {
        let mut node_block = NodeBlock::new(chain);
        node_block.block["number"] = json!(quantity(height));
        node_block.block["difficulty"] = json!(difficulty);
        if let Some(uncle) = uncle {
            let mut header = node_block.block.clone();
            header["number"] = json!(quantity(uncle));
            header["miner"] = json!(account(0xabc));
            header.as_object_mut().unwrap().remove("transactions");
            let read: crate::evm::answer::BlockAnswer<serde::de::IgnoredAny> =
                serde_json::from_value(header.clone()).unwrap();
            node_block.block["uncles"] = json!([format!("0x{}", hex::encode(read.header_hash()))]);
            let mut list = crate::evm::rlp::List::new();
            list.encoded_list(&read.encoded_header());
            let all = crate::evm::rlp::keccak(list.encoded());
            node_block.block["sha3Uncles"] = json!(format!("0x{}", hex::encode(all)));
            node_block.uncles.push(header);
        }
        node_block.lines()
    };
    let coin = 1_000_000_000_000_000_000_u128;
    let reward = |amount: u128| format!("reward native 0 -> {PRODUCER:x}: {amount}");
    let etc: ChainId = "etc".parse().unwrap();
    assert_eq!(records(ChainId::ETH, 4_369_999, "0x1", None), [reward(5 * coin)]);
    assert_eq!(records(ChainId::ETH, 4_370_000, "0x1", None), [reward(3 * coin)]);
    assert_eq!(records(ChainId::ETH, 7_280_000, "0x1", None), [reward(2 * coin)]);
    assert!(records(ChainId::ETH, 7_280_000, "0x0", None).is_empty());
    assert!(records(ChainId::ETH, 0, "0x1", None).is_empty());
    assert_eq!(records(etc, 5_000_000, "0x1", None), [reward(5 * coin)]);
    assert_eq!(records(etc, 5_000_001, "0x1", None), [reward(4 * coin)]);
    let with_uncle =
        [reward(5 * coin + 5 * coin / 32), format!("reward native 0 -> abc: {}", 5 * coin * 6 / 8)];
    assert_eq!(records(ChainId::ETH, 1_000, "0x1", Some(998)), with_uncle);
}

/// Given withdrawals of validators, then they stand behind the transactions, in units of 10^9.
#[test]
fn withdrawals_are_records_of_the_block() {
    let mut node_block = NodeBlock::new(ChainId::ETH).transaction(1, Some(2), 5, &[]);
    let withdrawal = |index: u64, to: u64, amount: u64| json!({ "index": quantity(index), "validatorIndex": "0x1", "address": account(to), "amount": quantity(amount) });
    node_block.block["withdrawals"] =
        json!([withdrawal(8, 5, 3), withdrawal(9, 6, 0), withdrawal(10, 5, 3)]);
    let block = node_block.read().unwrap();
    let records = block.transactions.last().unwrap();
    assert_eq!(records.id, AccountTransaction::id_of_block(100));
    assert_eq!(lines(records), ["withdrawal native 0 -> 5: 3000000000"; 2]);
    assert!(records.transfers.iter().all(|it| it.kind == TransferKind::Withdrawal));
    // On Gnosis they are of a token.
    let gnosis: ChainId = "gnosis".parse().unwrap();
    let other = NodeBlock {
        chain: gnosis,
        params: crate::evm::EvmParams::of(gnosis).unwrap(),
        ..node_block
    };
    assert_eq!(other.lines(), ["transfer native 1 -> 2: 5"]);
}

/// Given a deposit of the OP Stack, then its coins come from the bridge though the transaction fails, and it pays no fee;
/// other transactions pay for their data too.
#[test]
fn deposits_of_the_op_stack_come_from_the_bridge() {
    let base: ChainId = "base".parse().unwrap();
    let mut node_block =
        NodeBlock::new(base).transaction(1, Some(2), 9, &[]).transaction(3, Some(4), 0, &[]);
    node_block.block["baseFeePerGas"] = json!("0x1");
    let deposit = &mut node_block.block["transactions"][0];
    deposit["type"] = json!("0x7e");
    deposit["mint"] = json!("0x9");
    deposit["sourceHash"] = json!(hash(1));
    node_block.receipts[0]["status"] = json!("0x0");
    node_block.receipts[1]["effectiveGasPrice"] = json!("0x1");
    node_block.receipts[1]["l1Fee"] = json!("0x5");
    let expected = [
        "transfer native 636f696e732d6f662d636861696e2d62656c6f77 -> 1: 9",
        "fee native 3 -> 4200000000000000000000000000000000000019: 21000",
        "fee native 3 -> 420000000000000000000000000000000000001a: 5",
    ];
    assert_eq!(node_block.lines(), expected);
    // A node may state any fee for data.
    node_block.receipts[1]["l1Fee"] = json!("0x56bc75e2d63100000");
    let said = node_block.read().unwrap_err();
    assert!(said.contains("its receipt states l1Fee 100000000000000000000"), "{said}");
}

/// Given a payment to the account that pays coins from the chain below, then it is left out, so that nobody gives deposits of
/// others an origin.
#[test]
fn nobody_pays_the_account_of_the_chain_below() {
    let base: ChainId = "base".parse().unwrap();
    let mut node_block = NodeBlock::new(base).transaction(1, Some(2), 9, &[]);
    let below = format!("0x{}", hex::encode(crate::evm::params::BELOW.0));
    node_block.block["transactions"][0]["to"] = json!(below);
    assert_eq!(node_block.lines(), [""; 0]);
}

/// Given a transaction of Celo whose fee is paid in a token, then the token's logs state it, and no coin pays it.
#[test]
fn fees_that_are_paid_in_a_token_are_not_paid_in_the_coin() {
    let celo: ChainId = "celo".parse().unwrap();
    let mut node_block = NodeBlock::new(celo).transaction(1, Some(2), 5, &[]);
    node_block.block["transactions"][0]["type"] = json!("0x7b");
    node_block.receipts[0]["effectiveGasPrice"] = json!("0x3");
    assert_eq!(node_block.lines().len(), 2);
    node_block.block["transactions"][0]["feeCurrency"] = json!(TOKEN);
    assert_eq!(node_block.lines(), ["transfer native 1 -> 2: 5"]);
}

/// Given a contract that logs the chain's coin as a token, then every transfer counts once.
#[test]
fn coins_that_are_logged_as_tokens_count_once() {
    let lines = |chain: &str, contract: &str| {
        let chain: ChainId = chain.parse().unwrap();
        let log = transfer(contract, 1, 3, 7);
        NodeBlock::new(chain).transaction(1, Some(2), 5, &[log]).lines()
    };
    let (call, logged) = ("transfer native 1 -> 2: 5", "transfer native 1 -> 3: 7");
    assert_eq!(lines("polygon", "0x0000000000000000000000000000000000001010"), [call]);
    assert_eq!(lines("celo", "0x471ece3750da237f93b8e339c536989b8978a438"), [call, logged]);
    assert_eq!(lines("zksync", "0x000000000000000000000000000000000000800a"), [logged]);
}

/// Given answers that contradict one another, then the message names what differs.
#[test]
fn contradicting_answers_are_refused() {
    let good = || {
        NodeBlock::new(ChainId::ETH)
            .transaction(1, Some(2), 5, &[transfer(TOKEN, 1, 2, 3), transfer(TOKEN, 1, 2, 4)])
            .traced(&frame("CALL", 1, 2, 5, &[]))
    };
    assert!(good().read().is_ok());
    let refused = |change: &dyn Fn(&mut NodeBlock), words: &str| {
        let mut node_block = good();
        change(&mut node_block);
        let said = node_block.read().unwrap_err();
        assert!(said.contains(words), "{said} does not say {words}");
    };
    refused(&|it| it.receipts.clear(), "0 receipts of 1 transactions");
    refused(&|it| it.receipts[0]["blockHash"] = json!(hash(1)), "it is of block 0x0");
    refused(&|it| it.receipts[0]["transactionHash"] = json!(hash(1)), "it is of transaction 0");
    refused(&|it| it.receipts[0]["status"] = json!("0x2"), "neither 0 nor 1");
    refused(&|it| it.receipts[0]["logs"][0]["removed"] = json!(true), "log of another block");
    refused(
        &|it| it.receipts[0]["logs"].as_array_mut().unwrap().reverse(),
        "log 1 stands where log 0 is due",
    );
    refused(
        &|it| it.receipts[0]["logs"][1]["logIndex"] = json!("0x0"),
        "log 0 stands where log 1 is due",
    );
    let traced = |it: &mut NodeBlock, frame: Value| *it = it.clone().traced(&frame);
    refused(&|it| traced(it, frame("CALL", 1, 2, 6, &[])), "call of another value");
    refused(&|it| traced(it, frame("CALL", 9, 2, 5, &[])), "call of another account");
    refused(&|it| traced(it, frame("CREATE", 1, 2, 5, &[])), "another kind of call");
    refused(&|it| traced(it, failed(frame("CALL", 1, 2, 5, &[]))), "differ about its success");
    refused(&|it| traced(it, frame("WARP", 1, 2, 5, &[])), "unknown kind of a call: `WARP`");
    refused(
        &|it| {
            let error = json!([{ "txHash": hash(0x1000), "error": "out of memory" }]);
            it.traces = Some((Tracer::Calls, error));
        },
        "was not traced: out of memory",
    );
    refused(&|it| it.block["timestamp"] = json!("0xffffffffffffffff"), "is in no year");
}

/// Given a creation that failed, for which some nodes state the zero address, then the block is read.
#[test]
fn a_failed_creation_of_the_zero_address_is_read() {
    let mut node_block = NodeBlock::new(ChainId::ETH)
        .transaction(1, None, 5, &[])
        .traced(&failed(frame("CREATE", 1, 0, 5, &[])));
    node_block.receipts[0]["status"] = json!("0x0");
    assert!(node_block.lines().is_empty());
    // One that succeeded created the contract of its sender's number.
    node_block.receipts[0]["status"] = json!("0x1");
    let other = node_block.traced(&frame("CREATE", 1, 0, 5, &[])).read().unwrap_err();
    assert!(other.contains("begins with the call of another account"), "{other}");
}

/// Given a chain without a root of transactions that is compared, then traces that lack are no transactions without calls,
/// unless these are of the chain itself.
#[test]
fn traces_lack_only_for_transactions_of_the_chain_itself() {
    let polygon: ChainId = "polygon".parse().unwrap();
    let mut node_block = NodeBlock::new(polygon).transaction(1, Some(2), 5, &[]);
    node_block.traces = Some((Tracer::Calls, json!([])));
    let said = node_block.read().unwrap_err();
    assert!(said.contains(&hash(0x1000)) && said.contains("is missing"), "{said}");
    node_block.block["transactions"][0]["type"] = json!("0x7f");
    assert_eq!(node_block.lines(), ["transfer native 1 -> 2: 5"]);
    let mut node_block = NodeBlock::new(polygon).transaction(0, Some(0), 0, &[]);
    node_block.traces = Some((Tracer::Calls, json!([])));
    assert!(node_block.lines().is_empty());
}

/// Given a block whose header commits to transactions, then a node that leaves them out is refused.
#[test]
fn transactions_that_lack_are_not_none() {
    let with_root = |chain: &str, root: &str| {
        let mut node_block = NodeBlock::new(chain.parse().unwrap());
        node_block.block["transactionsRoot"] = json!(root);
        node_block.read()
    };
    let said = with_root("polygon", &hash(7)).unwrap_err();
    assert!(said.contains("it has no transactions") && said.contains("pruned"), "{said}");
    for none in [&hash(0), EMPTY_ROOT] {
        assert!(with_root("polygon", none).is_ok());
    }
    // Its roots commit to transactions of another kind, too.
    assert!(with_root("cronos", &hash(7)).is_ok());
}

/// Given a call in the name of an account that is not running, then it is refused, unless it failed, or contracts of the
/// chain make such calls.
#[test]
fn calls_are_of_the_account_that_runs() {
    let read = |chain: &str, calls: &[Value]| {
        let node_block = NodeBlock::new(chain.parse().unwrap()).transaction(1, Some(2), 5, &[]);
        node_block.traced(&frame("CALL", 1, 2, 5, calls)).read().map(|_| ())
    };
    let forged = [frame("CALL", 7, 8, 100, &[])];
    let said = read("eth", &forged).unwrap_err();
    assert!(said.contains("has a call of another account"), "{said}");
    assert!(
        read("eth", &[frame("DELEGATECALL", 2, 3, 0, &[frame("CALL", 3, 8, 1, &[])])]).is_err()
    );
    assert_eq!(read("eth", &[failed(forged[0].clone())]), Ok(()));
    assert_eq!(read("arbitrum", &forged), Ok(()));
}

/// Given a self-destruction of an account that is not running, as nodes built on revm invent them, then it moves nothing.
#[test]
fn self_destructions_of_others_move_nothing() {
    let calls = [frame("CALL", 2, 3, 4, &[]), frame("SELFDESTRUCT", 7, 3, 4, &[])];
    let node_block = NodeBlock::new(ChainId::ETH)
        .transaction(1, Some(2), 5, &[])
        .traced(&frame("CALL", 1, 2, 5, &calls));
    let expected = ["transfer native 1 -> 2: 5", "transfer native 2 -> 3: 4"];
    assert_eq!(node_block.lines(), expected);
}

/// Given a signed transaction of a chain without a root that is compared, then its hash and its sender are.
#[test]
fn signed_transactions_are_compared_without_a_root() {
    let read = |chain: &str| {
        let mut node_block = NodeBlock::new(chain.parse().unwrap()).transaction(1, Some(2), 5, &[]);
        let transaction = &mut node_block.block["transactions"][0];
        for (field, value) in [("v", "0x1b"), ("r", "0x1"), ("s", "0x1")] {
            transaction[field] = json!(value);
        }
        node_block.read().map(|_| ())
    };
    let said = read("polygon").unwrap_err();
    let words = ["its fields have the hash", "nobody can have made its signature"];
    assert!(words.iter().any(|words| said.contains(words)), "{said}");
    assert_eq!(read("kaia"), Ok(()));
}
