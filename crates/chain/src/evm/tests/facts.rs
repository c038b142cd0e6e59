//! Facts about contracts of a block: which accounts have code, and whom logs name.

use assay_address::ChainId;
use assay_engine::account::{
    AccountAddress, BridgeMessage, ContractFact, ContractFactKind, MessageEnd,
};
use serde_json::{Value, json};

use super::build::{NodeBlock, TRANSFER, log, quantity};
use crate::evm::rlp::keccak;

const USDC: &str = "0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48";

/// The parties of the blocks, each an account of one repeated byte.
const SENDER: u8 = 0x11;
const OTHER: u8 = 0x22;
const CONTRACT: u8 = 0xc1;
const POOL: u8 = 0xc2;
const RECEIPT: u8 = 0xc3;

fn party(byte: u8) -> String {
    format!("0x{}", hex::encode([byte; 20]))
}

/// A topic or a word of data with a party.
fn word(byte: u8) -> String {
    format!("0x{:0>64}", hex::encode([byte; 20]))
}

fn number(number: u64) -> String {
    format!("0x{number:064x}")
}

/// A log of an event by its signature: indexed arguments and data.
fn event(contract: u8, signature: &str, indexed: &[String], data: &[String]) -> Value {
    let topic = format!("0x{}", hex::encode(keccak(signature)));
    log(&party(contract), &[&[topic], indexed].concat(), data)
}

fn usdc(from: u8, to: u8, amount: u64) -> Value {
    log(USDC, &[TRANSFER.to_owned(), word(from), word(to)], &[number(amount)])
}

/// A block whose sender calls a contract with ether.
fn called(value: u64, logs: &[Value]) -> NodeBlock {
    let mut block = NodeBlock::new(ChainId::ETH).transaction(0, Some(0), value, logs);
    block.block["transactions"][0]["from"] = json!(party(SENDER));
    block.block["transactions"][0]["to"] = json!(party(CONTRACT));
    block
}

fn facts(block: &NodeBlock) -> Vec<ContractFact> {
    block.read().unwrap().transactions.remove(0).contract_facts
}

/// The facts that name another account than the contract: contract, kind and account.
fn named(block: &NodeBlock) -> Vec<(u8, ContractFactKind, u8)> {
    let all = facts(block).into_iter().filter(|fact| fact.kind != ContractFactKind::Code);
    all.map(|fact| (fact.contract.0[0], fact.kind, fact.account.0[0])).collect()
}

const BENEFICIARY: ContractFactKind = ContractFactKind::Beneficiary;
const HOLDER: ContractFactKind = ContractFactKind::Holder;

#[test]
fn a_deposit_names_its_account_unless_the_account_pays_itself() {
    let deposited =
        |account: u8| event(CONTRACT, "Deposited(address,uint256)", &[word(account)], &[number(5)]);
    assert_eq!(named(&called(5, &[deposited(OTHER)])), [(CONTRACT, BENEFICIARY, OTHER)]);
    assert_eq!(named(&called(5, &[deposited(SENDER)])), []);
    // Nothing was paid.
    assert_eq!(named(&called(0, &[usdc(SENDER, OTHER, 1), deposited(OTHER)])), []);
}

#[test]
fn a_pool_names_the_account_of_its_receipts_contract() {
    let reserve = format!("0x{:0>64}", &USDC[2..]);
    let supply = "Supply(address,address,address,uint256,uint16)";
    let supplied = |account: u8| {
        event(
            POOL,
            supply,
            &[reserve.clone(), word(account), number(0)],
            &[word(SENDER), number(70)],
        )
    };
    // The dollars pass another contract before.
    let moved = [usdc(SENDER, CONTRACT, 70), usdc(CONTRACT, RECEIPT, 70)];
    let logs = [&moved[..], &[supplied(OTHER), usdc(RECEIPT, SENDER, 70)]].concat();
    assert_eq!(named(&called(0, &logs)), [(RECEIPT, BENEFICIARY, OTHER)]);

    let withdraw = "Withdraw(address,address,address,uint256)";
    let withdrawn =
        event(POOL, withdraw, &[reserve.clone(), word(OTHER), word(SENDER)], &[number(70)]);
    let block = called(0, &[usdc(RECEIPT, SENDER, 70), withdrawn]);
    assert_eq!(named(&block), [(RECEIPT, HOLDER, OTHER)]);

    let borrow = "Borrow(address,address,address,uint256,uint8,uint256,uint16)";
    let data = [word(SENDER), number(70), number(2), number(0)];
    let borrowed = event(POOL, borrow, &[reserve, word(OTHER), number(0)], &data);
    let block = called(0, &[usdc(RECEIPT, SENDER, 70), borrowed]);
    assert_eq!(named(&block), [(RECEIPT, HOLDER, OTHER)]);
}

#[test]
fn a_debtor_and_an_owner_of_shares_are_named() {
    let repaid = event(
        CONTRACT,
        "RepayBorrow(address,address,uint256,uint256,uint256)",
        &[],
        &[word(SENDER), word(OTHER), number(5), number(0), number(0)],
    );
    assert_eq!(named(&called(5, &[repaid])), [(CONTRACT, BENEFICIARY, OTHER)]);
    let indexed = [word(SENDER), word(SENDER), word(OTHER)];
    let signature = "Withdraw(address,address,address,uint256,uint256)";
    let redeemed = event(CONTRACT, signature, &indexed, &[number(5), number(5)]);
    let block = called(0, &[usdc(CONTRACT, SENDER, 5), redeemed]);
    assert_eq!(named(&block), [(CONTRACT, HOLDER, OTHER)]);
}

/// Given deposits of a validator, then those whose withdrawal credentials hold an account name it.
#[test]
fn withdrawal_credentials_name_an_account() {
    let deposited = |credentials: String| {
        let position = |words: u64| number(32 * words);
        let head = [5, 8, 10, 12, 16].map(position);
        let key = [number(48), number(1), number(2)];
        let rest = [
            number(8),
            number(3),
            number(96),
            number(4),
            number(5),
            number(6),
            number(8),
            number(7),
        ];
        let data = [&head[..], &key, &[number(32), credentials], &rest].concat();
        event(CONTRACT, "DepositEvent(bytes,bytes,bytes,bytes,bytes)", &[], &data)
    };
    for (kind, expected) in [
        (0, &[][..]),
        (1, &[(CONTRACT, BENEFICIARY, OTHER)]),
        (2, &[(CONTRACT, BENEFICIARY, OTHER)]),
    ] {
        let credentials = format!("0x{kind:02x}{:0>62}", hex::encode([OTHER; 20]));
        assert_eq!(named(&called(32, &[deposited(credentials)])), expected, "type {kind}");
    }
    // Bytes that end before they should name nobody.
    for words in 0..7 {
        let data: Vec<_> = (0..words).map(|_| number(u64::MAX)).collect();
        let cut = event(CONTRACT, "DepositEvent(bytes,bytes,bytes,bytes,bytes)", &[], &data);
        assert_eq!(named(&called(32, &[cut])), []);
    }
}

#[test]
fn topics_of_an_unknown_contract_name_accounts_that_are_no_contracts() {
    let opened =
        |indexed: &[String]| event(CONTRACT, "Opened(uint256,address,address)", indexed, &[]);
    let names = |logs: &[Value]| named(&called(5, logs));
    let logs = [opened(&[number(7), word(SENDER), word(OTHER)])];
    assert_eq!(names(&logs), [(CONTRACT, BENEFICIARY, OTHER)]);
    // The payer alone, the contract itself, a number, a hash, and a contract that logs.
    let hash = format!("0x{}", hex::encode([7; 32]));
    let other_logs = event(POOL, "Sync(uint112,uint112)", &[], &[number(1), number(2)]);
    for indexed in [word(SENDER), word(CONTRACT), number(u64::MAX), hash, word(POOL)] {
        assert_eq!(
            names(&[opened(std::slice::from_ref(&indexed)), other_logs.clone()]),
            [],
            "{indexed}"
        );
    }
    // Permissions, and contracts that received nothing.
    let approved = event(
        CONTRACT,
        "Approval(address,address,uint256)",
        &[word(SENDER), word(OTHER)],
        &[number(1)],
    );
    assert_eq!(names(&[approved]), []);
    let elsewhere = event(
        POOL,
        "Opened(uint256,address,address)",
        &[number(7), word(SENDER), word(OTHER)],
        &[],
    );
    assert_eq!(names(&[elsewhere]), []);
    // An event of the table counts alone.
    let deposited = event(CONTRACT, "Deposited(address,uint256)", &[word(0x33)], &[number(5)]);
    let logs = [opened(&[word(OTHER)]), deposited];
    assert_eq!(names(&logs), [(CONTRACT, BENEFICIARY, 0x33)]);
}

/// Given accounts that log or call, and one that only receives, then the former ran code, and have it unless their code is a
/// delegation.
#[test]
fn parties_that_ran_code_are_contracts_unless_they_delegate_to_code() {
    let frame = |kind: &str, from: u8, to: u8, value: u64, calls: &[Value]| json!({ "type": kind, "from": party(from), "to": party(to), "value": quantity(value), "calls": calls });
    let precompiled = json!({ "type": "STATICCALL", "from": party(0xd3), "to": "0x0000000000000000000000000000000000000001" });
    let failing = json!({
        "type": "CALL", "from": party(CONTRACT), "to": party(0xd4), "value": "0x1", "error": "execution reverted",
        "calls": [frame("CALL", 0xd4, OTHER, 1, &[])],
    });
    let calls = [
        frame(
            "CALL",
            CONTRACT,
            POOL,
            3,
            &[frame("DELEGATECALL", POOL, 0xd1, 0, &[frame("CALL", POOL, OTHER, 1, &[])])],
        ),
        frame("CALL", CONTRACT, 0xd3, 1, &[precompiled]),
        frame("CREATE", CONTRACT, 0xd5, 1, &[frame("CALL", 0xd5, OTHER, 1, &[])]),
        failing,
    ];
    let mut block = called(9, &[event(RECEIPT, "Noted()", &[], &[]), usdc(OTHER, RECEIPT, 1)]);
    let called = frame("CALL", SENDER, CONTRACT, 9, &calls);
    block = block.traced(&called);

    let booked = block.booked().unwrap();
    let candidates: Vec<_> = booked.candidates().iter().map(|it| it.0[0]).collect();
    assert_eq!(candidates, [CONTRACT, POOL, RECEIPT]);
    let settled = booked.settle(|account| *account != AccountAddress([POOL; 20]));
    let facts = &settled.transactions[0].contract_facts;
    assert_eq!(*facts, [CONTRACT, RECEIPT].map(|it| ContractFact::code(AccountAddress([it; 20]))));
}

#[test]
fn messages_between_chains_are_the_same_at_both_ends() {
    let messages = |chain, signature: &str, indexed: &[String], data: &[String]| {
        let mut block = NodeBlock::new(chain).transaction(
            0,
            Some(0),
            9,
            &[event(POOL, signature, indexed, data)],
        );
        block.block["transactions"][0]["from"] = json!(party(SENDER));
        let all = block.read().unwrap().transactions.remove(0).messages;
        let [BridgeMessage { contract, id, account, end, amount }] = all[..] else { return None };
        assert_eq!(contract, AccountAddress([POOL; 20]));
        let party = if end == MessageEnd::Sent { SENDER } else { OTHER };
        assert_eq!(account, AccountAddress([party; 20]));
        Some((id, end, amount))
    };
    let (guid, body) = (format!("0x{}", "5a".repeat(32)), format!("0x{}", "00".repeat(32)));
    let bsc: ChainId = ChainId::BSC;
    // A token on several chains: the sender is indexed, both amounts are not.
    let sent = messages(
        ChainId::ETH,
        "OFTSent(bytes32,uint32,address,uint256,uint256)",
        &[guid.clone(), word(SENDER)],
        &[number(30_102), number(5_000), number(4_990)],
    );
    let received = messages(
        bsc,
        "OFTReceived(bytes32,uint32,address,uint256)",
        &[guid, word(OTHER)],
        &[number(30_101), number(4_990)],
    );
    let (id, end, amount) = sent.unwrap();
    assert_eq!((end, amount), (MessageEnd::Sent, 5_000));
    assert_eq!(received, Some((id, MessageEnd::Received, 4_990)));
    // A deposit that waits for others has no identifier yet.
    let waiting = messages(
        ChainId::ETH,
        "OFTSent(bytes32,uint32,address,uint256,uint256)",
        &[number(0), word(SENDER)],
        &[number(30_102), number(5_000), number(4_990)],
    );
    assert_eq!(waiting, None);
    // Circle's protocol: the number is that of the chain which sends, Ethereum's is 0.
    let burned = "DepositForBurn(uint64,address,uint256,address,bytes32,uint32,bytes32,bytes32)";
    let indexed = [number(77), word(0xda), word(SENDER)];
    let data = [number(900), word(OTHER), number(3), word(POOL), body.clone()];
    let sent = messages(ChainId::ETH, burned, &indexed, &data).unwrap();
    assert_eq!((sent.1, sent.2), (MessageEnd::Sent, 900));
    assert_ne!(sent.0, id);
    // BNB Smart Chain has no number in it.
    assert_eq!(messages(bsc, burned, &indexed, &data), None);
    let made = "MessageReceived(address,uint32,uint64,bytes32,bytes)";
    // A version of four bytes, then token, receiver, amount and sender.
    let content = format!(
        "00000000{}{}{}{}",
        &word(0xda)[2..],
        &word(OTHER)[2..],
        &number(900)[2..],
        &word(SENDER)[2..]
    );
    let content: Vec<String> = format!("{content:0<320}")
        .as_bytes()
        .chunks(64)
        .map(|word| format!("0x{}", std::str::from_utf8(word).unwrap()))
        .collect();
    let received = |domain: u64, content: &[String]| {
        let head = [number(domain), word(POOL), number(96), number(132)];
        let data = [&head, content].concat();
        messages(bsc, made, &[word(SENDER), number(77)], &data)
    };
    assert_eq!(received(0, &content), Some((sent.0, MessageEnd::Received, 900)));
    assert_ne!(received(1, &content).unwrap().0, sent.0);
    assert_eq!(received(0, &content[..2]), None);
}
