//! Real nodes of chains with Ethereum's accounts, on a chain of their own that begins with [`genesis`].
//!
//! geth has blocks made for it, one by one, with exactly the transactions, times and withdrawals that a test names, through its
//! Engine API; it keeps stale branches, and calls blocks final when it is told to. anvil makes blocks itself, and has another
//! tracer. A node listens on loopback only and connects to no other node.
//!
//! - [`genesis`]: the first block
//! - [`flat_traces`]: a node before another one, with other traces
//! - [`account`]: accounts with keys, and their signed transactions
//! - [`abi`]: inputs of contracts
//! - [`assembly`]: programs of contracts from their source
//! - [`contracts`]: the contracts that are there from the beginning
//! - [`solidity`]: contracts that are compiled

pub mod abi;
pub mod account;
pub mod assembly;
pub mod contracts;
pub mod genesis;
pub mod limited_node;
pub mod solidity;

use std::{fmt, fs, path::PathBuf, process::Command};

use assay_test_servers::free_port;
use serde_json::{Value, json};
use tempfile::TempDir;

pub use account::{Address, Key, NewTransaction, address_text, keccak};

use crate::{
    nodes::{Credentials, NodeProcess, Rpc, RpcError},
    tools::tool,
};

/// The secret that callers of geth's Engine API must know.
const SECRET: [u8; 32] = [0x11; 32];
/// The receiver of priority fees of most blocks.
pub const PRODUCER: Address = [0xfe; 20];

/// A kind of node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EvmNodeKind {
    /// geth: the call tracer, stale branches, final blocks, withdrawals.
    Geth,
    /// anvil: both the call tracer and the tracer of Parity. Blocks that it takes back are gone.
    Anvil,
}

impl fmt::Display for EvmNodeKind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Geth => "geth",
            Self::Anvil => "anvil",
        })
    }
}

/// A block to be made.
#[derive(Clone, Debug, Default)]
pub struct NewBlock {
    /// Seconds after the block before.
    pub seconds: u64,
    /// Signed transactions, in their order.
    pub transactions: Vec<Vec<u8>>,
    /// Withdrawals of validators: receivers and amounts in Gwei. anvil makes none.
    pub withdrawals: Vec<(Address, u64)>,
    /// A number that distinguishes the blocks of branches.
    pub branch: u8,
    /// The receiver of priority fees; `None` for [`PRODUCER`].
    pub producer: Option<Address>,
}

impl NewBlock {
    /// A block 12 seconds after the one before it.
    #[must_use]
    pub fn of(transactions: Vec<Vec<u8>>) -> Self {
        Self { seconds: 12, transactions, ..Self::default() }
    }
}

/// A node, killed when it is dropped.
#[derive(Debug)]
pub struct EvmNode {
    /// Kind of the node.
    pub kind: EvmNodeKind,
    process: NodeProcess,
    port: u16,
    /// Port of the Engine API.
    engine: u16,
    directory: TempDir,
}

impl EvmNode {
    /// Starts a node with only the first block.
    ///
    /// # Panics
    ///
    /// Panics if the program is missing, or does not start.
    #[must_use]
    pub fn start(kind: EvmNodeKind) -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path();
        fs::write(path.join("genesis.json"), genesis::genesis().to_string()).expect("a file");
        let program = tool(&kind.to_string());
        if kind == EvmNodeKind::Geth {
            fs::write(path.join("secret"), hex::encode(SECRET)).expect("a file");
            // Without it geth listens for other nodes on all addresses.
            fs::write(path.join("geth.toml"), "[Node.P2P]\nListenAddr = \"\"\n").expect("a file");
            let made = Command::new(&program)
                .args(["init", "--state.scheme", "hash", "--datadir"])
                .args([path, &path.join("genesis.json")])
                .output()
                .expect("geth runs");
            assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        }
        let process = NodeProcess::new(program, path.join("printed.log"));
        let (port, engine) = (free_port(), free_port());
        let mut node = Self { kind, process, port, engine, directory };
        node.launch();
        if kind == EvmNodeKind::Geth {
            // geth moves its newest block only once it was told one.
            let first = node.hash_at(0);
            node.choose(&first, None);
        }
        node
    }

    /// Starts the node again, and waits until it answers. geth has its stored blocks, and anvil only the first one.
    ///
    /// # Panics
    ///
    /// Panics if the node is running or does not start.
    pub fn launch(&mut self) {
        let (arguments, rpc) = (self.arguments(), self.rpc());
        self.process.launch(&arguments, || rpc.call("eth_blockNumber", &[]).is_ok());
    }

    /// Asks the node to stop and waits until it has stopped.
    ///
    /// # Panics
    ///
    /// Panics if the node does not stop.
    pub fn stop(&mut self) {
        self.process.stop();
    }

    /// URL of the node's JSON-RPC.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// A caller of the node's JSON-RPC.
    #[must_use]
    pub fn rpc(&self) -> Rpc {
        Rpc::new(self.port, Credentials::None)
    }

    /// Calls a method.
    ///
    /// # Errors
    ///
    /// Returns an error if there is no answer or the node refuses.
    pub fn call(&self, method: &str, parameters: &[Value]) -> Result<Value, RpcError> {
        self.rpc().call(method, parameters)
    }

    /// The height of the newest block.
    ///
    /// # Panics
    ///
    /// Panics if the node does not answer.
    #[must_use]
    pub fn height(&self) -> u64 {
        number(&self.call("eth_blockNumber", &[]).expect("a height"))
    }

    /// The hash of the block at `height`, with `0x`.
    ///
    /// # Panics
    ///
    /// Panics if the node has no such block.
    #[must_use]
    pub fn hash_at(&self, height: u64) -> String {
        let block = self.block(&json!(format!("{height:#x}")));
        block["hash"].as_str().expect("a hash").to_owned()
    }

    /// The time of the newest block, in seconds since 1970.
    ///
    /// # Panics
    ///
    /// Panics if the node does not answer.
    #[must_use]
    pub fn time(&self) -> u64 {
        number(&self.block(&json!("latest"))["timestamp"])
    }

    /// The balance of an account in the newest block, in wei.
    ///
    /// # Panics
    ///
    /// Panics if the node does not answer.
    #[must_use]
    pub fn balance(&self, account: &Address) -> u128 {
        let balance = self.call("eth_getBalance", &[json!(address_text(account)), json!("latest")]);
        number(&balance.expect("a balance"))
    }

    /// The number of an account's next transaction.
    ///
    /// # Panics
    ///
    /// Panics if the node does not answer.
    #[must_use]
    pub fn nonce(&self, account: &Address) -> u64 {
        let account = json!(address_text(account));
        let count = self.call("eth_getTransactionCount", &[account, json!("latest")]);
        number(&count.expect("a number"))
    }

    /// Receipts of a block, in the order of its transactions.
    ///
    /// # Panics
    ///
    /// Panics if the node has no such block.
    #[must_use]
    pub fn receipts(&self, height: u64) -> Vec<Value> {
        let answer = self.call("eth_getBlockReceipts", &[json!(format!("{height:#x}"))]);
        answer.expect("receipts").as_array().expect("a list").clone()
    }

    /// Makes a block on the newest one. Returns its hash.
    ///
    /// # Panics
    ///
    /// Panics if the node refuses the block, or leaves a transaction out.
    pub fn make(&mut self, block: &NewBlock) -> String {
        let time = self.time() + block.seconds;
        let producer = json!(address_text(&block.producer.unwrap_or(PRODUCER)));
        let transactions: Vec<Value> =
            block.transactions.iter().map(|it| json!(bytes(it))).collect();
        match self.kind {
            EvmNodeKind::Geth => {
                let withdrawals =
                    block.withdrawals.iter().zip(0_u64..).map(|((to, amount), index)| {
                        json!({
                            "index": format!("{index:#x}"),
                            "validatorIndex": "0x1",
                            "address": address_text(to),
                            "amount": format!("{amount:#x}"),
                        })
                    });
                let attributes = json!({
                    "timestamp": format!("{time:#x}"),
                    "prevRandao": bytes(&[block.branch; 32]),
                    "suggestedFeeRecipient": producer,
                    "withdrawals": withdrawals.collect::<Vec<_>>(),
                    "parentBeaconBlockRoot": bytes(&[0; 32]),
                });
                let made = self.call(
                    "testing_commitBlockV1",
                    &[attributes, json!(transactions), json!(bytes(&[block.branch]))],
                );
                made.expect("a block");
            }
            EvmNodeKind::Anvil => {
                assert!(block.withdrawals.is_empty(), "anvil makes no withdrawals");
                let call = |method: &str, parameter: Value| {
                    self.call(method, &[parameter])
                        .unwrap_or_else(|error| panic!("{method}: {error:?}"))
                };
                // The branches differ by the amount of gas that fits.
                let limit = 30_000_000 - u32::from(block.branch);
                call("evm_setBlockGasLimit", json!(format!("{limit:#x}")));
                call("anvil_setCoinbase", producer);
                for transaction in transactions {
                    call("eth_sendRawTransaction", transaction);
                }
                call("evm_setNextBlockTimestamp", json!(format!("{time:#x}")));
                self.call("evm_mine", &[]).expect("a block");
            }
        }
        let made = self.block(&json!("latest"));
        let included = made["transactions"].as_array().map_or(0, Vec::len);
        assert_eq!(included, block.transactions.len(), "{} left transactions out", self.kind);
        made["hash"].as_str().expect("a hash").to_owned()
    }

    /// Makes blocks without transactions.
    ///
    /// # Panics
    ///
    /// Panics if the node refuses one.
    pub fn make_empty(&mut self, count: u64, branch: u8) {
        for _ in 0..count {
            self.make(&NewBlock { branch, ..NewBlock::of(Vec::new()) });
        }
    }

    /// Goes back to the block at `height`, so that the next block begins another branch.
    ///
    /// # Panics
    ///
    /// Panics if the node refuses.
    pub fn rewind(&mut self, height: u64) {
        match self.kind {
            EvmNodeKind::Geth => self.choose(&self.hash_at(height), None),
            EvmNodeKind::Anvil => {
                let depth = self.height() - height;
                self.call("anvil_rollback", &[json!(depth)]).expect("it goes back");
            }
        }
        assert_eq!(self.height(), height, "{} did not go back", self.kind);
    }

    /// Tells geth that the block at `height` and all before it are final.
    ///
    /// # Panics
    ///
    /// Panics if the node refuses.
    pub fn finalize(&mut self, height: u64) {
        let (newest, last) = (self.hash_at(self.height()), self.hash_at(height));
        self.choose(&newest, Some(&last));
    }

    /// Tells geth which block is the newest one, and which one is final.
    fn choose(&self, newest: &str, last: Option<&str>) {
        let none = bytes(&[0; 32]);
        let last = last.unwrap_or(&none);
        let state =
            json!({ "headBlockHash": newest, "safeBlockHash": last, "finalizedBlockHash": last });
        let engine = Rpc::new(self.engine, Credentials::Secret(SECRET));
        let answer = engine.call("engine_forkchoiceUpdatedV3", &[state, Value::Null]);
        let answer = answer.expect("an answer");
        assert_eq!(answer["payloadStatus"]["status"], "VALID", "{answer}");
    }

    fn block(&self, which: &Value) -> Value {
        let block = self.call("eth_getBlockByNumber", &[which.clone(), json!(false)]);
        block.unwrap_or_else(|error| panic!("{} has no block {which}: {error:?}", self.kind))
    }

    /// Output of the node so far.
    #[must_use]
    pub fn log(&self) -> String {
        self.process.log()
    }

    fn arguments(&self) -> Vec<String> {
        let path = |name: &str| self.directory.path().join(name).display().to_string();
        let (fixed, own) = match self.kind {
            EvmNodeKind::Geth => (
                "--http --http.addr 127.0.0.1 --http.api eth,debug,testing --authrpc.addr 127.0.0.1 --networkid 1337 \
                 --state.scheme hash --gcmode archive --syncmode full --nodiscover --maxpeers 0 --nat none --ipcdisable \
                 --engine.maxreorgdepth 0",
                vec![
                    format!("--config={}", path("geth.toml")),
                    format!("--datadir={}", path("")),
                    format!("--http.port={}", self.port),
                    format!("--authrpc.port={}", self.engine),
                    format!("--authrpc.jwtsecret={}", path("secret")),
                ],
            ),
            EvmNodeKind::Anvil => (
                "--host 127.0.0.1 --no-mining --order fifo --accounts 0 --slots-in-an-epoch 4 --hardfork cancun",
                vec![format!("--port={}", self.port), format!("--init={}", path("genesis.json"))],
            ),
        };
        fixed.split_whitespace().map(str::to_owned).chain(own).collect()
    }
}

/// The program of geth.
///
/// # Panics
///
/// Panics if it is missing.
#[must_use]
pub fn geth() -> PathBuf {
    tool("geth")
}

/// Bytes as nodes read them.
#[must_use]
pub fn bytes(bytes: &[u8]) -> String {
    format!("0x{}", hex::encode(bytes))
}

/// A number of a node's answer.
fn number<N: TryFrom<u128>>(value: &Value) -> N {
    let digits = value.as_str().and_then(|text| text.strip_prefix("0x")).expect("a number");
    let number = u128::from_str_radix(digits, 16).expect("hexadecimal digits");
    N::try_from(number).ok().expect("a number in range")
}
