//! `assay export exposures` states the origins of the money that each address received, and a server keeps them up to
//! date.

use std::{fs, path::Path, sync::Arc};

use assay_address::ChainId;
use assay_graph::{EmbeddedGraphs, compositions::CompositionState};
use assay_tests::{Server, assay, sample};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::{
    chain_tools::{address_of, ingested, line, printed},
    clusters::spend,
    support::wait_until,
};

/// A thief pays a mule, and the mule pays a shop together with a miner's new coins.
fn chain() -> TempDir {
    ingested(&[
        line(0, 1, &json!([]), &[("thief", 10), ("miner", 30)]),
        line(1, 2, &json!([spend(1, 0)]), &[("mule", 10)]),
        line(2, 3, &json!([spend(2, 0), spend(1, 1)]), &[("shop", 40)]),
    ])
}

fn label(directory: &Path, rows: &[(&str, &str)]) {
    let rows = rows.iter().map(|(person, category)| {
        format!("btc,{},{category},Somebody,90,investigation,police\n", address_of(person))
    });
    let header = "blockchain,address,category,entity,confidence,tier,author\n";
    let text = std::iter::once(header.to_owned()).chain(rows).collect::<String>();
    fs::write(directory.join("labels.csv"), text).unwrap();
    let import = ["ingest", "labels", "labels.csv", "--format", "csv", "--source", "police"];
    let _ = assay(directory, import).ok();
}

/// The rows of a person: origins with shares.
fn origins(directory: &Path, person: &str) -> Vec<(String, f64)> {
    let export = ["export", "exposures", "--blockchain", "btc", "--format", "jsonl"];
    let text = printed(directory, &export);
    let rows = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let own = rows.filter(|row| row["address"] == json!(address_of(person)));
    let origins = own.map(|row| {
        let origin = row["origin"].as_str().unwrap().to_owned();
        (origin, row["share"].as_f64().unwrap())
    });
    origins.collect()
}

fn expected(rows: &[(&str, f64)]) -> Vec<(String, f64)> {
    rows.iter().map(|(origin, share)| ((*origin).to_owned(), *share)).collect()
}

#[test]
fn money_is_what_went_in_at_any_distance() {
    let directory = chain();
    let directory = directory.path();
    label(directory, &[("thief", "stolen_funds")]);
    assert_eq!(origins(directory, "thief"), expected(&[("mining", 1.0)]));
    assert_eq!(origins(directory, "shop"), expected(&[("stolen_funds", 0.25), ("mining", 0.75)]));
    assert_eq!(origins(directory, "mule"), expected(&[("stolen_funds", 1.0)]));
    // A label that comes changes what lies behind it, and one that goes too.
    label(directory, &[("mule", "scam")]);
    assert_eq!(origins(directory, "shop"), expected(&[("scam", 0.25), ("mining", 0.75)]));
    let csv = printed(directory, &["export", "exposures", "--blockchain", "btc"]);
    let row = format!("btc,{},4000000000,scam,,0.25,0.0", address_of("shop"));
    assert!(csv.lines().any(|line| line == row), "{csv}");
    assert!(csv.starts_with("blockchain,address,received,origin,listing_period,share,mixed\n"));
}

#[test]
fn a_chain_without_a_graph_is_refused_with_what_to_do() {
    let directory = chain();
    let export = ["export", "exposures", "--blockchain", "ltc"];
    let refused = assay(directory.path(), export);
    assert_eq!(refused.code, 1);
    assert!(refused.stderr.contains("assay ingest chain ltc"), "{}", refused.stderr);
}

const BEHIND: &str = "assay_composition_transactions_behind{chain=\"btc\"}";

/// The state of Bitcoin's compositions, if they are complete up to the newest block.
fn complete(directory: &Path) -> Option<CompositionState> {
    let graphs = EmbeddedGraphs::new(directory);
    let tip = graphs.open(ChainId::BTC).unwrap()?.snapshot().unwrap().tip().unwrap()?;
    let state = *graphs.compositions(ChainId::BTC).unwrap()?.reader().unwrap()?.state();
    (state.newest == Some((tip.block.height, tip.block.hash))).then_some(state)
}

#[test]
fn a_server_computes_what_new_blocks_and_labels_change() {
    // Given a server of a chain that was ingested before,
    let directory = Arc::new(chain());
    label(directory.path(), &[("thief", "stolen_funds")]);
    let server = Server::start(Arc::clone(&directory), &[]);
    let directory = directory.path();
    let state = || complete(directory);
    wait_until("everything is computed", || state().is_some());
    let first = state().unwrap();
    wait_until("the server says so", || server.metric::<u64>(BEHIND) == 0);
    assert!(server.metric::<f64>("assay_composition_pass_seconds{chain=\"btc\"}") > 0.0);
    // when a label changes,
    label(directory, &[("mule", "scam")]);
    // then everything is computed anew,
    wait_until("the label counts", || state().is_some_and(|it| it.ends != first.ends));
    let second = state().unwrap();
    assert_eq!(origins(directory, "shop"), expected(&[("scam", 0.25), ("mining", 0.75)]));
    assert_eq!(state().unwrap(), second, "nothing was left to compute");
    // and a new block costs its own transactions.
    let new = line(3, 4, &json!([spend(3, 0)]), &[("till", 40)]);
    fs::write(directory.join("more.jsonl"), new).unwrap();
    let _ = assay(directory, ["ingest", "chain", "btc", "--jsonl", "more.jsonl"]).ok();
    wait_until("the block counts", || state().is_some_and(|it| it.transactions == 4));
    assert_eq!(origins(directory, "till"), expected(&[("scam", 0.25), ("mining", 0.75)]));
    assert!(!server.log().contains("received severe money"), "a scam is less severe");
    let log = server.log();
    let told = |text: &str| log.matches(text).count();
    assert_eq!(told("computing compositions of transactions"), 2, "{log}");
    assert_eq!(told("computed compositions of transactions"), 2, "{log}");
}

#[test]
fn a_server_stands_by_while_another_program_computes() {
    let directory = Arc::new(chain());
    let graphs = EmbeddedGraphs::new(directory.path());
    let other = graphs.composition_writer(ChainId::BTC).unwrap();
    let server = Server::start(Arc::clone(&directory), &[]);
    wait_until("it stands by", || server.log().contains("standing by"));
    assert_eq!(server.metric::<u64>(BEHIND), 3);
    drop(other);
    wait_until("everything is computed", || complete(directory.path()).is_some());
}

#[test]
fn the_demo_data_set_is_computed_too() {
    let (server, ..) = sample();
    let directory = server.directory();
    wait_until("everything is computed", || complete(directory.path()).is_some());
    wait_until("the server says so", || server.metric::<u64>(BEHIND) == 0);
}

/// The lines of the log about new blocks with severe money.
fn alerts(server: &Server) -> Vec<Value> {
    let about = |line: &Value| {
        line["message"].as_str().is_some_and(|text| text.contains("received severe money"))
    };
    // The last line may be half written.
    let log = server.log();
    log.lines().filter_map(|line| serde_json::from_str(line).ok()).filter(about).collect()
}

#[test]
fn a_server_tells_which_addresses_of_a_new_block_received_severe_money() {
    // Given a server of a chain in which a thief pays a mule, all of it history,
    let directory = Arc::new(chain());
    label(directory.path(), &[("thief", "stolen_funds")]);
    let server = Server::start(Arc::clone(&directory), &["--log-format", "json"]);
    let directory = directory.path();
    wait_until("everything is computed", || complete(directory).is_some());
    // when new blocks arrive, the second of them with a payment of the shop, which has a quarter of stolen money,
    #[expect(clippy::disallowed_methods, reason = "the server goes by the system's clock")]
    let now = jiff::Timestamp::now().as_second();
    let blocks = [
        line(3, 4, &json!([]), &[("miner", 50)]),
        line(4, 5, &json!([spend(3, 0)]), &[("till", 30), ("shop", 10)]),
        line(5, 6, &json!([spend(4, 0)]), &[("miner", 50)]),
    ];
    let blocks = blocks.iter().map(|line| {
        let mut line: Value = serde_json::from_str(line).unwrap();
        line["block"]["time"] = json!(now);
        format!("{line}\n")
    });
    fs::write(directory.join("more.jsonl"), blocks.collect::<String>()).unwrap();
    let _ = assay(directory, ["ingest", "chain", "btc", "--jsonl", "more.jsonl"]).ok();
    wait_until("the blocks count", || complete(directory).is_some_and(|it| it.transactions == 6));
    // then one line tells of the payment, net of change.
    wait_until("the server says so", || !alerts(&server).is_empty());
    let [alert] = &alerts(&server)[..] else { panic!("{}", server.log()) };
    assert_eq!((&alert["height"], &alert["addresses"]), (&json!(4), &json!(1)));
    assert_eq!(alert["severe"], json!("750000000"));
    let largest: Value = serde_json::from_str(alert["largest"].as_str().unwrap()).unwrap();
    let expected = json!([{
        "address": address_of("till"), "received": "3000000000", "shares": { "stolen_funds": 0.25 },
    }]);
    assert_eq!(largest, expected);
}

/// A thief's money in many parallel chains of more transactions than a source trace passes, merged at the end.
fn lanes() -> TempDir {
    const LANES: usize = 45;
    const STEPS: usize = 50;
    let number = |number: usize| format!("{number:064x}");
    let line = |height: usize, transaction: usize, inputs: &Value, outputs: &Value| {
        let time = 1_780_000_000 + height * 600;
        let (hash, parent) = (number(0xb0_000 + height), number(0xb0_000 + height - 1));
        let block = json!({"height": height - 1, "hash": hash, "parent": parent, "time": time});
        let line = json!({
            "block": block, "txid": number(transaction), "inputs": inputs, "outputs": outputs,
        });
        format!("{line}\n")
    };
    let pays = |who: &str, value: usize| json!({"address": address_of(who), "value": value});
    let holder = |lane: usize, step: usize| format!("lane {lane}, step {step}");
    let value = 1_000_000_000;
    let first: Vec<Value> = (0..LANES).map(|at| pays(&holder(at, 0), value)).collect();
    let mut lines = vec![
        line(1, 1, &json!([]), &json!([pays("thief", LANES * value)])),
        line(2, 2, &json!([{"txid": number(1), "index": 0}]), &json!(first)),
    ];
    let mut coins: Vec<Value> =
        (0..LANES).map(|at| json!({"txid": number(2), "index": at})).collect();
    let mut transaction = 2;
    for step in 1..=STEPS {
        for (at, coin) in coins.iter_mut().enumerate() {
            transaction += 1;
            let to = json!([pays(&holder(at, step), value)]);
            lines.push(line(2 + step, transaction, &json!([coin]), &to));
            *coin = json!({"txid": number(transaction), "index": 0});
        }
    }
    let merged = json!([pays("till", LANES * value)]);
    lines.push(line(3 + STEPS, transaction + 1, &json!(coins), &merged));
    ingested(&lines)
}

#[test]
fn money_behind_more_transactions_than_a_trace_passes_is_found_with_a_path() {
    // Given a thief's money in lanes that are longer together than a trace towards sources,
    let directory = lanes();
    let directory = directory.path();
    label(directory, &[("thief", "stolen_funds")]);
    let check = ["check", "btc", &address_of("till"), "--json"];
    let check = || serde_json::from_str::<Value>(&assay(directory, check).stdout).unwrap();
    // when nothing is known of what transactions are made of, then the trace goes all the way;
    let traced = check();
    assert_eq!(traced["exposure"][0]["hops"], 52);
    // when it is known,
    assert_eq!(origins(directory, "till"), expected(&[("stolen_funds", 1.0)]));
    // then the trace stops, and still all of the money is the thief's, with one path to him.
    let answer = check();
    let exposure = &answer["exposure"][0];
    assert_eq!(exposure["category"], "stolen_funds");
    assert_eq!(exposure["share"], "1.000000");
    assert_eq!(exposure["hops"], Value::Null);
    assert_eq!(exposure["further_than_transactions"], 300);
    let steps = exposure["paths"][0]["steps"].as_array().unwrap();
    assert_eq!((steps.len(), &steps[51]["address"]), (52, &json!(address_of("thief"))));
    assert_eq!(exposure["paths"][0]["amount"]["value"], "1000000000");
    assert_eq!(answer["risk_score"], traced["risk_score"]);
    assert!(answer["coverage"]["exposure"]["detail"].as_str().unwrap().contains("revision"));
}
