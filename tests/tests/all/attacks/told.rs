//! Answers tell that compositions (origin breakdowns) rest on earlier lists and labels, and no cache repeats such an
//! answer once the new compositions are there.

use std::{fs, path::Path, sync::Arc};

use assay_address::ChainId;
use assay_graph::EmbeddedGraphs;
use assay_tests::{Caller, Postgres, Server, assay, plan_with_tenant};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::{chain_tools::address_of, support::wait_until};

/// Transactions between thief and payee: more than a trace passes where compositions are known.
const STEPS: u32 = 320;
const COIN: u64 = 100_000_000;
const CODE: &str = "compositions_outdated";
const BEHIND: &str = "assay_composition_transactions_behind{chain=\"btc\"}";

/// Origin of a thief's coins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Origin {
    Mined,
    /// From before the first block of the graph.
    Unknown,
}

impl Origin {
    /// Height of the first block.
    const fn first(self) -> u64 {
        match self {
            Self::Mined => 0,
            Self::Unknown => 100,
        }
    }
}

fn txid(number: u32) -> String {
    format!("{:064x}", number + 1)
}

/// A line of a chain: a transaction of 50 coins in a block.
fn line(origin: Origin, block: u64, number: u32, inputs: &Value, pays: &str) -> String {
    #[expect(clippy::disallowed_methods, reason = "the newest block is one of now")]
    let now = jiff::Timestamp::now().as_second();
    let hash = |height: u64| format!("{:064x}", height + 0xb0);
    let height = origin.first() + block;
    let block = json!({
        "height": height,
        "hash": hash(height),
        "parent": height.checked_sub(1).map_or_else(|| "0".repeat(64), hash),
        // All lines of a block have the time of its first line.
        "time": now - now % 600 - 600 + i64::try_from(block).unwrap(),
    });
    let outputs = json!([{"address": address_of(pays), "value": 50 * COIN}]);
    let line = json!({"block": block, "txid": txid(number), "inputs": inputs, "outputs": outputs});
    format!("{line}\n")
}

/// A chain on which a thief's coins reach the payee over [`STEPS`] fresh addresses.
fn chain(origin: Origin) -> String {
    let earlier = match origin {
        Origin::Mined => json!([]),
        Origin::Unknown => json!([{"txid": "e1".repeat(32), "index": 0}]),
    };
    let mut lines = line(origin, 0, 0, &earlier, "thief");
    for step in 1..=STEPS {
        let payee = if step == STEPS { "payee".to_owned() } else { format!("step-{step}") };
        let spent = json!([{"txid": txid(step - 1), "index": 0}]);
        lines.push_str(&line(origin, 1, step, &spent, &payee));
    }
    lines
}

fn run(directory: &Path, arguments: &[&str]) -> String {
    assay(directory, arguments).ok().stdout
}

/// Imports the labels of the police: of a shop that nobody paid, and of the given people.
fn label(directory: &Path, thieves: &[&str]) {
    let row = |person: &str, category: &str| {
        format!("btc,{},{category},{person},100,investigation,The police\n", address_of(person))
    };
    let mut labels = "blockchain,address,category,entity,confidence,tier,author\n".to_owned();
    labels.push_str(&row("shop", "merchant"));
    labels.extend(thieves.iter().map(|thief| row(thief, "stolen_funds")));
    fs::write(directory.join("labels.csv"), labels).unwrap();
    let import = ["ingest", "labels", "labels.csv", "--format", "csv", "--source", "police"];
    let _ = run(directory, &import);
}

/// Applies a policy that needs the labels of the police only, and returns the key of a tenant.
fn set_up(directory: &Path) -> String {
    let policy = "apiVersion: assay.dev/v1alpha1\nkind: RiskPolicy\nmetadata: {name: default}\n\
                  spec: {mandatorySources: [{name: police}]}\n---\n";
    let limit = "{name: burst, requests: 1000000, window: 5s, counts: requests}";
    let manifests = format!("{policy}{}", plan_with_tenant("roomy", limit));
    fs::write(directory.join("all.yaml"), manifests).unwrap();
    let _ = run(directory, &["apply", "-f", "all.yaml"]);
    label(directory, &[]);
    run(directory, &["keys", "create", "--tenant", "acme"]).trim().to_owned()
}

fn ingest(directory: &Path, lines: &str) {
    fs::write(directory.join("chain.jsonl"), lines).unwrap();
    let _ = run(directory, &["ingest", "chain", "btc", "--jsonl", "chain.jsonl"]);
}

fn checked(caller: &Caller) -> Value {
    let answer = caller.check("btc", &address_of("payee"));
    assert_eq!(answer.status, 200, "{}", answer.text);
    answer.json()
}

fn told(answer: &Value) -> Option<&Value> {
    answer["reasons"].as_array().unwrap().iter().find(|reason| reason["code"] == CODE)
}

/// Asserts that an answer tells that it rests on earlier labels.
fn assert_told(answer: &Value) {
    let reason = told(answer).unwrap_or_else(|| panic!("{answer}"));
    let message = reason["message"].as_str().unwrap();
    assert!(message.contains("of funds received rest on earlier lists and labels"), "{message}");
    assert_eq!((&answer["verdict"], &answer["complete"]), (&json!("indeterminate"), &json!(false)));
    assert_eq!(answer["coverage"]["exposure"]["status"], "partial");
}

/// Asserts that an answer rests on the present labels, of which one names the thief.
fn assert_current(answer: &Value) {
    assert!(told(answer).is_none(), "{answer}");
    assert_eq!((&answer["verdict"], &answer["complete"]), (&json!("review"), &json!(true)));
    assert_eq!(answer["coverage"]["exposure"]["status"], "assessed");
}

#[test]
fn an_answer_by_compositions_from_before_a_label_is_told_and_ends_with_them() {
    is_told_and_ends(Origin::Mined);
}

#[test]
fn an_unknown_origin_from_before_a_label_is_told_too() {
    is_told_and_ends(Origin::Unknown);
}

/// Asserts that answers by compositions from before a label are told, and end with these compositions.
fn is_told_and_ends(origin: Origin) {
    // Given a server that computed compositions before anybody named the thief,
    let directory = Arc::new(tempfile::tempdir().unwrap());
    let key = set_up(directory.path());
    ingest(directory.path(), &chain(origin));
    let server = Server::start(Arc::clone(&directory), &[]);
    let caller = server.caller(&key);
    wait_until("everything is computed", || server.metric_if_any::<u64>(BEHIND) == Some(0));
    let before = checked(&caller);
    assert_eq!((&before["verdict"], &before["complete"]), (&json!("allow"), &json!(true)));
    // when a label names the thief while the compositions wait for another program,
    let other = EmbeddedGraphs::new(directory.path()).composition_writer(ChainId::BTC).unwrap();
    label(directory.path(), &["thief"]);
    // then answers tell that they rest on earlier labels, and are repeated while this holds,
    wait_until("the label is known", || {
        checked(&caller)["data_revision"] != before["data_revision"]
    });
    let first = caller.check("btc", &address_of("payee"));
    assert_told(&first.json());
    assert_eq!(first.json()["cached"], true);
    assert!(first.header("cache-status").ends_with("ttl=0"), "{}", first.header("cache-status"));
    // in screening
    let row = json!({"blockchain": "btc", "address": address_of("payee")}).to_string();
    let lines = [("content-type", "application/x-ndjson")];
    let screened = || caller.post("/api/v1/screen?scope=full", &row, &lines).json();
    assert_eq!(
        (&screened()["verdict"], &screened()["decided_by"]),
        (&json!("indeterminate"), &json!("trace"))
    );
    // and on the command line too, which also names the commands that compute compositions.
    let printed = assay(directory.path(), ["check", "btc", &address_of("payee"), "--json"]).ok();
    assert_told(&printed.json());
    assert!(printed.stderr.contains("`assay export exposures`"), "{}", printed.stderr);
    // As soon as the compositions are computed, no cache repeats the answer.
    drop(other);
    let graphs = EmbeddedGraphs::new(directory.path());
    let revision = || {
        let compositions = graphs.compositions(ChainId::BTC).unwrap().unwrap();
        compositions.reader().unwrap().unwrap().state().ends
    };
    let earlier = revision();
    wait_until("the label counts", || revision() != earlier);
    assert_current(&checked(&caller));
    assert_eq!(screened()["verdict"], "review");
    let printed = assay(directory.path(), ["check", "btc", &address_of("payee"), "--json"]).ok();
    assert_current(&printed.json());
    assert!(!printed.stderr.contains("`assay export exposures`"), "{}", printed.stderr);
    // A block that pays an address that was labelled before changes the parties, and outdates nothing.
    let before = revision();
    ingest(directory.path(), &line(origin, 2, STEPS + 1, &json!([]), "shop"));
    wait_until("the block counts", || revision() != before);
    let body = json!({"blockchain": "btc", "address": address_of("payee")}).to_string();
    let anew = [("cache-control", "no-cache")];
    assert_current(&caller.post("/api/v1/check/address", &body, &anew).json());
}

#[test]
fn an_answer_of_a_chain_server_tells_its_earlier_compositions_too() {
    // Given an API server and a chain server with one database,
    let database = Postgres::shared(None);
    let [chain, api]: [Arc<TempDir>; 2] = [(), ()].map(|()| Arc::new(tempfile::tempdir().unwrap()));
    for directory in [&chain, &api] {
        database.connect_directory(directory.path());
    }
    let _ = run(api.path(), &["migrate"]);
    let key = set_up(api.path());
    ingest(chain.path(), &self::chain(Origin::Mined));
    let chain_server = Server::start_chain(Arc::clone(&chain), &["btc"]);
    wait_until("everything is computed", || chain_server.metric_if_any::<u64>(BEHIND) == Some(0));
    let servers = format!("btc=http://{}", chain_server.api);
    let server = Server::start(Arc::clone(&api), &["--chain-servers", &servers]);
    let caller = server.caller(&key);
    let before = checked(&caller);
    assert_eq!((&before["verdict"], &before["complete"]), (&json!("allow"), &json!(true)));
    // when a label names the thief while the chain server's compositions wait for another program,
    let other = EmbeddedGraphs::new(chain.path()).composition_writer(ChainId::BTC).unwrap();
    label(api.path(), &["thief"]);
    // then answers tell it, and none is repeated: another chain server may have other compositions.
    wait_until("the label is known", || {
        checked(&caller)["data_revision"] != before["data_revision"]
    });
    for _ in 0..2 {
        let answer = checked(&caller);
        assert_told(&answer);
        assert_eq!(answer["cached"], false);
    }
    drop(other);
    wait_until("the label counts", || told(&checked(&caller)).is_none());
    assert_current(&checked(&caller));
}
