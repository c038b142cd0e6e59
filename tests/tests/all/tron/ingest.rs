//! The ingest of a chain: what moves, stops and forks, faults of nodes, and freezes as of each block.

use std::{collections::BTreeMap, fs, path::Path, thread, time::Duration};

use assay_tests::{
    assay, start_assay,
    tron::{Account, FIRST_TIME, Fault, NewTransaction, TronChain, TronNode, base58, party},
};
use serde_json::Value;

use super::{
    ADDED, DOLLAR, REMOVED, TRX, USDT, USDT_TEXT, address, check, coins, destroyed, dollars,
    exported, freeze, ingest, issued, passed_through,
};

const DAY: i64 = 86_400_000;
const PARTIES: [&str; 7] = ["alice", "bob", "carol", "exchange", "issuer", "shop", "thief"];

/// A transfer: block, kind, asset, payer, receiver and amount in base units.
type Expected = (u64, &'static str, &'static str, &'static str, &'static str, u64);

/// A transfer as the program exports it, in the same order.
type Recorded = (u64, String, String, String, String, u64);

/// The transfers of [`everything`], in the order of the chain.
const EXPECTED: &[Expected] = &[
    (0, "reward", "native", "nobody", "exchange", 5_000_000_000),
    (1, "transfer", "native", "exchange", "alice", 900_000_000),
    (1, "fee", "native", "exchange", "nobody", 1_100_000),
    (2, "mint", "usdt", "nobody", "issuer", 1_000_000_000),
    (2, "transfer", "usdt", "issuer", "alice", 400_000_000),
    (2, "fee", "native", "issuer", "nobody", 13_000_000),
    (3, "transfer", "1002000", "alice", "bob", 7),
    // What a call passes on inside is a transfer of its own; a failed call pays its fee.
    (3, "transfer", "native", "alice", "shop", 1_000_000),
    (3, "transfer", "native", "shop", "bob", 1_000_000),
    (3, "fee", "native", "bob", "nobody", 9_000_000),
    // Stakes, votes and lent energy move nothing but fees.
    (4, "fee", "native", "carol", "nobody", 280_000),
    (4, "reward", "native", "nobody", "carol", 33_000_000),
    // A freeze moves nothing; destroyed funds are burned.
    (5, "burn", "usdt", "thief", "nobody", 60_000_000),
];

/// A chain with each way in which something moves.
fn everything() -> TronChain {
    let [alice, bob, carol, shop] = ["alice", "bob", "carol", "shop"].map(party);
    let mut chain = TronChain::new(&[(party("exchange"), 5_000 * TRX)]);
    chain.make(&[coins("exchange", "alice", 900)]);
    chain.make(&[issued("issuer", 1_000), dollars("issuer", "alice", 400)]);
    chain.make(&[
        NewTransaction::token_payment(&alice, &bob, "1002000", 7),
        passed_through("alice", "bob"),
        NewTransaction::call(&bob, &shop, 5 * TRX)
            .internal("call", [&shop, &bob], &[("", TRX)])
            .failed("REVERT")
            .fee(9 * TRX),
    ]);
    chain.make(&[
        NewTransaction::stake(&carol, 500 * TRX),
        NewTransaction::lend_energy(&carol, &bob, 400 * TRX).fee(280_000),
        NewTransaction::vote(&carol),
        NewTransaction::reward(&carol, 33 * TRX),
    ]);
    chain.make(&[freeze(ADDED, "thief"), destroyed("thief", 60)]);
    chain
}

/// The recorded transfers with the names of parties.
fn recorded(directory: &Path) -> Vec<Recorded> {
    let mut names: BTreeMap<String, &str> = PARTIES.map(|name| (address(name), name)).into();
    let zero: Account = [0; 20];
    names.insert(base58(&zero), "nobody");
    names.insert(USDT_TEXT.to_owned(), "usdt");
    let facts = ["code", "beneficiary", "holder"];
    let rows = exported(directory).into_iter();
    let rows = rows.filter(|row| !facts.contains(&row["kind"].as_str().unwrap()));
    let read = |row: Value| {
        let text = |field: &str| row[field].as_str().unwrap_or_default().to_owned();
        let party = |field: &str| {
            let address = text(field);
            names.get(&address).map_or(address.clone(), |name| (*name).to_owned())
        };
        let amount = text("amount").parse().unwrap();
        let block = row["block"].as_u64().unwrap();
        (block, text("kind"), party("asset"), party("from"), party("to"), amount)
    };
    rows.map(read).collect()
}

fn expected() -> Vec<Recorded> {
    let all = EXPECTED.iter().map(|(block, kind, asset, from, to, amount)| {
        let [kind, asset, from, to] = [kind, asset, from, to].map(|it| (*it).to_owned());
        (*block, kind, asset, from, to, *amount)
    });
    all.collect()
}

#[test]
fn all_that_moves_on_a_chain_is_recorded() {
    let node = TronNode::start(everything());
    node.set_unsolid(2);
    let directory = tempfile::tempdir().unwrap();
    let report = ingest(directory.path(), &node, &[]).ok().json();
    assert_eq!(report["latest_block_height"], 5, "{report}");
    assert_eq!(report["finalized_block_height"], 3, "{report}");
    assert_eq!(recorded(directory.path()), expected());
    // The contract that passed a coin on is told from other accounts.
    let rows = exported(directory.path()).into_iter();
    let contracts: Vec<_> =
        rows.filter(|row| row["kind"] == "code").map(|row| row["from"].clone()).collect();
    assert_eq!(contracts, [Value::from(address("shop"))]);
    // A part of the chain begins at any height.
    let part = tempfile::tempdir().unwrap();
    let report = ingest(part.path(), &node, &["--from", "3", "--to", "4"]).ok().json();
    assert_eq!(report["latest_block_height"], 4, "{report}");
    let within = expected().into_iter().filter(|it| (3..=4).contains(&it.0));
    assert_eq!(recorded(part.path()), within.collect::<Vec<_>>());
}

/// The block and the digest of all transfers that a check rests on.
fn revision(directory: &Path) -> Value {
    check(directory, "alice", None)["data_revision"]["chain"].clone()
}

#[test]
fn stops_and_forks_leave_what_one_pass_gives() {
    // Given a follower of a node that is killed again and again...
    let mut chain = everything();
    for _ in 0..30 {
        chain.make(&[dollars("alice", "bob", 1)]);
    }
    let node = TronNode::start(chain);
    let directory = tempfile::tempdir().unwrap();
    let url = node.url();
    let follow = ["ingest", "chain", "trx", "--test-network", "--rpc", &url];
    let follow = [&follow[..], &["--follow", "--every", "1"]].concat();
    for round in 0..6_u64 {
        let mut follower = start_assay(directory.path(), &follow);
        thread::sleep(Duration::from_millis(60 + 230 * round));
        follower.kill().unwrap();
        follower.wait().unwrap();
        // ...while up to 17 blocks that nobody built upon are replaced...
        node.change(|chain| {
            chain.rewind(chain.height() - (round * 7 % 18));
            for number in 0..(2 + round * 7 % 18) {
                let amount = i64::try_from(round * 100 + number).unwrap() + 1;
                chain.make(&[coins("exchange", "carol", amount)]);
            }
        });
    }
    let report = ingest(directory.path(), &node, &[]).ok().json();
    assert_eq!(report["latest_block_height"].as_u64(), Some(node.change(|it| it.height())));
    // ...then what is recorded is what one pass over the last branch gives.
    let anew = tempfile::tempdir().unwrap();
    let _ = ingest(anew.path(), &node, &[]).ok();
    assert_eq!(recorded(directory.path()), recorded(anew.path()));
    assert_eq!(revision(directory.path()), revision(anew.path()));
}

#[test]
fn a_fork_is_told_and_its_payments_are_forgotten() {
    // Given a recorded payment of a branch...
    let node = TronNode::start(everything());
    node.set_unsolid(5);
    let directory = tempfile::tempdir().unwrap();
    node.change(|chain| chain.make(&[dollars("alice", "bob", 5)]));
    let _ = ingest(directory.path(), &node, &[]).ok();
    let paid = |name: &str| {
        recorded(directory.path()).iter().any(|it| (it.0, &*it.2, &*it.4) == (6, "usdt", name))
    };
    assert!(paid("bob") && !paid("carol"));
    // ...when another branch takes its place...
    node.change(|chain| {
        chain.rewind(5);
        chain.make(&[dollars("alice", "carol", 5)]);
        chain.make(&[]);
    });
    let report = ingest(directory.path(), &node, &[]).ok().json();
    // ...then its payment counts.
    assert_eq!(report["reorganizations"][0]["removed_blocks"], 1, "{report}");
    assert!(!paid("bob") && paid("carol"));
}

#[test]
fn faults_that_pass_are_waited_out() {
    let node = TronNode::start(everything());
    for (path, fault) in [
        ("getblockbynum", Fault::TooMany),
        ("getnowblock", Fault::Overloaded),
        ("getblockbynum", Fault::Truncated),
        ("infobyblocknum", Fault::Overloaded),
    ] {
        node.fail_next(path, fault);
    }
    let directory = tempfile::tempdir().unwrap();
    let _ = ingest(directory.path(), &node, &[]).ok();
    assert_eq!(node.faults_left(), 0);
    assert_eq!(recorded(directory.path()), expected());
}

#[test]
fn wrong_answers_are_refused_and_named() {
    for (fault, said) in [
        (Fault::ChangedByte, "its bytes have the identifier"),
        (Fault::ChangedReceiver, "its bytes have the to_address"),
        (Fault::WrongBlock, "it is block 0"),
        (Fault::Error, "NullPointerException"),
        (Fault::Lite, "this node is a lite fullnode"),
    ] {
        // Given a node that answers wrongly about block 1...
        let node = TronNode::start(everything());
        node.fail_block(Some((1, fault)));
        let directory = tempfile::tempdir().unwrap();
        // ...then nothing from there on is recorded, and the node is named with the reason...
        let refused = ingest(directory.path(), &node, &[]);
        assert_ne!(refused.code, 0, "{fault:?}");
        assert!(refused.stderr.contains(said), "{fault:?}: {}", refused.stderr);
        assert!(refused.stderr.contains(&node.url()), "{fault:?}: {}", refused.stderr);
        assert!(recorded(directory.path()).iter().all(|it| it.0 == 0), "{fault:?}");
        // ...until it answers rightly.
        node.fail_block(None);
        let _ = ingest(directory.path(), &node, &[]).ok();
        assert_eq!(recorded(directory.path()), expected(), "{fault:?}");
    }
}

#[test]
fn an_invented_transfer_shows_in_a_second_node() {
    // Given two nodes of one chain, one of which states a log more...
    let honest = TronNode::start(everything());
    let mut forged = everything();
    forged.rewind(5);
    forged.forge_log(2, &USDT, [&party("bob"), &party("thief")], 99 * DOLLAR);
    let forged = TronNode::start(forged);
    let directory = tempfile::tempdir().unwrap();
    let other = forged.url();
    let refused = ingest(directory.path(), &honest, &["--rpc", &other]);
    // ...then the ingest stops at the block and names both.
    assert_ne!(refused.code, 0);
    for said in ["block 2", &other, &honest.url(), "states other transfers"] {
        assert!(refused.stderr.contains(said), "{said}: {}", refused.stderr);
    }
    // Alone, the forged one is believed: nothing on the chain commits to logs.
    let alone = tempfile::tempdir().unwrap();
    let _ = ingest(alone.path(), &forged, &[]).ok();
    assert_eq!(recorded(alone.path()).len(), EXPECTED.len() + 1);
}

#[test]
fn a_key_is_sent_in_the_header_of_providers_and_never_shown() {
    let node = TronNode::start(everything());
    node.require_key("a-key-that-nobody-knows");
    let directory = tempfile::tempdir().unwrap();
    let refused = ingest(directory.path(), &node, &[]);
    assert!(refused.stderr.contains("refuses access (401)"), "{}", refused.stderr);
    fs::write(directory.path().join("key"), "a-key-that-nobody-knows\n").unwrap();
    let read = ingest(directory.path(), &node, &["--cookie", "key"]).ok();
    assert!(!format!("{}{}", read.stdout, read.stderr).contains("a-key"));
    assert_eq!(recorded(directory.path()), expected());
}

#[test]
fn a_node_without_internal_transfers_is_told() {
    let mut chain = TronChain::new(&[(party("exchange"), 5_000 * TRX)]);
    chain.with_internal = false;
    chain.make(&[coins("exchange", "alice", 900)]);
    chain.make(&[passed_through("alice", "bob")]);
    let node = TronNode::start(chain);
    let directory = tempfile::tempdir().unwrap();
    let read = ingest(directory.path(), &node, &[]).ok();
    assert!(read.stderr.contains("vm.saveInternalTx"), "{}", read.stderr);
    let listed = assay(directory.path(), ["sources"]);
    assert!(listed.stdout.contains("inside of transactions"), "{}", listed.stdout);
}

/// The verdict on a party on a day, or today, and the statuses of its labels.
fn frozen_state(directory: &Path, name: &str, day: Option<&str>) -> (bool, Vec<String>) {
    let answer = check(directory, name, day);
    let labels = answer["labels"].as_array().unwrap().iter();
    let labels = labels.map(|label| label["status"].as_str().unwrap().to_owned());
    (answer["verdict"] == "review", labels.collect())
}

#[test]
fn freezes_are_in_force_as_of_each_block() {
    // Given two accounts that were frozen on one day, of which one is lifted and one destroyed two days later...
    let mut chain = everything();
    let day = |days: i64| FIRST_TIME + days * DAY;
    chain.push(day(1), &[dollars("alice", "bob", 100), dollars("alice", "carol", 100)]);
    chain.push(day(2), &[freeze(ADDED, "bob"), freeze(ADDED, "carol")]);
    chain.push(day(4), &[freeze(REMOVED, "bob"), destroyed("carol", 100)]);
    let node = TronNode::start(chain);
    let directory = tempfile::tempdir().unwrap();
    let _ = ingest(directory.path(), &node, &["--to", "7"]).ok();
    let state = |name: &str, day| frozen_state(directory.path(), name, day);
    let [in_force, ended] = ["in_force", "not_in_force"].map(|it| vec![it.to_owned()]);
    for name in ["bob", "carol"] {
        // ...then before the freeze nothing is told, and from its block on it is in force...
        assert_eq!(state(name, Some("2023-11-15")), (false, Vec::new()), "{name}");
        assert_eq!(state(name, Some("2023-11-16")), (true, in_force.clone()), "{name}");
        assert_eq!(state(name, None), (true, in_force.clone()), "{name}");
    }
    let _ = ingest(directory.path(), &node, &[]).ok();
    // ...until it is lifted; destroyed funds leave the account frozen. Checks of days before stay as they were.
    assert_eq!(state("bob", None), (false, ended));
    assert_eq!(state("carol", None), (true, in_force.clone()));
    for name in ["bob", "carol"] {
        assert_eq!(state(name, Some("2023-11-15")), (false, Vec::new()), "{name}");
        assert_eq!(state(name, Some("2023-11-17")), (true, in_force.clone()), "{name}");
    }
    // The burned dollars are no longer on the account.
    let burned = (8, "burn".to_owned(), "usdt".to_owned(), "carol".to_owned());
    let all = recorded(directory.path());
    assert!(all.iter().any(|it| (it.0, it.1.clone(), it.2.clone(), it.3.clone()) == burned));
}
