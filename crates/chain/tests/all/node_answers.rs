//! Responses of nodes of several chains, compared with rows that another program computed from them.
//!
//! Each folder of the test data has a node's responses to single requests and the expected rows. A request that was not
//! recorded gets the answer of a node that does not support it.

#![expect(clippy::expect_used, reason = "a test stops where its data cannot be read")]

use std::{
    collections::HashMap,
    env, fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use assay_address::ChainId;
use assay_chain::{
    BlockSource, FetchBounds, SourceError,
    http::{Backoff, ExchangeError, Http, Request, Response, RetryDelay, RetryTimer, Server},
    node::{NodeOptions, NodeSource},
    raw::merkle::merkle_root,
    resolve::{Resolver, outputs_to_look_up},
    rpc::Rpc,
};
use assay_engine::utxo::{OutPoint, Pool, ScriptOwner, Transaction, TransactionKind, TxOut, Txid};
use assay_graph::RecordedOutput;
use serde_json::{Value, json};

/// Returns the folder of node answers in the test data.
fn answers() -> PathBuf {
    let data =
        env::var_os("ASSAY_TEST_DATA").expect("ASSAY_TEST_DATA names the folder of test data");
    PathBuf::from(data).join("chains/bitcoin/rpc/test_export_blocks_job")
}

/// Node that answers from a folder.
#[derive(Debug)]
struct Recorded {
    folder: PathBuf,
}

impl Recorded {
    fn answer(&self, call: &Value) -> String {
        let text = |value: &Value| match value {
            Value::Bool(true) => "True".to_owned(),
            Value::Bool(false) => "False".to_owned(),
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        let method = call["method"].as_str().expect("a method");
        let mut params: Vec<_> =
            call["params"].as_array().expect("parameters").iter().map(text).collect();
        if method == "getrawtransaction" {
            params.truncate(1);
        }
        let id = &call["id"];
        let named = |params: &[String]| {
            let name = [&["rpc_response".to_owned(), method.to_owned()], params].concat().join("_");
            fs::read_to_string(self.folder.join(name + ".json")).ok()
        };
        let result = named(&params).or_else(|| {
            // Some were asked without saying in which form, which is the same as this one.
            (params.pop()? == "True").then(|| params.push("None".to_owned()));
            named(&params)
        });
        // Numbers must stay as they are written.
        if let Some(result) = result {
            return format!(r#"{{"result":{result},"error":null,"id":{id}}}"#);
        }
        let error = json!({ "code": -1, "message": "JSON value is not a boolean as expected" });
        json!({ "result": null, "error": error, "id": id }).to_string()
    }
}

impl Http for Recorded {
    fn url(&self) -> &str {
        self.folder.to_str().unwrap_or_default()
    }

    fn exchange(&self, request: Request<'_>) -> Result<Response, ExchangeError> {
        let Some(body) = request.body else {
            return Ok(Response { status: 404, retry_after: None, body: Vec::new() });
        };
        let asked: Value = serde_json::from_slice(body).expect("JSON");
        let body = match &asked {
            Value::Array(calls) => {
                let answers: Vec<_> = calls.iter().map(|call| self.answer(call)).collect();
                format!("[{}]", answers.join(","))
            }
            call => self.answer(call),
        };
        Ok(Response { status: 200, retry_after: None, body: body.into_bytes() })
    }
}

#[derive(Debug)]
struct NoPatience;

impl RetryTimer for NoPatience {
    fn wait(&self, _: &RetryDelay<'_>) -> bool {
        false
    }

    fn random(&self) -> u64 {
        0
    }
}

fn node(chain: ChainId, folder: &Path) -> NodeSource {
    let http = Arc::new(Recorded { folder: folder.to_owned() });
    let server = Server::new(http, Arc::new(NoPatience), Backoff::default());
    let options = NodeOptions {
        bounds: FetchBounds { connections: 2, ..FetchBounds::default() },
        ..NodeOptions::default()
    };
    NodeSource::new(chain, Rpc::new(server), options).expect("a chain of coins")
}

/// Reads the rows of a file of JSON lines.
fn rows(path: &Path) -> Vec<Value> {
    let text = fs::read_to_string(path).expect("expected rows");
    text.lines().map(|line| serde_json::from_str(line).expect("a row")).collect()
}

fn text<'a>(row: &'a Value, field: &str) -> &'a str {
    row[field].as_str().unwrap_or_default()
}

fn number(row: &Value, field: &str) -> u64 {
    row[field].as_u64().expect("a number")
}

/// Returns the outputs that blocks spend, from the node's responses to requests for single transactions.
fn recorded(chain: ChainId, folder: &Path, spent: &[OutPoint]) -> HashMap<OutPoint, TxOut> {
    let found = spent.iter().filter_map(|output| {
        let name = format!("rpc_response_getrawtransaction_{}.json", output.txid);
        let answer: Value =
            serde_json::from_str(&fs::read_to_string(folder.join(name)).ok()?).ok()?;
        let made = answer.pointer(&format!("/vout/{}", output.index)).expect("the output");
        let script = hex::decode(text(&made["scriptPubKey"], "hex")).expect("a script");
        // Whole coins, so that a double is good enough here.
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "whole coins")]
        let value = made["value"].as_f64().expect("a value") as u64 * 100_000_000;
        Some((*output, TxOut { owner: ScriptOwner::from_script(chain, &script), value }))
    });
    found.collect()
}

/// Checks that a folder's blocks, read and resolved, equal its expected rows.
fn check(chain: &str, folder: &Path) {
    let chain: ChainId = chain.parse().expect("a chain");
    let mut source = node(chain, folder);
    let mut transactions = rows(&folder.join("expected_transactions.json")).into_iter();
    for row in rows(&folder.join("expected_blocks.json")) {
        let block = source.block_at(number(&row, "number")).expect("the block");
        assert_eq!(hex::encode(block.reference.hash), text(&row, "hash"));
        assert_eq!(block.reference.height, number(&row, "number"));
        assert_eq!(block.reference.time.as_second().unsigned_abs(), number(&row, "timestamp"));
        assert_eq!(block.transactions.len() as u64, number(&row, "transaction_count"));
        let root = merkle_root(block.transactions.iter().map(|read| read.txid)).expect("a root");
        assert_eq!(hex::encode(root), text(&row, "merkle_root"));
        // The same block by its hash alone.
        assert_eq!(source.block(&block.reference.hash).expect("the block"), block);

        let known = recorded(chain, folder, &outputs_to_look_up(std::slice::from_ref(&block)));
        let mut batch = Resolver::new(chain, false).expect("a chain of coins");
        let resolved = batch
            .resolve(block, &|outpoint| {
                known.get(outpoint).cloned().map_or(RecordedOutput::Unknown, RecordedOutput::Found)
            })
            .expect("it adds up");
        for transaction in &resolved.transactions {
            check_transaction(chain, transaction, &transactions.next().expect("a row"));
        }
    }
    assert_eq!(transactions.next(), None, "rows of transactions that were not read");
}

fn check_transaction(chain: ChainId, read: &Transaction, row: &Value) {
    let shielded = ScriptOwner::Pool(Pool::ZcashShielded);
    assert_eq!(read.txid.to_string(), text(row, "hash"));
    assert_eq!(read.kind == TransactionKind::Coinbase, row["is_coinbase"] == json!(true));

    let is_shielded = |row: &&Value| row["type"] == "shielded";
    let all = |field: &str| row[field].as_array().cloned().unwrap_or_default();
    let (inputs, outputs) = (all("inputs"), all("outputs"));
    let sum = |rows: &[Value]| -> u64 {
        rows.iter().filter(is_shielded).map(|row| number(row, "value")).sum()
    };
    // We count a transaction's way out of the shielded pools, and into them, once: which of several
    // parts of one transaction brought how much says nothing about who was paid. The other program has
    // a row for each part.
    let (shielded_in, shielded_out) = (sum(&inputs), sum(&outputs));
    let in_pool: u64 = read
        .inputs
        .iter()
        .filter_map(|input| input.spent.as_ref())
        .filter(|coin| coin.owner == shielded)
        .map(|coin| coin.value)
        .sum();
    let out_pool: u64 =
        read.outputs.iter().filter(|coin| coin.owner == shielded).map(|coin| coin.value).sum();
    assert_eq!(in_pool, shielded_in.saturating_sub(shielded_out), "{}", read.txid);
    assert_eq!(out_pool, shielded_out.saturating_sub(shielded_in), "{}", read.txid);

    let open: Vec<_> = inputs.iter().filter(|row| !is_shielded(row)).collect();
    let spent: Vec<_> =
        read.inputs.iter().filter(|input| input.outpoint.txid != read.txid).collect();
    assert_eq!(spent.len(), open.len(), "{}", read.txid);
    for (input, row) in spent.iter().zip(open) {
        let txid: Txid = text(row, "spent_transaction_hash").parse().expect("an identifier");
        let index = u32::try_from(number(row, "spent_output_index")).expect("an index");
        assert_eq!(input.outpoint, OutPoint { txid, index });
        // A spent output is known if the node returned it; it is never guessed.
        assert_eq!(input.spent.as_ref().map(|coin| coin.value), row["value"].as_u64());
        if let Some(coin) = &input.spent {
            check_owner(chain, &coin.owner, row);
        }
    }

    let open: Vec<_> = outputs.iter().filter(|row| !is_shielded(row)).collect();
    let made: Vec<_> = read.outputs.iter().filter(|coin| coin.owner != shielded).collect();
    assert_eq!(made.len(), open.len(), "{}", read.txid);
    for (coin, row) in made.iter().zip(open) {
        assert_eq!(coin.value, number(row, "value"));
        let script = hex::decode(text(row, "script_hex")).expect("a script");
        assert_eq!(coin.owner, ScriptOwner::from_script(chain, &script));
        check_owner(chain, &coin.owner, row);
    }

    let total = read.outputs.iter().map(|coin| coin.value).sum::<u64>();
    let (expected_in, expected_out) = (number(row, "input_value"), number(row, "output_value"));
    assert_eq!(total, expected_out - shielded_in.min(shielded_out));
    if read.unknown_value() == 0 {
        let known: u64 =
            read.inputs.iter().filter_map(|input| Some(input.spent.as_ref()?.value)).sum();
        assert_eq!(known, expected_in - shielded_in.min(shielded_out));
    }
}

/// Checks an owner against its row. A public key that is paid directly (P2PK) has its address in the owner and in the
/// row.
fn check_owner(chain: ChainId, owner: &ScriptOwner, row: &Value) {
    let addresses = row["addresses"].as_array().expect("addresses");
    let address = owner.address(chain).map(|address| address.to_string());
    assert_eq!(
        addresses.iter().filter_map(Value::as_str).collect::<Vec<_>>(),
        [address.as_deref().expect("an address")]
    );
}

#[test]
#[ignore = "needs test data"]
fn bitcoin() {
    let answers = answers();
    for folder in ["block_0", "block_1", "block_with_transactions", "block_without_transactions"] {
        check("btc", &answers.join("bitcoin").join(folder));
    }
}

#[test]
#[ignore = "needs test data"]
fn bitcoin_with_spent_outputs() {
    let answers = answers();
    check("btc", &answers.join("bitcoin/stream_50001_50002"));
}

#[test]
#[ignore = "needs test data"]
fn a_block_that_pretends_to_be_another_is_refused() {
    // The recorded tip of that folder is made up: another block's header under its hash.
    let answers = answers();
    let mut source = node(ChainId::BTC, &answers.join("bitcoin/stream_50001_50002"));
    assert_eq!(source.tip().expect("a tip").height, 500_000);
    let lie = source.block_at(500_000).expect_err("a lie");
    assert!(matches!(lie, SourceError::InvalidData { .. }), "{lie}");
    assert!(lie.to_string().contains("its header has the hash 000000001c920d49"), "{lie}");
}

/// Node that replaces a text in all of its answers.
#[derive(Debug)]
struct Lying {
    inner: Recorded,
    from: &'static str,
    to: &'static str,
}

impl Http for Lying {
    fn url(&self) -> &str {
        self.inner.url()
    }

    fn exchange(&self, request: Request<'_>) -> Result<Response, ExchangeError> {
        let mut answer = self.inner.exchange(request)?;
        let text = String::from_utf8(answer.body).expect("text");
        answer.body = text.replacen(self.from, self.to, 1).into_bytes();
        Ok(answer)
    }
}

#[test]
#[ignore = "needs test data"]
fn every_false_block_is_detected() {
    let answers = answers();
    let read = |from, to| {
        let inner = Recorded { folder: answers.join("bitcoin/block_with_transactions") };
        let server = Server::new(
            Arc::new(Lying { inner, from, to }),
            Arc::new(NoPatience),
            Backoff::default(),
        );
        let options = NodeOptions::default();
        let mut source =
            NodeSource::new(ChainId::BTC, Rpc::new(server), options).expect("a source");
        source.block_at(50_001).map(|block| block.reference)
    };
    assert!(read("", "").is_ok());
    for (from, to) in [
        (r#""value": 100.0"#, r#""value": 10.0"#),
        (r#""value": 100.0"#, r#""value": 100.000000001"#),
        (r#""value": 100.0"#, r#""value": -100.0"#),
        (r#""value": 100.0"#, r#""value": 22000000.0"#),
        (
            "b5cd7aaed869cd5ccb45868e8666e7e934a2373688ac\",",
            "b5cd7aaed869cd5ccb45868e8666e7e934a2373788ac\",",
        ),
        (r#""height": 50001"#, r#""height": 50002"#),
        (r#""time": 1270917100"#, r#""time": 1270917101"#),
        (r#""nonce": 56717043"#, r#""nonce": 56717044"#),
        (r#""bits": "1c2a1115""#, r#""bits": "1c2a1116""#),
        (r#""version": 1,"#, r#""version": 2,"#),
        (
            "000000001aeae195809d120b5d66a39c83eb48792e068f8ea1fea19d84a4278a",
            "000000001aeae195809d120b5d66a39c83eb48792e068f8ea1fea19d84a4278b",
        ),
        (r#""previousblockhash""#, r#""previous""#),
        (r#""txid": "7940cdde4d713e17"#, r#""txid": "7940cdde4d713e18"#),
        (r#""txid": "76a8d70a757be505"#, r#""txid": "76a8d70a757be506"#),
        (r#""vout": 0"#, r#""vout": 1"#),
        (r#""n": 0"#, r#""n": 1"#),
        (r#""sequence": 4294967295"#, r#""sequence": 4294967294"#),
        (r#""coinbase": "0415112a1c02cc00""#, r#""coinbase": "0415112a1c02cc01""#),
        (r#""locktime": 0"#, r#""locktime": 1"#),
        // Another block's hash for the height.
        (
            "000000001c920d495e1eeef2452b6d1c6c229a919b28196c103ecffebabee141",
            "000000002066d7f9b134c30b5005b7bf5fbfa52f279883f1fde793dcdc964266",
        ),
    ] {
        let lie = read(from, to).expect_err(from);
        let noticed =
            matches!(lie, SourceError::InvalidData { .. } | SourceError::Unreadable { .. });
        assert!(noticed, "{from}: {lie}");
    }
}

#[test]
#[ignore = "needs test data"]
fn bitcoin_cash() {
    // A transaction that is there twice: the node names the later block, we keep to the one we asked for.
    let answers = answers();
    check("bch", &answers.join("bitcoin_cash/block_with_duplicate_txid"));
}

#[test]
#[ignore = "needs test data"]
fn dogecoin() {
    let answers = answers();
    check("doge", &answers.join("dogecoin/block_without_transactions"));
}

#[test]
#[ignore = "needs test data"]
fn zcash() {
    let answers = answers();
    for folder in ["block_0", "block_with_shielded_addresses", "block_with_value_balance"] {
        check("zec", &answers.join("zcash").join(folder));
    }
}

#[test]
#[ignore = "needs test data"]
fn a_dogecoin_block_of_which_only_the_rows_are_left() {
    let answers = answers();
    let folder = answers.join("dogecoin/block_with_float_precision_loss");
    let chain: ChainId = "doge".parse().expect("a chain");
    let transactions = rows(&folder.join("expected_transactions.json"));
    let ids = transactions.iter().map(|row| text(row, "hash").parse().expect("an identifier"));
    let root = merkle_root(ids).expect("a root");
    assert_eq!(
        hex::encode(root),
        text(&rows(&folder.join("expected_blocks.json"))[0], "merkle_root")
    );
    for output in transactions.iter().flat_map(|row| row["outputs"].as_array().expect("outputs")) {
        let script = hex::decode(text(output, "script_hex")).expect("a script");
        check_owner(chain, &ScriptOwner::from_script(chain, &script), output);
    }
}
