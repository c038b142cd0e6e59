//! Chains from every kind of source, followed by a server or read on demand: what callers see.

use std::{io::Write, net::TcpStream, path::Path, sync::Arc, time::Duration};

use assay_engine::utxo::OutPoint;
use assay_tests::{
    Server, assay,
    block_builder::{Block, BlockTemplate, Network, Transaction, TxIn, TxOut},
    esplora::{Esplora, Failure, Falsification, falsifications},
    nodes::{Node, NodeKind},
    plan_with_tenant,
    scenario::{
        EXPECTATIONS, Moment, Scenario, address, blocks::BlockTimes, cast::lock, check_scenario,
        files::Files, play::arguments, reorganization_arguments,
    },
    tenant, wait_every,
};
use serde_json::Value;

fn scenario() -> Scenario {
    Scenario::new(Network::BitcoinRegtest, BlockTimes::FIXED)
}

fn blocks(scenario: &Scenario, moment: Moment) -> Vec<Block> {
    let first = Block::genesis(scenario.network);
    [first].into_iter().chain(scenario.chain(moment).into_iter().cloned()).collect()
}

fn esplora(scenario: &Scenario, moment: Moment) -> Esplora {
    Esplora::start(scenario.network.chain(), blocks(scenario, moment))
}

/// A data directory that knows the scenario's labels and lists.
fn prepared(scenario: &Scenario) -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    Files::write(scenario.network.chain(), directory.path()).import(directory.path());
    directory
}

fn ingest(directory: &Path, arguments: &[&str]) -> assay_tests::Finished {
    // The scenario happens on a test network.
    assay(directory, ["ingest", "chain", "btc", "--test-network"].iter().chain(arguments))
}

fn check(directory: &Path, person: &str) -> Value {
    let address = address("btc".parse().unwrap(), person);
    assay(directory, ["check", "btc", address.as_str(), "--json"]).ok().json()
}

fn exported(directory: &Path) -> String {
    assay(directory, ["export", "transfers", "btc", "--format", "jsonl"]).ok().stdout
}

/// Applies a chain source to a data directory.
fn apply(directory: &Path, mode: &str, protocol: &str, endpoint: &str, further: &str) {
    let manifest = format!(
        "apiVersion: assay.dev/v1alpha1\nkind: ChainSource\nmetadata: {{name: bitcoin}}\nspec:\n  \
         chain: btc\n  mode: {mode}\n  protocol: {protocol}\n  endpoint: {endpoint}\n  allowTestNetwork: true\n{further}"
    );
    std::fs::write(directory.join("chain.yaml"), manifest).unwrap();
    let _ = assay(directory, ["apply", "--file", "chain.yaml"]).ok();
}

/// Creates the tenant `acme`.
fn apply_tenant(directory: &Path) {
    std::fs::write(directory.join("tenant.yaml"), tenant("acme", "business")).unwrap();
    let _ = assay(directory, ["apply", "--file", "tenant.yaml"]).ok();
}

#[test]
fn every_source_gives_the_same_chain() {
    let scenario = scenario();
    let server = esplora(&scenario, Moment::End);
    let directory = prepared(&scenario);
    let _ = ingest(directory.path(), &["--esplora", &server.url()]).ok();
    let from_esplora = exported(directory.path());

    // Written out and read in again.
    let again = prepared(&scenario);
    let file = again.path().join("chain.jsonl");
    std::fs::write(&file, &from_esplora).unwrap();
    let _ = ingest(again.path(), &["--jsonl", &file.to_string_lossy()]).ok();
    assert_eq!(exported(again.path()), from_esplora);

    // Block files as a node keeps them: raw, one after the other.
    let raw = prepared(&scenario);
    let files = raw.path().join("raw");
    std::fs::create_dir(&files).unwrap();
    for block in blocks(&scenario, Moment::End) {
        std::fs::write(files.join(format!("{:06}.raw", block.height)), block.bytes()).unwrap();
    }
    let _ = ingest(raw.path(), &["--blocks", &files.to_string_lossy()]).ok();
    assert_eq!(exported(raw.path()), from_esplora);
}

#[test]
fn a_source_of_another_chain_or_of_a_test_network_is_refused() {
    let scenario = scenario();
    let server = esplora(&scenario, Moment::End);
    let directory = tempfile::tempdir().unwrap();
    let raw = directory.path().join("000000.raw");
    std::fs::write(&raw, Block::genesis(scenario.network).bytes()).unwrap();
    let (url, raw) = (server.url(), raw.display().to_string());
    for location in [["--esplora", &url], ["--blocks", &raw]] {
        let run = |more: &[&str]| {
            let arguments = [&["ingest", "chain"], more, &location].concat();
            assay(directory.path(), arguments)
        };
        // A test network, unless it is meant.
        let refused = run(&["btc"]);
        assert_eq!(refused.code, 3, "{}", refused.stderr);
        let said = refused.stderr;
        assert!(
            said.contains("serves a test network") && said.contains("--test-network"),
            "{said}"
        );
        // Another chain's, even then.
        let refused = run(&["ltc", "--test-network"]);
        assert_eq!(refused.code, 3, "{}", refused.stderr);
        assert!(refused.stderr.contains("serves btc, not ltc"), "{}", refused.stderr);
        let _ = run(&["btc", "--test-network", "--to", "0"]).ok();
    }
    // No refused block was recorded.
    let ltc = assay(directory.path(), ["export", "transfers", "ltc", "--format", "jsonl"]);
    assert_ne!(ltc.code, 0, "{}", ltc.stdout);
}

#[test]
fn a_chain_may_begin_anywhere_and_reports_its_gaps() {
    let scenario = scenario();
    let server = esplora(&scenario, Moment::End);
    let directory = prepared(&scenario);
    let run = |arguments: &[&str]| {
        let url = server.url();
        let mut all = vec!["--esplora", &url];
        all.extend(arguments);
        ingest(directory.path(), &all)
    };
    // In steps, and going on where it stopped.
    let first = run(&["--from", "120", "--to", "125", "--json"]).ok().json();
    assert_eq!((&first["blocks"], &first["latest_block_height"]), (&6.into(), &125.into()));
    let rest = run(&["--json"]).ok().json();
    assert_eq!((&rest["blocks"], &rest["latest_block_height"]), (&(146 - 125).into(), &146.into()));
    let nothing = run(&["--json"]).ok().json();
    assert_eq!(nothing["blocks"], 0);
    let other = run(&["--from", "100"]);
    assert_eq!(other.code, 1);
    assert!(
        other.stderr.contains("from height 120 on: it cannot begin at 100"),
        "{}",
        other.stderr
    );

    let answer = check(directory.path(), "south");
    let source = answer["sources"].as_array().unwrap().last().unwrap();
    assert_eq!(
        (&source["latest_block"]["start_height"], &source["latest_block"]["height"]),
        (&120.into(), &146.into())
    );
    assert!(
        answer["coverage"]["exposure"]["detail"].as_str().unwrap().contains("blocks 120 to 146")
    );
    let unknown = |row: &Value| row["unresolved_reason"] == "unknown_origin";
    assert!(check(directory.path(), "grace")["exposure"].as_array().unwrap().iter().any(unknown));
}

#[test]
fn a_source_that_sends_false_or_truncated_data_leaves_no_wrong_data() {
    let scenario = scenario();
    let server = esplora(&scenario, Moment::End);
    let directory = prepared(&scenario);
    let truth = prepared(&scenario);
    let _ = ingest(truth.path(), &["--esplora", &server.url()]).ok();
    let truth = exported(truth.path());
    let mut refused = 0;
    for falsification in [
        falsifications::falsify_values as Falsification,
        falsifications::falsify_spent_values,
        falsifications::falsify_owners,
        falsifications::falsify_heights,
    ] {
        let directory = prepared(&scenario);
        server.set_behavior(|behavior| behavior.falsification = Some(falsification));
        let run = ingest(directory.path(), &["--esplora", &server.url()]);
        if run.code != 0 {
            refused += 1;
            let told = ["invalid data", "nothing of this block was written"];
            assert!(told.iter().any(|told| run.stderr.contains(told)), "{}", run.stderr);
        }
        // All recorded data is correct.
        let recorded = assay(directory.path(), ["export", "transfers", "btc", "--format", "jsonl"]);
        assert!(truth.starts_with(&recorded.stdout), "{}", run.stderr);
    }
    assert!(refused >= 2, "lies about what matters are refused");
    server.set_behavior(|behavior| {
        behavior.falsification = None;
        behavior.next = [
            Failure::TooManyRequests(Some(1)),
            Failure::Internal,
            Failure::Truncated,
            Failure::Dropped,
        ]
        .into();
        behavior.every = Some((97, Failure::Internal));
    });
    let run = ingest(directory.path(), &["--esplora", &server.url()]).ok();
    assert!(run.stderr.contains("asking again later"), "{}", run.stderr);
    assert_eq!(exported(directory.path()), truth);
}

#[test]
fn a_reorganisation_between_two_runs_is_taken_back() {
    let scenario = scenario();
    let server = esplora(&scenario, Moment::BeforeReorganisation);
    let directory = prepared(&scenario);
    let _ = ingest(directory.path(), &["--esplora", &server.url()]).ok();
    server.set_blocks(blocks(&scenario, Moment::End));
    // Twelve blocks are more than a reorganization of Bitcoin replaces: what is recorded stays, until the branch is named.
    let refused = ingest(directory.path(), &["--esplora", &server.url()]);
    let newest = scenario.kept.last().unwrap().hash.to_string();
    assert_eq!(refused.code, 3, "{}", refused.stderr);
    let said = refused.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
    for part in ["12 blocks above block 130 are not on it, more than the 6", &newest] {
        assert!(said.contains(part), "{said}");
    }
    let [accept, branch] = reorganization_arguments(&scenario);
    // Neither a block that both branches have, nor one of the branch that goes, names the other one.
    let below = scenario.trunk.last().unwrap().hash.to_string();
    let gone = scenario.replaced.last().unwrap().hash.to_string();
    for (wrong, why) in [(below, "is not above the fork"), (gone, "is not on the source's branch")]
    {
        let refused = ingest(directory.path(), &["--esplora", &server.url(), &accept, &wrong]);
        let said = refused.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!((refused.code, said.contains(why)), (3, true), "{said}");
    }
    let accepted = ["--esplora", &server.url(), "--json", &accept, &branch];
    let run = ingest(directory.path(), &accepted).ok();
    let reorganization = serde_json::json!({ "last_common_height": 130, "removed_blocks": 12 });
    assert_eq!(
        run.json()["reorganizations"],
        serde_json::json!([reorganization]),
        "{}",
        run.stdout
    );
    assert!(run.stderr.contains("no longer part of the chain"), "{}", run.stderr);
    let straight = prepared(&scenario);
    let _ = ingest(straight.path(), &["--esplora", &server.url()]).ok();
    assert_eq!(exported(directory.path()), exported(straight.path()));

    // A source that knows less changes nothing.
    server.set_behavior(|behavior| behavior.lag = 9);
    let run = ingest(directory.path(), &["--esplora", &server.url(), "--json"]).ok();
    assert_eq!(
        (&run.json()["blocks"], &run.json()["latest_block_height"]),
        (&0.into(), &146.into())
    );
    assert!(run.stderr.contains("lags behind"), "{}", run.stderr);
}

#[test]
fn histories_on_demand_equal_those_of_the_whole_chain() {
    let scenario = scenario();
    let server = esplora(&scenario, Moment::End);
    let directory = prepared(&scenario);
    apply(directory.path(), "on_demand", "esplora", &server.url(), "  fetchTimeout: 30s\n");
    for expected in EXPECTATIONS.iter().filter(|expected| expected.at.contains(&Moment::End)) {
        let answer = check(directory.path(), expected.person);
        let expected = expected.with_fees_as_mined();
        let differences = check_scenario(&answer, &expected, &scenario, Moment::End);
        assert!(differences.is_empty(), "{}", differences.join("\n"));
        let source = answer["sources"].as_array().unwrap().last().unwrap();
        assert_eq!(source["latest_block"]["ingest_mode"], "on_demand");
    }
    // Fetched data is stored: only the newest block is requested.
    let before = server.requests().len();
    let answer = check(directory.path(), "south");
    let asked = server.requests().split_off(before);
    assert!(asked.iter().all(|path| !path.contains("/tx/")), "{asked:?}");
    assert_eq!(answer["assessment_digest"], check(directory.path(), "south")["assessment_digest"]);
}

/// A payment that spends `spent` completely, to `outputs`, without a fee.
fn pay(spent: &[(&Transaction, u32, &str)], outputs: &[(&str, u64)]) -> Transaction {
    let input = |(made, index, owner): &(&Transaction, u32, &str)| {
        TxIn::new(OutPoint { txid: made.txid(), index: *index }, &lock(owner))
    };
    let outputs = outputs.iter().map(|(owner, value)| TxOut::new(&lock(owner), *value));
    Transaction::new(spent.iter().map(input).collect(), outputs.collect())
}

/// Two blocks mined by a person, a block in which two services pay the same to a customer, in an order opposite to
/// that of identifiers, and a block in which the customer passes both on to a merchant.
fn tied_blocks() -> Vec<Block> {
    const COIN: u64 = 100_000_000;
    let network = Network::BitcoinRegtest;
    let mut blocks = vec![Block::genesis(network)];
    let mut mine = |payments: Vec<Transaction>| -> Vec<Transaction> {
        let height = u64::try_from(blocks.len()).unwrap();
        let miner = lock("miner");
        let (parent, time) = (blocks.last().unwrap().hash, BlockTimes::FIXED.of_block(height));
        let (mark, fees) = ("/ties/", 0);
        let block =
            BlockTemplate { network, height, parent, time, mark, miner: &miner, fees, payments }
                .mine();
        blocks.push(block.clone());
        block.transactions
    };
    let mined: Vec<Transaction> = (0..8).flat_map(|_| mine(vec![])).collect();
    let fund = |made: &Transaction| pay(&[(made, 0, "miner")], &[("south", 50 * COIN)]);
    let funds: Vec<Transaction> = mined.iter().map(fund).collect();
    let _ = mine(funds.clone());
    let paid = |made: &Transaction| {
        pay(&[(made, 0, "south")], &[("customer", 25 * COIN), ("south", 25 * COIN)])
    };
    let mut paid: Vec<Transaction> = funds.iter().map(paid).collect();
    paid.sort_by_key(|payment| std::cmp::Reverse(payment.txid()));
    let _ = mine(paid.clone());
    let all: Vec<_> = paid.iter().map(|made| (made, 0, "customer")).collect();
    let _ = mine(vec![pay(&all, &[("merchant", 200 * COIN)])]);
    for _ in 0..8 {
        let _ = mine(vec![]);
    }
    blocks
}

#[test]
fn payments_of_one_block_are_in_its_order_on_demand() {
    // Given payments of equal amounts in one block, in an order opposite to that of their identifiers,
    let scenario = scenario();
    let server = Esplora::start(scenario.network.chain(), tied_blocks());
    let (ingested, on_demand) = (prepared(&scenario), prepared(&scenario));
    let _ = ingest(ingested.path(), &["--esplora", &server.url()]).ok();
    apply(on_demand.path(), "on_demand", "esplora", &server.url(), "  fetchTimeout: 30s\n");
    for person in ["customer", "merchant"] {
        // when the chain is read as a whole, and on demand,
        let before = server.requests().len();
        let whole = check(ingested.path(), person);
        let answer = check(on_demand.path(), person);
        let asked = server.requests().split_off(before);
        // then the answers are equal, with the paths that are shown of many equal ones,
        assert_eq!(answer["coverage"]["exposure"]["status"], "assessed", "{answer}");
        for field in ["exposure", "scoring_components", "reasons", "verdict", "activity"] {
            assert_eq!(whole[field], answer[field], "{person}: {field}");
        }
        // and only the positions of blocks with several of the transactions were asked for, once.
        let proofs = asked.iter().filter(|path| path.ends_with("/merkle-proof")).count();
        assert_eq!(proofs, if person == "customer" { 8 } else { 0 }, "{asked:?}");
    }
    // Given a server that knows no positions, then the order is that of identifiers, and the answer is whole.
    let older = prepared(&scenario);
    server.set_behavior(|behavior| behavior.without_proofs = true);
    apply(older.path(), "on_demand", "esplora", &server.url(), "  fetchTimeout: 30s\n");
    let answer = check(older.path(), "merchant");
    assert_eq!(answer["coverage"]["exposure"]["status"], "assessed", "{answer}");
    assert_ne!(answer["exposure"], check(ingested.path(), "merchant")["exposure"]);
}

#[test]
fn a_timeout_makes_the_answer_partial_and_the_next_check_has_more() {
    let scenario = scenario();
    let server = esplora(&scenario, Moment::End);
    let directory = prepared(&scenario);
    apply(directory.path(), "on_demand", "esplora", &server.url(), "  fetchTimeout: 1s\n");
    server.set_behavior(|behavior| behavior.latency = Duration::from_millis(150));
    let mut asked = Vec::new();
    let mut last = Value::Null;
    for _ in 0..40 {
        let before = server.requests().len();
        last = check(directory.path(), "south");
        asked.push(server.requests().len() - before);
        if last["coverage"]["exposure"]["status"] == "assessed" {
            break;
        }
        assert_eq!(last["coverage"]["exposure"]["status"], "partial");
        assert_eq!(last["complete"], false, "what is not whole is not the last word: {last}");
        let codes = last["reasons"].as_array().unwrap();
        assert!(codes.iter().any(|reason| reason["code"] == "flows_incomplete"), "{codes:?}");
        assert_ne!(last["verdict"], "allow");
    }
    assert!(asked.len() > 1, "one second was enough: {asked:?}");
    let expected = EXPECTATIONS
        .iter()
        .find(|expected| expected.person == "south" && expected.at.contains(&Moment::End));
    let differences = check_scenario(&last, expected.unwrap(), &scenario, Moment::End);
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

#[test]
fn a_late_answer_is_there_for_the_next_request() {
    let scenario = scenario();
    let esplora = esplora(&scenario, Moment::End);
    let directory = Arc::new(prepared(&scenario));
    apply(directory.path(), "on_demand", "esplora", &esplora.url(), "  fetchTimeout: 30s\n");
    apply_tenant(directory.path());
    let key = assay(directory.path(), ["keys", "create", "--tenant", "acme"]).ok().stdout;
    let server = Server::start(directory, &["--request-timeout", "500ms"]);
    let caller = server.caller(key.trim());
    let south = address("btc".parse().unwrap(), "south");
    esplora.set_behavior(|behavior| behavior.latency = Duration::from_millis(200));
    let late = caller.check("btc", south.as_str());
    assert_eq!(late.problem(), (503, "unavailable".into()));
    assert_eq!(late.header("retry-after"), "1");
    // No single request has enough time for it.
    let mut answer = late;
    wait_with_pauses("it is there", || {
        answer = caller.check("btc", south.as_str());
        answer.status == 200
    });
    let answer = answer.json();
    assert_eq!(answer["cached"], true, "{answer}");
    assert_eq!(answer["coverage"]["exposure"]["status"], "assessed");
}

#[test]
fn rows_that_a_caller_did_not_wait_for_are_free() {
    // Given a plan of 100 checks a day, and a chain whose source answers slowly,
    let scenario = scenario();
    let esplora = esplora(&scenario, Moment::End);
    let directory = Arc::new(prepared(&scenario));
    apply(directory.path(), "on_demand", "esplora", &esplora.url(), "  fetchTimeout: 30s\n");
    let limit = "{name: quota, requests: 100, window: 1d, counts: checks}";
    std::fs::write(directory.path().join("plan.yaml"), plan_with_tenant("small", limit)).unwrap();
    let _ = assay(directory.path(), ["apply", "--file", "plan.yaml"]).ok();
    let key = assay(directory.path(), ["keys", "create", "--tenant", "acme"]).ok().stdout;
    let server = Server::start(directory, &[]);
    let caller = server.caller(key.trim());
    let left = || caller.get("/api/v1/sources").header("ratelimit").to_owned();
    assert!(left().starts_with("\"quota\";r=100"), "{}", left());
    esplora.set_behavior(|behavior| behavior.latency = Duration::from_secs(5));
    // when a caller disconnects while the first of ten rows in full are traced,
    let south = address("btc".parse().unwrap(), "south");
    let row = serde_json::json!({ "blockchain": "btc", "address": south.as_str() });
    let rows = format!("{row}\n").repeat(10);
    let head = format!(
        "POST /api/v1/screen?scope=full HTTP/1.1\r\nhost: {}\r\nx-api-key: {}\r\n\
         content-type: application/x-ndjson\r\ncontent-length: {}\r\n\r\n",
        server.api,
        key.trim(),
        rows.len()
    );
    let mut connection = TcpStream::connect(server.api).unwrap();
    connection.write_all((head + &rows).as_bytes()).unwrap();
    wait_with_pauses("they are charged", || left().starts_with("\"quota\";r=90"));
    drop(connection);
    // then none of them is charged.
    wait_with_pauses("they are refunded", || left().starts_with("\"quota\";r=100"));
}

#[test]
fn histories_past_the_deadline_are_fetched_in_the_background() {
    let scenario = scenario();
    let esplora = esplora(&scenario, Moment::End);
    let directory = Arc::new(prepared(&scenario));
    apply(directory.path(), "on_demand", "esplora", &esplora.url(), "  fetchTimeout: 1s\n");
    apply_tenant(directory.path());
    let key = assay(directory.path(), ["keys", "create", "--tenant", "acme"]).ok().stdout;
    let server = Server::start(directory, &[]);
    let caller = server.caller(key.trim());
    let south = address("btc".parse().unwrap(), "south");
    esplora.set_behavior(|behavior| behavior.latency = Duration::from_millis(150));
    let first = caller.check("btc", south.as_str()).json();
    assert_eq!(first["coverage"]["exposure"]["status"], "partial");

    // Without another request, the background job fetches the rest.
    let jobs = || -> Value { server.assay(&["jobs", "--json"]).ok().json() };
    wait_with_pauses("the history is fetched", || jobs()[0]["status"] == "done");
    assert_eq!(
        (&jobs()[0]["kind"], jobs().as_array().unwrap().len()),
        (&"fetch_history".into(), 1)
    );
    let before = esplora.requests().len();
    let body = serde_json::json!({ "blockchain": "btc", "address": south.as_str() });
    let anew = [("cache-control", "no-cache")];
    let second = caller.post("/api/v1/check/address", &body.to_string(), &anew).json();
    assert_eq!(second["coverage"]["exposure"]["status"], "assessed", "{second}");
    let asked = esplora.requests().split_off(before);
    assert!(asked.iter().all(|path| !path.contains("/tx/")), "{asked:?}");
    // Jobs are counted now and then.
    let counted = "assay_jobs{kind=\"fetch_history\",status=\"done\"} 1";
    wait_with_pauses("the job is counted", || server.metrics().contains(counted));
}

#[test]
fn an_api_that_is_down_is_no_clean_address() {
    let scenario = scenario();
    let server = esplora(&scenario, Moment::End);
    let directory = prepared(&scenario);
    apply(directory.path(), "on_demand", "esplora", &server.url(), "  fetchTimeout: 1s\n");
    server.set_behavior(|behavior| behavior.every = Some((1, Failure::Internal)));
    let answer = check(directory.path(), "bystander");
    assert_eq!(answer["coverage"]["exposure"]["status"], "unavailable");
    assert_eq!((&answer["verdict"], &answer["complete"]), (&"indeterminate".into(), &false.into()));
    assert_eq!(answer["scope"], "lists_and_labels");
}

#[test]
fn a_chain_source_that_gave_nothing_yet_is_no_clean_address() {
    let scenario = scenario();
    let directory = prepared(&scenario);
    let before = check(directory.path(), "bystander");
    assert_eq!(
        (&before["verdict"], &before["scope"]),
        (&"allow".into(), &"lists_and_labels".into())
    );
    // Given a source whose node was never reachable.
    apply(directory.path(), "follow", "rpc", "http://127.0.0.1:9", "");
    let answer = check(directory.path(), "bystander");
    assert_eq!((&answer["verdict"], &answer["complete"]), (&"indeterminate".into(), &false.into()));
    assert_eq!(answer["reasons"][0]["code"], "flows_missing", "{answer}");
    // Given one that is suspended, lists are all that is to be looked at.
    apply(directory.path(), "follow", "rpc", "http://127.0.0.1:9", "  suspended: true\n");
    assert_eq!(check(directory.path(), "bystander")["verdict"], "allow");
}

#[test]
fn flows_of_a_past_day_are_not_shown_as_current() {
    let scenario = scenario();
    let server = esplora(&scenario, Moment::End);
    let directory = prepared(&scenario);
    let _ = ingest(directory.path(), &["--esplora", &server.url()]).ok();
    let address = address("btc".parse().unwrap(), "bystander");
    let arguments = ["check", "btc", address.as_str(), "--as-of", "2026-11-20", "--json"];
    let answer = assay(directory.path(), arguments).ok().json();
    assert_eq!(answer["coverage"]["exposure"]["status"], "unavailable");
    assert_eq!(answer["complete"], false);
}

/// Waits until `holds` returns true, with pauses that the plan's limits allow.
fn wait_with_pauses(what: &str, holds: impl FnMut() -> bool) {
    let _ = wait_every(Duration::from_millis(200), Duration::from_mins(1), what, holds);
}

#[test]
#[ignore = "needs btcd"]
fn a_server_follows_its_chain_source_and_never_repeats_what_a_block_changed() {
    let mut node = Node::start(NodeKind::Btcd);
    let scenario = scenario();
    let directory = Arc::new(prepared(&scenario));
    let credentials = directory.path().join("sources/node");
    std::fs::create_dir(directory.path().join("sources")).unwrap();
    let user = arguments(&node).last().unwrap().clone();
    std::fs::write(&credentials, user).unwrap();
    let more = format!("  credentialsFile: {}\n", credentials.display());
    apply(directory.path(), "follow", "rpc", &node.url(), &more);
    apply_tenant(directory.path());

    let server = Server::start(Arc::clone(&directory), &["--feeds", "on"]);
    let key = server.assay(&["keys", "create", "--tenant", "acme", "--name", "test"]).ok().stdout;
    let caller = server.caller(key.trim());
    let thief = address("btc".parse().unwrap(), "thief");
    let body = serde_json::json!({ "blockchain": "btc", "address": thief.as_str() }).to_string();
    let ask = |headers: &[(&str, &str)]| {
        let answer = caller.post("/api/v1/check/address", &body, headers).json();
        let mut sources = answer["sources"].as_array().into_iter().flatten();
        let tip = sources.find_map(|source| source["latest_block"]["height"].as_u64());
        (tip, answer["activity"]["counts"]["transfers_in"].as_u64(), answer["cached"].clone())
    };
    let heights = || ask(&[]);
    let scenario_blocks = blocks(&scenario, Moment::End);
    let (early, late) = scenario_blocks[1..].split_at(114);
    for block in early {
        node.submit(block);
    }
    // These blocks do not name the thief: an answer that was given before them may be repeated.
    wait_with_pauses("the chain is followed", || {
        ask(&[("cache-control", "no-cache")]).0 == Some(114)
    });
    wait_with_pauses("nothing new: the answer is repeated", || heights().2 == true);
    for block in late {
        node.submit(block);
    }
    // The thief appears in later blocks: earlier answers about the address are not repeated then.
    wait_with_pauses("the theft is seen", || heights().1 == Some(1));
    assert!(!server.log().contains("following failed"), "{}", server.log());
    node.stop();
    wait_with_pauses("the node's absence is told", || server.log().contains("asking again later"));
    assert_eq!(heights().1, Some(1), "what is known is still served");
}
