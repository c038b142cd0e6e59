//! The scenario of [`assay_tests::scenario`] on real nodes, and checks of all its parties.

use std::{
    collections::{BTreeSet, HashMap},
    path::Path,
};

use assay_engine::utxo::OutPoint;
use assay_tests::{
    Postgres, assay,
    block_builder::{Network, TxOut},
    migrated_database,
    nodes::{Node, NodeKind},
    scenario::{
        EXPECTATIONS, Expectation, ExpectedAnswer, Follower, Moment, Scenario, Step,
        blocks::BlockTimes,
        cast::lock,
        check::Money,
        check_scenario,
        files::Files,
        mweb,
        payments::PAYMENTS,
        play,
        play::{arguments, check_all_parties},
    },
};
use serde_json::{Value, json};

/// The last block of each branch, whose hash covers all earlier blocks. The hashes never change.
const TIPS: [(Network, [&str; 2]); 2] = [
    (
        Network::BitcoinRegtest,
        [
            "117f9d6a81a1f5ac5090ac8017c138f3f540e3f89a959a19fa6e27495074a3c8",
            "3e7c9b582f8588f99efe8b13cdea98f5f05c4b50adc4c42527bf4ba67c051a6b",
        ],
    ),
    (
        Network::LitecoinRegtest,
        [
            "b9572b77f47c40f37bc4c20a957222613694581eda83f26b2591a6701b3e6a06",
            "4205232d01e6a4974a1e9c472ad2a83ceb2e512832a39db29329d08ac6fb8f31",
        ],
    ),
];

fn scenario(kind: NodeKind) -> Scenario {
    Scenario::new(kind.network(), BlockTimes::FIXED)
}

/// Asserts that a node accepts every block, keeps its blocks, and switches to the longer branch.
fn is_accepted_by(kind: NodeKind) {
    let mut node = Node::start(kind);
    let scenario = scenario(kind);
    let holds = |node: &Node, height: u64, name: &str| {
        let hash = node.block_hash(height);
        let block = node.call("getblock", &[json!(hash), json!(1)]).unwrap();
        block["tx"].as_array().unwrap().contains(&json!(scenario.txid(name).to_string()))
    };
    // Asked for the transaction itself, Bitcoin Core still names the block that was replaced.
    let is_unspent = |node: &Node, name: &str| {
        // Without what waits to be mined.
        let output = [json!(scenario.txid(name).to_string()), json!(0), json!(false)];
        !node.call("gettxout", &output).unwrap().is_null()
    };
    let mut steps = Vec::new();
    play(&scenario, &mut node, |step, node| {
        steps.push(step);
        match step {
            Step::Branched => {
                assert!(holds(node, 133, "lost") && holds(node, 135, "again"));
                assert!(is_unspent(node, "lost"));
            }
            Step::Ended => {
                assert!(holds(node, 134, "instead") && holds(node, 138, "again"));
                assert!(is_unspent(node, "instead") && !is_unspent(node, "lost"));
            }
            _ => {}
        }
    });
    assert_eq!(steps.len(), 9);
}

#[test]
#[ignore = "needs Bitcoin Core"]
fn bitcoin_core_accepts_the_scenario() {
    is_accepted_by(NodeKind::BitcoinCore);
}

#[test]
#[ignore = "needs btcd"]
fn btcd_accepts_the_scenario() {
    is_accepted_by(NodeKind::Btcd);
}

#[test]
#[ignore = "needs Litecoin Core"]
fn litecoin_core_accepts_the_scenario() {
    is_accepted_by(NodeKind::Litecoin { mweb: false });
}

#[test]
#[ignore = "needs Litecoin Core"]
fn coins_go_into_litecoins_extension_blocks_and_come_out_again() {
    let kind = NodeKind::Litecoin { mweb: true };
    let mut node = Node::start(kind);
    let scenario = scenario(kind);
    play(&scenario, &mut node, |_, _| {});
    let sequel = mweb::play(&scenario, &node);
    let [walter, yvonne] = &sequel.wanted;
    // All but a small fee went in, and the last transaction of a block paid out.
    let [Money { amount: went_in, .. }, Money { amount: fee, .. }] = &walter.destination[..] else {
        panic!("{walter:?}");
    };
    assert_eq!((went_in + fee, *fee < 100_000), (walter.received, true));
    assert_eq!(yvonne.received, 200_000_000);
    let paying = node.block_hash(mweb::PAID_OUT);
    let block = node.call("getblock", &[json!(paying), json!(2)]).unwrap();
    let last = block["tx"].as_array().unwrap().last().unwrap();
    assert_eq!(last["txid"], sequel.paid_out.to_string());
    assert_eq!(last["vout"][0]["scriptPubKey"]["type"], "witness_mweb_hogaddr");
    assert!(block["mweb"]["num_kernels"].is_number(), "{block}");
}

#[test]
#[ignore = "needs Bitcoin Core"]
fn block_files_of_a_node_are_read_with_the_outputs_that_they_spend() {
    // Given a node whose chain was reorganised once, and two graphs that begin late...
    let mut node = Node::start(NodeKind::BitcoinCore);
    let scenario = scenario(NodeKind::BitcoinCore);
    play(&scenario, &mut node, |_, _| {});
    let ingested = |source: &[String]| {
        let directory = tempfile::tempdir().unwrap();
        let _ = assay(directory.path(), [source, &["--from".into(), "110".into()]].concat()).ok();
        let export = ["export", "transfers", "btc", "--format", "jsonl"];
        assay(directory.path(), export).ok().stdout
    };
    // ...one from its answers, and one from its files alone...
    let answered = ingested(&arguments(&node));
    node.stop();
    let folder = node.block_files().display().to_string();
    let files = ["ingest", "chain", "btc", "--test-network", "--blocks", &folder];
    let files = ingested(&files.map(str::to_owned));
    // ...then both hold the same, and know every output that was spent.
    assert_eq!(files, answered);
    let lines = files.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let inputs = lines.flat_map(|line| line["inputs"].as_array().cloned().unwrap_or_default());
    let inputs: Vec<Value> = inputs.collect();
    assert!(inputs.len() > 20, "{}", inputs.len());
    assert!(inputs.iter().all(|input| input["value"].is_number()), "{inputs:?}");
}

#[test]
fn blocks_are_the_same_in_every_run_and_payments_on_every_network() {
    for (network, tips) in TIPS {
        let scenario = Scenario::new(network, BlockTimes::FIXED);
        let last = [&scenario.replaced, &scenario.kept].map(|branch| branch.last().unwrap().hash);
        assert_eq!(last.map(|hash| hash.to_string()), tips, "{network:?}");
    }
    let [bitcoin, litecoin] =
        TIPS.map(|(network, _)| Scenario::new(network, BlockTimes::FIXED)).map(|scenario| {
            let txids = PAYMENTS.iter().map(|payment| scenario.txid(payment.name));
            txids.collect::<BTreeSet<_>>()
        });
    assert_eq!(bitcoin, litecoin);
    assert_eq!(bitcoin.len(), PAYMENTS.len());
}

/// Totals that a party received and sent, and the first and last block, computed only from the blocks.
fn activity_in_blocks(
    scenario: &Scenario,
    moment: Moment,
    person: &str,
) -> (Option<(u64, u64)>, u64, u64) {
    let script = lock(person).script();
    let chain = scenario.chain(moment);
    let mut made: HashMap<OutPoint, &TxOut> = HashMap::new();
    let (mut heights, mut received, mut sent) = (Vec::new(), 0, 0);
    for (block, transaction) in
        chain.iter().flat_map(|block| block.transactions.iter().map(move |each| (block, each)))
    {
        let own = |output: &TxOut| {
            if output.script == script { u128::from(output.value) } else { 0 }
        };
        let inputs: Vec<&TxOut> = transaction
            .inputs
            .iter()
            .filter_map(|input| made.get(&input.output).copied())
            .collect();
        let whole: u128 = inputs.iter().map(|output| u128::from(output.value)).sum();
        let gave: u128 = inputs.iter().map(|output| own(output)).sum();
        let got: u128 = transaction.outputs.iter().map(own).sum();
        if gave + got > 0 {
            heights.push(block.height);
        }
        let change = assay_engine::ledger::change(gave, got, whole);
        received += u64::try_from(got - change).unwrap();
        sent += u64::try_from(gave - change).unwrap();
        let txid = transaction.txid();
        for (index, output) in (0..).zip(&transaction.outputs) {
            made.insert(OutPoint { txid, index }, output);
        }
    }
    let seen = heights.first().map(|first| (*first, *heights.last().unwrap()));
    (seen, received, sent)
}

#[test]
fn expectations_agree_with_the_blocks_and_add_up() {
    let scenario = scenario(NodeKind::Btcd);
    for expected in EXPECTATIONS.iter() {
        for moment in &expected.at {
            let Expectation { person, seen, received, sent, .. } = expected.clone();
            let found = activity_in_blocks(&scenario, *moment, person);
            assert_eq!(found, (seen, received, sent), "{person} {moment:?}");
            let wanted = ExpectedAnswer::new(expected, &scenario, *moment);
            let sum = |rows: &[Money]| rows.iter().map(|row| row.amount).sum::<u64>();
            assert_eq!(sum(&wanted.source), received, "{person}");
            assert_eq!(sum(&wanted.destination), received, "{person}");
        }
    }
}

/// An answer with exactly the expected values in all compared fields.
fn answer(wanted: &ExpectedAnswer) -> Value {
    let amounts = |value: u64| json!([{ "value": value.to_string() }]);
    let rows = |direction: &str, whole: u64, rows: &[Money]| {
        let mut left = 1_000_000;
        let last = rows.len().saturating_sub(1);
        let shown = rows.iter().enumerate().map(|(place, row)| {
            let exact = u128::from(row.amount) * 1_000_000 / u128::from(whole);
            let share = if place == last { left } else { u64::try_from(exact).unwrap() };
            left -= share;
            let named = |text: &str| if text.is_empty() { Value::Null } else { json!(text) };
            json!({
                "direction": direction,
                "endpoint_type": row.end.end,
                "unresolved_reason": named(&row.end.reason),
                "entity": named(&row.end.entity),
                "listed": row.end.listed,
                "solicited": row.end.solicited,
                "hops": row.hops,
                "amount": { "value": row.amount.to_string() },
                "share": format!("{}.{:06}", share / 1_000_000, share % 1_000_000),
                "transactions": row.transactions,
            })
        });
        shown.collect::<Vec<_>>()
    };
    let mut exposure = rows("source", wanted.received, &wanted.source);
    exposure.extend(rows("destination", wanted.received, &wanted.destination));
    json!({
        "blockchain": wanted.chain.as_str(),
        "address": wanted.address.as_str(),
        "sources": [{ "id": "list" }, { "id": "chain", "latest_block": { "height": wanted.tip } }],
        "activity": {
            "status": if wanted.seen.is_some() { "seen" } else { "none" },
            "first_seen": wanted.seen.map(|(first, _)| first.to_string()),
            "last_seen": wanted.seen.map(|(_, last)| last.to_string()),
            "counts": { "transfers_in": wanted.transfers.0, "transfers_out": wanted.transfers.1 },
            "in": amounts(wanted.received),
            "out": amounts(wanted.sent),
            "balance": amounts(wanted.received - wanted.sent),
        },
        "exposure": exposure,
    })
}

#[test]
fn a_wrong_answer_is_reported_with_the_position() {
    let scenario = scenario(NodeKind::Btcd);
    for expected in EXPECTATIONS.iter() {
        let answer = answer(&ExpectedAnswer::new(expected, &scenario, expected.at[0]));
        assert_eq!(check_scenario(&answer, expected, &scenario, expected.at[0]), [""; 0]);
    }
    let thief = EXPECTATIONS.iter().find(|expected| expected.person == "thief").unwrap();
    let right = answer(&ExpectedAnswer::new(thief, &scenario, Moment::End));
    let cases: [(&str, Value, &str); 11] = [
        ("/sources/1/latest_block/height", json!(145), "height of the tip"),
        ("/activity/balance/0/value", json!("1"), "balance"),
        ("/activity/last_seen", json!("2023-11-15T00:00:00Z"), "last_seen"),
        ("/activity/counts/transfers_out", json!(4), "transfers_out"),
        (
            "/exposure/0/amount/value",
            json!("4003000001"),
            "source, exchange North Exchange: amount",
        ),
        ("/exposure/0/hops", json!(2), "fewest hops"),
        ("/exposure/0/transactions", json!([]), "transactions"),
        (
            "/exposure/1/listed",
            json!(false),
            "sanctions Listed Holdings listed: 200000000 are missing",
        ),
        ("/exposure/2/share", json!("0.149390"), "sum of the shares"),
        ("/exposure/2/transactions", json!(["00"]), "are not transactions of"),
        ("/exposure/5/unresolved_reason", json!("trace_limit"), "are not expected"),
    ];
    for (pointer, value, told) in cases {
        let mut wrong = right.clone();
        *wrong.pointer_mut(pointer).unwrap() = value;
        let differences = check_scenario(&wrong, thief, &scenario, Moment::End).join("\n");
        assert!(differences.contains(told), "{pointer}: {differences}");
    }
}

/// Asserts that checks of all parties are as expected while Assay follows a node through the scenario and is killed
/// once, and after an ingest of the whole chain.
fn answers_are_as_expected(kind: NodeKind, database: Option<&Postgres>) {
    let mut node = Node::start(kind);
    let scenario = scenario(kind);
    let chain = scenario.network.chain();
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    if let Some(database) = database {
        database.connect_directory(directory);
    }
    Files::write(chain, directory).import(directory);
    let everybody = |directory: &Path, moment: Moment| {
        let differences = check_all_parties(directory, &scenario, moment);
        assert!(differences.is_empty(), "{kind}, {moment:?}:\n{}", differences.join("\n"));
    };

    let mut follower = Follower::start(directory, &node, &scenario);
    play(&scenario, &mut node, |step, node| {
        if step == Step::Stolen {
            follower.kill();
            follower = Follower::start(directory, node, &scenario);
        }
        follower.catch_up(directory, chain, step.height());
        if let Some(moment) = step.moment() {
            everybody(directory, moment);
        }
    });
    if kind == (NodeKind::Litecoin { mweb: true }) {
        let sequel = mweb::play(&scenario, &node);
        follower.catch_up(directory, chain, mweb::END);
        for wanted in sequel.wanted {
            let check = ["check", chain.as_str(), wanted.address.as_str(), "--json"];
            let differences = wanted.differences(&assay(directory, check).ok().json());
            assert!(differences.is_empty(), "{}", differences.join("\n"));
        }
        return;
    }
    drop(follower);

    let straight = tempfile::tempdir().unwrap();
    Files::write(chain, straight.path()).import(straight.path());
    let _ = assay(straight.path(), arguments(&node)).ok();
    everybody(straight.path(), Moment::End);
}

#[test]
#[ignore = "needs Bitcoin Core"]
fn answers_on_bitcoin_core_are_as_expected() {
    answers_are_as_expected(NodeKind::BitcoinCore, None);
}

#[test]
#[ignore = "needs btcd"]
fn answers_on_btcd_are_as_expected() {
    answers_are_as_expected(NodeKind::Btcd, None);
}

#[test]
#[ignore = "needs Litecoin Core"]
fn answers_on_litecoin_core_are_as_expected() {
    answers_are_as_expected(NodeKind::Litecoin { mweb: false }, None);
}

#[test]
#[ignore = "needs Litecoin Core"]
fn answers_on_litecoin_extension_blocks_are_as_expected_on_postgresql() {
    let database = migrated_database();
    answers_are_as_expected(NodeKind::Litecoin { mweb: true }, Some(&database));
}
