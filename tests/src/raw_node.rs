//! A fake node that serves raw blocks of any size over JSON-RPC.
//!
//! Blocks have one transaction, a coinbase. Responses are streamed, so that large ones take no memory.

use std::{
    io::{self, BufWriter, Write},
    net::TcpStream,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use assay_test_servers::Listener;
use serde_json::{Value, json};

use crate::block_builder::{Block, BlockHash, Network, Transaction, TxIn, TxOut, sha256d};
use crate::http_request::read_request;

/// Number of bytes that are encoded as hexadecimal at a time.
const PIECE: usize = 1 << 16;

/// The outputs of a block's coinbase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outputs {
    /// Number of outputs.
    pub count: usize,
    /// Length of each output's script in bytes.
    pub script: usize,
}

/// A fake node, stopped when dropped.
#[derive(Debug)]
pub struct RawNode {
    listener: Listener,
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    blocks: Vec<(BlockHash, Vec<u8>)>,
    largest: AtomicU64,
}

impl RawNode {
    /// Starts a node of Bitcoin's regression test network, with a block for each of `shapes` after the genesis block.
    ///
    /// # Panics
    ///
    /// Panics if the node cannot listen.
    #[must_use]
    pub fn start(shapes: &[Outputs]) -> Self {
        let first = Block::genesis(Network::BitcoinRegtest);
        let mut blocks = vec![(first.hash, first.bytes())];
        let (mut parent, mut time) = (first.hash, first.time);
        for (shape, height) in shapes.iter().zip(1..) {
            time += 600;
            let made = block(parent, height, time, *shape);
            parent = made.hash;
            blocks.push((made.hash, made.bytes()));
        }
        let shared = Arc::new(Shared { blocks, largest: AtomicU64::new(0) });
        let server = Arc::clone(&shared);
        let listener = Listener::start(move |stream| server.serve(stream));
        Self { listener, shared }
    }

    /// URL of the node.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.listener.address())
    }

    /// The height of the newest block.
    #[must_use]
    pub fn height(&self) -> u64 {
        self.shared.blocks.len() as u64 - 1
    }

    /// Size of the largest answer in bytes, even if the client did not read it.
    #[must_use]
    pub fn largest_answer(&self) -> u64 {
        self.shared.largest.load(Ordering::Relaxed)
    }
}

/// A block with one transaction.
fn block(parent: BlockHash, height: u64, time: u32, outputs: Outputs) -> Block {
    let mark = height.to_le_bytes().to_vec();
    let output = TxOut { value: 1, script: vec![0x51; outputs.script] };
    let coinbase = Transaction::new(vec![TxIn::coinbase(mark)], vec![output; outputs.count]);
    let mut block = Block {
        height,
        parent,
        merkle_root: sha256d(&coinbase.stripped()),
        time,
        version: 1,
        transactions: vec![coinbase],
        nonce: 0,
        ..Block::genesis(Network::BitcoinRegtest)
    };
    loop {
        block.hash = BlockHash(sha256d(&block.header()));
        // The target begins with 7f, and the last byte counts most.
        if block.hash.0[31] < 0x7f {
            return block;
        }
        block.nonce += 1;
    }
}

/// Response to one call.
enum Reply<'a> {
    Text(String),
    /// A block, in hexadecimal.
    Block(&'a [u8], String),
}

/// Text before a block.
const BEFORE: &str = r#"{"result":""#;

impl Reply<'_> {
    fn length(&self) -> usize {
        match self {
            Self::Text(text) => text.len(),
            Self::Block(bytes, after) => BEFORE.len() + 2 * bytes.len() + after.len(),
        }
    }

    fn write(&self, output: &mut impl Write) -> io::Result<()> {
        match self {
            Self::Text(text) => output.write_all(text.as_bytes()),
            Self::Block(bytes, after) => {
                output.write_all(BEFORE.as_bytes())?;
                for piece in bytes.chunks(PIECE) {
                    output.write_all(hex::encode(piece).as_bytes())?;
                }
                output.write_all(after.as_bytes())
            }
        }
    }
}

impl Shared {
    /// Answers a request. Returns false if the connection is closed.
    fn serve(&self, stream: &TcpStream) -> io::Result<bool> {
        let Some((first, body)) = read_request(stream)? else { return Ok(false) };
        let mut output = BufWriter::new(stream);
        if !first.starts_with("POST") {
            write!(output, "HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n")?;
            output.flush()?;
            return Ok(true);
        }
        let asked: Value = serde_json::from_slice(&body)?;
        let several = asked.is_array();
        let calls = match asked {
            Value::Array(calls) => calls,
            call => vec![call],
        };
        let replies: Vec<Reply<'_>> = calls.iter().map(|call| self.reply(call)).collect();
        let around = if several { replies.len() + 1 } else { 0 };
        let length = around + replies.iter().map(Reply::length).sum::<usize>();
        self.largest.fetch_max(length as u64, Ordering::Relaxed);
        write!(output, "HTTP/1.1 200 OK\r\ncontent-length: {length}\r\n\r\n")?;
        for (place, reply) in replies.iter().enumerate() {
            if several {
                output.write_all(if place == 0 { b"[" } else { b"," })?;
            }
            reply.write(&mut output)?;
        }
        if several {
            output.write_all(b"]")?;
        }
        output.flush()?;
        Ok(true)
    }

    fn reply(&self, call: &Value) -> Reply<'_> {
        let (id, first) = (&call["id"], &call["params"][0]);
        let result = |value: Value| {
            Reply::Text(json!({ "result": value, "error": null, "id": id }).to_string())
        };
        let error = |code: i64, message: &str| {
            let error = json!({ "code": code, "message": message });
            Reply::Text(json!({ "result": null, "error": error, "id": id }).to_string())
        };
        match call["method"].as_str() {
            Some("getblockcount") => result(json!(self.blocks.len() - 1)),
            Some("getblockhash") => {
                let height = first.as_u64().and_then(|height| usize::try_from(height).ok());
                match height.and_then(|height| self.blocks.get(height)) {
                    Some((hash, _)) => result(json!(hash.to_string())),
                    None => error(-8, "Block height out of range"),
                }
            }
            Some("getblock") if call["params"][1] == json!(0) => {
                let found = self.blocks.iter().find(|(hash, _)| *first == hash.to_string());
                match found {
                    Some((_, bytes)) => {
                        Reply::Block(bytes, format!(r#"","error":null,"id":{id}}}"#))
                    }
                    None => error(-5, "Block not found"),
                }
            }
            Some("getblock") => error(-1, "JSON value is not an integer as expected"),
            _ => error(-32601, "Method not found"),
        }
    }
}
