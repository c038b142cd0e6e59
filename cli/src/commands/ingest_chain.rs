//! `assay ingest chain`: the recording of a chain's blocks.

use std::{
    fmt::Write as _,
    io::Write,
    path::PathBuf,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use assay_address::ChainId;
use assay_chain::{
    TestNetworks,
    follow::{IngestError, IngestObserver, IngestReport, IngestRequest, ingest},
    location::{self, BlockLocation, NodeCredentials},
};
use assay_egress::CredentialsFile;
use assay_engine::facts::Environment;
use assay_input::Encoding;
use clap::{ArgGroup, Args};
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
    /// Blockchain: btc or another of the Bitcoin family for blocks; eth, trx or another account chain for transfers
    chain: ChainId,
    /// Read blocks from the JSON-RPC of a node
    #[arg(long, value_name = "URL", group = "from where")]
    rpc: Option<String>,
    /// Cookie file of the node, for authentication
    #[arg(long, value_name = "FILE", requires = "rpc", conflicts_with = "user")]
    cookie: Option<PathBuf>,
    /// User and password of the node; prefer --cookie: other users of the machine can read flags
    #[arg(long, value_name = "USER:PASSWORD", requires = "rpc")]
    user: Option<String>,
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

impl ChainArgs {
    fn location(self) -> Option<BlockLocation> {
        if let Some(path) = self.jsonl {
            return Some(BlockLocation::JsonLines(path));
        }
        if let Some(url) = self.esplora {
            return Some(BlockLocation::Esplora(url));
        }
        if !self.blocks.is_empty() {
            return Some(BlockLocation::Files(self.blocks));
        }
        let credentials = match (self.cookie, self.user) {
            (Some(file), _) => NodeCredentials::File(CredentialsFile::new(file)),
            (None, Some(user)) => NodeCredentials::Given(user),
            (None, None) => NodeCredentials::None,
        };
        self.rpc.map(|url| BlockLocation::Node { url, credentials })
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
    if chain.info().outputs().is_none() {
        return Err(Failure::Usage(format!(
            "blocks of {chain} are not supported: only chains of the Bitcoin family are (account chains: --transfers)"
        )));
    }
    if let (Some(from), Some(to)) = (args.from, args.to)
        && from > to
    {
        return Err(Failure::Usage(format!("--from {from} is above --to {to}")));
    }
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
    let location = args.location().ok_or_else(|| {
        Failure::Usage("no source of blocks: give --rpc, --blocks, --esplora or --jsonl".into())
    })?;
    let known = match databases.graphs.graph(chain)? {
        Some(graph) => graph.tip().await?.map(|tip| tip.start),
        None => None,
    };
    let complete = known.or(request.from).is_none_or(|start| start == 0);
    let open = move || location::open(chain, &location, complete, test_networks);
    let source = tokio::task::spawn_blocking(open)
        .await
        .map_err(|error| Failure::Failed(error.to_string()))?
        .map_err(IngestError::from)?;
    let shown = IngestProgress::new(chain);
    // The first process of a container is not ended by this signal unless it listens for it.
    let mut terminate = signal(SignalKind::terminate())?;
    let ingested = tokio::select! {
        ingested = ingest(&databases.graphs, source, request, &context.clock, &shown) => ingested,
        // Recorded batches are complete at any time.
        _ = tokio::signal::ctrl_c() => Err(assay_chain::SourceError::Stopped.into()),
        _ = terminate.recv() => Err(assay_chain::SourceError::Stopped.into()),
    };
    shown.progress.finish();
    let report = match ingested {
        Err(IngestError::Source(assay_chain::SourceError::Stopped)) => shown.so_far(),
        other => other?,
    };
    if json {
        print_json(&report)?;
    } else {
        writeln!(output(), "{}", summary(chain, &report))?;
    }
    Ok(CommandOutcome::Success)
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
