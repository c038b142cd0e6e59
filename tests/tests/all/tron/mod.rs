//! TRON from a node that states a written chain, read by the program.

mod ingest;
mod scenario;

use std::path::Path;

use assay_tests::{
    Finished, assay,
    tron::{Account, NewTransaction, TronNode, account_word, base58, number_word, party},
};
use serde_json::Value;

/// The contract of Tether's dollars, without the prefix of the chain.
const USDT: Account = [
    0xa6, 0x14, 0xf8, 0x03, 0xb6, 0xfd, 0x78, 0x09, 0x86, 0xa4, 0x2c, 0x78, 0xec, 0x9c, 0x7f, 0x77,
    0xe6, 0xde, 0xd1, 0x3c,
];
/// The same as people write it.
const USDT_TEXT: &str = "TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t";
/// One dollar in base units.
const DOLLAR: u64 = 1_000_000;
/// One TRX in base units.
const TRX: i64 = 1_000_000;

/// Topics of Tether's events about freezes, and of new units.
const ADDED: &str = "42e160154868087d6bfdc0ca23d96a1c1cfa32f1b72ba9ba27b69b98a0d819dc";
const REMOVED: &str = "d7e9ec6e6ecd65492dce6bf513cd6867560d49544421d0783ddf06e76c24470c";
const DESTROYED: &str = "61e6e66b0d6339b2980aecc6ccc0039736791f0ccde9ed512e789a7fbdd698c6";
const ISSUE: &str = "cb8241adb0c3fdb35b70c24ce35c5eb0c17af7431c99f827d44a445ca624176a";

/// A party's address as people write it.
fn address(name: &str) -> String {
    base58(&party(name))
}

/// A payment of dollars between parties, with the energy that it costs.
fn dollars(from: &str, to: &str, amount: u64) -> NewTransaction {
    let call = NewTransaction::token_call(&party(from), &USDT, &party(to), amount * DOLLAR);
    call.fee(13 * TRX)
}

/// A payment of TRX between parties.
fn coins(from: &str, to: &str, amount: i64) -> NewTransaction {
    NewTransaction::payment(&party(from), &party(to), amount * TRX).fee(1_100_000)
}

/// New dollars of the issuer, which Tether logs as an event and as a transfer.
fn issued(to: &str, amount: u64) -> NewTransaction {
    let amount = amount * DOLLAR;
    let call = NewTransaction::call(&party(to), &USDT, 0);
    let call = call.log(&USDT, &[ISSUE], &number_word(amount));
    call.transfer_log(&USDT, [&[0; 20], &party(to)], amount)
}

/// A freeze of an account by the issuer, or its end.
fn freeze(topic: &str, name: &str) -> NewTransaction {
    let word = account_word(&party(name));
    NewTransaction::call(&party("issuer"), &USDT, 0).log(&USDT, &[topic, &word], "")
}

/// Funds of a frozen account that the issuer destroys.
fn destroyed(name: &str, amount: u64) -> NewTransaction {
    let word = account_word(&party(name));
    let amount = number_word(amount * DOLLAR);
    NewTransaction::call(&party("issuer"), &USDT, 0).log(&USDT, &[DESTROYED, &word], &amount)
}

/// A call that passes a coin through a contract, by which the node shows that it keeps internal transfers.
fn passed_through(from: &str, to: &str) -> NewTransaction {
    let [payer, shop, receiver] = [from, "shop", to].map(party);
    let call = NewTransaction::call(&payer, &shop, TRX);
    call.internal("call", [&shop, &receiver], &[("", TRX)])
}

/// Runs the ingest of a node's chain.
fn ingest(directory: &Path, node: &TronNode, more: &[&str]) -> Finished {
    let url = node.url();
    let command = ["ingest", "chain", "trx", "--test-network", "--json", "--rpc", &url];
    assay(directory, [&command[..], more].concat())
}

/// The recorded transfers and facts, as the program exports them.
fn exported(directory: &Path) -> Vec<Value> {
    let lines = assay(directory, ["export", "transfers", "trx", "--format", "jsonl"]).ok().stdout;
    lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The answer about a party on a day, or today.
fn check(directory: &Path, name: &str, day: Option<&str>) -> Value {
    let account = address(name);
    let mut check = vec!["check", "trx", &account, "--json"];
    check.extend(day.into_iter().flat_map(|day| ["--as-of", day]));
    assay(directory, check).json()
}
