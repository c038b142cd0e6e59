//! Chain servers with blocks of several branches: the choice of the answering server, answers, metrics and logs.

use std::{fs, path::Path, sync::Arc};

use assay_tests::{
    Caller, Server, assay,
    block_builder::{Block, Network},
    esplora::Esplora,
    plan_with_tenant,
    scenario::{Scenario, blocks::BlockTimes},
    wait_until,
};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::chain_tools::address_of;

/// The last block that the branches share.
const FORK: u64 = 90;
const COIN: u64 = 100_000_000;

/// A data directory with lists, labels, a policy that needs no list, and the key of a tenant.
struct World {
    directory: TempDir,
    key: String,
    /// Time of the first block, such that the newest block is recent.
    begun: i64,
}

impl World {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let limit = "{name: burst, requests: 1000000, window: 5s, counts: requests}";
        let policy = "apiVersion: assay.dev/v1alpha1\nkind: RiskPolicy\nmetadata: {name: default}\n\
                      spec: {mandatorySources: [{name: police}]}\n---\n";
        let labels = format!(
            "blockchain,address,category,entity,confidence,tier,author\n\
             btc,{},ransomware,Thief,100,investigation,The police\n",
            address_of("thief")
        );
        let manifests = format!("{policy}{}", plan_with_tenant("roomy", limit));
        fs::write(directory.path().join("all.yaml"), manifests).unwrap();
        fs::write(directory.path().join("labels.csv"), labels).unwrap();
        let run = |arguments: &[&str]| assay(directory.path(), arguments).ok().stdout;
        let _ = run(&["apply", "-f", "all.yaml"]);
        let _ = run(&["ingest", "labels", "labels.csv", "--format", "csv", "--source", "police"]);
        let key = run(&["keys", "create", "--tenant", "acme"]).trim().to_owned();
        #[expect(clippy::disallowed_methods, reason = "the newest block is one of now")]
        let now = jiff::Timestamp::now();
        Self { directory, key, begun: now.as_second() - 3_600 }
    }

    /// A copy of the data directory, for another program.
    fn copy(&self) -> Arc<TempDir> {
        let copy = tempfile::tempdir().unwrap();
        for entry in fs::read_dir(self.directory.path()).unwrap() {
            let entry = entry.unwrap();
            if entry.file_type().unwrap().is_file() && entry.file_name() != "serve.lock" {
                fs::copy(entry.path(), copy.path().join(entry.file_name())).unwrap();
            }
        }
        Arc::new(copy)
    }

    /// A line of a chain: a transaction in a block of a branch.
    fn line(&self, (branch, height): (u8, u64), inputs: &Value, pays: &str, more: u8) -> String {
        let hash = |height: u64| {
            let own = if height > FORK { branch } else { 0 };
            format!("{:016x}{own:048x}", height + 1)
        };
        let parent = height.checked_sub(1).map_or("0".repeat(64), hash);
        let txid = format!("{:032x}{branch:030x}{more:02x}", height + 1);
        let block = json!({
            "height": height, "hash": hash(height), "parent": parent,
            "time": self.begun + i64::try_from(height).unwrap() * 20,
        });
        let outputs = json!([{"address": address_of(pays), "value": 50 * COIN}]);
        let line = json!({"block": block, "txid": txid, "inputs": inputs, "outputs": outputs});
        format!("{line}\n")
    }

    /// A chain server of a branch up to the block `newest`. Only on the right branch the thief paid the shop.
    fn chain_server(&self, branch: u8, newest: u64, more: &[&str]) -> Server {
        let directory = self.copy();
        let mut lines = String::new();
        for height in 0..=newest {
            // The blocks below the fork are the same on all branches.
            let own = if height > FORK { branch } else { 0 };
            let miner = if height == 1 { "thief" } else { "miner" };
            lines.push_str(&self.line((own, height), &json!([]), miner, 0));
            if (branch, height) == (RIGHT, FORK + 3) {
                let stolen = format!("{:032x}{:030x}{:02x}", 2, 0, 0);
                let spent = json!([{"txid": stolen, "index": 0}]);
                lines.push_str(&self.line((own, height), &spent, "shop", 1));
            }
        }
        fs::write(directory.path().join("chain.jsonl"), lines).unwrap();
        let ingest = ["ingest", "chain", "btc", "--jsonl", "chain.jsonl"];
        let _ = assay(directory.path(), ingest).ok();
        Server::start_chain(directory, &[&["btc"], more].concat())
    }

    fn api(&self, chain: &[String]) -> (Server, Caller) {
        let urls: Vec<String> = chain.iter().map(|it| format!("btc=http://{it}")).collect();
        let server = Server::start(self.copy(), &["--chain-servers", &urls.join(",")]);
        let caller = server.caller(&self.key);
        (server, caller)
    }
}

const RIGHT: u8 = 1;
const FORGED: u8 = 2;

fn addresses(servers: &[&Server]) -> Vec<String> {
    servers.iter().map(|server| server.api.to_string()).collect()
}

fn shop(caller: &Caller) -> Value {
    let answer = caller.check("btc", &address_of("shop"));
    assert_eq!(answer.status, 200, "{}", answer.text);
    answer.json()
}

fn has(answer: &Value, field: &str, code: &str) -> bool {
    answer[field].as_array().unwrap().iter().any(|it| it["code"] == code)
}

fn branches(server: &Server) -> u64 {
    server.metric("assay_chain_branches{chain=\"btc\"}")
}

#[test]
fn a_longer_branch_of_one_server_does_not_outvote_two() {
    // Given two chain servers at block 105, on whose branch the shop was paid by a thief, and a third one at 120 of another
    // branch, on which it was not,
    let world = World::new();
    let right = [(), ()].map(|()| world.chain_server(RIGHT, 105, &[]));
    let forged = world.chain_server(FORGED, 120, &[]);
    let (alone, caller) = world.api(&addresses(&[&forged]));
    assert_eq!((shop(&caller)["verdict"].as_str(), branches(&alone)), (Some("allow"), 1));
    let (agreed, caller) = world.api(&addresses(&[&right[0], &right[1]]));
    let answer = shop(&caller);
    assert_eq!((answer["verdict"].as_str(), branches(&agreed)), (Some("review"), 1));
    assert!(!has(&answer, "warnings", "chain_branches_differ"), "{answer}");

    // when all three are asked, then the two answer, and callers, metrics and the log say so,
    let (server, caller) = world.api(&addresses(&[&right[0], &forged, &right[1]]));
    for number in 0..50 {
        let address =
            if number == 0 { address_of("shop") } else { address_of(&format!("nobody {number}")) };
        let answer = caller.check("btc", &address).json();
        assert!(has(&answer, "warnings", "chain_branches_differ"), "{answer}");
        let block = &answer["sources"].as_array().unwrap().last().unwrap()["latest_block"];
        assert_eq!(block["height"], 105, "{answer}");
    }
    assert_eq!(shop(&caller)["verdict"], "review");
    assert_eq!(branches(&server), 2);
    let told = format!("differ above block {FORK}");
    wait_until("its log says so", || server.log().contains(&told));
    // and the forged one is not asked for anything but its blocks,
    let traces = "assay_chain_questions_total{question=\"trace\",outcome=\"answered\"}";
    assert_eq!(forged.metric::<u64>(traces), 1, "by the first server");
    // also once the two are gone.
    drop(right);
    wait_until("nobody answers", || shop(&caller)["verdict"] == "indeterminate");
    let answer = caller.check("btc", &address_of("somebody")).json();
    assert_eq!(answer["verdict"], "indeterminate");
    assert!(has(&answer, "warnings", "chain_branches_differ"), "{answer}");
    assert_eq!(forged.metric::<u64>(traces), 1);
}

#[test]
fn one_against_one_nothing_is_allowed_and_no_earlier_answer_is_repeated() {
    let world = World::new();
    let right = world.chain_server(RIGHT, 105, &[]);
    let forged = world.chain_server(FORGED, 120, &[]);
    let address = forged.api.to_string();
    let directory = forged.directory();
    drop(forged);
    // Given an answer of one server that was cached while the other one was away,
    let (server, caller) = world.api(&[right.api.to_string(), address.clone()]);
    assert_eq!(shop(&caller)["verdict"], "review");
    assert_eq!(shop(&caller)["cached"], true);
    // when the other one comes with another branch, then nothing is allowed, and the answer is not repeated.
    let listen = format!("--listen={address}");
    let _forged = Server::start_chain(directory, &["btc", &listen]);
    wait_until("the branches differ", || branches(&server) == 2);
    let answer = shop(&caller);
    assert_eq!((&answer["verdict"], &answer["cached"]), (&json!("indeterminate"), &json!(false)));
    assert!(has(&answer, "warnings", "chain_branches_differ"), "{answer}");
    assert!(has(&answer, "reasons", "flows_missing"), "{answer}");
    // Listings and labels decide as ever.
    let thief = caller.check("btc", &address_of("thief")).json();
    assert_eq!(thief["verdict"], "block", "{thief}");
    let transfer = json!({
        "blockchain": "btc", "transaction": format!("{:032x}{RIGHT:030x}01", FORK + 4), "output": 0,
        "direction": "deposit",
    });
    let refused = caller.post("/api/v1/check/transfer", &transfer.to_string(), &[]);
    assert_eq!(refused.status, 503, "{}", refused.text);
    assert!(refused.text.contains("different branches"), "{}", refused.text);
    // Screening in full allows as little.
    let row = json!({"blockchain": "btc", "address": address_of("nobody")}).to_string() + "\n";
    let fields = [("content-type", "application/x-ndjson")];
    let screened = caller.post("/api/v1/screen?scope=full", &row, &fields);
    assert!(screened.text.contains("\"indeterminate\""), "{}", screened.text);
}

#[test]
fn within_the_bound_the_branch_with_more_work_answers_unharmed() {
    // Given two servers at block 135, and one at 136 of a branch that left theirs at 130, as in an ordinary reorganization
    // that reaches one server first: blocks of a test network, each with the work of its header,
    let world = World::new();
    let scenario = Scenario::new(Network::BitcoinRegtest, BlockTimes::FIXED);
    let chain = |branch: &[Block]| -> Vec<Block> {
        let first = Block::genesis(scenario.network);
        [first].into_iter().chain(scenario.trunk.iter().chain(branch).cloned()).collect()
    };
    let server = |branch: &[Block]| {
        let directory = world.copy();
        let source = Esplora::start(scenario.network.chain(), chain(branch));
        let ingest = ["ingest", "chain", "btc", "--test-network", "--esplora", &source.url()];
        let _ = assay(directory.path(), ingest).ok();
        Server::start_chain(directory, &["btc"])
    };
    let lighter = [(), ()].map(|()| server(&scenario.replaced[..5]));
    let heavier = server(&scenario.kept[..6]);
    // then the one answers, and nobody is warned.
    let (api, caller) = world.api(&addresses(&[&lighter[0], &heavier, &lighter[1]]));
    let answer = shop(&caller);
    let block = &answer["sources"].as_array().unwrap().last().unwrap()["latest_block"];
    assert_eq!((&block["height"], branches(&api)), (&json!(136), 1), "{answer}");
    assert!(!has(&answer, "warnings", "chain_branches_differ"), "{answer}");
}

#[test]
fn a_server_says_which_branch_of_its_source_it_refuses_and_follows_it_once_it_is_accepted() {
    let world = World::new();
    let scenario = Scenario::new(Network::BitcoinRegtest, BlockTimes::FIXED);
    let chain = |branch: &[Block]| -> Vec<Block> {
        let first = Block::genesis(scenario.network);
        [first].into_iter().chain(scenario.trunk.iter().chain(branch).cloned()).collect()
    };
    let source = Esplora::start(scenario.network.chain(), chain(&scenario.replaced));
    let directory = world.copy();
    let url = source.url();
    let arguments = ["btc", "--esplora", &url, "--test-network"];
    let server = Server::start_chain(Arc::clone(&directory), &arguments);
    let state = |server: &Server| Caller::new(server.api, "").get("/chain/v1/btc/state").json();
    wait_until("it has the chain", || state(&server)["newest"]["block"]["height"] == 142);
    // Twelve blocks are replaced: more than six.
    source.set_blocks(chain(&scenario.kept));
    wait_until("it says so", || state(&server)["refused_branch"]["last_common"] == 130);
    let state_of = state(&server);
    assert_eq!(state_of["newest"]["block"]["height"], 142, "it goes on serving: {state_of}");
    let newest = scenario.kept.last().unwrap().hash.to_string();
    assert_eq!(state_of["refused_branch"]["newest"]["hash"], newest);
    let refused = |server: &Server| {
        let metrics = server.metrics();
        metrics.lines().any(|line| line == "assay_chain_branch_refused{chain=\"btc\"} 1")
    };
    assert!(refused(&server) && server.log().contains("12 blocks above block 130 are not on it"));
    drop(server);
    let accepting = [&arguments[..], &["--accept-branch", &newest]].concat();
    let server = Server::start_chain(directory, &accepting);
    wait_until("it follows", || state(&server)["newest"]["block"]["height"] == 146);
    assert!(!refused(&server) && state(&server)["refused_branch"].is_null());
    // What is not a hash is refused.
    let wrong = assay(Path::new("."), ["chain", "serve", "btc", "--accept-branch", "12"]);
    assert_eq!((wrong.code, wrong.stderr.contains("64 hexadecimal digits")), (2, true));
}
