//! The fake Esplora server answers and fails like a public one.

use std::{
    collections::BTreeSet,
    time::{Duration, Instant},
};

use assay_engine::utxo::{OutPoint, Txid};
use assay_tests::{
    block_builder::{Block, Network, Transaction, TxIn, TxOut, sha256d},
    esplora::{Esplora, Failure, Reply, falsifications},
    scenario::{Moment, Scenario, address, blocks::BlockTimes},
};
use serde_json::{Value, json};
use ureq::Agent;

fn scenario() -> Scenario {
    Scenario::new(Network::BitcoinRegtest, BlockTimes::FIXED)
}

/// The best chain at `moment`, with the first block of all.
fn chain(scenario: &Scenario, moment: Moment) -> Vec<Block> {
    let first = Block::genesis(scenario.network);
    [first].into_iter().chain(scenario.chain(moment).into_iter().cloned()).collect()
}

fn server(scenario: &Scenario, moment: Moment) -> Esplora {
    Esplora::start(scenario.network.chain(), chain(scenario, moment))
}

struct Client {
    agent: Agent,
    url: String,
}

impl Client {
    fn new(server: &Esplora) -> Self {
        let agent = Agent::config_builder().http_status_as_error(false).build().into();
        Self { agent, url: server.url() }
    }

    /// Status, `Retry-After` and body.
    fn get(&self, path: &str) -> Result<(u16, Option<String>, String), ureq::Error> {
        let mut response = self.agent.get(format!("{}{path}", self.url)).call()?;
        let after = response.headers().get("retry-after");
        let after = after.map(|after| after.to_str().unwrap().to_owned());
        let status = response.status().as_u16();
        Ok((status, after, response.body_mut().read_to_string()?))
    }

    fn text(&self, path: &str) -> String {
        let (status, _, body) = self.get(path).unwrap();
        assert_eq!(status, 200, "{path}: {body}");
        body
    }

    fn json(&self, path: &str) -> Value {
        serde_json::from_str(&self.text(path)).unwrap()
    }
}

fn txids(transactions: &Value) -> Vec<String> {
    let transactions = transactions.as_array().unwrap().iter();
    transactions.map(|each| each["txid"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn blocks_are_found_by_height_and_by_hash() {
    let scenario = scenario();
    let server = server(&scenario, Moment::End);
    let client = Client::new(&server);
    let last = scenario.kept.last().unwrap();
    assert_eq!(client.text("/blocks/tip/height"), "146");
    assert_eq!(client.text("/blocks/tip/hash"), last.hash.to_string());
    assert_eq!(client.text("/block-height/146"), last.hash.to_string());
    let shown = client.json(&format!("/block/{}", last.hash));
    assert_eq!(
        (&shown["height"], &shown["timestamp"], &shown["previousblockhash"]),
        (&json!(146), &json!(last.time), &json!(last.parent.to_string()))
    );
    assert_eq!(client.text(&format!("/block/{}/header", last.hash)), hex::encode(last.header()));
    let listed = |path: &str| {
        let blocks = client.json(path);
        let heights = blocks.as_array().unwrap().iter().map(|block| block["height"].clone());
        heights.map(|height| height.as_u64().unwrap()).collect::<Vec<_>>()
    };
    assert_eq!(listed("/blocks"), (137..=146).rev().collect::<Vec<_>>());
    assert_eq!(listed("/blocks/3"), [3, 2, 1, 0]);
    let first = client.json(&format!("/block/{}", Block::genesis(scenario.network).hash));
    assert_eq!(first["previousblockhash"], Value::Null);
    for (path, status) in [
        ("/block-height/147", 404),
        ("/block-height/minus", 400),
        ("/tx/00", 400),
        ("/address/nobody", 400),
        ("/nothing", 404),
    ] {
        assert_eq!(client.get(path).unwrap().0, status, "{path}");
    }
    let unknown = format!("/tx/{}", "ab".repeat(32));
    assert_eq!(client.get(&unknown).unwrap(), (404, None, "Transaction not found".to_owned()));
}

/// Rebuilds the transaction of an answer.
fn rebuilt(shown: &Value) -> Transaction {
    let bytes = |value: &Value| hex::decode(value.as_str().unwrap()).unwrap();
    let number = |value: &Value| u32::try_from(value.as_u64().unwrap()).unwrap();
    let inputs = shown["vin"].as_array().unwrap().iter().map(|input| TxIn {
        output: OutPoint {
            txid: input["txid"].as_str().unwrap().parse().unwrap(),
            index: number(&input["vout"]),
        },
        script: bytes(&input["scriptsig"]),
        sequence: number(&input["sequence"]),
        witness: input["witness"].as_array().into_iter().flatten().map(bytes).collect(),
    });
    let outputs = shown["vout"].as_array().unwrap().iter().map(|output| TxOut {
        value: output["value"].as_u64().unwrap(),
        script: bytes(&output["scriptpubkey"]),
    });
    Transaction {
        version: number(&shown["version"]),
        inputs: inputs.collect(),
        outputs: outputs.collect(),
        lock_time: number(&shown["locktime"]),
    }
}

#[test]
fn transactions_show_all_fields_and_spent_outputs() {
    let scenario = scenario();
    let server = server(&scenario, Moment::End);
    let client = Client::new(&server);
    for block in chain(&scenario, Moment::End) {
        let shown = client.json(&format!("/block/{}/txs", block.hash));
        let rebuilt: Vec<_> = shown.as_array().unwrap().iter().map(rebuilt).collect();
        assert_eq!(rebuilt, block.transactions);
    }
    let mix = client.json(&format!("/tx/{}", scenario.txid("mix")));
    assert_eq!((&mix["fee"], &mix["status"]["block_height"]), (&json!(1_000_000), &json!(119)));
    for input in mix["vin"].as_array().unwrap() {
        assert_eq!(input["prevout"]["value"], 1_000_000_000);
        let dave = address(scenario.network.chain(), "dave");
        assert_eq!(input["prevout"]["scriptpubkey_address"], dave.as_str());
        assert_eq!(input["prevout"]["scriptpubkey_type"], "v0_p2wsh");
    }
    let spends = client.json(&format!("/tx/{}/outspends", scenario.txid("buy-alice")));
    assert_eq!(spends[0]["txid"], scenario.txid("deposit-alice").to_string());
    assert_eq!((&spends[0]["vin"], &spends[1]), (&json!(0), &json!({ "spent": false })));
    let coinbase = client.json(&format!("/tx/{}", scenario.txid("mined-1")));
    assert_eq!(
        (&coinbase["vin"][0]["is_coinbase"], &coinbase["vin"][0]["prevout"], &coinbase["fee"]),
        (&json!(true), &Value::Null, &json!(0))
    );
}

#[test]
fn merkle_proofs_lead_to_the_root() {
    let scenario = scenario();
    let server = server(&scenario, Moment::End);
    let client = Client::new(&server);
    for block in chain(&scenario, Moment::End) {
        for (index, transaction) in block.transactions.iter().enumerate() {
            let proof = client.json(&format!("/tx/{}/merkle-proof", transaction.txid()));
            assert_eq!(
                (&proof["block_height"], &proof["pos"]),
                (&json!(block.height), &json!(index))
            );
            let (mut hash, mut at) = (sha256d(&transaction.stripped()), index);
            for other in proof["merkle"].as_array().unwrap() {
                let mut other = hex::decode(other.as_str().unwrap()).unwrap();
                other.reverse();
                let (left, right) = if at.is_multiple_of(2) {
                    (&hash[..], &other[..])
                } else {
                    (&other[..], &hash[..])
                };
                (hash, at) = (sha256d(&[left, right].concat()), at / 2);
            }
            assert_eq!(hash, block.merkle_root);
        }
    }
}

#[test]
fn histories_come_in_pages_newest_first() {
    let scenario = scenario();
    let server = server(&scenario, Moment::End);
    let client = Client::new(&server);
    let pool = address(scenario.network.chain(), "pool");
    let shown = client.json(&format!("/address/{pool}"));
    assert_eq!(
        (&shown["address"], &shown["chain_stats"]["tx_count"], &shown["mempool_stats"]["tx_count"]),
        (&json!(pool.as_str()), &json!(127), &json!(0))
    );
    assert_eq!(shown["chain_stats"]["funded_txo_sum"], 635_017_999_454_u64);
    let (mut all, mut pages) = (Vec::new(), Vec::new());
    let mut page = txids(&client.json(&format!("/address/{pool}/txs")));
    while let Some(last) = page.last() {
        let next = format!("/address/{pool}/txs/chain/{last}");
        pages.push(page.len());
        all.append(&mut page);
        page = txids(&client.json(&next));
    }
    assert_eq!(pages, [25, 25, 25, 25, 25, 2]);
    assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), 127);
    let newest = scenario.kept.last().unwrap().transactions[0].txid().to_string();
    assert_eq!(all[0], newest);
    let alice = address(scenario.network.chain(), "alice");
    let expected = ["deposit-alice", "buy-alice"].map(|name| scenario.txid(name).to_string());
    assert_eq!(txids(&client.json(&format!("/address/{alice}/txs"))), expected);
    let unspent = client.json(&format!("/address/{alice}/utxo"));
    assert_eq!((&unspent[0]["value"], unspent.as_array().unwrap().len()), (&json!(899_000_000), 1));
    let stranger = address(scenario.network.chain(), "somebody else");
    assert_eq!(client.json(&format!("/address/{stranger}/txs")), json!([]));
}

#[test]
fn a_reorganisation_and_a_lag_show_as_they_do() {
    let scenario = scenario();
    let server = server(&scenario, Moment::BeforeReorganisation);
    let client = Client::new(&server);
    let lost = format!("/tx/{}", scenario.txid("lost"));
    let ghost = format!("/address/{}/txs", address(scenario.network.chain(), "ghost"));
    assert_eq!(client.json(&lost)["status"]["block_height"], 133);
    assert_eq!(txids(&client.json(&ghost)).len(), 1);
    server.set_blocks(chain(&scenario, Moment::End));
    assert_eq!(client.get(&lost).unwrap().0, 404);
    assert_eq!(client.json(&ghost), json!([]));
    let again = client.json(&format!("/tx/{}", scenario.txid("again")));
    assert_eq!(again["status"]["block_height"], 138);
    let replaced = format!("/block/{}", scenario.replaced[0].hash);
    assert_eq!(client.json(&replaced)["height"], 131);
    assert_eq!(client.json(&format!("{replaced}/status"))["in_best_chain"], false);

    server.set_behavior(|behavior| behavior.lag = 10);
    assert_eq!(client.text("/blocks/tip/height"), "136");
    assert_eq!(client.get(&format!("/tx/{}", scenario.txid("again"))).unwrap().0, 404);
    server.set_behavior(|behavior| behavior.lag = 0);
    assert_eq!(client.text("/blocks/tip/height"), "146");
}

#[test]
fn it_fails_as_configured_and_counts_requests() {
    let scenario = scenario();
    let server = server(&scenario, Moment::End);
    let client = Client::new(&server);
    server.set_behavior(|behavior| {
        behavior.next.extend([
            Failure::TooManyRequests(Some(2)),
            Failure::TooManyRequests(None),
            Failure::Internal,
            Failure::Truncated,
            Failure::Dropped,
            Failure::NotJson,
        ]);
    });
    let tip = "/blocks/tip/height";
    let (status, after, _) = client.get(tip).unwrap();
    assert_eq!((status, after.as_deref()), (429, Some("2")));
    let (status, after, _) = client.get(tip).unwrap();
    assert_eq!((status, after), (429, None));
    assert_eq!(client.get(tip).unwrap().0, 500);
    assert!(client.get(tip).is_err(), "the body breaks off");
    assert!(client.get(tip).is_err(), "no answer at all");
    assert!(client.text(tip).starts_with("<html>"));
    assert_eq!(client.text(tip), "146");
    let asked = server.requests();
    assert!(asked.len() >= 7 && asked.iter().all(|path| path == "/api/blocks/tip/height"));

    server.set_behavior(|behavior| behavior.every = Some((1, Failure::Internal)));
    assert_eq!([0; 3].map(|_| client.get(tip).unwrap().0), [500; 3]);
    server.set_behavior(|behavior| {
        behavior.every = None;
        behavior.latency = Duration::from_millis(80);
    });
    let start = Instant::now();
    assert_eq!(client.text(tip), "146");
    assert!(start.elapsed() >= Duration::from_millis(80));
}

#[test]
fn its_false_answers_are_detectable() {
    let scenario = scenario();
    let server = server(&scenario, Moment::End);
    let client = Client::new(&server);
    let mix = format!("/tx/{}", scenario.txid("mix"));
    let Reply::Json(truth) = server.answer(&mix) else { panic!("an answer") };
    assert_eq!(client.json(&mix), truth);
    let identifier = |shown: &Value| -> Txid { rebuilt(shown).txid() };
    assert_eq!(identifier(&truth), scenario.txid("mix"));
    for falsification in [falsifications::falsify_values, falsifications::falsify_owners] {
        server.set_behavior(|behavior| behavior.falsification = Some(falsification));
        assert_ne!(identifier(&client.json(&mix)), scenario.txid("mix"));
    }
    // These need another question.
    for falsification in [falsifications::falsify_spent_values, falsifications::falsify_heights] {
        server.set_behavior(|behavior| behavior.falsification = Some(falsification));
        let told = client.json(&mix);
        assert_eq!(identifier(&told), scenario.txid("mix"));
        assert_ne!(told, truth);
    }
    server.set_behavior(|behavior| behavior.falsification = Some(falsifications::falsify_spending));
    let spends = client.json(&format!("/tx/{}/outspends", scenario.txid("buy-alice")));
    assert_eq!(spends[0], json!({ "spent": false }));
}
