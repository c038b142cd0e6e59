//! `assay ingest chain`: the recording of a chain's blocks.

use std::{
    fmt::Write as _,
    fs,
    io::Write,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use assay_address::{ChainId, LedgerKind};
use assay_chain::{
    SourceError, TestNetworks,
    evm::{BlockTag, GenesisAllocation},
    follow::{IngestError, IngestObserver, IngestReport, IngestRequest, ingest, ingest_accounts},
    location::{self, BlockLocation, NodeCredentials},
};
use assay_egress::CredentialsFile;
use assay_engine::facts::Environment;
use assay_graph::account::AccountEnds;
use assay_input::Encoding;
use assay_intel::IntelSnapshot;
use assay_service::Databases;
use clap::{ArgGroup, Args, ValueEnum};
use tokio::signal::unix::{SignalKind, signal};

use super::{
    CommandOutcome, Context, Failure, ingest_transfers, output, print_json, progress::Progress,
};
use crate::render::counted;

const EXAMPLES: &str = "\
Examples:
  assay ingest chain btc --rpc http://127.0.0.1:8332 --cookie ~/.bitcoin/.cookie --follow
  assay ingest chain ltc --rpc http://127.0.0.1:9332 --user rpc:secret --from 2000000
  assay ingest chain btc --blocks ~/.bitcoin/blocks
  assay ingest chain doge --esplora https://esplora.example.org/api --from 5000000 --to 5000100
  assay ingest chain btc --jsonl transactions.jsonl
  assay ingest chain eth --rpc http://127.0.0.1:8545 --from 25000000 --follow
  assay ingest chain trx --rpc http://127.0.0.1:8090 --from 70000000 --follow
  assay ingest chain eth --transfers token_transfers.csv traces.csv transactions.csv blocks.csv";

/// The hash of a block.
pub(super) type BlockHash = [u8; 32];

/// Parses the hash of a block.
pub(super) fn block_hash(text: &str) -> Result<BlockHash, String> {
    let mut hash = [0; 32];
    let parsed = hex::decode_to_slice(text, &mut hash);
    parsed.map_err(|_| "the hash of a block has 64 hexadecimal digits".to_owned())?;
    Ok(hash)
}

/// Ingest the blocks of a chain, so that funds can be traced
///
/// An interrupted run is continued by the next. Every block is validated: its parent, its Merkle root and its
/// amounts. Blocks that a reorganization removed are removed from the graph too. Funds from before the first ingested
/// block have no known origin.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
#[command(group = ArgGroup::new("from where").required(true))]
pub(super) struct ChainArgs {
    /// Blockchain: btc or another of the Bitcoin family, eth or another account chain
    chain: ChainId,
    /// Read blocks from the JSON-RPC of a node, or from the HTTP API of one of TRON; for an account chain also of several nodes, which are compared: repeat the flag
    #[arg(long, value_name = "URL", group = "from where")]
    rpc: Vec<String>,
    /// Cookie file of the node, for authentication
    #[arg(long, value_name = "FILE", requires = "rpc", conflicts_with = "user")]
    cookie: Option<PathBuf>,
    /// User and password of the node; prefer --cookie: other users of the machine can read flags
    #[arg(long, value_name = "USER:PASSWORD", requires = "rpc")]
    user: Option<String>,
    /// Genesis file of an EVM chain's node, with the coins of the first block, which no node states
    #[arg(long, value_name = "FILE", requires = "rpc", conflicts_with = "from")]
    genesis: Option<PathBuf>,
    /// Read block files: blk*.dat, raw blocks, or folders with them
    #[arg(long, value_name = "PATH", num_args = 1.., group = "from where")]
    blocks: Vec<PathBuf>,
    /// Read blocks from an Esplora server
    #[arg(long, value_name = "URL", group = "from where")]
    esplora: Option<String>,
    /// Read transactions from a file of JSON lines
    #[arg(long, value_name = "FILE", group = "from where")]
    jsonl: Option<PathBuf>,
    /// Read transfers of an account chain from files: CSV or JSON lines, packed or not
    #[arg(long, value_name = "FILE", num_args = 1.., group = "from where",
        conflicts_with_all = ["from", "to", "follow", "test_network", "accept_branch"])]
    transfers: Vec<PathBuf>,
    /// Encoding of the files of transfers, if they state none by a byte order mark [default: utf-8]
    #[arg(long, value_name = "NAME", requires = "transfers")]
    encoding: Option<Encoding>,
    /// Height of the first block, for a chain without recorded blocks [default: the first available]
    #[arg(long, value_name = "HEIGHT")]
    from: Option<u64>,
    /// Height of the last block [default: the newest]
    #[arg(long, value_name = "HEIGHT")]
    to: Option<u64>,
    /// Newest block to read of a node of an EVM chain: safe and final ones are older, and hardly ever or never replaced
    /// [default: latest]
    #[arg(long, value_name = "WHICH", requires = "rpc")]
    newest: Option<NewestArg>,
    /// Follow the chain: keep ingesting new blocks until stopped
    #[arg(long, conflicts_with = "to")]
    follow: bool,
    /// Interval between checks for new blocks, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 2, requires = "follow")]
    every: u64,
    /// Accept blocks of a test network; the demo data set always does
    #[arg(long)]
    test_network: bool,
    /// Follow the source to a branch that replaces more recorded blocks than a reorganization does: the hash of one of its
    /// blocks above the fork [default: such a branch is refused]
    #[arg(long, value_name = "HASH", value_parser = block_hash)]
    accept_branch: Option<BlockHash>,
    /// Print the report as JSON
    #[arg(long)]
    json: bool,
}

/// The newest block to read of a node.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum NewestArg {
    /// The latest block
    Latest,
    /// The latest block that most validators attested
    Safe,
    /// The latest block that is final
    Final,
}

impl From<NewestArg> for BlockTag {
    fn from(arg: NewestArg) -> Self {
        match arg {
            NewestArg::Latest => Self::Latest,
            NewestArg::Safe => Self::Safe,
            NewestArg::Final => Self::Final,
        }
    }
}

impl ChainArgs {
    /// Refuses a chain whose blocks are not read from such a source, and contradicting flags.
    fn check(&self) -> Result<(), Failure> {
        let (chain, nodes) = (self.chain, self.rpc.len());
        let refusal = match chain.info().ledger {
            LedgerKind::ListsOnly => format!(
                "blocks of {chain} are not supported: only chains of the Bitcoin family and account chains are"
            ),
            LedgerKind::Account if nodes == 0 => {
                format!(
                    "blocks of {chain} are read from a node or from files: give --rpc or --transfers"
                )
            }
            LedgerKind::Utxo(_) if nodes > 1 => {
                format!("blocks of {chain} are read from one node: give --rpc once")
            }
            LedgerKind::Utxo(_) if self.newest.is_some() => {
                format!("nodes of {chain} call no block safe or final: leave --newest out")
            }
            LedgerKind::Utxo(_) if self.genesis.is_some() => {
                format!("the first block of {chain} states its coins: leave --genesis out")
            }
            LedgerKind::Account | LedgerKind::Utxo(_) => match (self.from, self.to) {
                (Some(from), Some(to)) if from > to => format!("--from {from} is above --to {to}"),
                _ if nodes > 1 && (self.cookie.is_some() || self.user.is_some()) => {
                    "--cookie and --user belong to one node: give --rpc once".to_owned()
                }
                _ => return Ok(()),
            },
        };
        Err(Failure::Usage(refusal))
    }

    /// The locations of blocks: one, or several nodes.
    fn locations(self) -> Vec<BlockLocation> {
        if let Some(path) = self.jsonl {
            return vec![BlockLocation::JsonLines(path)];
        }
        if let Some(url) = self.esplora {
            return vec![BlockLocation::Esplora(url)];
        }
        if !self.blocks.is_empty() {
            return vec![BlockLocation::Files(self.blocks)];
        }
        let credentials = match (self.cookie, self.user) {
            (Some(file), _) => NodeCredentials::File(CredentialsFile::new(file)),
            (None, Some(user)) => NodeCredentials::Given(user),
            (None, None) => NodeCredentials::None,
        };
        let node = |url| BlockLocation::Node { url, credentials: credentials.clone() };
        self.rpc.into_iter().map(node).collect()
    }
}

impl From<IngestError> for Failure {
    fn from(error: IngestError) -> Self {
        match error {
            IngestError::Graph(error) => error.into(),
            IngestError::Source(ref source) if source.is_input() => Self::Input(error.to_string()),
            IngestError::Resolve(_)
            | IngestError::Missing { .. }
            | IngestError::RefusedBranch(_)
            | IngestError::Unconnected { .. } => Self::Input(error.to_string()),
            IngestError::Source(_) | IngestError::Reader => Self::Failed(error.to_string()),
        }
    }
}

pub(super) async fn run(args: ChainArgs, context: &Context) -> Result<CommandOutcome, Failure> {
    let (chain, json) = (args.chain, args.json);
    if !args.transfers.is_empty() {
        return ingest_transfers::run(chain, &args.transfers, args.encoding, json, context).await;
    }
    args.check()?;
    let databases = context.open_or_create_databases().await?;
    let request = IngestRequest {
        chain,
        from: args.from,
        to: args.to,
        follow: args.follow.then(|| Duration::from_secs(args.every.max(1))),
        sample: databases.store.environment().await? == Environment::Sample,
        accept_branch: args.accept_branch,
    };
    let test_networks = TestNetworks::allowed_if(args.test_network || request.sample);
    let genesis = args.genesis.as_deref().map(read_genesis).transpose()?;
    let newest = args.newest.map_or(BlockTag::Latest, BlockTag::from);
    let source = GivenSource { genesis, newest, locations: args.locations(), test_networks };
    let shown = IngestProgress::new(chain);
    // The first process of a container is not ended by this signal unless it listens for it.
    let mut terminate = signal(SignalKind::terminate())?;
    let ingested = tokio::select! {
        ingested = ingest_from(source, request, (&databases, context), &shown) => {
            ingested?
        }
        // Recorded batches are complete at any time.
        _ = tokio::signal::ctrl_c() => Err(SourceError::Stopped.into()),
        _ = terminate.recv() => Err(SourceError::Stopped.into()),
    };
    shown.progress.finish();
    let report = match ingested {
        Err(IngestError::Source(SourceError::Stopped)) => shown.so_far(),
        other => other?,
    };
    if json {
        print_json(&report)?;
    } else {
        writeln!(output(), "{}", summary(chain, &report))?;
    }
    Ok(CommandOutcome::Success)
}

/// Reads a genesis file.
fn read_genesis(path: &Path) -> Result<GenesisAllocation, Failure> {
    let unreadable = |error: &dyn std::fmt::Display| {
        Failure::Input(format!("failed to read {}: {error}", path.display()))
    };
    let text = fs::read_to_string(path).map_err(|error| unreadable(&error))?;
    GenesisAllocation::parse(&text).map_err(|error| unreadable(&error))
}

/// The source of blocks that flags give.
struct GivenSource {
    locations: Vec<BlockLocation>,
    genesis: Option<GenesisAllocation>,
    newest: BlockTag,
    test_networks: TestNetworks,
}

/// Opens the source and ingests its blocks.
async fn ingest_from(
    GivenSource { locations, genesis, newest, test_networks }: GivenSource,
    request: IngestRequest,
    (databases, context): (&Databases, &Context),
    shown: &IngestProgress,
) -> Result<Result<IngestReport, IngestError>, Failure> {
    let (chain, graphs, clock) = (request.chain, &databases.graphs, &context.clock);
    if chain.info().ledger == LedgerKind::Account {
        let intel = IntelSnapshot::load(&*databases.store, None).await?;
        let ends: AccountEnds = intel.account_ends(chain, intel.day(clock.now())).collect();
        let ends = ends.with_prices(Arc::clone(intel.prices()));
        let open = move || {
            let genesis = genesis.as_ref();
            location::open_accounts(chain, &locations, genesis, (test_networks, newest), None)
        };
        let source = opened(open).await?;
        let ends = || ends.clone();
        return Ok(ingest_accounts((graphs, &ends), source, request, clock, shown).await);
    }
    let known = match graphs.graph(chain)? {
        Some(graph) => graph.tip().await?.map(|tip| tip.start),
        None => None,
    };
    let complete = known.or(request.from).is_none_or(|start| start == 0);
    let [location] = <[BlockLocation; 1]>::try_from(locations).map_err(|_| {
        Failure::Usage("no source of blocks: give --rpc, --blocks, --esplora or --jsonl".into())
    })?;
    let source = opened(move || location::open(chain, &location, complete, test_networks)).await?;
    Ok(ingest(graphs, source, request, clock, shown).await)
}

/// Opens a source on a thread of its own.
async fn opened<S: Send + 'static>(
    open: impl FnOnce() -> Result<S, SourceError> + Send + 'static,
) -> Result<S, Failure> {
    let opened = tokio::task::spawn_blocking(open).await;
    let opened = opened.map_err(|error| Failure::Failed(error.to_string()))?;
    Ok(opened.map_err(IngestError::from)?)
}

fn summary(chain: ChainId, report: &IngestReport) -> String {
    let tip = match report.latest_block_height {
        Some(tip) => format!("up to block {tip}"),
        None => "nothing recorded".to_owned(),
    };
    let mut text = format!(
        "{chain}: {} with {}, {tip}",
        counted(report.blocks, "block", "blocks"),
        counted(report.transactions, "transaction", "transactions")
    );
    if let Some(height) = report.finalized_block_height {
        let _ = write!(text, ", final up to block {height}");
    }
    for reorganization in &report.reorganizations {
        let blocks = counted(reorganization.removed_blocks, "block", "blocks");
        let height = reorganization.last_common_height;
        let _ = write!(text, "\n  reorganization: {blocks} above {height} removed");
    }
    text
}

/// Shows the progress of the ingest run.
struct IngestProgress {
    chain: ChainId,
    progress: Progress,
    begun: Instant,
    done: AtomicU64,
    reached: AtomicU64,
    said: Mutex<Option<Instant>>,
}

/// Interval between progress lines if no progress bar is drawn.
const LINE_EVERY: Duration = Duration::from_secs(30);

impl IngestProgress {
    fn new(chain: ChainId) -> Self {
        Self {
            chain,
            progress: Progress::towards("blocks"),
            begun: Instant::now(),
            done: AtomicU64::new(0),
            reached: AtomicU64::new(0),
            said: Mutex::new(None),
        }
    }

    fn so_far(&self) -> IngestReport {
        IngestReport {
            blocks: self.done.load(Ordering::Relaxed),
            latest_block_height: Some(self.reached.load(Ordering::Relaxed))
                .filter(|height| *height > 0),
            ..IngestReport::default()
        }
    }
}

impl IngestObserver for IngestProgress {
    fn reached(&self, height: u64, target: u64, blocks: u64) {
        let done = self.done.fetch_add(blocks, Ordering::Relaxed) + blocks;
        self.reached.store(height, Ordering::Relaxed);
        let left = target.saturating_sub(height);
        self.progress.reached(done, done + left);
        let mut said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        if said.is_none_or(|at| at.elapsed() >= LINE_EVERY) {
            *said = Some(Instant::now());
            let seconds = self.begun.elapsed().as_secs().max(1);
            let rate = done / seconds;
            let time_left = left.checked_div(rate).unwrap_or(0);
            tracing::info!(chain = %self.chain, height, target, rate, time_left, "blocks ingested");
        }
    }

    fn notice(&self, message: &str) {
        self.progress.suspend(|| tracing::warn!(chain = %self.chain, "{message}"));
    }
}
