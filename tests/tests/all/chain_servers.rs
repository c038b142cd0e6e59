//! Chain servers: answers equal to those of a graph in the server's own process, refused questions, and a server that
//! copies the graph of another one.

use std::{
    collections::BTreeSet,
    fmt::Write as _,
    fs::{self, File},
    os::unix::fs::FileExt,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

use assay_address::ChainId;
use assay_engine::{
    account::{AccountAddress, Asset, FreezeChange, FreezeEvent, transaction_text},
    ledger::BlockRef,
    utxo::ResolvedBlock,
};
use assay_graph::{
    EmbeddedGraphs, WriterOptions,
    account::{AccountBlock, AccountEnds},
};
use assay_test_chains::account_chain::{Group, LongAccountChain, account};
use assay_test_random::Random;
use assay_tests::{
    CHAIN_TOKEN, Caller, Server, SmallDisk, append, assay,
    big_chain::{BigChain, ChainShape, Hub, Person},
    is_full, plan_with_tenant, sample, wait_until,
};
use jiff::Timestamp;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::{
    account_answers,
    chain_tools::{address_of, ingested, line, printed},
};

const SUBJECTS: u64 = 300;
/// The same under `./tests/run --full`.
const SUBJECTS_IN_FULL: u64 = 1_000;
const SHAPE: ChainShape = ChainShape {
    seed: 35,
    blocks: 40,
    transactions: 150,
    hub: Some(Hub { outputs: 600, leaves: 100 }),
};

/// Further tokens of chain servers.
const SECOND: &str = "another token of chain servers in tests";
const THIRD: &str = "a third token of chain servers in tests";

/// An address that was never used.
const NOBODY: &str = "1BvBMSEYstWetqTFn5Au4m4GFg7xJaNVN2";

/// An account that never appeared.
const NO_ACCOUNT: &str = "0x0123456789abcdef0123456789abcdef01234567";

/// Value of the setting with the URLs of chain servers.
fn chain_servers_setting(servers: &[&Server]) -> String {
    let urls: Vec<String> = servers.iter().map(|it| format!("btc=http://{}", it.api)).collect();
    urls.join(",")
}

/// A copy of a data directory without its graphs, for a server that must ask for them.
fn without_graphs(directory: &Path) -> Arc<TempDir> {
    let copy = tempfile::tempdir().unwrap();
    for entry in fs::read_dir(directory).unwrap() {
        let entry = entry.unwrap();
        if entry.file_type().unwrap().is_file() && entry.file_name() != "serve.lock" {
            fs::copy(entry.path(), copy.path().join(entry.file_name())).unwrap();
        }
    }
    Arc::new(copy)
}

/// An answer without fields about its time and computation.
fn stable_fields(mut answer: Value) -> String {
    let fields = answer.as_object_mut().unwrap();
    for field in ["check_id", "assessed_at", "processing_time_ms", "cached"] {
        let _ = fields.remove(field);
    }
    answer.to_string()
}

fn checked(caller: &Caller, address: &str) -> String {
    let answer = caller.check("btc", address);
    assert_eq!(answer.status, 200, "{}", answer.text);
    stable_fields(answer.json())
}

/// Waits until a server's compositions are complete.
fn wait_for_compositions(server: &Server) {
    wait_until("what transactions are made of is known", || {
        let metrics = server.metrics();
        let name = "assay_composition_transactions_behind{chain=\"btc\"} 0";
        metrics.lines().any(|line| line == name)
    });
}

/// The addresses in the transfers of a chain, and requests to check its transfers: also those that name none.
fn addresses_and_transfers(directory: &Path, chain: &str) -> (BTreeSet<String>, Vec<Value>) {
    let transfers = printed(directory, &["export", "transfers", chain, "--format", "jsonl"]);
    let (mut addresses, mut requests) = (BTreeSet::new(), Vec::new());
    for line in transfers.lines() {
        let line: Value = serde_json::from_str(line).unwrap();
        let sides = ["inputs", "outputs"].map(|side| line[side].clone());
        let entries =
            sides.into_iter().flat_map(|side| side.as_array().cloned().unwrap_or_default());
        addresses.extend(entries.filter_map(|it| Some(it["address"].as_str()?.to_owned())));
        addresses
            .extend(["from", "to"].iter().filter_map(|it| Some(line[*it].as_str()?.to_owned())));
        let named = |more: Value| {
            let mut request = json!({"blockchain": chain, "transaction": line["txid"]});
            request.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            request
        };
        if chain == "btc" {
            requests.push(named(json!({"output": 0})));
        } else {
            requests.push(named(json!({})));
            requests.push(named(json!({"address": line["to"]})));
            requests.push(named(json!({"log_index": 1_000_000})));
            for place in ["log_index", "trace_index"] {
                let value = &line[place];
                let value = value.as_str().filter(|it| place == "log_index" && !it.is_empty());
                let value =
                    value.map_or(line[place].clone(), |it| it.parse::<u32>().unwrap().into());
                requests.push(named(json!({place: value})));
            }
        }
    }
    (addresses, requests)
}

#[test]
fn the_sample_has_the_same_answers_from_chain_servers() {
    let (server, _, caller) = sample();
    wait_for_compositions(&server);
    let graphs = server.directory();
    let chain = [(), ()].map(|()| Server::start_chain(Arc::clone(&graphs), &[]));
    let urls = chain.each_ref().map(|it| format!("btc=http://{0},eth=http://{0}", it.api));
    let asking =
        Server::start(without_graphs(graphs.path()), &["--chain-servers", &urls.join(",")]);
    let remote = asking.caller(&caller.key);
    for (blockchain, nobody) in [("btc", NOBODY), ("eth", NO_ACCOUNT)] {
        let (addresses, transfers) = addresses_and_transfers(graphs.path(), blockchain);
        assert!(addresses.len() > 30, "{}", addresses.len());
        let checked = |caller: &Caller, address: &str| {
            let answer = caller.check(blockchain, address);
            assert_eq!(answer.status, 200, "{}", answer.text);
            stable_fields(answer.json())
        };
        for address in addresses.iter().map(String::as_str).chain([nobody]) {
            let told = checked(&remote, address);
            assert!(!told.contains("flows_missing"), "{address}: {told}");
            assert_eq!(told, checked(&caller, address), "{address}");
        }
        // Transfers too, in both directions, and those that are none.
        let mut read = 0;
        for mut body in transfers {
            for direction in ["deposit", "withdrawal"] {
                body["direction"] = direction.into();
                let [here, there] = [&caller, &remote].map(|caller| {
                    let answer = caller.post("/api/v1/check/transfer", &body.to_string(), &[]);
                    let body = answer.json();
                    let told = if answer.status == 200 {
                        stable_fields(body)
                    } else {
                        body["detail"].to_string()
                    };
                    (answer.status, told)
                });
                assert_eq!(here, there, "{body}");
                read += usize::from(here.0 == 200);
            }
        }
        assert!(read > 50, "{read} transfers of {blockchain}");
    }
    // Each was asked.
    for server in &chain {
        for question in ["trace", "transfer", "account-transfer"] {
            let name = format!(
                "assay_chain_questions_total{{question=\"{question}\",outcome=\"answered\"}}"
            );
            assert!(server.metric::<u64>(&name) > 10, "{question}");
        }
    }
    for blockchain in ["btc", "eth"] {
        let block = |server: &Server| printed_block(server, &caller.key, blockchain);
        assert_eq!(block(&server), block(&asking));
    }
}

/// The latest block of a chain that a server states.
fn printed_block(server: &Server, key: &str, chain: &str) -> Value {
    let chains = server.caller(key).get("/api/v1/chains").json();
    let all = chains["chains"].as_array().unwrap().clone();
    all.into_iter().find(|it| it["blockchain"] == chain).unwrap()["latest_block"].clone()
}

#[test]
fn random_subjects_have_the_same_answers_from_chain_servers() {
    let directory = Arc::new(tempfile::tempdir().unwrap());
    let mut chain = BigChain::new(SHAPE);
    chain.write(&directory.path().join("chain.jsonl")).unwrap();
    let mut labels = "blockchain,address,category,entity,confidence,tier,author\n".to_owned();
    let address = |person: Person| {
        let address = person.owner().address(ChainId::BTC).unwrap();
        address.as_str().to_owned()
    };
    for (person, label) in chain.labelled() {
        let row = format!("btc,{},{},{}", address(person), label.category, label.entity);
        labels.push_str(&row);
        labels.push_str(",100,investigation,The police\n");
    }
    fs::write(directory.path().join("labels.csv"), labels).unwrap();
    let limit = "{name: burst, requests: 1000000, window: 5s, counts: requests}";
    fs::write(directory.path().join("roomy.yaml"), plan_with_tenant("roomy", limit)).unwrap();
    let run = |arguments: &[&str]| assay(directory.path(), arguments).ok().stdout;
    run(&["ingest", "chain", "btc", "--jsonl", "chain.jsonl"]);
    run(&["ingest", "labels", "labels.csv", "--format", "csv", "--source", "police"]);
    run(&["apply", "-f", "roomy.yaml"]);
    let key = run(&["keys", "create", "--tenant", "acme"]).trim().to_owned();

    let here = Server::start(Arc::clone(&directory), &[]);
    wait_for_compositions(&here);
    let chain_server = Server::start_chain(Arc::clone(&directory), &["btc"]);
    let servers = chain_servers_setting(&[&chain_server]);
    let there = Server::start(without_graphs(directory.path()), &["--chain-servers", &servers]);
    let [here, there] = [&here, &there].map(|server| server.caller(&key));
    let mut dice = Random::new(3);
    for _ in 0..if is_full() { SUBJECTS_IN_FULL } else { SUBJECTS } {
        let person = match dice.below(20) {
            0 => Person::Service(dice.below(64)),
            1 => Person::Hub,
            2..4 => Person::Leaf(dice.below(chain.leaves())),
            _ => Person::Wallet(dice.below(chain.wallets())),
        };
        let address = address(person);
        assert_eq!(checked(&there, &address), checked(&here, &address), "{person:?}");
    }
    // So has a transaction on the command line.
    let txid = printed(
        directory.path(),
        &["export", "transfers", "btc", "--format", "jsonl", "--to", "0"],
    );
    let txid: Value = serde_json::from_str(txid.lines().next().unwrap()).unwrap();
    let txid = txid["txid"].as_str().unwrap();
    let asking = without_graphs(directory.path());
    let servers = format!("--chain-servers={servers}");
    let shown = |directory: &Path, more: &[&str]| {
        printed(directory, &[&["tx", "btc", txid, "--json"], more].concat())
    };
    assert_eq!(shown(asking.path(), &[&servers]), shown(directory.path(), &[]));
    // Bulk screening has the same rows.
    let row = |number| json!({"blockchain": "btc", "address": address(Person::Wallet(number))});
    let rows: Vec<String> = (0..200).map(|number| row(number).to_string()).collect();
    let rows = rows.join("\n") + "\n";
    let screened = |caller: &Caller| {
        let fields = [("content-type", "application/x-ndjson")];
        let answer = caller.post("/api/v1/screen?scope=full", &rows, &fields);
        assert_eq!(answer.status, 200, "{}", answer.text);
        answer.text
    };
    assert_eq!(screened(&there), screened(&here));
}

/// Transfers of the account chain of random subjects.
const TRANSFERS: u64 = 20_000;

/// A data directory with a long account chain and the labels of its exchanges and thieves, a tenant's key, and the
/// identifiers and receivers of some transfers.
fn long_account_chain() -> (Arc<TempDir>, String, Vec<(String, String)>) {
    let directory = Arc::new(tempfile::tempdir().unwrap());
    let mut labels = "blockchain,address,category,entity,confidence,tier,author\n".to_owned();
    let text = |account: AccountAddress| account.on(ChainId::ETH).unwrap().as_str().to_owned();
    for (account, end) in LongAccountChain::ends() {
        let (address, category) = (text(account), end.category.as_str());
        writeln!(labels, "eth,{address},{category},One,100,investigation,The police").unwrap();
    }
    fs::write(directory.path().join("labels.csv"), labels).unwrap();
    let limit = "{name: burst, requests: 1000000, window: 5s, counts: requests}";
    fs::write(directory.path().join("roomy.yaml"), plan_with_tenant("roomy", limit)).unwrap();
    let run = |arguments: &[&str]| assay(directory.path(), arguments).ok().stdout;
    run(&["ingest", "labels", "labels.csv", "--format", "csv", "--source", "police"]);
    run(&["apply", "-f", "roomy.yaml"]);
    let key = run(&["keys", "create", "--tenant", "acme"]).trim().to_owned();
    let graphs = EmbeddedGraphs::new(directory.path());
    let mut writer = graphs.account_writer(ChainId::ETH, false, &AccountEnds::default()).unwrap();
    let (mut blocks, mut transfers) = (Vec::<AccountBlock>::new(), Vec::new());
    let chain = LongAccountChain::new(7, TRANSFERS, true);
    let usdt = Asset::parse(ChainId::ETH, "0xdac17f958d2ee523a2206206994597c13d831ec7").unwrap();
    for (number, mut transaction) in (0..TRANSFERS / 3).zip(chain) {
        let moved = transaction.transfers[0].clone();
        if number % 7 == 0 {
            let change = FreezeChange::ALL[usize::try_from(number / 7).unwrap() % 3];
            transaction.freezes.push(FreezeEvent {
                asset: usdt,
                account: moved.to,
                change,
                log: 0,
            });
        }
        transfers.push((transaction_text(ChainId::ETH, transaction.id), text(moved.to)));
        let (height, time) = (transaction.block, transaction.time);
        if blocks.last().is_none_or(|block| block.reference.height < height) {
            let reference = BlockRef { height, hash: [0; 32], parent: [0; 32], time };
            blocks.push(AccountBlock::new(reference, Vec::new()));
        }
        blocks.last_mut().unwrap().transactions.push(transaction);
    }
    writer.append(&blocks, u64::MAX, blocks.last().unwrap().reference.time).unwrap();
    (directory, key, transfers)
}

#[test]
fn hundreds_of_random_accounts_have_the_same_answers_from_chain_servers() {
    let (directory, key, transfers) = long_account_chain();
    let here = Server::start(Arc::clone(&directory), &[]);
    let chain = Server::start_chain(Arc::clone(&directory), &["eth"]);
    let servers = format!("--chain-servers=eth=http://{}", chain.api);
    let there = Server::start(without_graphs(directory.path()), &[&servers]);
    for server in [&here, &chain] {
        wait_until("the ledgers have the labels", || {
            let name = "assay_composition_transactions_behind{chain=\"eth\"}";
            server.metric_if_any::<u64>(name) == Some(0)
        });
    }
    let [here, there] = [&here, &there].map(|server| server.caller(&key));
    let mut dice = Random::new(5);
    let subjects = (0..400).map(|nth| match nth % 20 {
        0 => account(Group::Exchange, dice.below(300)),
        1 => account(Group::Thief, dice.below(200)),
        2 => account(Group::Pool, dice.below(2_000)),
        3 => account(Group::Contract, dice.below(2)),
        4..8 => account(Group::Deposit, dice.below(300_000)),
        8..12 => account(Group::Person, dice.below(50)),
        _ => account(Group::Person, dice.below(5_000)),
    });
    let subjects: Vec<String> =
        subjects.map(|account| account.on(ChainId::ETH).unwrap().as_str().to_owned()).collect();
    let checked = |caller: &Caller, address: &str| {
        let answer = caller.check("eth", address);
        assert_eq!(answer.status, 200, "{}", answer.text);
        stable_fields(answer.json())
    };
    let mut stolen = 0;
    for address in &subjects {
        let answer = checked(&there, address);
        assert!(!answer.contains("flows_missing") && !answer.contains("compositions_outdated"));
        stolen += usize::from(answer.contains("stolen_funds"));
        assert_eq!(answer, checked(&here, address), "{address}");
    }
    assert!(stolen > 50, "{stolen}");
    // So have transfers in both directions, one transaction on the command line, and rows of a file.
    for _ in 0..100 {
        let (transaction, receiver) = dice.pick(&transfers);
        for direction in ["deposit", "withdrawal"] {
            let body = json!({
                "blockchain": "eth", "transaction": transaction, "address": receiver,
                "direction": direction,
            });
            let [one, other] = [&here, &there].map(|caller| {
                let answer = caller.post("/api/v1/check/transfer", &body.to_string(), &[]);
                let (status, body) = (answer.status, answer.json());
                (
                    status,
                    if status == 200 { stable_fields(body) } else { body["detail"].to_string() },
                )
            });
            assert_eq!(one, other, "{body}");
        }
    }
    let asking = without_graphs(directory.path());
    let shown = |directory: &Path, more: &[&str]| {
        printed(directory, &[&["tx", "eth", &transfers[9].0, "--json"], more].concat())
    };
    assert_eq!(shown(asking.path(), &[&servers]), shown(directory.path(), &[]));
    let row = |address: &String| json!({"blockchain": "eth", "address": address}).to_string();
    let rows = subjects.iter().take(100).map(row).collect::<Vec<_>>().join("\n") + "\n";
    let screened = |caller: &Caller| {
        let fields = [("content-type", "application/x-ndjson")];
        let answer = caller.post("/api/v1/screen?scope=full", &rows, &fields);
        assert_eq!(answer.status, 200, "{}", answer.text);
        answer.text
    };
    assert_eq!(screened(&there), screened(&here));
}

/// A graph of three blocks.
fn three_blocks() -> Arc<TempDir> {
    Arc::new(ingested(&[
        line(0, 1, &json!([]), &[("thief", 50), ("ann", 7)]),
        line(1, 2, &json!([{"txid": crate::chain_tools::txid(1), "index": 0}]), &[("shop", 50)]),
        line(2, 3, &json!([]), &[("miner", 50)]),
    ]))
}

/// A small graph of one kind of chain.
struct SmallChain {
    chain: &'static str,
    directory: Arc<TempDir>,
    /// Addresses with flows.
    addresses: Vec<String>,
    /// Arguments that ingest a further block from the file `more`.
    ingest: [&'static str; 5],
    /// The file, and the part of the ingest's report that names its block.
    more: (String, &'static str),
}

impl SmallChain {
    /// A chain of outputs, and an account chain.
    fn of_each_kind() -> [Self; 2] {
        let outputs = Self {
            chain: "btc",
            directory: three_blocks(),
            addresses: ["shop", "thief", "ann", "miner"].map(address_of).into(),
            ingest: ["ingest", "chain", "btc", "--jsonl", "more"],
            more: (line(3, 4, &json!([]), &[("miner", 50)]), "up to block 3"),
        };
        let further = account_answers::row(9, 0, "native", "ann", "dan", 1_000_000_000);
        let accounts = Self {
            chain: "eth",
            directory: Arc::new(account_answers::swap()),
            addresses: ["ann", "bob", "dan", "thief"].map(account_answers::address).into(),
            ingest: ["ingest", "chain", "eth", "--transfers", "more"],
            more: (
                format!("{}\n{further}\n", account_answers::HEADER),
                "blocks 20000001 to 20000009",
            ),
        };
        [outputs, accounts]
    }

    /// The setting with the URLs of chain servers of the chain.
    fn servers(&self, servers: &[&Server]) -> String {
        let urls = servers.iter().map(|it| format!("{}=http://{}", self.chain, it.api));
        urls.collect::<Vec<_>>().join(",")
    }

    fn start(&self) -> Server {
        Server::start_chain(Arc::clone(&self.directory), &[self.chain])
    }

    /// True for each address whose check has flows.
    fn flows(&self, caller: &Caller) -> Vec<(u16, bool)> {
        self.addresses.iter().map(|it| check_uncached(caller, self.chain, it)).collect()
    }

    /// The outcome of checks of all addresses that have flows.
    fn all(&self) -> Vec<(u16, bool)> {
        vec![(200, true); self.addresses.len()]
    }

    fn metric(&self, api: &Server, name: &str) -> u64 {
        api.metric(&format!("{name}{{chain=\"{}\"}}", self.chain))
    }

    /// The file with the pages of the graph.
    fn graph_file(&self) -> PathBuf {
        let folder = if self.chain == "btc" { "btc.graph" } else { "eth.accounts/1" };
        self.directory.path().join("chains").join(folder).join("data.mdb")
    }

    fn fingerprint(&self, directory: &TempDir) -> String {
        printed(directory.path(), &["chain", "verify", self.chain])
    }
}

/// A chain server's question for the flows of an address.
fn question(address: &str, knows: &Value, deadline_ms: u32) -> Value {
    let rules = json!({
        "hops": null, "stop_below_share_millionths": 61, "stop_trace_below": 0, "transactions": 100_000,
        "source_transactions": 300, "entries": 1_000_000, "transfers_per_address": 1_000_000,
        "entries_of_history": 1_000_000, "decay": 0, "coinjoin_severity": 0, "unsolicited_below": 0,
        "largest_dust": 0, "paths_per_part": 3,
    });
    json!({
        "deadline_ms": deadline_ms,
        "knows": knows,
        "question": {
            "address": address,
            "policy": {"rules": rules, "severities": {}, "lists": {}},
            "now": "2026-11-25T00:00:00Z",
            "a field of a later release": true,
        },
    })
}

#[test]
fn questions_without_an_answer_say_why() {
    let directory = three_blocks();
    fs::write(directory.path().join("token"), format!("{CHAIN_TOKEN}\n{SECOND}\n")).unwrap();
    let server = Server::start_chain(Arc::clone(&directory), &["--chain-token-file", "token"]);
    let caller = Caller::new(server.api, "");
    let ask = |path: &str, body: &str, token: &str| {
        let bearer = format!("Bearer {token}");
        let fields = [("authorization", bearer.as_str()), ("content-type", "application/json")];
        let method = if body.is_empty() { "GET" } else { "POST" };
        let answer = caller.send(method, &format!("/chain/v1/{path}"), body, fields);
        (answer.status, answer.json())
    };
    let nothing = json!({"lists": 0, "block": 0});
    let good = question(&address_of("shop"), &nothing, 8_000).to_string();
    for token in [CHAIN_TOKEN, SECOND] {
        let (status, answer) = ask("btc/trace", &good, token);
        assert_eq!(status, 200, "{answer}");
        assert_eq!(answer["state"]["followed"]["tip"]["height"], 2, "{answer}");
    }
    assert_eq!(ask("btc/state", "", CHAIN_TOKEN).1["newest"]["block"]["height"], 2);
    // Single parts of what is known.
    let of_chain = |path: &str, question: Value| {
        let body = json!({"deadline_ms": 8_000, "knows": nothing, "question": question});
        let (status, answer) = ask(path, &body.to_string(), CHAIN_TOKEN);
        assert_eq!(status, 200, "{answer}");
        answer
    };
    let txid = crate::chain_tools::txid;
    let found = of_chain("btc/transaction", json!({"transaction": txid(2), "largest": 10}));
    let transaction = &found["transaction"];
    let counted = (&transaction["height"], &transaction["inputs"]["count"]);
    assert_eq!(counted, (&1.into(), &1.into()), "{found}");
    assert_eq!(found["forms"], json!([]), "one input and one output to somebody else");
    assert!(of_chain("btc/transaction", json!({"transaction": txid(9), "largest": 10})).is_null());
    let history = of_chain("btc/history", json!({"address": address_of("thief"), "largest": 10}));
    let coins = |number: u64| Value::from(number * 100_000_000);
    assert_eq!(history["incoming"][0]["received"], coins(50), "{history}");
    assert_eq!(history["outgoing"][0]["transaction"], txid(2), "{history}");
    assert_eq!(history["statistics"]["sent"], coins(50), "{history}");
    assert!(of_chain("btc/history", json!({"address": NOBODY, "largest": 10})).is_null());
    let cluster = of_chain("btc/cluster", json!({"address": address_of("thief")}));
    assert_eq!(
        (&cluster["size"], &cluster["id"]),
        (&1.into(), &address_of("thief").into()),
        "{cluster}"
    );
    let refused = |path: &str, body: &str, token: &str| {
        let (status, answer) = ask(path, body, token);
        (status, answer["code"].as_str().unwrap().to_owned(), answer["detail"].to_string())
    };
    let code = |path: &str, body: &str| {
        let (status, code, _) = refused(path, body, CHAIN_TOKEN);
        (status, code)
    };
    let is = |status: u16, code: &str| (status, code.to_owned());
    for token in ["", THIRD] {
        let (status, code, detail) = refused("btc/trace", &good, token);
        assert_eq!((status, &*code), (401, "unauthorized"), "{detail}");
    }
    assert_eq!(code("btc/nothing", &good), is(404, "not_found"));
    assert_eq!(
        code(
            "ltc/trace",
            &question("LaMT348PWRnrqeeWArpwQPbuanpXDZGEUz", &nothing, 8_000).to_string()
        ),
        is(404, "not_found")
    );
    assert_eq!(code("coin/trace", &good), is(400, "invalid"));
    assert_eq!(code("btc/trace", "{}"), is(400, "invalid"));
    assert_eq!(
        code("btc/trace", &question("nobody", &nothing, 8_000).to_string()),
        is(400, "invalid")
    );
    let (_, _, detail) = refused("btc/trace", "{\"deadline_ms\": \"soon\"}", CHAIN_TOKEN);
    assert!(detail.contains("deadline_ms"), "{detail}");
    for newer in [json!({"lists": 1_000, "block": 0}), json!({"lists": 0, "block": 3})] {
        let body = question(&address_of("shop"), &newer, 8_000).to_string();
        assert_eq!(code("btc/trace", &body), is(409, "behind"));
    }
    let part =
        json!({"deadline_ms": 1_000, "knows": nothing, "question": {"held": "none", "offset": 0}});
    assert_eq!(code("btc/copy-part", &part.to_string()), is(404, "not_found"));
    // A listener for other machines has a token.
    let open = assay(directory.path(), ["chain", "serve", "--listen", "0.0.0.0:0"]);
    assert_eq!((open.code, open.stderr.contains("--chain-token-file")), (2, true), "{open:?}");
    // The wrong token is no clean answer.
    fs::write(directory.path().join("wrong"), THIRD).unwrap();
    let limit = "{name: burst, requests: 1000000, window: 5s, counts: requests}";
    fs::write(directory.path().join("roomy.yaml"), plan_with_tenant("roomy", limit)).unwrap();
    let _ = assay(directory.path(), ["apply", "-f", "roomy.yaml"]).ok();
    let key = assay(directory.path(), ["keys", "create", "--tenant", "acme"]).ok().stdout;
    let servers = chain_servers_setting(&[&server]);
    let asking = without_graphs(directory.path());
    let missing = |token: &str| {
        let arguments = ["--chain-servers", &servers, "--chain-token-file", token];
        let api = Server::start(Arc::clone(&asking), &arguments);
        let answer = api.caller(key.trim()).check("btc", &address_of("shop"));
        assert_eq!(answer.json()["verdict"], "indeterminate", "no list was fetched");
        answer.text.contains("flows_missing")
    };
    assert!(missing("wrong") && !missing("token"));
}

#[test]
fn no_program_starts_with_a_token_that_can_be_guessed() {
    let directory = three_blocks();
    fs::write(directory.path().join("short"), "abc\n").unwrap();
    // Not even where only this machine listens.
    for serve in [
        &["chain", "serve", "--listen", "0.0.0.0:0"][..],
        &["chain", "serve", "--listen", "127.0.0.1:0"],
        &["serve", "--listen", "127.0.0.1:0", "--chain-servers", "btc=http://127.0.0.1:1"],
    ] {
        let short = [serve, &["--chain-token-file", "short"]].concat();
        let refused = assay(directory.path(), short);
        let told = refused.stderr.contains("a token of 3 characters");
        let mend = refused.stderr.contains("openssl rand -hex 32");
        assert_eq!((refused.code, told, mend), (2, true, true), "{refused:?}");
    }
}

#[test]
fn an_empty_server_is_filled_from_another_one_and_goes_on() {
    for small in SmallChain::of_each_kind() {
        let SmallChain { chain, directory, ingest, more, .. } = &small;
        let neighbor = small.start();
        let url = format!("http://{}", neighbor.api);
        let empty = without_graphs(directory.path());
        let filled = Server::start_chain(Arc::clone(&empty), &[chain, "--neighbors", &url]);
        let is_ready = || Caller::new(filled.admin, "").get("/readyz").status == 200;
        wait_until("it is filled", is_ready);
        wait_until("its log says so", || filled.log().contains("filled from a neighbor"));
        assert_eq!(small.fingerprint(&empty), small.fingerprint(directory));
        // Blocks can be added to it.
        fs::write(empty.path().join("more"), &more.0).unwrap();
        let added = assay(empty.path(), ingest).ok();
        let said = added.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(said.contains(more.1), "{said}");
        for family in ["graph", "accounts"] {
            assert!(!empty.path().join(format!("chains/{chain}.{family}.filling")).exists());
        }
    }
}

#[test]
fn a_token_is_rotated_without_a_restart() {
    let directory = three_blocks();
    let limit = "{name: burst, requests: 1000000, window: 5s, counts: requests}";
    fs::write(directory.path().join("roomy.yaml"), plan_with_tenant("roomy", limit)).unwrap();
    let _ = assay(directory.path(), ["apply", "-f", "roomy.yaml"]).ok();
    let key = assay(directory.path(), ["keys", "create", "--tenant", "acme"]).ok().stdout;
    let [accepted, shown] = ["accepted", "shown"].map(|name| directory.path().join(name));
    let write = |path: &Path, lines: &[&str]| fs::write(path, lines.join("\n")).unwrap();
    write(&accepted, &[CHAIN_TOKEN]);
    write(&shown, &[CHAIN_TOKEN]);
    let token = |path: &Path| format!("--chain-token-file={}", path.display());
    let server = Server::start_chain(Arc::clone(&directory), &["btc", &token(&accepted)]);
    let servers = format!("--chain-servers={}", chain_servers_setting(&[&server]));
    let asking = without_graphs(directory.path());
    let api = Server::start(asking, &[&servers, &token(&shown)]);
    let caller = api.caller(key.trim());
    let has_flows = || {
        let body = json!({"blockchain": "btc", "address": address_of("shop")}).to_string();
        let fresh = [("cache-control", "no-cache")];
        let answer = caller.post("/api/v1/check/address", &body, &fresh);
        assert_eq!(answer.status, 200, "{}", answer.text);
        !answer.text.contains("flows_missing")
    };
    wait_until("the server is found", has_flows);
    let is_so_for_a_while = || {
        let begun = std::time::Instant::now();
        while begun.elapsed() < std::time::Duration::from_secs(4) {
            assert!(has_flows());
        }
    };
    write(&accepted, &[CHAIN_TOKEN, SECOND]);
    is_so_for_a_while();
    write(&shown, &[SECOND, CHAIN_TOKEN]);
    is_so_for_a_while();
    write(&accepted, &[SECOND]);
    is_so_for_a_while();
    // A line that is too short is not taken over.
    write(&accepted, &["abc"]);
    wait_until("that is told", || server.log().contains("holds a token of 3 characters"));
    is_so_for_a_while();
    write(&shown, &[CHAIN_TOKEN]);
    write(&accepted, &[THIRD]);
    wait_until("a wrong token is refused", || !has_flows());
}

/// A directory of an API server without graphs, and a key of a tenant.
fn asking_directory(graphs: &TempDir) -> (Arc<TempDir>, String) {
    let limit = "{name: burst, requests: 1000000, window: 5s, counts: requests}";
    fs::write(graphs.path().join("roomy.yaml"), plan_with_tenant("roomy", limit)).unwrap();
    let _ = assay(graphs.path(), ["apply", "-f", "roomy.yaml"]).ok();
    let key = assay(graphs.path(), ["keys", "create", "--tenant", "acme"]).ok().stdout;
    (without_graphs(graphs.path()), key.trim().to_owned())
}

/// A check without cached answers: the status, and true if the answer has flows.
fn check_uncached(caller: &Caller, chain: &str, address: &str) -> (u16, bool) {
    let body = json!({"blockchain": chain, "address": address}).to_string();
    let answer = caller.post("/api/v1/check/address", &body, &[("cache-control", "no-cache")]);
    (answer.status, answer.status == 200 && !answer.text.contains("flows_missing"))
}

#[test]
fn a_stopped_chain_server_is_asked_no_more_and_holds_up_no_other_chain() {
    for small in SmallChain::of_each_kind() {
        // Given a chain with one server, an API server with few places, and a tenant,
        let (asking, key) = asking_directory(&small.directory);
        let chain = small.start();
        let servers = small.servers(&[&chain]);
        let api = Server::start(asking, &["--chain-servers", &servers, "--max-requests", "32"]);
        let caller = api.caller(&key);
        let flows = |caller: &Caller| check_uncached(caller, small.chain, &small.addresses[0]);
        wait_until("the server is found", || flows(&caller) == (200, true));
        let silent = || small.metric(&api, "assay_chain_servers_silent");
        let asked = || small.metric(&api, "assay_chain_servers_asked_total");
        assert_eq!(silent(), 0);
        // when the server is stopped, and the tenant checks more addresses of the chain at once than there are places,
        chain.signal("STOP");
        let (refused, answered) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let one = || {
            let outcome = flows(&caller);
            let counter = if outcome.0 == 429 { &refused } else { &answered };
            counter.fetch_add(1, Ordering::SeqCst);
            assert!(matches!(outcome, (200 | 429, false)), "{outcome:?}");
        };
        let served = thread::scope(|scope| {
            for _ in 0..200 {
                scope.spawn(one);
            }
            // then its checks of another chain are answered while all of those wait that found a place,
            wait_until("some found none", || refused.load(Ordering::SeqCst) > 0);
            let (other, nobody) =
                if small.chain == "btc" { ("eth", NO_ACCOUNT) } else { ("btc", NOBODY) };
            let mut served = 0;
            while silent() == 0 {
                let (status, _) = check_uncached(&caller, other, nobody);
                served += usize::from(status == 200 && answered.load(Ordering::SeqCst) == 0);
            }
            served
        });
        assert!(served > 0, "{} were refused", refused.into_inner());
        // and no question is sent any more.
        let before = asked();
        for _ in 0..100 {
            assert_eq!(flows(&caller), (200, false));
        }
        assert_eq!((asked(), silent()), (before, 1));
        assert!(api.log().contains("has been silent for a second"), "{}", api.log());
        // Once it goes on, it is asked again.
        chain.signal("CONT");
        wait_until("it is asked again", || flows(&caller) == (200, true));
        assert_eq!(silent(), 0);
    }
}

#[test]
fn answers_are_complete_while_one_of_two_chain_servers_is_stopped() {
    for small in SmallChain::of_each_kind() {
        let (asking, key) = asking_directory(&small.directory);
        let chain = [small.start(), small.start()];
        let servers = small.servers(&[&chain[0], &chain[1]]);
        let api = Server::start(asking, &["--chain-servers", &servers]);
        let caller = api.caller(&key);
        wait_until("the servers are found", || small.flows(&caller) == small.all());
        let silent = || small.metric(&api, "assay_chain_servers_silent");
        for stopped in &chain {
            // From the moment on at which one is stopped, until it is asked again.
            stopped.signal("STOP");
            while silent() == 0 {
                assert_eq!(small.flows(&caller), small.all());
            }
            for _ in 0..20 {
                assert_eq!(small.flows(&caller), small.all());
            }
            stopped.signal("CONT");
            wait_until("it is heard", || silent() == 0);
            assert_eq!(small.flows(&caller), small.all());
        }
    }
}

#[test]
fn files_that_are_put_into_a_folder_are_recorded_once_and_in_the_order_of_their_names() {
    use account_answers::{HEADER, address, row};
    let file = |rows: &[String]| format!("{HEADER}\n{}\n", rows.join("\n"));
    let folder = tempfile::tempdir().unwrap();
    let put = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
    let at = folder.path().to_str().unwrap().to_owned();
    let (directory, _) = asking_directory(&tempfile::tempdir().unwrap());
    let start = || Server::start_chain(Arc::clone(&directory), &["eth", "--transfers", &at]);
    // Given a chain server of an empty folder, to which the second file comes before the first one,
    let server = start();
    assert_eq!(Caller::new(server.admin, "").get("/readyz").status, 503);
    let height = |server: &Server| {
        server.metric_if_any::<u64>("assay_chain_height{chain=\"eth\"}").unwrap_or(0)
    };
    put("2.csv.part", &file(&[row(2, 0, "native", "bob", "ann", 5)]));
    put(".hidden", "no transfers");
    put("1.csv", &file(&[row(1, 0, "native", "cid", "bob", 9)]));
    wait_until("the first file is recorded", || height(&server) == 20_000_001);
    // when the second one is complete, and a folder with two files of the same blocks follows,
    fs::rename(folder.path().join("2.csv.part"), folder.path().join("2.csv")).unwrap();
    fs::create_dir(folder.path().join(".3")).unwrap();
    put(".3/one.csv", &file(&[row(3, 0, "native", "ann", "dan", 2)]));
    put(".3/two.csv", &file(&[row(3, 1, "native", "ann", "eve", 1)]));
    fs::rename(folder.path().join(".3"), folder.path().join("3")).unwrap();
    // then all of them are recorded,
    wait_until("all are recorded", || height(&server) == 20_000_003);
    let transfers = printed(directory.path(), &["export", "transfers", "eth", "--format", "jsonl"]);
    assert_eq!(transfers.lines().count(), 4, "{transfers}");
    assert!(transfers.contains(&address("eve")), "{transfers}");
    assert_eq!(Caller::new(server.admin, "").get("/readyz").status, 200);
    // a file that cannot be read is told and holds up what comes after it,
    put("4.csv", "block,time,txid\n1,2,3\n");
    put("5.csv", &file(&[row(5, 0, "native", "dan", "eve", 1)]));
    wait_until("it is told", || server.log().contains("4.csv"));
    put("6.csv", "no transfers either");
    assert_eq!(height(&server), 20_000_003);
    drop(server);
    // and after a restart no file is recorded again, while the corrected file and the one behind it are.
    put("1.csv.part", "");
    let server = start();
    wait_until("it is told again", || server.log().contains("4.csv"));
    put("4.csv", &file(&[row(4, 0, "native", "dan", "eve", 1)]));
    wait_until("the others are recorded", || height(&server) == 20_000_005);
    wait_until("the last one is told", || server.log().contains("6.csv"));
    assert_eq!(server.log().matches("transfers recorded").count(), 2, "{}", server.log());
    // An account chain has no indexer, and a chain of outputs no such files.
    for (arguments, said) in [
        (&["eth", "--esplora", "http://127.0.0.1:1"][..], "use --rpc or --transfers"),
        (&["btc", "--transfers", "."], "btc has blocks"),
        (&["sol"], "blocks of sol are not supported"),
        (&["eth", "--transfers", ".", "--rpc", "http://127.0.0.1:1"], "cannot be used with"),
    ] {
        let refused = assay(directory.path(), [&["chain", "serve"], arguments].concat());
        assert!(refused.code == 2 && refused.stderr.contains(said), "{refused:?}");
    }
}

#[test]
fn the_majority_answers_where_servers_of_an_account_chain_have_other_transfers() {
    use account_answers::{address, ingest, recorded, row};
    const ETHER: u128 = 1_000_000_000_000_000_000;
    // Given lists and labels, two chain servers on which Ann's money came from a thief, one on which it did not, and one that
    // has the first blocks alone,
    let labels = [("cid", "exchange", "Example"), ("thief", "stolen_funds", "Example theft")];
    let base = recorded(&[], &labels);
    let (asking, key) = asking_directory(&base);
    let rows = |from: &str| {
        [
            row(1, 0, "native", "cid", "ann", ETHER),
            row(2, 0, "native", from, "bob", 100 * ETHER),
            row(3, 0, "native", "bob", "ann", 50 * ETHER),
        ]
    };
    let served = |rows: &[String]| {
        let directory = without_graphs(base.path());
        ingest(directory.path(), rows);
        Server::start_chain(directory, &["eth"])
    };
    let right = [served(&rows("thief")), served(&rows("thief"))];
    let (wrong, behind) = (served(&rows("cid")), served(&rows("thief")[..1]));
    let told = |servers: &[&Server], branches: u64| {
        let urls: Vec<String> = servers.iter().map(|it| format!("eth=http://{}", it.api)).collect();
        let directory = without_graphs(asking.path());
        let api = Server::start(directory, &["--chain-servers", &urls.join(",")]);
        wait_until("all servers are compared", || {
            api.metric_if_any("assay_chain_branches{chain=\"eth\"}") == Some(branches)
        });
        let answer = api.caller(&key).check("eth", &address("ann"));
        assert_eq!(answer.status, 200, "{}", answer.text);
        answer.json()
    };
    let codes = |answer: &Value, field: &str| {
        let all = answer[field].as_array().unwrap().iter();
        all.map(|it| it["code"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let differ = "chain_branches_differ".to_owned();
    let expected = told(&[&right[0], &right[1]], 1);
    assert!(expected["exposure"].to_string().contains("stolen_funds"), "{expected:#}");
    assert!(!codes(&expected, "warnings").contains(&differ), "{expected:#}");
    // when all are asked that have the same transfers, then one that is behind is no other branch,
    let answer = told(&[&behind, &right[0]], 1);
    assert_eq!(answer["exposure"], expected["exposure"]);
    assert!(!codes(&answer, "warnings").contains(&differ), "{answer:#}");
    // a server with other transfers is outvoted, which the answer says,
    let answer = told(&[&right[0], &wrong, &right[1]], 2);
    assert_eq!(answer["exposure"], expected["exposure"]);
    assert!(codes(&answer, "warnings").contains(&differ), "{answer:#}");
    // and one against one, nobody answers.
    let answer = told(&[&wrong, &right[0]], 2);
    assert_eq!(answer["verdict"], json!("indeterminate"), "{answer:#}");
    assert!(codes(&answer, "reasons").contains(&"flows_missing".to_owned()), "{answer:#}");
}

#[test]
fn ledgers_of_a_served_chain_follow_labels_without_a_check() {
    // Given a chain server of an account chain, and an API server that asks it,
    let directory = Arc::new(account_answers::swap());
    let (_, key) = asking_directory(&directory);
    let chain = Server::start_chain(Arc::clone(&directory), &["eth"]);
    let servers = format!("--chain-servers=eth=http://{}", chain.api);
    let api = Server::start(Arc::clone(&directory), &[&servers]);
    let caller = api.caller(&key);
    let behind = || {
        let name = "assay_composition_transactions_behind{chain=\"eth\"}";
        chain.metric_if_any::<u64>(name)
    };
    wait_until("the ledgers are compared", || behind() == Some(0));
    let fingerprint = || printed(directory.path(), &["chain", "verify", "eth"]);
    let before = fingerprint();
    // when a label ends money at another account, then the chain server computes its ledgers anew,
    let text = format!(
        "blockchain,address,category,tier,confidence,entity\neth,{},exchange,investigation,95,Bob\n",
        account_answers::address("bob")
    );
    fs::write(directory.path().join("more.csv"), text).unwrap();
    let import = ["ingest", "labels", "more.csv", "--format", "csv", "--source", "more"];
    let _ = assay(directory.path(), import).ok();
    wait_until("they are computed anew", || fingerprint() != before && behind() == Some(0));
    // and answers are those of the graph, by the new label.
    let ann = account_answers::address("ann");
    let exposure = |answer: &Value| answer["exposure"].to_string();
    let here = assay(directory.path(), ["check", "eth", &ann, "--json"]).ok().json();
    assert!(exposure(&here).contains("exchange"), "{here:#}");
    wait_until("the answer has the label", || {
        let answer = caller.check("eth", &ann).json();
        exposure(&answer) == exposure(&here) && answer["warnings"] == here["warnings"]
    });
}

/// The answers about all addresses of a chain, without cached ones.
fn answers(caller: &Caller, small: &SmallChain) -> Vec<String> {
    let answer = |address: &String| {
        let body = json!({"blockchain": small.chain, "address": address}).to_string();
        let answer = caller.post("/api/v1/check/address", &body, &[("cache-control", "no-cache")]);
        assert_eq!(answer.status, 200, "{}", answer.text);
        stable_fields(answer.json())
    };
    small.addresses.iter().map(answer).collect()
}

#[test]
fn no_answer_is_wrong_or_missing_while_two_of_three_chain_servers_fail() {
    for small in SmallChain::of_each_kind() {
        let (asking, key) = asking_directory(&small.directory);
        // Given the answers of a server with the graph, and three chain servers, of which one has a small disk,
        let here = Server::start(Arc::clone(&small.directory), &[]);
        if small.chain == "btc" {
            wait_for_compositions(&here);
        }
        let expected = answers(&here.caller(&key), &small);
        let disk = SmallDisk::mount(64);
        let file = small.directory.path().join("copy.graph");
        let file = file.to_str().unwrap();
        let _ = assay(small.directory.path(), ["chain", "backup", small.chain, file]).ok();
        let on_disk = format!("--data-dir={}", disk.path().display());
        let [first, second, third] = [(), (), ()].map(|()| without_graphs(small.directory.path()));
        for copy in [&first, &second] {
            let _ = assay(copy.path(), ["chain", "restore", small.chain, file]).ok();
        }
        for entry in fs::read_dir(third.path()).unwrap() {
            let entry = entry.unwrap();
            fs::copy(entry.path(), disk.path().join(entry.file_name())).unwrap();
        }
        let _ = assay(third.path(), ["chain", "restore", small.chain, file, &on_disk]).ok();
        let stopped = Server::start_chain(first, &[small.chain]);
        let killed = Server::start_chain(second, &[small.chain]);
        let full = Server::start_chain(third, &[small.chain, &on_disk]);
        if small.chain == "btc" {
            [&stopped, &killed, &full].into_iter().for_each(wait_for_compositions);
        }
        let servers = small.servers(&[&stopped, &killed, &full]);
        let api = Server::start(asking, &["--chain-servers", &servers]);
        let caller = api.caller(&key);
        wait_until("the servers are found", || small.flows(&caller) == small.all());
        let silent = || small.metric(&api, "assay_chain_servers_silent");
        // when the disk is full, one server is killed and another one is stopped, then answers are the same all the time:
        // the server with a full disk gives them.
        let asked = |times: usize| {
            for _ in 0..times {
                assert_eq!(answers(&caller, &small), expected);
            }
        };
        asked(5);
        disk.fill();
        asked(5);
        killed.signal("KILL");
        asked(20);
        stopped.signal("STOP");
        while silent() == 0 {
            asked(1);
        }
        asked(20);
        stopped.signal("CONT");
        wait_until("it is heard", || silent() == 0);
        full.signal("KILL");
        asked(20);
    }
}

/// A page of a graph's file that is overwritten with zeros, as after a power cut, until it is dropped.
struct DamagedPage<'a> {
    file: &'a File,
    place: u64,
    whole: [u8; PAGE],
}

/// The bytes of a page.
const PAGE: usize = 4096;

impl<'a> DamagedPage<'a> {
    fn new(file: &'a File, place: u64) -> Self {
        let mut whole = [0; PAGE];
        file.read_exact_at(&mut whole, place).unwrap();
        file.write_all_at(&[0; PAGE], place).unwrap();
        Self { file, place, whole }
    }
}

impl Drop for DamagedPage<'_> {
    fn drop(&mut self) {
        self.file.write_all_at(&self.whole, self.place).unwrap();
    }
}

/// The places of the pages that a graph's file uses, behind the two with its states.
fn used_pages(path: &Path) -> impl Iterator<Item = u64> + use<> {
    let bytes = fs::read(path).unwrap();
    let last = bytes.iter().rposition(|byte| *byte != 0).unwrap();
    (2..=last / PAGE).map(|page| (page * PAGE) as u64)
}

#[test]
fn a_chain_server_with_damaged_pages_is_not_ready_and_no_answer_is_wrong() {
    for mut small in SmallChain::of_each_kind() {
        if !is_full() {
            small.addresses.truncate(1);
        }
        // Given a chain server, an API server that asks it, and its answers,
        let (asking, key) = asking_directory(&small.directory);
        let mut chain = small.start();
        let listen = format!("--listen={}", chain.api);
        let start = || Server::start_chain(Arc::clone(&small.directory), &[small.chain, &listen]);
        let api = Server::start(asking, &["--chain-servers", &small.servers(&[&chain])]);
        let caller = api.caller(&key);
        let is_whole = || small.flows(&caller) == small.all();
        wait_until("the server is found", is_whole);
        if small.chain == "btc" {
            wait_for_compositions(&chain);
        }
        let expected = answers(&caller, &small);
        let path = small.graph_file();
        let file = File::options().read(true).write(true).open(&path).unwrap();
        let state = format!("/chain/v1/{}/state", small.chain);
        let (mut missing, mut unneeded, mut readable) = (0, 0, None);
        // when any page of its graph is damaged while it runs,
        for place in used_pages(&path) {
            let damaged = DamagedPage::new(&file, place);
            let mut has_failed = false;
            for (answer, expected) in answers(&caller, &small).iter().zip(&expected) {
                // then an answer is the same, or states what is missing and allows nothing.
                let lacks_flows = answer.contains("flows_missing");
                let is_honest = lacks_flows && !answer.contains("\"verdict\":\"allow\"");
                assert!(answer == expected || is_honest, "page at {place}: {answer}\n{expected}");
                has_failed |= lacks_flows;
            }
            if !has_failed {
                unneeded += 1;
                continue;
            }
            missing += 1;
            // Assertions of LMDB in test builds end the program on some of these pages.
            let told = Caller::new(chain.api, "").try_send("GET", &state, "", []);
            let is_readable = told.is_ok_and(|answer| answer.status == 200);
            drop(damaged);
            wait_until("the whole graph is read", || {
                if chain.has_ended() {
                    chain = start();
                }
                is_whole()
            });
            readable = readable.or(is_readable.then_some(place));
        }
        eprintln!("{}: {missing} pages are needed, {unneeded} are not", small.chain);
        // When a server begins with such a page, then it is not ready once it was asked, and its log tells it once.
        drop(chain);
        let _damaged = DamagedPage::new(&file, readable.expect("a page of flows alone"));
        let chain = start();
        wait_until("questions fail", || {
            !is_whole() && chain.log().contains("failed to read a chain")
        });
        for _ in 0..10 {
            assert!(!is_whole());
        }
        let ready = Caller::new(chain.admin, "").get("/readyz");
        let graph = format!("the graph of {} ", small.chain);
        let tells_cause =
            [graph.as_str(), "MDB_CORRUPTED"].iter().all(|part| ready.text.contains(*part));
        assert!(ready.status == 503 && tells_cause, "{}", ready.text);
        assert_eq!(chain.log().matches("failed to read a chain").count(), 1, "{}", chain.log());
        // Its state tells the cause, too.
        let told = Caller::new(chain.api, "").get(&state).text;
        assert!(told.contains("MDB_CORRUPTED"), "{told}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_copy_is_of_one_state_while_blocks_are_recorded_and_goes_on_after_an_interruption() {
    const PART: usize = 64 << 10;
    let [origin, empty] = [(), ()].map(|()| tempfile::tempdir().unwrap());
    let [graphs, others] = [&origin, &empty].map(|it| EmbeddedGraphs::new(it.path()));
    let options = WriterOptions { start: 0, sample: false, backfill: false };
    let mut writer = graphs.writer(ChainId::BTC, options).unwrap();
    let now = Timestamp::UNIX_EPOCH;
    let blocks: Vec<ResolvedBlock> = BigChain::new(SHAPE).collect();
    let (mut first, mut rest) = (blocks.chunks(2), Vec::new());
    for _ in 0..10 {
        append(&mut writer, first.next().unwrap(), u64::MAX, now).unwrap();
    }
    // Given a state that is held, and what its graph says,
    let copy = graphs.copy(ChainId::BTC).unwrap().unwrap();
    let view = graphs.graph(ChainId::BTC).unwrap().unwrap().view().await.unwrap().unwrap();
    let expected = view.fingerprint().await.unwrap();
    assert_eq!(copy.fingerprint().unwrap(), expected);
    // when it is copied part by part while further blocks are recorded and rolled back, and the copy is interrupted,
    let part = PART as u64;
    let mut filling = others.begin_copy(ChainId::BTC, "a state", part).unwrap().unwrap();
    let mut parts = 0;
    while filling.received() < copy.length() {
        filling.add(&copy.read(filling.received(), PART).unwrap()).unwrap();
        parts += 1;
        if let Some(more) = first.next() {
            append(&mut writer, more, 20, now).unwrap();
            rest.push(more);
            let height = more.last().unwrap().reference.height;
            writer.roll_back(height - 1).unwrap();
            append(&mut writer, &more[more.len() - 1..], 20, now).unwrap();
        }
        if parts == 5 {
            drop(filling);
            filling = others.begin_copy(ChainId::BTC, "a state", part).unwrap().unwrap();
            assert_eq!(filling.received(), 4 * part, "the last part may not have been on the disk");
        }
    }
    assert!(parts > 20, "{parts}");
    // then it is that state,
    let tip = others.finish_copy(filling, expected).unwrap();
    assert_eq!(tip.block, copy.tip().block);
    assert_eq!(view.fingerprint().await.unwrap(), expected);
    // and with the further blocks it is the graph that it was copied from.
    drop((copy, view));
    let mut writer_of_copy = others.writer(ChainId::BTC, options).unwrap();
    for blocks in &rest {
        append(&mut writer_of_copy, blocks, 20, now).unwrap();
    }
    let fingerprint = async |graphs: &EmbeddedGraphs| {
        graphs.graph(ChainId::BTC).unwrap().unwrap().fingerprint().await.unwrap()
    };
    assert_eq!(fingerprint(&others).await, fingerprint(&graphs).await);

    // Bytes of another state are thrown away, and leave no graph.
    let other = tempfile::tempdir().unwrap();
    let other = EmbeddedGraphs::new(other.path());
    let copy = graphs.copy(ChainId::BTC).unwrap().unwrap();
    let mut filling = other.begin_copy(ChainId::BTC, "another state", part).unwrap().unwrap();
    while filling.received() < copy.length() {
        filling.add(&copy.read(filling.received(), PART).unwrap()).unwrap();
    }
    let refused = other.finish_copy(filling, expected).unwrap_err().to_string();
    assert!(refused.contains("another fingerprint"), "{refused}");
    assert!(!other.exists(ChainId::BTC) && other.partial_copy_origin(ChainId::BTC).is_none());
}
