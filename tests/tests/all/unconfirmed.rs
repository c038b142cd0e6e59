//! Given a node with unconfirmed transactions, then a check of a transfer traces their money as if a block held them.

use std::{fs, sync::Arc, time::Duration};

use assay_tests::{
    Caller, Server, assay,
    nodes::{Credentials, Node, NodeKind, Wallet},
    tenant, wait_at_most,
};
use serde_json::{Value, json};

const PATIENCE: Duration = Duration::from_mins(2);
const PATH: &str = "/api/v1/check/transfer";

/// A server that follows a node, and a caller.
fn follow(node: &Node, labels: &str) -> (Server, Caller) {
    let directory = Arc::new(tempfile::tempdir().unwrap());
    let Credentials::Password { user, password } = node.credentials() else {
        panic!("a node with a cookie")
    };
    let path = directory.path();
    fs::create_dir_all(path.join("sources")).unwrap();
    fs::write(path.join("sources/node"), format!("{user}:{password}")).unwrap();
    fs::write(path.join("labels.csv"), labels).unwrap();
    fs::write(path.join("acme.yaml"), tenant("acme", "enterprise")).unwrap();
    let source = format!(
        "apiVersion: assay.dev/v1alpha1\nkind: ChainSource\nmetadata: {{name: litecoin}}\nspec:\n  chain: ltc\n  \
         mode: follow\n  protocol: rpc\n  endpoint: {}\n  allowTestNetwork: true\n  credentialsFile: {}\n",
        node.url(),
        path.join("sources/node").display()
    );
    // Nothing is fetched from outside.
    let lists = "---\napiVersion: assay.dev/v1alpha1\nkind: IntelSource\nmetadata: {name: ofac-sdn}\nspec: {location: \
                 \"http://127.0.0.1:9/list.xml\", format: ofac-advanced, schedule: \"0 0 1 1 *\", suspended: true}\n";
    fs::write(path.join("source.yaml"), source + lists).unwrap();
    let _ = assay(path, ["apply", "-f", "acme.yaml"]).ok();
    let _ = assay(path, ["apply", "-f", "source.yaml"]).ok();
    let labels = ["ingest", "labels", "labels.csv", "--format", "csv", "--source", "research"];
    let _ = assay(path, labels).ok();
    let key = assay(path, ["keys", "create", "--tenant", "acme"]).ok().stdout;
    let server = Server::start(directory, &["--feeds", "on"]);
    let caller = server.caller(key.trim());
    (server, caller)
}

/// The height of the newest block that the answer to a check rests on.
fn height(caller: &Caller, address: &str) -> Option<u64> {
    let body = json!({"blockchain": "ltc", "address": address}).to_string();
    let answer = caller.post("/api/v1/check/address", &body, &[("cache-control", "no-cache")]);
    let answer = answer.json();
    let mut sources = answer["sources"].as_array()?.iter();
    sources.find_map(|source| source["latest_block"]["height"].as_u64())
}

fn query(txid: &str, output: u32, direction: &str) -> String {
    json!({"blockchain": "ltc", "transaction": txid, "output": output, "direction": direction})
        .to_string()
}

fn deposit(caller: &Caller, txid: &str, output: u32) -> Value {
    let answer = caller.post(PATH, &query(txid, output, "deposit"), &[]);
    assert_eq!(answer.status, 200, "{}", answer.text);
    answer.json()
}

fn not_found(caller: &Caller, txid: &str) -> String {
    let answer = caller.post(PATH, &query(txid, 0, "deposit"), &[]);
    assert_eq!(answer.problem(), (404, "transaction_not_found".to_owned()));
    answer.json()["detail"].as_str().unwrap().to_owned()
}

fn warning(answer: &Value) -> &str {
    let warnings = answer["warnings"].as_array().unwrap();
    let found = warnings.iter().find(|warning| warning["code"] == "unconfirmed");
    found.map_or("", |found| found["message"].as_str().unwrap())
}

#[test]
#[ignore = "needs Litecoin Core"]
fn a_deposit_in_the_mempool_is_judged_by_the_origins_of_its_money() {
    // Given money of a mixer that somebody passes on.
    let node = Node::start(NodeKind::Litecoin { mweb: false });
    let wallet = Wallet::create(&node);
    let [mixer, somebody, change, customer] = [(); 4].map(|()| wallet.address());
    let labels = format!(
        "blockchain,address,category,tier,confidence,entity\nltc,{},mixer,investigation,95,Whirl\n",
        mixer.main.as_str()
    );
    let (coins, _) = wallet.oldest_coins();
    let from_mixer = wallet.pay((&coins, 0), &[(&mixer, "49.999")], false);
    wallet.mine(1);
    let paid = wallet.pay((&from_mixer, 0), &[(&somebody, "30"), (&change, "19.998")], false);
    wallet.mine(1);
    let (_server, caller) = follow(&node, &labels);
    let somebodys = somebody.main.as_str();
    wait_at_most(PATIENCE, "the chain is followed", || height(&caller, somebodys) == Some(103));

    // When it is deposited, then the deposit is judged before a block holds it.
    let sent = wallet.pay((&paid, 0), &[(&customer, "29.999")], true);
    let unconfirmed = deposit(&caller, &sent, 0);
    let transfer = &unconfirmed["transfer"];
    assert_eq!(
        (&transfer["status"], &transfer["confirmations"]),
        (&json!("unconfirmed"), &json!(0))
    );
    assert!(transfer["block_height"].is_null() && transfer["block_time"].is_null(), "{transfer}");
    assert_eq!(transfer["senders"][0]["address"], somebodys);
    assert_eq!(unconfirmed["address"], customer.main.as_str());
    assert!(
        ["review", "block"].contains(&unconfirmed["verdict"].as_str().unwrap()),
        "{unconfirmed:#}"
    );
    let origin = &unconfirmed["exposure"][0];
    assert_eq!(
        (&origin["entity"], &origin["category"]),
        (&json!("Whirl"), &json!("mixer")),
        "{origin}"
    );
    assert_eq!(origin["paths"][0]["steps"].as_array().unwrap().len(), 2, "{origin:#}");
    assert!(warning(&unconfirmed).contains("signals that it may be replaced"), "{unconfirmed:#}");
    let revision = unconfirmed["data_revision"].as_str().unwrap();
    assert!(revision.contains("+mempool-"), "{revision}");
    // It is not repeated from the cache.
    assert_eq!(deposit(&caller, &sent, 0)["cached"], false);

    // Money of an unconfirmed transaction leads over that transaction.
    let before = wallet.pay((&paid, 1), &[(&somebody, "19.997")], false);
    let after = wallet.pay((&before, 0), &[(&customer, "19.996")], false);
    let later = deposit(&caller, &after, 0);
    assert!(warning(&later).contains("1 other unconfirmed transaction,"), "{later:#}");
    assert_eq!(later["exposure"][0]["entity"], "Whirl");
    // A withdrawal is judged by its receiver.
    let withdrawal = caller.post(PATH, &query(&after, 0, "withdrawal"), &[]);
    assert_eq!(withdrawal.status, 200, "{}", withdrawal.text);
    let withdrawal = withdrawal.json();
    assert_eq!(withdrawal["transfer"]["basis"], "receiver");
    assert_eq!(withdrawal["transfer"]["destinations"], json!([]));
    assert!(!warning(&withdrawal).is_empty());

    // When blocks hold the transactions, then the same money has the same origins.
    wallet.mine(1);
    wait_at_most(PATIENCE, "the block is followed", || height(&caller, somebodys) == Some(104));
    for (unconfirmed, txid) in [(unconfirmed, &sent), (later, &after)] {
        let confirmed = deposit(&caller, txid, 0);
        let transfer = &confirmed["transfer"];
        assert_eq!(
            (&transfer["status"], &transfer["confirmations"]),
            (&json!("confirmed"), &json!(1))
        );
        assert_eq!(warning(&confirmed), "");
        for field in ["risk_score", "verdict", "reasons", "scoring_components"] {
            assert_eq!(confirmed[field], unconfirmed[field], "{field} of {txid}");
        }
        let parts = |answer: &Value| -> Vec<Value> {
            let lines = answer["exposure"].as_array().unwrap().iter();
            lines
                .map(|line| {
                    json!([line["entity"], line["amount"]["value"], line["hops"], line["share"]])
                })
                .collect()
        };
        assert_eq!(parts(&confirmed), parts(&unconfirmed), "{txid}");
    }

    // When a transaction never existed, then the refusal says where it was searched.
    let told = not_found(&caller, &"ab".repeat(32));
    assert!(told.contains("up to block 104") && told.contains("mempool"), "{told}");
}
