//! An Esplora API that serves a real block of Bitcoin, made from the block's bytes: blocks read
//! through it must equal blocks read from the bytes.

#![expect(clippy::expect_used, reason = "a test stops where its data cannot be read")]

use std::{
    collections::HashMap,
    env,
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use assay_address::{CanonicalAddress, ChainId};
use assay_chain::{
    BatchLimit, BlockSource, ChainParams, SourceError, TestNetworks, TipRef,
    esplora::{AddressStatistics, Esplora, PAGE},
    files::{FileOptions, FileSource},
    histories::ChainPosition,
    http::{Backoff, ExchangeError, Http, Request, Response, RetryDelay, RetryTimer, Server},
    mempool::{MempoolEntry, MempoolSource},
    raw::{
        RawBlock,
        transaction::{RawInput, RawOutput, RawTransaction},
    },
};
use assay_engine::utxo::{Block, ScriptOwner, Txid};
use serde_json::{Value, json};

const HEIGHT: u64 = 277_647;

/// Returns the block's bytes and the parsed block.
fn block() -> (Vec<u8>, Block) {
    let folder =
        env::var_os("ASSAY_TEST_DATA").expect("ASSAY_TEST_DATA names the folder of test data");
    let folder = PathBuf::from(folder);
    let path = folder.join("chains/bitcoin/blocks/277647.dat.bz2");
    let mut packed = bzip2::read::BzDecoder::new(std::fs::File::open(&path).expect("the file"));
    let mut bytes = Vec::new();
    std::io::Read::read_to_end(&mut packed, &mut bytes).expect("the file");
    // Behind the magic number and the length.
    let bytes = bytes.split_off(8);
    let mut source =
        FileSource::open(ChainId::BTC, &[path], FileOptions::default()).expect("a block");
    (bytes, source.block_at(HEIGHT).expect("a block"))
}

/// Simulated API with answers by path.
#[derive(Debug)]
struct Api {
    answers: HashMap<String, String>,
    /// Number of requests that are refused before the next answer.
    busy: AtomicUsize,
}

impl Http for Api {
    fn url(&self) -> &str {
        self.answers.get("url").map_or("", String::as_str)
    }

    fn exchange(&self, request: Request<'_>) -> Result<Response, ExchangeError> {
        let answer = |status, body: &str| {
            let retry_after = Some(Duration::from_secs(1));
            Ok(Response { status, retry_after, body: body.as_bytes().to_vec() })
        };
        let busy = self
            .busy
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |busy| busy.checked_sub(1));
        if busy.is_ok() {
            return answer(429, "too many requests");
        }
        match self.answers.get(request.path) {
            Some(body) => answer(200, body),
            None => answer(404, "not found"),
        }
    }
}

#[derive(Debug)]
struct Patient;

impl RetryTimer for Patient {
    fn wait(&self, pause: &RetryDelay<'_>) -> bool {
        pause.time == Duration::from_secs(1)
    }

    fn random(&self) -> u64 {
        0
    }
}

fn transaction(block: &Block, read: &RawTransaction<'_>) -> Value {
    let input = |input: &RawInput<'_>| {
        json!({
            "txid": input.outpoint.txid.to_string(),
            "vout": input.outpoint.index,
            "prevout": null,
            "scriptsig": hex::encode(input.script),
            "scriptsig_asm": "",
            "is_coinbase": read.is_coinbase(),
            "sequence": input.sequence,
        })
    };
    let output = |output: &RawOutput<'_>| {
        let script = hex::encode(output.script);
        json!({ "scriptpubkey": script, "scriptpubkey_type": "p2pkh", "value": output.value })
    };
    json!({
        "txid": read.txid.to_string(),
        "version": read.version,
        "locktime": read.lock_time,
        "vin": read.inputs.iter().map(input).collect::<Vec<_>>(),
        "vout": read.outputs.iter().map(output).collect::<Vec<_>>(),
        "size": 1, "weight": 4, "fee": 0,
        "status": status(block),
    })
}

fn status(block: &Block) -> Value {
    let head = &block.reference;
    json!({
        "confirmed": true,
        "block_height": head.height,
        "block_hash": hex::encode(head.hash),
        "block_time": head.time.as_second(),
    })
}

/// Returns all answers of the API about the block and one address in it.
fn answers(bytes: &[u8], block: &Block) -> HashMap<String, String> {
    let params = ChainParams::for_chain(ChainId::BTC).expect("parameters");
    let raw = RawBlock::parse(bytes, params, None).expect("a block");
    let hash = hex::encode(raw.hash);
    let header = json!({
        "id": hash,
        "height": HEIGHT,
        "version": raw.header.version,
        "timestamp": raw.header.time,
        "tx_count": raw.transactions.len(),
        "size": bytes.len(), "weight": 4 * bytes.len(),
        "merkle_root": hex::encode(raw.header.merkle_root),
        "previousblockhash": hex::encode(raw.header.parent),
        "mediantime": raw.header.time,
        "nonce": raw.header.nonce,
        "bits": raw.header.bits,
        "difficulty": 1.5,
    });
    let mut answers = HashMap::from([
        ("url".to_owned(), "http://api".to_owned()),
        ("/blocks/tip/hash".to_owned(), hash.clone()),
        (format!("/block-height/{HEIGHT}"), hash.clone()),
        (format!("/block/{hash}"), header.to_string()),
    ]);
    let transactions: Vec<_> =
        raw.transactions.iter().map(|read| transaction(block, read)).collect();
    for (page, transactions) in transactions.chunks(PAGE).enumerate() {
        let path = format!("/block/{hash}/txs/{}", page * PAGE);
        answers.insert(path, Value::from(transactions).to_string());
    }
    // Of the miner's address: its only transaction, and an unconfirmed one that pays it.
    let mined = transactions.first().expect("a coinbase");
    let mut waiting = mined.clone();
    *waiting.get_mut("status").expect("a status") = json!({ "confirmed": false });
    let address = format!("/address/{}", miner(block));
    let statistics = json!({
        "funded_txo_count": 1, "funded_txo_sum": 2_504_737_355_u64,
        "spent_txo_count": 0, "spent_txo_sum": 0, "tx_count": 1,
    });
    let all = json!({ "address": "x", "chain_stats": statistics, "mempool_stats": statistics });
    answers.insert(address.clone(), all.to_string());
    answers.insert(format!("{address}/txs/chain"), json!([waiting, mined]).to_string());
    let txid = block.transactions.first().expect("a coinbase").txid;
    answers.insert(format!("{address}/txs/chain/{txid}"), "[]".to_owned());
    answers.insert(format!("/tx/{txid}"), mined.to_string());
    let spends =
        json!([{ "spent": true, "txid": txid.to_string(), "vin": 3, "status": status(block) }]);
    answers.insert(format!("/tx/{txid}/outspends"), spends.to_string());
    answers
}

fn miner(block: &Block) -> CanonicalAddress {
    let mined =
        block.transactions.first().and_then(|read| read.outputs.first()).expect("an output");
    mined.owner.address(ChainId::BTC).expect("an address")
}

fn api(answers: HashMap<String, String>, busy: usize) -> Esplora {
    let http = Arc::new(Api { answers, busy: AtomicUsize::new(busy) });
    let server = Server::new(http, Arc::new(Patient), Backoff::default());
    Esplora::new(ChainId::BTC, server, TestNetworks::Refused).expect("an API")
}

#[test]
#[ignore = "needs test data"]
fn a_block_of_many_pages_is_the_one_in_the_file() {
    let (bytes, block) = block();
    let answers = answers(&bytes, &block);
    // However often the API is busy first.
    let mut source: Box<dyn BlockSource> = Box::new(api(answers, 3));
    assert_eq!(source.tip().expect("a tip"), TipRef { height: HEIGHT, hash: block.reference.hash });
    assert_eq!(source.block_at(HEIGHT).expect("the block"), block);
    assert_eq!(source.blocks(HEIGHT, BatchLimit::of_blocks(5)).expect("blocks"), [block]);
    assert_eq!(source.hash_at(HEIGHT + 1).expect("an answer"), None);
    let beyond = source.block_at(HEIGHT + 1).expect_err("there is none");
    assert!(matches!(beyond, SourceError::NoBlock { tip: HEIGHT, .. }), "{beyond}");
    let gone = source.block(&[1; 32]).expect_err("there is none");
    assert!(matches!(gone, SourceError::NotOnChain { .. }), "{gone}");
}

#[test]
#[ignore = "needs test data"]
fn the_history_of_an_address() {
    let (bytes, block) = block();
    let api = api(answers(&bytes, &block), 0);
    let (address, mined) = (miner(&block), block.transactions.first().expect("a coinbase"));
    let statistics = AddressStatistics {
        outputs: 1,
        received: 2_504_737_355,
        spent_outputs: 0,
        spent: 0,
        transactions: 1,
    };
    assert_eq!(api.address(&address).expect("statistics"), statistics);
    // An unconfirmed transaction is not part of the page.
    let page = api.address_transactions(&address, None).expect("a page");
    let [only] = &*page else { unreachable!("one transaction: {page:?}") };
    assert_eq!(only.transaction, *mined);
    assert_eq!((only.height, only.time), (HEIGHT, block.reference.time));
    assert!(api.address_transactions(&address, Some(&mined.txid)).expect("a page").is_empty());

    assert_eq!(api.transaction(&mined.txid).expect("an answer").as_ref(), Some(only));
    assert_eq!(api.spenders(&mined.txid).expect("an answer"), [Some(mined.txid)]);
    let unknown = block.transactions.last().expect("a transaction").txid;
    assert_eq!(api.transaction(&unknown).expect("an answer"), None);
}

#[test]
#[ignore = "needs test data"]
fn an_unconfirmed_transaction_is_read_from_the_mempool() {
    let (bytes, block) = block();
    let mut answers = answers(&bytes, &block);
    let [mined, paid, ..] = &*block.transactions else { unreachable!("a payment") };
    // Given the API while no block holds a payment, and an API that answers with that payment to everything.
    let page = format!("/block/{}/txs/0", hex::encode(block.reference.hash));
    let page: Value = serde_json::from_str(answers.get(&page).expect("a page")).expect("JSON");
    let mut waiting = page.get(1).expect("a payment").clone();
    *waiting.get_mut("status").expect("a status") = json!({ "confirmed": false });
    let other = Txid::from_bytes([7; 32]);
    for txid in [paid.txid, other] {
        answers.insert(format!("/tx/{txid}"), waiting.to_string());
    }
    let api = api(answers, 0);
    // Then the payment is unconfirmed, the coinbase confirmed, another one absent, and a false answer an error.
    let absent = Txid::from_bytes([8; 32]);
    let entries = api.entries(&[paid.txid, mined.txid, absent]).expect("entries");
    let [MempoolEntry::Unconfirmed(found), MempoolEntry::Confirmed, MempoolEntry::Absent] =
        &*entries
    else {
        unreachable!("{entries:?}")
    };
    assert_eq!(found.transaction.txid, paid.txid);
    assert_eq!(found.transaction.outputs, paid.outputs);
    let refused = api.entries(&[other]).expect_err("another transaction");
    assert!(refused.to_string().contains(&paid.txid.to_string()), "{refused}");
}

#[test]
#[ignore = "needs test data"]
fn every_false_answer_is_detected() {
    let (bytes, block) = block();
    let answers = answers(&bytes, &block);
    let hash = hex::encode(block.reference.hash);
    let (header, page) = (format!("/block/{hash}"), format!("/block/{hash}/txs/50"));
    let read = |path: &str, change: &dyn Fn(&mut Value)| {
        let mut answers = answers.clone();
        let said = answers.get_mut(path).expect("an answer");
        let mut value: Value = serde_json::from_str(said).expect("JSON");
        change(&mut value);
        *said = value.to_string();
        api(answers, 0).block(&block.reference.hash).map(|block| block.reference)
    };
    assert!(read(&header, &|_| ()).is_ok());
    for (field, lie) in [
        ("id", json!(hex::encode([1; 32]))),
        ("timestamp", json!(1)),
        ("version", json!(1)),
        ("nonce", json!(1)),
        ("bits", json!(1)),
        ("merkle_root", json!(hex::encode([1; 32]))),
        ("previousblockhash", json!(hex::encode([1; 32]))),
        ("previousblockhash", json!(null)),
        ("tx_count", json!(212)),
        ("tx_count", json!(214)),
        ("tx_count", json!(2_000_000)),
    ] {
        let said = read(&header, &|value| value[field] = lie.clone()).expect_err(field);
        let noticed =
            matches!(said, SourceError::InvalidData { .. } | SourceError::NotOnChain { .. });
        assert!(noticed, "{field}: {said}");
    }
    for (pointer, lie) in [
        ("/0/txid", json!(hex::encode([1; 32]))),
        ("/3/version", json!(7)),
        ("/3/locktime", json!(7)),
        ("/24/vout/0/value", json!(7)),
        ("/24/vout/0/value", json!(-7)),
        ("/24/vout/0/value", json!(2_100_000_000_000_001_u64)),
        ("/24/vout/0/scriptpubkey", json!("51")),
        ("/2/vin/0/vout", json!(7)),
        ("/2/vin/0/txid", json!(hex::encode([1; 32]))),
        ("/2/vin/0/scriptsig", json!("")),
        ("/2/vin/0/sequence", json!(7)),
        ("/2/vin/0/is_coinbase", json!(true)),
    ] {
        let change = |value: &mut Value| {
            *value.pointer_mut(pointer).expect("a field") = lie.clone();
        };
        let said = read(&page, &change).expect_err(pointer);
        let noticed =
            matches!(said, SourceError::InvalidData { .. } | SourceError::Unreadable { .. });
        assert!(noticed, "{pointer}: {said}");
    }
    for page_size in [0, 24, 26] {
        let change = |value: &mut Value| {
            let all = value.as_array_mut().expect("transactions");
            let first = all.first().cloned().expect("a transaction");
            all.resize(page_size, first);
        };
        assert!(read(&page, &change).is_err(), "a page of {page_size}");
    }
}

#[test]
#[ignore = "needs test data"]
fn spent_outputs_are_read_if_the_source_gives_them() {
    let (bytes, block) = block();
    let mut answers = answers(&bytes, &block);
    let spending = block.transactions.get(1).expect("a payment");
    let page = format!("/block/{}/txs/0", hex::encode(block.reference.hash));
    let all: Value = serde_json::from_str(&answers[&page]).expect("JSON");
    let mut said = all.get(1).expect("a payment").clone();
    said["vin"][0]["prevout"] = json!({ "scriptpubkey": "51", "value": 77 });
    answers.insert(format!("/tx/{}", spending.txid), said.to_string());
    let read = api(answers, 0).transaction(&spending.txid).expect("an answer").expect("it");
    let coin = read.transaction.inputs.first().and_then(|input| input.spent.as_ref());
    let coin = coin.expect("what it spends");
    assert_eq!((coin.value, &coin.owner), (77, &ScriptOwner::from_script(ChainId::BTC, &[0x51])));
}

#[test]
fn a_position_is_that_of_the_merkle_proof() {
    let txid: Txid = "ab".repeat(32).parse().expect("an identifier");
    let position = |body: Value| {
        let path = format!("/tx/{txid}/merkle-proof");
        api(HashMap::from([(path, body.to_string())]), 0).position(&txid)
    };
    let proof = |merkle: &[&str], index: u64| {
        position(json!({ "block_height": 7, "merkle": merkle, "pos": index }))
    };
    let found = proof(&["00", "00"], 3).expect("a position");
    assert_eq!(found, Some(ChainPosition { height: 7, index: 3 }));
    assert!(proof(&["00", "00"], 4).is_err(), "there is room for four transactions");
    assert!(position(json!({ "block_height": 7 })).is_err());
    assert_eq!(api(HashMap::new(), 0).position(&txid).expect("an answer"), None);
}

#[test]
fn chains_without_such_an_api() {
    let http = Arc::new(Api { answers: HashMap::new(), busy: AtomicUsize::new(0) });
    let server = Server::new(http, Arc::new(Patient), Backoff::default());
    for chain in ["zec", "xvg", "eth"] {
        let chain: ChainId = chain.parse().expect("a chain");
        assert!(Esplora::new(chain, server.clone(), TestNetworks::Refused).is_err());
    }
}
