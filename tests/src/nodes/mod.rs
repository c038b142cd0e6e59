//! Real nodes of Bitcoin-like chains, on test networks of their own.
//!
//! A node listens on loopback only, connects to no other node, and keeps its blocks in a temporary directory. The
//! blocks survive [`Node::stop`] and [`Node::kill`] if [`NodeKind::keeps_blocks`] is true.
//!
//! - `rpc`: calls to nodes
//! - `process`: the process of a node of any chain

mod process;
mod rpc;
mod wallet;

pub(crate) use process::NodeProcess;
pub use rpc::{Credentials, Rpc, RpcError};
pub use wallet::{Wallet, WalletAddress};

use std::{
    fmt, fs,
    path::{Path, PathBuf},
};

use assay_test_servers::free_port;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::{
    block_builder::{Block, Network},
    tools::tool,
};

const USER: &str = "assay";
const PASSWORD: &str = "test-only";

/// A kind of node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeKind {
    /// Bitcoin Core. Callers of such a node use its cookie, which changes at every start.
    BitcoinCore,
    /// btcd, an implementation independent of Bitcoin Core.
    Btcd,
    /// Litecoin Core.
    Litecoin {
        /// True if extension blocks activate, at height 432. From that height the node accepts only blocks that it
        /// mined, and mines the first such block only if a payment enters the extension blocks.
        mweb: bool,
    },
}

impl NodeKind {
    /// Every kind.
    pub const ALL: [Self; 4] = [
        Self::BitcoinCore,
        Self::Btcd,
        Self::Litecoin { mweb: false },
        Self::Litecoin { mweb: true },
    ];

    /// True if a node of this kind has its blocks after a restart. btcd starts a new regression test network each time.
    #[must_use]
    pub const fn keeps_blocks(self) -> bool {
        !matches!(self, Self::Btcd)
    }

    /// The program of a node of this kind: Litecoin Core is a Debian package, `tests/run` builds the others.
    fn program(self) -> PathBuf {
        match self {
            Self::BitcoinCore => tool("bitcoind"),
            Self::Btcd => tool("btcd"),
            Self::Litecoin { .. } => "litecoind".into(),
        }
    }

    /// The test network of a node of this kind.
    #[must_use]
    pub const fn network(self) -> Network {
        match self {
            Self::BitcoinCore | Self::Btcd => Network::BitcoinRegtest,
            Self::Litecoin { .. } => Network::LitecoinRegtest,
        }
    }
}

impl fmt::Display for NodeKind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::BitcoinCore => "Bitcoin Core",
            Self::Btcd => "btcd",
            Self::Litecoin { mweb: false } => "Litecoin Core",
            Self::Litecoin { mweb: true } => "Litecoin Core with extension blocks",
        })
    }
}

/// A node, killed when it is dropped.
#[derive(Debug)]
pub struct Node {
    /// Kind of the node.
    pub kind: NodeKind,
    process: NodeProcess,
    port: u16,
    directory: TempDir,
}

impl Node {
    /// Starts a node with only the genesis block.
    ///
    /// # Panics
    ///
    /// Panics if the program is missing, or does not start.
    #[must_use]
    pub fn start(kind: NodeKind) -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        let process = NodeProcess::new(kind.program(), directory.path().join("printed.log"));
        let mut node = Self { kind, process, port: free_port(), directory };
        node.launch();
        node
    }

    /// Starts the node again, with its stored blocks, and waits until it answers. The newest blocks before a kill may
    /// be lost.
    ///
    /// # Panics
    ///
    /// Panics if the node is running or does not start.
    pub fn launch(&mut self) {
        if let Credentials::Cookie(file) = self.credentials() {
            // The file of the last start: it would be refused.
            let _ = fs::remove_file(file);
        }
        let (arguments, rpc) = (self.arguments(), self.rpc());
        self.process.launch(&arguments, || rpc.call("getblockcount", &[]).is_ok());
    }

    /// Asks the node to stop and waits until it has stopped.
    ///
    /// # Panics
    ///
    /// Panics if the node does not stop.
    pub fn stop(&mut self) {
        self.process.stop();
    }

    /// Kills the node (`kill -9`), so that it cannot write anything.
    ///
    /// # Panics
    ///
    /// Panics if the node does not run.
    pub fn kill(&mut self) {
        self.process.kill();
    }

    /// URL of the node's JSON-RPC, without credentials.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// The folder of the node's block files, which are complete once the node has stopped.
    #[must_use]
    pub fn block_files(&self) -> PathBuf {
        self.directory.path().join("regtest/blocks")
    }

    /// Credentials of the node's callers.
    #[must_use]
    pub fn credentials(&self) -> Credentials {
        match self.kind {
            NodeKind::BitcoinCore | NodeKind::Litecoin { mweb: true } => {
                Credentials::Cookie(self.directory.path().join("regtest/.cookie"))
            }
            NodeKind::Btcd | NodeKind::Litecoin { mweb: false } => {
                Credentials::Password { user: USER.to_owned(), password: PASSWORD.to_owned() }
            }
        }
    }

    /// A caller of the node's JSON-RPC.
    #[must_use]
    pub fn rpc(&self) -> Rpc {
        Rpc::new(self.port, self.credentials())
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
        let answer = self.call("getblockcount", &[]).expect("a height");
        answer.as_u64().expect("a number")
    }

    /// The hash of the block at `height`, in the usual byte order.
    ///
    /// # Panics
    ///
    /// Panics if the node has no such block.
    #[must_use]
    pub fn block_hash(&self, height: u64) -> String {
        let answer = self.call("getblockhash", &[json!(height)]).expect("a hash");
        answer.as_str().expect("a text").to_owned()
    }

    /// Submits a block. A block that the node already has is accepted too.
    ///
    /// # Panics
    ///
    /// Panics if the node refuses the block.
    pub fn submit(&self, block: &Block) {
        let block_hex = hex::encode(block.bytes());
        let said = self.call("submitblock", &[json!(block_hex)]).expect("an answer");
        let taken = match said.as_str() {
            // Bitcoin Core returns this for a block beside the best chain; btcd returns nothing.
            None | Some("inconclusive" | "duplicate") => true,
            Some(said) => said.contains("already have block"),
        };
        assert!(taken, "{} refuses block {} ({}): {said}", self.kind, block.height, block.hash);
    }

    /// Output of the node so far.
    #[must_use]
    pub fn log(&self) -> String {
        self.process.log()
    }

    fn arguments(&self) -> Vec<String> {
        let directory = self.directory.path();
        match self.kind {
            NodeKind::BitcoinCore => self.core_arguments(directory, &["-rest=1"]),
            NodeKind::Litecoin { mweb: true } => {
                self.core_arguments(directory, &["-fallbackfee=0.0001"])
            }
            NodeKind::Litecoin { mweb: false } => {
                self.core_arguments(directory, &["-vbparams=mweb:-2:0"])
            }
            NodeKind::Btcd => [
                "--regtest",
                "--notls",
                "--nolisten",
                "--nodnsseed",
                // Otherwise it writes one into the user's own folder.
                "--configfile=/dev/null",
                "--txindex",
            ]
            .map(str::to_owned)
            .into_iter()
            .chain([
                format!("--datadir={}", directory.join("data").display()),
                format!("--logdir={}", directory.join("logs").display()),
                format!("--rpclisten=127.0.0.1:{}", self.port),
                format!("--rpcuser={USER}"),
                format!("--rpcpass={PASSWORD}"),
            ])
            .collect(),
        }
    }

    fn core_arguments(&self, directory: &Path, own: &[&str]) -> Vec<String> {
        let shared = ["-regtest", "-server", "-txindex=1", "-listen=0", "-rpcbind=127.0.0.1"];
        let mut arguments: Vec<String> =
            shared.iter().chain(own).map(ToString::to_string).collect();
        arguments.extend([
            // A node closes idle connections after these seconds, by default 30, and waits for them when
            // it stops.
            "-rpcservertimeout=2".to_owned(),
            "-rpcallowip=127.0.0.1".to_owned(),
            format!("-datadir={}", directory.display()),
            format!("-rpcport={}", self.port),
        ]);
        if let Credentials::Password { user, password } = self.credentials() {
            arguments.extend([format!("-rpcuser={user}"), format!("-rpcpassword={password}")]);
        }
        arguments
    }
}
