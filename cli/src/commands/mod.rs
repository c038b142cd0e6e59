//! The commands, one module each. Commands print through [`Output`], so that a closed pipe ends the program without
//! an error.

mod address;
mod apply;
mod backup;
mod chain;
mod check;
mod check_transfer;
mod checks;
mod cluster;
mod entity;
mod export;
mod flags;
mod ingest;
mod ingest_chain;
mod ingest_transfers;
mod jobs;
mod keys;
mod labels;
mod locations;
mod logging;
mod manual;
mod migrate;
mod openapi;
mod policy;
mod policy_test;
mod probe;
mod progress;
mod rows;
mod sandbox;
mod screen;
mod serve;
mod sources;
mod span;
mod stored_manifests;
mod terminal;
mod trace;
mod tx;
mod tx_accounts;
mod usage;

use std::{
    env,
    io::{self, Write},
    path::{Path, PathBuf},
    process::ExitCode,
    sync::Arc,
};

use assay_address::{CanonicalAddress, ChainId};
use assay_database::DatabaseError;
use assay_egress::{AllowedSourcePaths, EgressError, EgressSettings};
use assay_engine::facts::Environment;
use assay_graph::{EmbeddedGraphs, Graph, GraphError};
use assay_input::InputError;
use assay_intel::{formats, import::ImportError};
use assay_redis::RedisClient;
use assay_service::{
    Databases,
    chains::subject::ReadError,
    manifests::{self, ApplyError},
    revocations::{Revocations, default_path},
};
use assay_store::{PostgresStore, SqliteStore, Store, StoreError};
use assay_system::Clock;
use assay_telemetry::{otlp::Collector, stage};
use clap::{Parser, Subcommand};
use serde::Serialize;
use tracing::Instrument;

use self::flags::CommonFlags;
use crate::settings::{CliSettings, Layers, read_file};

/// The exit codes and the order of the settings, at the end of the long help.
const EXIT_CODES: &str = "\
Exit codes:
  0   success
  1   failure of the database, the network or a file
  2   invalid usage or settings
  3   invalid input: a list, a manifest, an address or a transfer
  4   refused to protect stored data: a list is older, or a list, label set or price is implausible
With --exit-code, `check` and `check-transfer` exit with 10 for review, 11 for block and 12 for
indeterminate, and `address` with 3 if an address is invalid.

Settings are taken from flags, then ASSAY_... environment variables, then
assay.toml (or --config FILE). HTTPS_PROXY, HTTP_PROXY, NO_PROXY and
SSL_CERT_FILE apply to requests for lists, nodes, explorers and collectors.";

/// Blockchain address risk: checks, imports, tenants and the API server
#[derive(Debug, Parser)]
#[command(name = "assay", version, after_long_help = EXIT_CODES, max_term_width = 100)]
#[command(after_help = "`assay help` lists the exit codes, `assay help COMMAND` has examples.")]
pub struct Cli {
    #[command(flatten)]
    common: CommonFlags,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Serve(Box<serve::ServeArgs>),
    Check(check::CheckArgs),
    CheckTransfer(check_transfer::CheckTransferArgs),
    Screen(screen::ScreenArgs),
    Trace(trace::TraceArgs),
    Tx(tx::TxArgs),
    Cluster(cluster::ClusterArgs),
    /// Serve, back up, restore and verify the graph of an ingested chain
    #[command(subcommand)]
    Chain(chain::ChainCommand),
    Address(address::AddressArgs),
    Entity(entity::EntityArgs),
    /// Import sanctions lists, labels and blocks
    #[command(subcommand)]
    Ingest(ingest::IngestCommand),
    /// Export listings, labels, transactions, clusters, exposures and patterns
    #[command(subcommand)]
    Export(export::ExportCommand),
    Sources(sources::SourcesArgs),
    /// Withdraw labels and restore them
    #[command(subcommand)]
    Labels(labels::LabelsCommand),
    Apply(apply::ApplyArgs),
    Get(stored_manifests::GetArgs),
    Describe(stored_manifests::DescribeArgs),
    Delete(stored_manifests::DeleteArgs),
    Migrate(migrate::MigrateArgs),
    Backup(backup::BackupArgs),
    Restore(backup::RestoreArgs),
    /// Create, list, rotate and revoke API keys
    #[command(subcommand)]
    Keys(keys::KeysCommand),
    Sandbox(sandbox::SandboxArgs),
    /// Compare and test risk policies
    #[command(subcommand)]
    Policy(policy::PolicyCommand),
    Checks(checks::ChecksArgs),
    Usage(usage::UsageArgs),
    Jobs(jobs::JobsArgs),
    Purge(usage::PurgeArgs),
    Openapi(openapi::OpenapiArgs),
    Probe(probe::ProbeArgs),
    Manual(manual::ManualArgs),
    /// Print the completion script of a shell
    Completions {
        /// Shell
        shell: clap_complete::Shell,
    },
}

/// The result of a command that did not fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CommandOutcome {
    /// Success, with exit code 0.
    Success,
    /// Success with an exit code of its own.
    Code(u8),
}

/// Reason for which a command failed.
#[derive(Debug, thiserror::Error)]
enum Failure {
    /// Exit code 1.
    #[error("{0}")]
    Failed(String),
    /// Exit code 2.
    #[error("{0}")]
    Usage(String),
    /// Exit code 3.
    #[error("{0}")]
    Input(String),
    /// Exit code 4.
    #[error("{0}")]
    Refused(String),
    /// The reader of the output closed it, which is no failure of the command.
    #[error("the output was closed")]
    OutputClosed,
}

impl Failure {
    const fn code(&self) -> u8 {
        match self {
            Self::Failed(_) => 1,
            Self::Usage(_) => 2,
            Self::Input(_) => 3,
            Self::Refused(_) => 4,
            Self::OutputClosed => 0,
        }
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Missing(directory) => Self::Failed(format!(
                "there is no database in {}: import a list with `assay ingest sanctions`, or run `assay \
                 serve --sample` for a demo",
                directory.display()
            )),
            StoreError::Empty(place) => Self::Failed(format!(
                "the database {place} is empty: run `assay migrate`, then import a list"
            )),
            StoreError::Database(error) => error.into(),
            StoreError::UnknownKey(id) => Self::Input(format!("no such key: `{id}`")),
            other => Self::Failed(other.to_string()),
        }
    }
}

impl From<DatabaseError> for Failure {
    fn from(error: DatabaseError) -> Self {
        match error {
            DatabaseError::InvalidUrl(_) | DatabaseError::CredentialFile { .. } => {
                Self::Usage(error.to_string())
            }
            other => Self::Failed(other.to_string()),
        }
    }
}

impl From<GraphError> for Failure {
    fn from(error: GraphError) -> Self {
        match error {
            GraphError::SpentBefore { .. } | GraphError::SpentTwice(_) => {
                Self::Input(error.to_string())
            }
            other => Self::Failed(other.to_string()),
        }
    }
}

impl From<ReadError> for Failure {
    fn from(error: ReadError) -> Self {
        match error {
            ReadError::Store(error) => error.into(),
            ReadError::Graph(error) => error.into(),
            other => Self::Failed(other.to_string()),
        }
    }
}

impl From<ImportError> for Failure {
    fn from(error: ImportError) -> Self {
        match error {
            ImportError::Refused { .. } => Self::Refused(error.to_string()),
            ImportError::Option { .. } => Self::Usage(error.to_string()),
            ImportError::Store(error) => error.into(),
            ImportError::Fetch(_)
            | ImportError::Read(formats::FormatReadError::Input(InputError::Spool(_)))
            | ImportError::Stopped => Self::Failed(error.to_string()),
            ImportError::Read(_)
            | ImportError::NoLabels { .. }
            | ImportError::NoPrices { .. }
            | ImportError::Name(_)
            | ImportError::Format(_) => Self::Input(error.to_string()),
        }
    }
}

impl From<ApplyError> for Failure {
    fn from(error: ApplyError) -> Self {
        match error {
            ApplyError::Problems(problems) => {
                let lines: Vec<String> = problems.iter().map(ToString::to_string).collect();
                Self::Input(format!("nothing was applied:\n  {}", lines.join("\n  ")))
            }
            ApplyError::Store(error) => error.into(),
        }
    }
}

impl From<EgressError> for Failure {
    fn from(error: EgressError) -> Self {
        Self::Usage(error.to_string())
    }
}

impl From<manifests::ReadError> for Failure {
    fn from(error: manifests::ReadError) -> Self {
        Self::Input(error.to_string())
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::BrokenPipe {
            Self::OutputClosed
        } else {
            Self::Failed(error.to_string())
        }
    }
}

/// Standard output, without colors where it is no terminal.
type Output = anstream::AutoStream<io::StdoutLock<'static>>;

fn output() -> Output {
    anstream::AutoStream::auto(io::stdout().lock())
}

/// Parses an address that the command line names.
fn parse_address(chain: ChainId, address: &str) -> Result<CanonicalAddress, Failure> {
    CanonicalAddress::parse(chain, address)
        .map_err(|error| Failure::Input(format!("not a valid {chain} address: {error}")))
}

/// Prints a value as JSON.
fn print_json(value: &impl Serialize) -> Result<CommandOutcome, Failure> {
    let text = serde_json::to_string_pretty(value).map_err(io::Error::from)?;
    writeln!(output(), "{text}")?;
    Ok(CommandOutcome::Success)
}

/// Parses the command line, runs the command and returns its exit code.
#[must_use]
pub fn run() -> ExitCode {
    let cli: Cli = flags::parse();
    let outcome = settings(&cli).and_then(|settings| {
        if matches!(cli.command, Command::Serve(_) | Command::Ingest(_) | Command::Chain(_)) {
            EgressSettings::from_environment().check()?;
        }
        let collector = if is_traced(&cli.command) { logging::collector(&settings)? } else { None };
        logging::start(&settings, collector.as_ref())?;
        let _lines = is_server(&cli.command).then(assay_telemetry::batch_lines);
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
        let done = runtime.block_on(execute(cli, settings, collector.clone()));
        if let Some(collector) = collector {
            runtime.block_on(collector.finish());
        }
        // A thread that waits for a server does not delay the exit.
        runtime.shutdown_background();
        done
    });
    match outcome {
        Ok(CommandOutcome::Success) | Err(Failure::OutputClosed) => ExitCode::SUCCESS,
        Ok(CommandOutcome::Code(code)) => ExitCode::from(code),
        Err(failure) => {
            let style = anstyle::AnsiColor::Red.on_default().bold();
            // If standard error fails too, the exit code remains.
            let text = format!("{style}error:{style:#} {failure}");
            let text = terminal::wrapped(terminal::error_width(), &text);
            let _ = write!(anstream::stderr(), "{text}");
            ExitCode::from(failure.code())
        }
    }
}

/// Servers write their log lines in batches.
const fn is_server(command: &Command) -> bool {
    matches!(command, Command::Serve(_) | Command::Chain(chain::ChainCommand::Serve(_)))
}

/// Long-running and scheduled commands send traces.
const fn is_traced(command: &Command) -> bool {
    matches!(
        command,
        Command::Serve(_)
            | Command::Chain(chain::ChainCommand::Serve(_))
            | Command::Ingest(_)
            | Command::Migrate(_)
            | Command::Purge(_)
    )
}

async fn execute(
    cli: Cli,
    settings: CliSettings,
    collector: Option<Collector>,
) -> Result<CommandOutcome, Failure> {
    let sample = cli.common.sample;
    let context = Context { settings, sample, clock: Clock::system(), collector };
    match cli.command {
        Command::Serve(args) => serve::run(*args, context).await,
        Command::Check(args) => check::run(&args, &context).await,
        Command::CheckTransfer(args) => check_transfer::run(&args, &context).await,
        Command::Trace(args) => trace::run(&args, &context).await,
        Command::Tx(args) => tx::run(&args, &context).await,
        Command::Cluster(args) => cluster::run(&args, &context).await,
        Command::Chain(command) => chain::run(command, context).await,
        Command::Address(args) => address::run(&args, &context).await,
        Command::Sandbox(args) => sandbox::run(&args),
        Command::Entity(args) => entity::run(&args, &context).await,
        Command::Ingest(command) => ingest::run(command, &context).await,
        Command::Export(command) => export::run(command, &context).await,
        Command::Sources(args) => sources::run(&args, &context).await,
        Command::Jobs(args) => jobs::run(&args, &context).await,
        Command::Backup(args) => backup::backup(&args, &context).await,
        Command::Restore(args) => backup::restore(&args, &context).await,
        Command::Migrate(args) => migrate::run(&args, &context).instrument(stage!("migrate")).await,
        Command::Apply(args) => apply::run(&args, &context).await,
        Command::Get(args) => stored_manifests::get(&args, &context).await,
        Command::Describe(args) => stored_manifests::describe(&args, &context).await,
        Command::Delete(args) => stored_manifests::delete(&args, &context).await,
        Command::Keys(command) => keys::run(command, &context).await,
        Command::Screen(args) => screen::run(&args, &context).await,
        Command::Labels(command) => labels::run(command, &context).await,
        Command::Policy(command) => policy::run(command, &context).await,
        Command::Checks(args) => checks::run(&args, &context).await,
        Command::Usage(args) => usage::usage(&args, &context).await,
        Command::Purge(args) => usage::purge(&args, &context).instrument(stage!("purge")).await,
        Command::Openapi(_) => openapi::run(),
        Command::Probe(args) => probe::run(&args),
        Command::Manual(args) => manual::run(&args, flags::command::<Cli>()),
        Command::Completions { shell } => {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut flags::command::<Cli>(), "assay", &mut script);
            output().write_all(&script)?;
            Ok(CommandOutcome::Success)
        }
    }
}

/// The graph of a chain that was ingested.
fn graph(graphs: &EmbeddedGraphs, chain: ChainId) -> Result<Arc<dyn Graph>, Failure> {
    require_graph(chain, graphs.graph(chain)?)
}

/// The graph of a chain, if there is one.
fn require_graph<G>(chain: ChainId, graph: Option<G>) -> Result<G, Failure> {
    graph.ok_or_else(|| {
        Failure::Failed(match chain.info().outputs() {
            Some(_) => {
                format!("the {chain} chain is not ingested: run `assay ingest chain {chain}`")
            }
            None => format!(
                "no transfers of the {chain} chain are recorded: run `assay ingest chain {chain} \
                 --transfers FILE`; lists and labels are searched without (`assay check {chain} ADDRESS`)"
            ),
        })
    })
}

/// The state of a chain, if it holds a block.
fn require_block<V>(chain: ChainId, view: Option<V>) -> Result<V, Failure> {
    view.ok_or_else(|| Failure::Failed(format!("the {chain} chain holds no block yet")))
}

/// The environment of a command.
struct Context {
    settings: CliSettings,
    sample: bool,
    clock: Clock,
    /// Collector of traces and metrics.
    collector: Option<Collector>,
}

impl Context {
    /// The list of revoked keys outside the database.
    fn revocations(&self) -> Revocations {
        let place = self.settings.revocations.clone();
        Revocations::in_file(place.unwrap_or_else(|| default_path(&self.settings.data_dir)))
    }

    /// The files that manifests of sources may name.
    fn allowed_source_paths(&self) -> AllowedSourcePaths {
        let settings = &self.settings;
        let CliSettings { source_dir, data_dir, credentials_dirs, .. } = settings;
        AllowedSourcePaths {
            source_dir: source_dir.clone().unwrap_or_else(|| data_dir.join("sources")),
            credentials_dirs: credentials_dirs.clone(),
            source_credentials: settings.source_credentials.clone(),
        }
    }

    /// Client of the Redis that servers share, and the prefix of key names there.
    fn redis(&self) -> Option<(RedisClient, String)> {
        let settings = self.settings.redis()?;
        Some((RedisClient::new(settings), self.settings.redis_prefix.clone()))
    }

    /// Opens the databases, for commands that only read.
    async fn open_databases(&self) -> Result<Databases, Failure> {
        self.with_chain_servers(self.open_with_graphs().await?)
    }

    /// Opens the store, for commands that only read.
    async fn open(&self) -> Result<Arc<dyn Store>, Failure> {
        Ok(self.open_with_graphs().await?.store)
    }

    /// Opens the store, or creates it with default manifests.
    async fn open_or_create(&self) -> Result<Arc<dyn Store>, Failure> {
        Ok(self.open_or_create_with_graphs().await?.store)
    }

    /// Opens the databases, or creates them with default manifests.
    async fn open_or_create_databases(&self) -> Result<Databases, Failure> {
        self.with_chain_servers(self.open_or_create_with_graphs().await?)
    }

    /// Adds the chain servers, if there are any.
    fn with_chain_servers(&self, databases: Databases) -> Result<Databases, Failure> {
        let servers = self.settings.chain_servers();
        let servers = servers.map_err(|error| Failure::Usage(error.to_string()))?;
        if !servers.is_empty() {
            let checked = self.settings.chain_credentials().check_token();
            checked.map_err(|error| Failure::Usage(format!("--chain-token-file: {error}")))?;
        }
        // The demo data set has a chain of its own.
        if self.sample && !servers.is_empty() {
            return Err(Failure::Usage(
                "chain-servers: the demo data set keeps its chain in the data directory; unset \
                 chain-servers, or leave out --sample"
                    .into(),
            ));
        }
        Ok(databases.with_chain_servers(servers))
    }

    /// Opens the store with the graphs in the data directory, for commands that only read.
    async fn open_with_graphs(&self) -> Result<Databases, Failure> {
        let store: Arc<dyn Store> = match self.settings.database() {
            Some(address) => {
                let store = PostgresStore::open(address).await?;
                let folder = &self.settings.data_dir;
                // A command that only reads makes no folder where it happens to run.
                Arc::new(if folder.is_dir() { store.with_cache_folder(folder) } else { store })
            }
            None => Arc::new(SqliteStore::open(&self.settings.data_dir).await?),
        };
        let databases = Databases::without_chain_servers(store, Arc::new(self.graphs()));
        Ok(databases.with_files(self.allowed_source_paths()))
    }

    /// Opens the store with the graphs in the data directory, or creates it with default manifests.
    async fn open_or_create_with_graphs(&self) -> Result<Databases, Failure> {
        let environment = if self.sample { Environment::Sample } else { Environment::Production };
        let directory = &self.settings.data_dir;
        let store: Arc<dyn Store> = match self.settings.database() {
            Some(address) => {
                let store = PostgresStore::open_or_create(address, environment).await?;
                Arc::new(store.with_cache_folder(directory))
            }
            None => Arc::new(SqliteStore::open_or_create(directory, environment).await?),
        };
        manifests::seed(&*store, self.clock.now()).await?;
        let databases = Databases::without_chain_servers(store, Arc::new(self.graphs()));
        Ok(databases.with_files(self.allowed_source_paths()))
    }

    /// The graphs in the data directory.
    fn graphs(&self) -> EmbeddedGraphs {
        EmbeddedGraphs::new(&self.settings.data_dir)
    }
}

fn settings(cli: &Cli) -> Result<CliSettings, Failure> {
    let mut layers = Layers::default();
    let common = &cli.common;
    common.flags(&mut layers);
    match &cli.command {
        Command::Serve(args) => args.flags(&mut layers),
        Command::Chain(chain::ChainCommand::Serve(args)) => args.flags(&mut layers),
        _ => {}
    }
    if common.sample {
        layers.default_of("data-dir", "assay-sample");
    }
    layers.environment(
        env::vars_os().filter_map(|(name, value)| {
            Some((name.into_string().ok()?, value.into_string().ok()?))
        }),
    );
    if let Ok(endpoint) = env::var("OTEL_EXPORTER_OTLP_ENDPOINT") {
        layers.default_of("otlp-endpoint", &endpoint);
    }
    let named = common.config.clone().or_else(|| env::var_os("ASSAY_CONFIG").map(PathBuf::from));
    let usual = Path::new("assay.toml");
    let file = named.or_else(|| usual.is_file().then(|| usual.to_owned()));
    if let Some(path) = file {
        let text = read_file(&path).map_err(|error| Failure::Usage(error.to_string()))?;
        let name = path.display().to_string();
        layers.file(&name, &text).map_err(|error| Failure::Usage(error.to_string()))?;
    }
    let mut settings = CliSettings::resolve(&layers).map_err(|problems| {
        let lines: Vec<String> = problems.iter().map(ToString::to_string).collect();
        Failure::Usage(format!("invalid settings:\n  {}", lines.join("\n  ")))
    })?;
    settings.read_redis_url().map_err(Failure::Usage)?;
    Ok(settings)
}
