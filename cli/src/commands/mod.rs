//! The command line. Each command is one module; what it prints goes through [`Output`], so that a
//! closed pipe ends the program quietly.

mod address;
mod apply;
mod backup;
mod check;
mod export;
mod export_transfers;
mod ingest;
mod ingest_chain;
mod jobs;
mod keys;
mod labels;
mod logging;
mod migrate;
mod openapi;
mod policy;
mod probe;
mod progress;
mod rows;
mod screen;
mod serve;
mod sources;
mod trace;
mod tx;
mod usage;

use std::{
    env,
    io::{self, Write},
    path::{Path, PathBuf},
    process::ExitCode,
    sync::Arc,
};

use assay_database::DatabaseError;
use assay_egress::{EgressError, EgressSettings};
use assay_engine::{chain::ChainId, facts::Environment};
use assay_graph::{Graph, GraphError, GraphStore, PostgresGraphs, SqliteGraphs};
use assay_input::InputError;
use assay_intel::{formats, import::ImportError};
use assay_redis::RedisClient;
use assay_service::{
    Databases,
    chains::reader::ReadError,
    manifests::{self, ApplyError},
    revocations::{Revocations, usual_place},
};
use assay_store::{PostgresStore, SqliteStore, Store, StoreError};
use assay_system::Clock;
use assay_telemetry::{otlp::Collector, stage};
use clap::{Args, CommandFactory, Parser, Subcommand};
use tracing::Instrument;

use crate::settings::{Layers, Settings, read_file};

/// What the exit codes mean; shown in the help.
const EXIT_CODES: &str = "\
Exit codes:
  0   done
  1   failed: the database, the network or a file
  2   wrong usage or settings
  3   wrong input: a list, a manifest or an address
  4   refused to protect the data: a list that is older or implausible
With --exit-code, `check` ends with 10 for review, 11 for block and 12 for
indeterminate, and `address` with 3 where any address is not valid.

Settings come from flags, then ASSAY_... variables, then assay.toml (or
--config FILE), in that order. HTTPS_PROXY, HTTP_PROXY, NO_PROXY and
SSL_CERT_FILE say how lists, nodes, explorers and a collector are reached.";

/// Assay: how risky is this blockchain address?
#[derive(Debug, Parser)]
#[command(name = "assay", version, after_long_help = EXIT_CODES, max_term_width = 100)]
#[command(
    after_help = "`assay help` tells what the exit codes mean; `assay help COMMAND` shows examples."
)]
pub struct Cli {
    #[command(flatten)]
    common: CommonFlags,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Args)]
struct CommonFlags {
    /// Where the embedded database lives [default: assay-data; with --sample assay-sample]
    #[arg(long, global = true, value_name = "DIR")]
    data_dir: Option<String>,
    /// A PostgreSQL database to use instead of the embedded one; better set by `ASSAY_DATABASE_URL`,
    /// because other users of the machine see what flags say
    #[arg(long, global = true, value_name = "URL")]
    database_url: Option<String>,
    /// A file with that URL, which is read again as it changes
    #[arg(long, global = true, value_name = "FILE")]
    database_url_file: Option<String>,
    /// A file with the password for that URL, which is read again as it changes
    #[arg(long, global = true, value_name = "FILE")]
    database_password_file: Option<String>,
    /// Where revoked keys are noted too, outside the database [default: revoked-keys.jsonl in the data
    /// directory]
    #[arg(long, global = true, value_name = "FILE")]
    revocations: Option<String>,
    /// A Redis that servers share: redis://, redis+sentinel://, redis+cluster://; rediss for TLS
    #[arg(long, global = true, value_name = "URL")]
    redis_url: Option<String>,
    /// A file with that URL, read when the program starts
    #[arg(long, global = true, value_name = "FILE")]
    redis_url_file: Option<String>,
    /// A file that holds the password for Redis
    #[arg(long, global = true, value_name = "FILE")]
    redis_password_file: Option<String>,
    /// Whom to trust where Redis is reached over TLS, in PEM
    #[arg(long, global = true, value_name = "FILE")]
    redis_ca_file: Option<String>,
    /// What names in Redis begin with: one for each installation [default: assay]
    #[arg(long, global = true, value_name = "TEXT")]
    redis_prefix: Option<String>,
    /// Use the made-up world for trying Assay out
    #[arg(long, global = true)]
    sample: bool,
    /// A file with settings [default: assay.toml, where it is there]
    #[arg(long, global = true, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Which log lines are written: off, error, warn, info, debug [default: info]
    #[arg(long, global = true, value_name = "LEVEL")]
    log_level: Option<String>,
    /// How log lines are written: text or json [default: text]
    #[arg(long, global = true, value_name = "FORMAT")]
    log_format: Option<String>,
}

#[derive(Debug, Subcommand)]
enum Command {
    Serve(Box<serve::ServeArgs>),
    Check(check::CheckArgs),
    Screen(screen::ScreenArgs),
    Trace(trace::TraceArgs),
    Tx(tx::TxArgs),
    Address(address::AddressArgs),
    /// Import lists, labels and chains
    #[command(subcommand)]
    Ingest(ingest::IngestCommand),
    /// Write out what is stored
    #[command(subcommand)]
    Export(export::ExportCommand),
    Sources(sources::SourcesArgs),
    /// Withdraw labels by hand, and take that back
    #[command(subcommand)]
    Labels(labels::LabelsCommand),
    Apply(apply::ApplyArgs),
    Migrate(migrate::MigrateArgs),
    Backup(backup::BackupArgs),
    Restore(backup::RestoreArgs),
    /// Make, list, rotate and revoke API keys
    #[command(subcommand)]
    Keys(keys::KeysCommand),
    /// Tell what a change of risk policy would change
    #[command(subcommand)]
    Policy(policy::PolicyCommand),
    Usage(usage::UsageArgs),
    Jobs(jobs::JobsArgs),
    Purge(usage::PurgeArgs),
    Openapi(openapi::OpenapiArgs),
    Probe(probe::ProbeArgs),
    /// Print what a shell needs to complete commands
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
}

/// How a command ended, where it did not fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Done {
    Well,
    /// With a code that says more.
    Code(u8),
}

/// Why a command failed.
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
    /// The reader of our output went away: nothing to complain about.
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
                "there is no database in {}: import a list with `assay ingest sanctions`, or try \
                 `assay serve --sample`",
                directory.display()
            )),
            StoreError::Empty(place) => Self::Failed(format!(
                "the database {place} holds nothing yet: run `assay migrate`, then import a list"
            )),
            StoreError::Database(error) => error.into(),
            StoreError::UnknownKey(id) => Self::Input(format!("there is no key `{id}`")),
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
            GraphError::Database(error) => error.into(),
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
            | ImportError::Read(formats::ReadError::Input(InputError::Spool(_)))
            | ImportError::Stopped => Self::Failed(error.to_string()),
            ImportError::Read(_)
            | ImportError::NoLabels { .. }
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

/// Standard output; colours are left out where nobody would see them.
type Output = anstream::AutoStream<io::StdoutLock<'static>>;

fn output() -> Output {
    anstream::AutoStream::auto(io::stdout().lock())
}

/// Reads the command line, runs the command, and says how it ended.
#[must_use]
pub fn run() -> ExitCode {
    let cli = Cli::parse();
    let outcome = settings(&cli).and_then(|settings| {
        if matches!(cli.command, Command::Serve(_) | Command::Ingest(_)) {
            EgressSettings::from_environment().check()?;
        }
        let collector = if is_traced(&cli.command) { logging::collector(&settings)? } else { None };
        logging::start(&settings, collector.as_ref())?;
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
        let done = runtime.block_on(execute(cli, settings, collector.clone()));
        if let Some(collector) = collector {
            runtime.block_on(collector.finish());
        }
        // A thread that waits for a server holds nobody up.
        runtime.shutdown_background();
        done
    });
    match outcome {
        Ok(Done::Well) | Err(Failure::OutputClosed) => ExitCode::SUCCESS,
        Ok(Done::Code(code)) => ExitCode::from(code),
        Err(failure) => {
            let style = anstyle::AnsiColor::Red.on_default().bold();
            // Where even this cannot be written, the exit code says enough.
            let _ = writeln!(anstream::stderr(), "{style}error:{style:#} {failure}");
            ExitCode::from(failure.code())
        }
    }
}

/// Whether a command is one of those that run by themselves, and are looked at from afar.
const fn is_traced(command: &Command) -> bool {
    matches!(
        command,
        Command::Serve(_) | Command::Ingest(_) | Command::Migrate(_) | Command::Purge(_)
    )
}

async fn execute(
    cli: Cli,
    settings: Settings,
    collector: Option<Collector>,
) -> Result<Done, Failure> {
    let sample = cli.common.sample;
    let context = Context { settings, sample, clock: Clock::system(), collector };
    match cli.command {
        Command::Serve(args) => serve::run(*args, context).await,
        Command::Check(args) => check::run(&args, &context).await,
        Command::Trace(args) => trace::run(&args, &context).await,
        Command::Tx(args) => tx::run(&args, &context).await,
        Command::Address(args) => address::run(&args),
        Command::Ingest(command) => ingest::run(command, &context).await,
        Command::Export(command) => export::run(command, &context).await,
        Command::Sources(args) => sources::run(&args, &context).await,
        Command::Jobs(args) => jobs::run(&args, &context).await,
        Command::Backup(args) => backup::backup(&args, &context).await,
        Command::Restore(args) => backup::restore(&args, &context).await,
        Command::Migrate(args) => migrate::run(&args, &context).instrument(stage!("migrate")).await,
        Command::Apply(args) => apply::run(&args, &context).await,
        Command::Keys(command) => keys::run(command, &context).await,
        Command::Screen(args) => screen::run(&args, &context).await,
        Command::Labels(command) => labels::run(command, &context).await,
        Command::Policy(command) => policy::run(command, &context).await,
        Command::Usage(args) => usage::usage(&args, &context).await,
        Command::Purge(args) => usage::purge(&args, &context).instrument(stage!("purge")).await,
        Command::Openapi(_) => openapi::run(),
        Command::Probe(args) => probe::run(&args),
        Command::Completions { shell } => {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut Cli::command(), "assay", &mut script);
            output().write_all(&script)?;
            Ok(Done::Well)
        }
    }
}

/// The graph of a chain that was ingested.
async fn graph(graphs: &dyn GraphStore, chain: ChainId) -> Result<Arc<dyn Graph>, Failure> {
    let found = graphs.graph(chain).await?;
    found.ok_or_else(|| {
        Failure::Failed(format!(
            "the {chain} chain was not ingested: `assay ingest chain {chain}` does that"
        ))
    })
}

/// What every command has at hand.
struct Context {
    settings: Settings,
    sample: bool,
    clock: Clock,
    /// Where traces are sent, and a server's metrics.
    collector: Option<Collector>,
}

impl Context {
    /// The list of revoked keys outside the database.
    fn revocations(&self) -> Revocations {
        let place = self.settings.revocations.clone();
        Revocations::at(place.unwrap_or_else(|| usual_place(&self.settings.data_dir)))
    }

    /// A way to the Redis that servers share, and what names there begin with.
    fn redis(&self) -> Option<(RedisClient, String)> {
        let settings = self.settings.redis()?;
        Some((RedisClient::new(settings), self.settings.redis_prefix.clone()))
    }

    /// The databases, for commands that only read.
    async fn open_databases(&self) -> Result<Databases, Failure> {
        let directory = &self.settings.data_dir;
        Ok(match self.settings.database() {
            Some(address) => on_postgres(PostgresStore::open(address).await?),
            None => in_files(directory, SqliteStore::open(directory).await?),
        })
    }

    /// The store alone, for commands that only read.
    async fn open(&self) -> Result<Arc<dyn Store>, Failure> {
        Ok(self.open_databases().await?.store)
    }

    /// The store alone, made where there is none, with its plans, policy and feeds.
    async fn open_or_create(&self) -> Result<Arc<dyn Store>, Failure> {
        Ok(self.open_or_create_databases().await?.store)
    }

    /// The databases, made where there are none, with plans, policy and feeds.
    async fn open_or_create_databases(&self) -> Result<Databases, Failure> {
        let environment = if self.sample { Environment::Sample } else { Environment::Production };
        let directory = &self.settings.data_dir;
        let databases = match self.settings.database() {
            Some(address) => {
                on_postgres(PostgresStore::open_or_create(address, environment).await?)
            }
            None => in_files(directory, SqliteStore::open_or_create(directory, environment).await?),
        };
        manifests::seed(&*databases.store, self.clock.now()).await?;
        Ok(databases)
    }
}

/// The store and the graphs in one `PostgreSQL` database.
fn on_postgres(store: PostgresStore) -> Databases {
    let graphs = PostgresGraphs::new(store.database().clone());
    Databases { store: Arc::new(store), graphs: Arc::new(graphs) }
}

/// The store and the graphs in one data directory.
fn in_files(directory: &Path, store: SqliteStore) -> Databases {
    Databases { store: Arc::new(store), graphs: Arc::new(SqliteGraphs::new(directory)) }
}

fn settings(cli: &Cli) -> Result<Settings, Failure> {
    let mut layers = Layers::default();
    let common = &cli.common;
    layers.flag("data-dir", common.data_dir.clone());
    layers.flag("database-url", common.database_url.clone());
    layers.flag("database-url-file", common.database_url_file.clone());
    layers.flag("database-password-file", common.database_password_file.clone());
    layers.flag("revocations", common.revocations.clone());
    layers.flag("redis-url", common.redis_url.clone());
    layers.flag("redis-url-file", common.redis_url_file.clone());
    layers.flag("redis-password-file", common.redis_password_file.clone());
    layers.flag("redis-ca-file", common.redis_ca_file.clone());
    layers.flag("redis-prefix", common.redis_prefix.clone());
    layers.flag("log-level", common.log_level.clone());
    layers.flag("log-format", common.log_format.clone());
    if let Command::Serve(args) = &cli.command {
        args.flags(&mut layers);
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
    let mut settings = Settings::resolve(&layers).map_err(|problems| {
        let lines: Vec<String> = problems.iter().map(ToString::to_string).collect();
        Failure::Usage(format!("the settings are wrong:\n  {}", lines.join("\n  ")))
    })?;
    settings.read_redis_url().map_err(Failure::Usage)?;
    Ok(settings)
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }
}
