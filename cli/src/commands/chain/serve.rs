//! `assay chain serve`: the chain server.

use std::{io::Write, path::PathBuf, sync::Arc};

use assay_address::{AddressRules, ChainId, LedgerKind};
use assay_api::chain_server::{ChainApp, ChainMetrics, Tokens, chain_admin, chain_api};
use assay_chain::{
    TestNetworks,
    follow::{FollowedChain, IngestObserver, RefusedBranch},
    location::{BlockLocation, NodeCredentials},
    transfers::folder::TransferFolder,
};
use assay_chain_protocol::{ChainServers, ServerSet};
use assay_egress::{CredentialsFile, ServerName};
use assay_engine::facts::Environment;
use assay_service::chains::{compositions::GraphOwner, host::ChainHost, keep_breakdowns};
use clap::Args;
use tokio::task::JoinSet;

use crate::{
    commands::{
        CommandOutcome, Context, Failure,
        ingest_chain::{BlockHash, block_hash},
        output,
        serve::{Services, bind, serve_until_stopped, tls},
    },
    settings::{CliSettings, Layers},
};

const EXAMPLES: &str = "\
Examples:
  assay chain serve btc --rpc http://127.0.0.1:8332 --cookie ~/.bitcoin/.cookie \\
    --database-url-file /run/secrets/url --chain-token-file /run/secrets/token --listen 0.0.0.0:8080
  assay serve --chain-servers btc=http://chain-btc:8080 --chain-token-file /run/secrets/token

Without --rpc, --esplora and --transfers it serves the graphs in the data directory and follows nothing.";

/// Serve the graph of a chain to API servers, and follow the chain
///
/// API servers name the chain server in --chain-servers. The chain server reads lists and labels from the API
/// servers' database, and keeps the graph in its data directory, into which no other server may follow the chain.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(in crate::commands) struct ServeArgs {
    /// Blockchain, such as btc [default: all with a graph in the data directory]
    chain: Option<ChainId>,
    /// Follow the chain by the JSON-RPC of a node
    #[arg(long, value_name = "URL", requires = "chain", conflicts_with = "esplora")]
    rpc: Option<String>,
    /// Follow the chain by an Esplora server
    #[arg(long, value_name = "URL", requires = "chain")]
    esplora: Option<String>,
    /// Record the files of transfers that are put into a folder, of an account chain
    #[arg(long, value_name = "FOLDER", requires = "chain", conflicts_with_all = ["rpc", "esplora"])]
    transfers: Option<PathBuf>,
    /// File with the node's cookie or user:password, for authentication
    #[arg(long, value_name = "FILE", requires = "rpc")]
    cookie: Option<PathBuf>,
    /// Servers that may be sent the credentials, separated by commas, such as node:8332 [default: that of the URL]
    #[arg(long, value_name = "HOST:PORT", value_delimiter = ',', requires = "cookie")]
    credentials_hosts: Option<Vec<ServerName>>,
    /// Height of the first block, for a chain without recorded blocks
    #[arg(long, value_name = "HEIGHT", default_value_t = 0)]
    from: u64,
    /// Accept blocks of a test network
    #[arg(long)]
    test_network: bool,
    /// Follow the source to a branch that replaces more recorded blocks than a reorganization does: the hash of one of its
    /// blocks above the fork [default: the server stays on the branch that it has]
    #[arg(long, value_name = "HASH", requires = "chain", value_parser = block_hash)]
    accept_branch: Option<BlockHash>,
    /// Chain server from which an empty data directory is filled, if it has the graph: its URL, whose host may have
    /// several addresses [default: the chain is read from its node]
    #[arg(long, value_name = "URL", requires = "chain")]
    neighbors: Option<String>,
    /// Largest number of requests that are answered at a time; API servers send further requests to another chain
    /// server
    #[arg(
        long,
        value_name = "NUMBER",
        default_value_t = 64,
        value_parser = clap::value_parser!(u16).range(1..)
    )]
    max_questions: u16,
    /// Listening address for API servers [default: 127.0.0.1:8080]
    #[arg(long, value_name = "ADDRESS:PORT")]
    listen: Option<String>,
    /// Listening address of health checks and metrics [default: 127.0.0.1:9090]
    #[arg(long, value_name = "ADDRESS:PORT")]
    admin_listen: Option<String>,
    /// Time to keep accepting connections after the stop signal [default: 1s]
    #[arg(long, value_name = "TIME")]
    drain_delay: Option<String>,
    /// Time for requests in flight to be answered after the stop signal [default: 30s]
    #[arg(long, value_name = "TIME")]
    shutdown_grace: Option<String>,
    /// Interval between checks for changed lists and labels [default: 250ms]
    #[arg(long, value_name = "TIME")]
    refresh_interval: Option<String>,
    /// Certificate chain (PEM) for TLS; reloaded when the file changes
    #[arg(long, value_name = "FILE")]
    tls_cert: Option<String>,
    /// Private key (PEM) of the certificate
    #[arg(long, value_name = "FILE")]
    tls_key: Option<String>,
}

impl ServeArgs {
    pub(in crate::commands) fn flags(&self, layers: &mut Layers) {
        layers.flag("listen", self.listen.clone());
        layers.flag("admin-listen", self.admin_listen.clone());
        layers.flag("drain-delay", self.drain_delay.clone());
        layers.flag("shutdown-grace", self.shutdown_grace.clone());
        layers.flag("refresh-interval", self.refresh_interval.clone());
        layers.flag("tls-cert", self.tls_cert.clone());
        layers.flag("tls-key", self.tls_key.clone());
    }

    /// Refuses a chain without graphs, and a source that its kind of chain does not have.
    fn expect_known_source(&self) -> Result<(), Failure> {
        let Some(chain) = self.chain else { return Ok(()) };
        if !chain.info().has_graph() {
            return Err(Failure::Usage(format!(
                "blocks of {chain} are not supported: only chains of the Bitcoin family and account chains are"
            )));
        }
        let has_accounts = chain.info().ledger == LedgerKind::Account;
        let has_nodes = matches!(chain.info().rules, AddressRules::Evm);
        if has_accounts && self.rpc.is_some() && !has_nodes {
            return Err(Failure::Usage(format!(
                "nodes of {chain} are not read: its transfers are recorded from files, which --transfers names"
            )));
        }
        if has_accounts && self.esplora.is_some() {
            return Err(Failure::Usage(format!(
                "--esplora: {chain} has accounts: use --rpc or --transfers"
            )));
        }
        if !has_accounts && self.transfers.is_some() {
            return Err(Failure::Usage(format!(
                "--transfers: {chain} has blocks, and no files of transfers: use --rpc or --esplora"
            )));
        }
        Ok(())
    }

    /// The source of blocks, if the chain is followed from one.
    fn location(&self) -> Option<BlockLocation> {
        if let Some(url) = &self.esplora {
            return Some(BlockLocation::Esplora(url.clone()));
        }
        let file = self.cookie.clone().map(CredentialsFile::new);
        let file = file.map(|file| file.restricted_to(self.credentials_hosts.clone()));
        let credentials = file.map_or(NodeCredentials::None, NodeCredentials::File);
        self.rpc.clone().map(|url| BlockLocation::Node { url, credentials })
    }

    /// The neighboring chain servers from which an empty data directory is filled.
    fn neighbors(&self, settings: &CliSettings) -> Result<Option<Arc<ServerSet>>, Failure> {
        let (Some(chain), Some(url)) = (self.chain, &self.neighbors) else { return Ok(None) };
        let entry = format!("{}={url}", chain.info().id);
        let parsed = ChainServers::parse([&*entry], &settings.chain_credentials());
        let servers = parsed.map_err(|_| {
            Failure::Usage(format!(
                "--neighbors: `{url}` is not a URL such as http://chain-btc:8080"
            ))
        })?;
        Ok(servers.servers_of(chain).cloned())
    }

    /// The folder with files of transfers, if there is one.
    fn files(&self, environment: Environment) -> Option<TransferFolder> {
        let sample = environment == Environment::Sample;
        Some(TransferFolder { chain: self.chain?, folder: self.transfers.clone()?, sample })
    }

    /// The followed chain, if there is one.
    fn followed(&self, environment: Environment) -> Option<FollowedChain> {
        let sample = environment == Environment::Sample;
        Some(FollowedChain {
            chain: self.chain?,
            location: self.location()?,
            start: self.from,
            test_networks: TestNetworks::allowed_if(self.test_network || sample),
            sample,
            accept_branch: self.accept_branch,
        })
    }
}

pub(super) async fn run(args: ServeArgs, context: Context) -> Result<CommandOutcome, Failure> {
    let settings = &context.settings;
    args.expect_known_source()?;
    let tls = tls(settings)?;
    let tokens = tokens(settings)?;
    let store = context.open().await?;
    let graphs = Arc::new(context.graphs());
    let clock = context.clock.clone();
    let host =
        ChainHost::load(Arc::clone(&store), graphs, clock, args.max_questions.into(), args.chain)
            .await?;
    let app =
        Arc::new(ChainApp { host: Arc::clone(&host), tokens, metrics: ChainMetrics::default() });
    let listener = bind(settings.listen, "listen", settings.listen_backlog)?;
    let admin = bind(settings.admin_listen, "admin-listen", settings.listen_backlog)?;
    let chain = args.chain.map_or("all", |chain| chain.info().id);
    let (api, admin_address) = (listener.local_addr()?, admin.local_addr()?);
    tracing::info!(%api, admin = %admin_address, chain, "serving chains");
    let scheme = if tls.is_some() { "https" } else { "http" };
    writeln!(
        output(),
        "Assay serves graphs to API servers at {scheme}://{api} (health and metrics: http://{admin_address})"
    )?;

    let acceptor = tls.as_ref().map(assay_api::Tls::acceptor).transpose()?;
    // Tasks that run beside questions, and end when this is dropped.
    let mut beside = JoinSet::new();
    beside.spawn(Arc::clone(&host).keep_intel(settings.refresh_interval));
    if let Some(mut changes) = store.subscribe() {
        let host = Arc::clone(&host);
        beside.spawn(async move {
            loop {
                changes.changed().await;
                host.request_refresh();
            }
        });
    }
    let neighbors = args.neighbors(settings)?;
    let environment = store.environment().await?;
    let source = Source { chain: args.followed(environment), files: args.files(environment) };
    if let (Some(chain), None) = (args.chain, &source.chain) {
        // A source that is no longer followed has no problem.
        let _ = host.graphs().note_source_problem(chain, None);
    }
    beside.spawn(fill_and_follow(Arc::clone(&host), neighbors, source));
    beside.spawn(keep_breakdowns(Arc::clone(&host) as Arc<dyn GraphOwner>));
    if let Some(tls) = tls {
        beside.spawn(tls.watch_files());
    }
    let draining = Arc::clone(&host);
    let served = Services {
        api: chain_api(&app).into(),
        admin: chain_admin(&app),
        draining: move || draining.start_draining(),
    };
    serve_until_stopped(served, settings, acceptor, listener, admin).await?;
    drop(beside);
    store.close().await;
    tracing::info!("stopped");
    Ok(CommandOutcome::Success)
}

/// The tokens of the programs that may send requests. Without tokens, only programs of this machine may send requests.
fn tokens(settings: &CliSettings) -> Result<Option<Tokens>, Failure> {
    match &settings.chain_token_file {
        Some(path) => {
            let tokens = Tokens::read(path);
            let invalid = |error| Failure::Usage(format!("--chain-token-file: {error}"));
            Ok(Some(tokens.map_err(invalid)?))
        }
        None if settings.listen.ip().is_loopback() => Ok(None),
        None => Err(Failure::Usage(format!(
            "--listen {} is reached from other machines: give --chain-token-file, a file with a token that API \
             servers show",
            settings.listen
        ))),
    }
}

/// Fills an empty data directory from a neighboring chain server, then follows the chain.
async fn fill_and_follow(host: Arc<ChainHost>, neighbors: Option<Arc<ServerSet>>, source: Source) {
    if let Some(neighbors) = neighbors {
        host.fill(neighbors.chain(), &neighbors).await;
    }
    let observer = |chain| FollowLog { host: Arc::clone(&host), chain };
    if let Some(followed) = source.chain {
        let (chain, graphs, clock) = (followed.chain, host.graphs(), host.clock());
        if chain.info().ledger == LedgerKind::Account {
            let ends = || host.account_ends(chain);
            followed.follow_accounts((graphs, &ends), clock, &observer(chain)).await;
        } else {
            let _mempool = host.mempools().open(chain, &followed.location);
            followed.follow(graphs, clock, &observer(chain)).await;
        }
    } else if let Some(files) = source.files {
        let ends = || host.account_ends(files.chain);
        files.follow(host.graphs(), &ends, &observer(files.chain)).await;
    }
}

/// Source of the blocks of a served chain.
struct Source {
    chain: Option<FollowedChain>,
    files: Option<TransferFolder>,
}

/// Counts the blocks that were recorded, and writes their number to the log.
struct FollowLog {
    host: Arc<ChainHost>,
    chain: ChainId,
}

impl IngestObserver for FollowLog {
    fn reached(&self, height: u64, target: u64, blocks: u64) {
        self.host.note_blocks(self.chain, blocks, target);
        tracing::debug!(chain = %self.chain, height, target, blocks, "blocks ingested");
    }

    fn notice(&self, message: &str) {
        tracing::warn!(chain = %self.chain, "{message}");
    }

    fn branch_refused(&self, refused: Option<&RefusedBranch>) {
        self.host.note_refused_branch(self.chain, refused);
    }
}
