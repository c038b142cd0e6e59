//! A scenario of USDT on TRON: a server follows the node, and each check is as written beforehand.

use std::{fmt::Write as _, fs, sync::Arc, thread, time::Duration};

use assay_tests::{
    Answer, Caller, Server, assay, tenant,
    tron::{NewTransaction, TronChain, TronNode, party},
    wait_at_most,
};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::{ADDED, REMOVED, TRX, address, coins, dollars, freeze, ingest, issued, passed_through};

/// Time limit for a server to notice a new block.
const PATIENCE: Duration = Duration::from_mins(2);

/// The verdicts: party, verdict, and a word that the reasons or the exposure must have.
const VERDICTS: &[(&str, &str, &str)] = &[
    // The exchange, its customers, the addresses that it gave them, and who rents energy to these.
    ("exchange", "allow", ""),
    ("ann", "allow", "exchange"),
    ("deposit-of-ann", "allow", ""),
    ("lender", "allow", ""),
    // A merchant whom customers of the exchange pay.
    ("merchant", "allow", "exchange"),
    // A listed party, and one whose dollars all came from it. Rented energy makes nobody a party.
    ("jane", "block", "DOE, Jane"),
    ("courier", "block", "sanctions"),
    ("borrower", "allow", ""),
    // A scam, and one who got a quarter of his dollars from it.
    ("scam", "block", "scam"),
    ("mule", "review", "scam"),
    // A frozen account, whom it paid before, and whom it paid afterwards.
    ("frozen", "review", "issuer_frozen"),
    ("paid-before", "allow", ""),
    ("paid-afterwards", "review", "issuer_frozen"),
];

/// The time of the first block in milliseconds: a minute ago, because a chain without new blocks is stale.
#[expect(clippy::disallowed_methods, reason = "the program under test reads the system's clock")]
fn first_time() -> i64 {
    let minute_ago = jiff::Timestamp::now().as_second() - 60;
    minute_ago * 1_000
}

/// The chain of the scenario.
fn usdt_chain() -> TronChain {
    let [lender, deposit, jane, borrower] =
        ["lender", "deposit-of-ann", "jane", "borrower"].map(party);
    let mut chain = TronChain::new(&[(party("exchange"), 9_000_000 * TRX)]);
    let first = [issued("issuer", 50_000_000), dollars("issuer", "exchange", 40_000_000)];
    chain.push(first_time(), &first);
    // Customers withdraw, and some deposit again: the exchange lends energy to the address and sweeps it.
    chain.make(&[
        coins("exchange", "ann", 500),
        coins("exchange", "lender", 9_000),
        dollars("exchange", "ann", 20_000),
        dollars("exchange", "ben", 10_000),
        dollars("exchange", "victim", 30_000),
        dollars("exchange", "jane", 25_000),
        dollars("exchange", "frozen", 20_000),
        dollars("exchange", "mule", 30_000),
    ]);
    chain.make(&[dollars("ann", "deposit-of-ann", 4_000), passed_through("ann", "merchant")]);
    chain.make(&[
        NewTransaction::lend_energy(&lender, &deposit, 5_000 * TRX),
        NewTransaction::lend_energy(&lender, &jane, 5_000 * TRX),
        NewTransaction::lend_energy(&jane, &borrower, 100 * TRX),
        NewTransaction::call(&deposit, &super::USDT, 0).transfer_log(
            &super::USDT,
            [&deposit, &party("exchange")],
            4_000 * super::DOLLAR,
        ),
        coins("ann", "lender", 20),
    ]);
    // The merchant.
    for (payer, amount) in [("ann", 900), ("ben", 1_200), ("ann", 300), ("ben", 80)] {
        chain.make(&[dollars(payer, "merchant", amount)]);
    }
    chain.make(&[dollars("exchange", "borrower", 700), dollars("jane", "courier", 15_000)]);
    chain.make(&[dollars("victim", "scam", 30_000)]);
    chain.make(&[dollars("scam", "mule", 9_000)]);
    chain.make(&[dollars("frozen", "paid-before", 3_000)]);
    chain.make(&[freeze(ADDED, "frozen")]);
    chain.make(&[coins("exchange", "frozen", 50), dollars("exchange", "paid-before", 5_000)]);
    chain.make(&[coins("frozen", "paid-afterwards", 20), passed_through("ann", "merchant")]);
    chain
}

/// A data directory with a list, labels, a source and a tenant.
fn directory(node: &TronNode) -> TempDir {
    let directory = TempDir::new().unwrap();
    let jane = address("jane");
    let mut labels = "blockchain,address,category,tier,confidence,entity\n".to_owned();
    for (name, category) in [("exchange", "exchange"), ("scam", "scam")] {
        writeln!(labels, "trx,{},{category},investigation,95,Example {name}", address(name))
            .unwrap();
    }
    let manifest = format!(
        "apiVersion: assay.dev/v1alpha1\nkind: ChainSource\nmetadata: {{name: tron}}\nspec:\n  chain: trx\n  \
         mode: follow\n  protocol: rpc\n  endpoint: {}\n  allowTestNetwork: true\n---\n{}",
        node.url(),
        tenant("acme", "business")
    );
    for (name, content) in [
        (
            "list.csv",
            format!(
                "list,entity_id,entity,asset_code,address\nofac-sdn,1,\"DOE, Jane\",TRX,{jane}\n"
            ),
        ),
        ("labels.csv", labels),
        ("manifests.yaml", manifest),
    ] {
        fs::write(directory.path().join(name), content).unwrap();
    }
    for command in [
        &["ingest", "sanctions", "list.csv", "--format", "csv", "--source", "ofac-sdn"][..],
        &["ingest", "labels", "labels.csv", "--format", "csv", "--source", "own"],
        &["apply", "--file", "manifests.yaml"],
    ] {
        let _ = assay(directory.path(), command).ok();
    }
    directory
}

/// The answer to a question that is repeated until the tenant's plan permits it.
fn within_limits(ask: impl Fn() -> Answer) -> Value {
    loop {
        let answer = ask();
        if answer.status != 429 {
            assert_eq!(answer.status, 200, "{}", answer.json());
            return answer.json();
        }
        thread::sleep(Duration::from_secs(1));
    }
}

fn check_of(caller: &Caller, name: &str) -> Value {
    let body = json!({ "blockchain": "trx", "address": address(name) });
    let headers = [("Cache-Control", "no-cache")];
    within_limits(|| caller.post("/api/v1/check/address", &body.to_string(), &headers))
}

#[test]
fn every_check_of_usdt_on_tron_is_as_written_beforehand() {
    // Given a server that follows a node on which the scenario was played...
    let node = TronNode::start(usdt_chain());
    node.set_unsolid(3);
    let directory = directory(&node);
    let _ = ingest(directory.path(), &node, &[]).ok();
    let key = assay(directory.path(), ["keys", "create", "--tenant", "acme"]).ok().stdout;
    let server = Server::start(Arc::new(directory), &["--feeds", "on"]);
    let caller = server.caller(key.trim());
    // ...then each check is as written.
    let mut differing = Vec::new();
    for (name, verdict, word) in VERDICTS {
        let answer = check_of(&caller, name);
        let told = format!("{}{}{}", answer["reasons"], answer["exposure"], answer["labels"]);
        if answer["verdict"] != *verdict || !told.contains(word) {
            differing.push(format!("{name}: {verdict} {word}: {answer:#}"));
        }
    }
    assert!(differing.is_empty(), "{}", differing.join("\n\n"));
    // A loan of energy is shown with the listed lender, whom it makes no party of the borrower's money.
    let borrower = check_of(&caller, "borrower");
    let lenders: Vec<_> = borrower["associated_wallets"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|wallet| wallet["relation"] == "resource_lender")
        .map(|wallet| (wallet["address"].as_str().unwrap(), wallet["listed"].as_bool().unwrap()))
        .collect();
    assert_eq!(lenders, [(&*address("jane"), true)], "{borrower:#}");
    // When the freeze ends in a new block, then the server follows it...
    node.change(|chain| chain.make(&[freeze(REMOVED, "frozen")]));
    wait_at_most(PATIENCE, "the end of the freeze is read", || {
        check_of(&caller, "frozen")["verdict"] == "allow"
    });
    // ...and payments carry it no longer (B17).
    assert_eq!(check_of(&caller, "paid-afterwards")["verdict"], "allow");
    // When a deposit of the courier's is mined, then its check withholds it, by its transaction.
    let deposit = node.change(|chain| {
        chain.make(&[dollars("courier", "deposit-of-ann", 1_000)]);
        let block = chain.block(chain.height()).unwrap();
        block.json["transactions"][0]["txID"].as_str().unwrap().to_owned()
    });
    let body = json!({ "blockchain": "trx", "transaction": deposit, "direction": "deposit" });
    let mut answer = Value::Null;
    wait_at_most(PATIENCE, "the deposit is read", || {
        let reply = caller.post("/api/v1/check/transfer", &body.to_string(), &[]);
        answer = reply.json();
        answer["verdict"].is_string()
    });
    assert_ne!(answer["verdict"], "allow", "{answer:#}");
}
