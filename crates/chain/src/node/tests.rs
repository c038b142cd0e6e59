use std::{
    ops::RangeInclusive,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
};

use assay_engine::utxo::TxOut;
use serde_json::Value;

use super::*;
use crate::{
    hash::hash_text,
    http::{
        Backoff, ExchangeError, Http, Request, Response, Server,
        tests::{Noted, answer},
    },
    raw::{ExpectedBlock, parse_block},
    testing,
};

/// A node with a chain of raw blocks.
#[derive(Debug)]
struct Node {
    url: String,
    blocks: Vec<(Vec<u8>, [u8; 32])>,
    /// Heights of the blocks that the node serves.
    keeps: RangeInclusive<u64>,
    dialect: Dialect,
    requests: Mutex<Vec<String>>,
    /// Largest number of bytes of an answer so far.
    largest: AtomicUsize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Dialect {
    /// Raw blocks, by number.
    Bytes,
    /// Raw blocks, by `false`; the node answers JSON requests only.
    OldBytes,
    /// Blocks and their spent outputs, over REST.
    Rest,
    /// Raw blocks by number, and JSON of many times their size.
    Described,
}

impl Node {
    fn new(dialect: Dialect, count: u32) -> Self {
        let first = testing::transaction(&[([0; 32], u32::MAX)], &[(50, &[0x51])]);
        let first = testing::block([0; 32], &[first]);
        let mut blocks = vec![first.clone()];
        blocks.extend(testing::chain(first.1, 1..count, 0));
        let url = "http://node".to_owned();
        let (requests, largest) = (Mutex::default(), AtomicUsize::new(0));
        Self { url, blocks, keeps: 0..=u64::MAX, dialect, requests, largest }
    }

    fn height_of(&self, hash: &str) -> Option<usize> {
        self.blocks.iter().position(|(_, known)| hash_text(known) == hash)
    }

    fn reply(&self, call: &Value) -> String {
        let (method, params, id) = (call["method"].as_str().unwrap(), &call["params"], &call["id"]);
        let error = |code: i64, message: &str| {
            format!(
                r#"{{"result":null,"error":{{"code":{code},"message":"{message}"}},"id":{id}}}"#
            )
        };
        let result = |result: Value| format!(r#"{{"result":{result},"error":null,"id":{id}}}"#);
        match method {
            "getblockcount" => result(json!(self.blocks.len() - 1)),
            "getblockhash" => {
                let height = usize::try_from(params[0].as_u64().unwrap()).unwrap();
                match self.blocks.get(height) {
                    Some((_, hash)) => result(json!(hash_text(hash))),
                    None => error(-8, "Block height out of range"),
                }
            }
            "getblock" => {
                let Some(place) = self.height_of(params[0].as_str().unwrap()) else {
                    return error(-5, "Block not found");
                };
                let known = match self.dialect {
                    Dialect::OldBytes => params[1] == json!(false),
                    Dialect::Bytes | Dialect::Rest | Dialect::Described => params[1] == json!(0),
                };
                if self.dialect == Dialect::Described && !known {
                    return result(json!("x".repeat(50_000)));
                }
                if !known {
                    return error(-1, "JSON value is not of the right type");
                }
                if !self.keeps.contains(&(place as u64)) {
                    return error(-1, "Block not available (pruned data)");
                }
                result(json!(hex::encode(&self.blocks[place].0)))
            }
            "getblockheader" => {
                result(json!({ "height": self.height_of(params[0].as_str().unwrap()) }))
            }
            _ => error(-32601, "Method not found"),
        }
    }

    fn rest(&self, path: &str) -> Response {
        let name = path.strip_suffix(".bin").and_then(|path| path.rsplit_once('/'));
        let (Some((kind, hash)), Dialect::Rest) = (name, self.dialect) else {
            return answer(404, "");
        };
        let Some(place) = self.height_of(hash) else {
            return answer(404, &format!("{hash} not found\r\n"));
        };
        let body = match kind {
            "/rest/block" => self.blocks[place].0.clone(),
            // Nothing but a coinbase; in the last block, one more transaction with one input.
            _ if place + 1 < self.blocks.len() => vec![1, 0],
            _ => vec![2, 0, 1, 70, 0, 0, 0, 0, 0, 0, 0, 1, 0x51],
        };
        Response { status: 200, retry_after: None, body }
    }
}

impl Http for Node {
    fn url(&self) -> &str {
        &self.url
    }

    fn exchange(&self, request: Request<'_>) -> Result<Response, ExchangeError> {
        let given = self.give(request)?;
        if u64::try_from(given.body.len()).unwrap() > request.most {
            return Err(ExchangeError::TooLarge(request.most));
        }
        self.largest.fetch_max(given.body.len(), Ordering::Relaxed);
        Ok(given)
    }
}

impl Node {
    fn give(&self, request: Request<'_>) -> Result<Response, ExchangeError> {
        let Some(body) = request.body else {
            self.requests.lock().unwrap().push(request.path.to_owned());
            if self.dialect == Dialect::OldBytes {
                return Err(ExchangeError::Transient("Peer disconnected".to_owned()));
            }
            return Ok(self.rest(request.path));
        };
        let asked: Value = serde_json::from_slice(body).unwrap();
        self.requests.lock().unwrap().push(asked.to_string());
        Ok(answer(
            200,
            &match asked.as_array() {
                Some(calls) => {
                    let replies: Vec<_> = calls.iter().map(|call| self.reply(call)).collect();
                    format!("[{}]", replies.join(","))
                }
                None => self.reply(&asked),
            },
        ))
    }
}

fn source(node: &Arc<Node>, chain: &str, prevouts: bool) -> NodeSource {
    let server = Server::new(node.clone(), Noted::new(1, 0), Backoff::default());
    let test_networks = TestNetworks::Allowed;
    let options = NodeOptions {
        prevouts,
        test_networks,
        bounds: FetchBounds { connections: 3, ..FetchBounds::default() },
    };
    NodeSource::new(chain.parse().unwrap(), Rpc::new(server), options).unwrap()
}

fn expected(node: &Node, height: usize) -> Block {
    let expected = ExpectedBlock { height: Some(height as u64), hash: None };
    parse_block(ChainId::BTC, &node.blocks[height].0, expected).unwrap()
}

#[test]
fn many_blocks_come_in_order_with_few_requests() {
    let node = Arc::new(Node::new(Dialect::Bytes, 100));
    let mut source = source(&node, "btc", false);
    let blocks = source.blocks(0, BatchLimit::of_blocks(90)).unwrap();
    assert_eq!(blocks.len(), 90);
    for (height, block) in blocks.iter().enumerate() {
        assert_eq!(*block, expected(&node, height));
    }
    // The hashes; the first block, to find out the form; the others by twenties.
    assert_eq!(node.requests.lock().unwrap().len(), 1 + 1 + 5);
    // No more than there are.
    assert_eq!(source.blocks(95, BatchLimit::of_blocks(90)).unwrap().len(), 5);
    assert_eq!(source.tip().unwrap(), TipRef { height: 99, hash: node.blocks[99].1 });
    let beyond = source.blocks(100, BatchLimit::of_blocks(5)).unwrap_err();
    assert!(matches!(beyond, SourceError::NoBlock { height: 100, tip: 99 }), "{beyond}");
    assert!(matches!(source.block_at(100), Err(SourceError::NoBlock { .. })));
}

#[test]
fn a_node_with_only_older_calls_is_read() {
    let node = Arc::new(Node::new(Dialect::OldBytes, 5));
    for prevouts in [true, false] {
        let mut source = source(&node, "bch", prevouts);
        assert_eq!(source.block_at(3).unwrap().reference.hash, node.blocks[3].1);
        node.requests.lock().unwrap().clear();
        source.block_at(4).unwrap();
        // Once the form is known, nothing else is tried.
        assert_eq!(node.requests.lock().unwrap().len(), 2);
    }
    // Chains whose raw blocks are not supported need another form; the error states it.
    let error = source(&node, "dash", true).block_at(3).unwrap_err().to_string();
    assert_eq!(
        error,
        "http://node answers getblock with an error: JSON value is not of the right type (-1)"
    );
}

#[test]
fn spent_outputs_are_read_over_rest_if_available() {
    let mut node = Node::new(Dialect::Rest, 5);
    let mined = testing::coinbase(5, 0, &[(50, &[0x51])]);
    let paid = testing::transaction(&[([7; 32], 1)], &[(20, &[0x51])]);
    node.blocks.push(testing::block(node.blocks[4].1, &[mined, paid]));
    let node = Arc::new(node);
    let mut with_rest = source(&node, "btc", true);
    let blocks = with_rest.blocks(0, BatchLimit::of_blocks(6)).unwrap();
    assert_eq!(blocks.len(), 6);
    let spent = blocks[5].transactions[1].inputs[0].spent.clone().unwrap();
    let owner = blocks[0].transactions[0].outputs[0].owner.clone();
    assert_eq!(spent, TxOut { owner, value: 70 });
    assert!(node.requests.lock().unwrap().iter().all(|asked| !asked.contains("\"getblock\"")));
    assert!(matches!(with_rest.block(&[1; 32]), Err(SourceError::NotOnChain { .. })));
    // Asked for without, the same blocks come in bytes.
    let plain = source(&node, "btc", false).block_at(5).unwrap();
    assert_eq!(plain.transactions[1].inputs[0].spent, None);
    assert_eq!(plain.reference, blocks[5].reference);
}

#[test]
fn spent_outputs_over_rest_must_match_the_block() {
    // The last block has only a coinbase, but is said to spend something.
    let node = Arc::new(Node::new(Dialect::Rest, 3));
    let error = source(&node, "btc", true).block_at(2).unwrap_err();
    assert!(matches!(error, SourceError::InvalidData { .. }), "{error}");
}

#[test]
fn the_height_is_in_the_block_or_comes_from_the_node() {
    let mut node = Node::new(Dialect::Bytes, 5);
    let old = testing::transaction(&[([0; 32], u32::MAX)], &[(50, &[0x51])]);
    node.blocks.push(testing::block(node.blocks[4].1, &[old]));
    let node = Arc::new(node);
    let mut source = source(&node, "btc", false);
    for height in [0, 3, 5] {
        let block = source.block(&node.blocks[height].1).unwrap();
        assert_eq!(block.reference.height, height as u64);
    }
}

#[test]
fn a_block_unknown_to_the_node_is_reported() {
    let mut node = Node::new(Dialect::Bytes, 9);
    node.keeps = 5..=u64::MAX;
    let node = Arc::new(node);
    let mut source = source(&node, "btc", false);
    let pruned = source.block_at(4).unwrap_err().to_string();
    assert!(pruned.contains("(height 4)") && pruned.contains("pruned data"), "{pruned}");
    assert_eq!(source.blocks(5, BatchLimit::of_blocks(9)).unwrap().len(), 4);
    let gone = source.block(&[1; 32]).unwrap_err();
    assert!(gone.is_transient() && matches!(gone, SourceError::NotOnChain { .. }));
}

#[test]
fn a_raw_block_must_be_the_requested_one() {
    let mut node = Node::new(Dialect::Bytes, 9);
    node.blocks[3].0 = node.blocks[4].0.clone();
    let node = Arc::new(node);
    let mut source = source(&node, "btc", false);
    // The blocks before it are valid.
    assert_eq!(source.blocks(0, BatchLimit::of_blocks(9)).unwrap().len(), 3);
    let error = source.blocks(3, BatchLimit::of_blocks(9)).unwrap_err().to_string();
    assert!(error.contains(&format!("it is block {}", hash_text(&node.blocks[4].1))), "{error}");
}

#[test]
fn a_node_of_another_chain_is_refused() {
    let litecoin = "12a765e31ffd4059bada1e25190f6e98c99d9714d334efa41a195a7e7e04bfe2";
    let mut node = Node::new(Dialect::Bytes, 3);
    // A private network may be of any chain, where it is meant.
    let network = |node: &Arc<Node>, chain: &str, test_networks| {
        let mut source = source(node, chain, false);
        source.options.test_networks = test_networks;
        source.check_chain()
    };
    let private = Arc::new(Node::new(Dialect::Bytes, 3));
    network(&private, "btc", TestNetworks::Allowed).unwrap();
    let refused = network(&private, "btc", TestNetworks::Refused).unwrap_err();
    assert!(matches!(refused, SourceError::TestNetwork { .. }), "{refused}");
    node.blocks[0].1 = hex::decode(litecoin).unwrap().try_into().unwrap();
    let node = Arc::new(node);
    network(&node, "ltc", TestNetworks::Refused).unwrap();
    let refused = network(&node, "btc", TestNetworks::Allowed);
    assert_eq!(refused.unwrap_err().to_string(), "http://node serves ltc, not btc");
    assert!(
        NodeSource::new(
            ChainId::ETH,
            source(&node, "btc", true).fetcher.rpc,
            NodeOptions::default()
        )
        .is_err()
    );
}

#[test]
fn a_block_above_the_difficulty_limit_is_refused() {
    // Given a node whose blocks have the targets of a test network, and nothing that tells of it...
    let node = Arc::new(Node::new(Dialect::Bytes, 3));
    let server = Server::new(node.clone(), Noted::new(1, 0), Backoff::default());
    let options = NodeOptions { prevouts: false, ..NodeOptions::default() };
    let mut source = NodeSource::new(ChainId::BTC, Rpc::new(server), options).unwrap();
    // ...the first block is refused by name, with its target and the limit.
    let error = source.block_at(2).unwrap_err().to_string();
    let block = format!("block {} states the target 0x207fffff", hash_text(&node.blocks[2].1));
    assert!(error.contains(&block) && error.contains("0x1d00ffff"), "{error}");
}

/// Returns a node whose first blocks are tiny, and whose other blocks have some ten thousand bytes each.
fn growing(dialect: Dialect, tiny: u32, large: u32) -> Arc<Node> {
    let mut node = Node::new(dialect, tiny);
    let script = [0x51; 5_000];
    for height in tiny..tiny + large {
        let coinbase = testing::coinbase(height, 0, &[(1, &script), (2, &script)]);
        let parent = node.blocks.last().unwrap().1;
        node.blocks.push(testing::block(parent, &[coinbase]));
    }
    Arc::new(node)
}

#[test]
fn a_block_too_large_for_json_is_read_raw() {
    let node = growing(Dialect::Described, 3, 3);
    let server = Server::new(node.clone(), Noted::new(1, 0), Backoff::default());
    let (shared_answer, largest_answer) = (25_000, 25_000);
    let test_networks = TestNetworks::Allowed;
    let options = NodeOptions {
        test_networks,
        bounds: FetchBounds { shared_answer, largest_answer, ..FetchBounds::default() },
        ..NodeOptions::default()
    };
    let mut source = NodeSource::new(ChainId::BTC, Rpc::new(server), options).unwrap();
    let (blocks, _) = all(&mut source, 6, BatchLimit::of_blocks(6));
    assert!((0..).zip(&blocks).all(|(height, block)| *block == expected(&node, height)));
}

fn limited(node: &Arc<Node>, shared_answer: u64, largest_answer: u64) -> NodeSource {
    let server = Server::new(node.clone(), Noted::new(1, 0), Backoff::default());
    let options = NodeOptions {
        prevouts: false,
        test_networks: TestNetworks::Allowed,
        bounds: FetchBounds { connections: 3, shared_answer, largest_answer },
    };
    NodeSource::new(ChainId::BTC, Rpc::new(server), options).unwrap()
}

/// Reads all blocks of a node in batches; returns them with the number of batches.
fn all(source: &mut NodeSource, count: u64, portion: BatchLimit) -> (Vec<Block>, usize) {
    let (mut blocks, mut portions) = (Vec::new(), 0);
    while (blocks.len() as u64) < count {
        blocks.extend(source.blocks(blocks.len() as u64, portion).unwrap());
        portions += 1;
    }
    (blocks, portions)
}

#[test]
fn blocks_that_grow_are_fetched_in_answers_that_fit() {
    // Given tiny blocks, many of which are requested at once, and then large ones...
    for (shared, case) in
        [(60_000, "two at once"), (25_000, "one at once"), (15_000, "none beside others")]
    {
        let node = growing(Dialect::Bytes, 60, 25);
        let mut source = limited(&node, shared, 30_000);
        let (blocks, _) = all(&mut source, 85, BatchLimit::of_blocks(50));
        // ...then all come, in answers no larger than may be.
        let same = (0..).zip(&blocks).all(|(height, block)| *block == expected(&node, height));
        assert!(same, "{case}");
        let largest = node.largest.load(Ordering::Relaxed) as u64;
        assert!(largest <= shared.max(30_000), "{case}: {largest}");
    }
    // A block that fits no form is an error.
    let node = growing(Dialect::Bytes, 20, 2);
    let mut source = limited(&node, 15_000, 16_000);
    let (blocks, _) = all(&mut source, 20, BatchLimit::of_blocks(50));
    assert_eq!(blocks.len(), 20);
    let error = source.blocks(20, BatchLimit::of_blocks(5)).unwrap_err();
    assert_eq!(error.to_string(), "http://node answers with more than 16000 bytes");
}

#[test]
fn no_further_block_is_given_once_there_are_inputs_and_outputs_enough() {
    let node = growing(Dialect::Bytes, 30, 30);
    let mut source = limited(&node, 1_000_000, 1_000_000);
    let portion = BatchLimit { blocks: 50, entries: 10 };
    let (blocks, portions) = all(&mut source, 60, portion);
    assert_eq!(blocks.len(), 60);
    // One output each, then two.
    assert!((9..=12).contains(&portions), "{portions}");
    assert_eq!(source.blocks(30, portion).unwrap().len(), 5);
}

#[test]
fn over_rest_no_more_is_fetched_than_is_given() {
    let node = Arc::new(Node::new(Dialect::Rest, 60));
    let mut source = source(&node, "btc", true);
    source.block_at(0).unwrap();
    node.requests.lock().unwrap().clear();
    let blocks = source.blocks(0, BatchLimit { blocks: 50, entries: 10 }).unwrap();
    assert!((1..=10).contains(&blocks.len()), "{}", blocks.len());
    let requests = node.requests.lock().unwrap();
    let fetched = requests.iter().filter(|asked| asked.starts_with("/rest/block/")).count();
    // One output each, and one more of every connection.
    assert!(fetched <= 10 + 3, "{fetched}");
}
