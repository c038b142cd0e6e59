//! `assay ingest`: the import of sanctions lists, labels and prices.

use std::{io::Write, path::PathBuf, sync::Arc, time::Duration};

use assay_address::ChainId;
use assay_egress::{CredentialsFile, Networks, ServerName};
use assay_engine::names::SourceId;
use assay_input::{Encoding, UrlAccess};
use assay_intel::{
    IntelSnapshot,
    formats::{self, Format, IntelKind},
    import::{ImportError, ImportOutcome, ImportRequest, ImportedContent, import},
    plan::ImportOptions,
};
use assay_telemetry::stage;
use clap::{
    Args, Subcommand,
    builder::{PossibleValue, PossibleValuesParser, TypedValueParser},
};
use jiff::civil::Date;
use tracing::Instrument;

use super::{
    CommandOutcome, Context, Failure,
    check::directory,
    ingest_chain::{self, ChainArgs},
    output, print_json,
    progress::Progress,
    terminal::text_width,
};
use crate::render::import_outcome;

#[derive(Debug, Subcommand)]
pub(super) enum IngestCommand {
    Sanctions(SanctionsArgs),
    Labels(LabelsArgs),
    Prices(PricesArgs),
    Chain(ChainArgs),
}

const EXAMPLES: &str = "\
Examples:
  assay ingest sanctions sdn_advanced.xml --format ofac-advanced
  assay ingest sanctions https://example.org/sdn_advanced.zip --format ofac-advanced
  assay ingest sanctions own.csv --format csv --source own --published-on 2026-11-20
  assay ingest sanctions --all";

/// Import a sanctions list from a file or a URL
///
/// Packed files (gzip, bzip2, xz, zstd, zip) are unpacked. The import is one transaction: a truncated, damaged
/// or implausible file changes nothing. The same file again changes nothing and counts as verified.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct SanctionsArgs {
    /// A file, or an http or https URL
    #[arg(value_name = "FILE|URL", required_unless_present = "all")]
    location: Option<String>,
    /// Format of the list; `csv` and `jsonl` are short for Assay's own formats
    #[arg(long, value_parser = parser(IntelKind::Listings), required_unless_present = "all")]
    format: Option<&'static Format>,
    /// Import every enabled list in parallel; a failed import does not affect the other imports
    #[arg(long, conflicts_with_all = [
        "location", "format", "source", "published_on", "encoding", "history", "accept_digest",
    ])]
    all: bool,
    /// Name of the source [default: ofac-sdn for OFAC's formats]
    #[arg(long, value_name = "NAME")]
    source: Option<SourceId>,
    /// Date of issue of a list in Assay's own formats, which do not state it [default: today]
    #[arg(long, value_name = "DATE")]
    published_on: Option<Date>,
    /// Encoding of a file that states none by a byte order mark, such as windows-1255 [default: utf-8]
    #[arg(long, value_name = "NAME")]
    encoding: Option<Encoding>,
    /// Record an older publication as history instead of refusing it
    #[arg(long)]
    history: bool,
    /// Accept the file with this digest although it failed the plausibility check
    #[arg(long, value_name = "SHA256", value_parser = digest)]
    accept_digest: Option<String>,
    /// Limit of the time for fetching, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 300)]
    timeout: u64,
    /// Private networks from which the file may be fetched, such as 10.0.0.0/8 [default: the setting]
    #[arg(long, value_name = "NETWORKS")]
    source_networks: Option<Networks>,
    #[command(flatten)]
    credentials: CredentialsArgs,
    /// Print the changes as JSON, with every row that was left out
    #[arg(long)]
    json: bool,
}

const LABEL_EXAMPLES: &str = "\
Examples:
  assay ingest labels tagpacks/ --format tagpack --source graphsense
  assay ingest labels etherscan.json --format explorer --source etherscan
  assay ingest labels own.csv --format csv --source own";

/// Import labels from a file, a folder or a URL
///
/// The labels replace those that the source had before, in one transaction. A damaged file, or one that loses more
/// than half of ten or more labels, changes nothing; a row that is wrong is left out and reported. The same files again
/// change nothing and count as verified.
#[derive(Debug, Args)]
#[command(after_help = LABEL_EXAMPLES)]
pub(super) struct LabelsArgs {
    /// A file, a folder, or an http or https URL
    #[arg(value_name = "PATH|URL")]
    location: String,
    /// Format of the labels; `csv` and `jsonl` are short for Assay's own formats
    #[arg(long, value_parser = parser(IntelKind::Labels))]
    format: &'static Format,
    /// Name of the source
    #[arg(long, value_name = "NAME")]
    source: Option<SourceId>,
    /// Blockchain of labels whose files do not state it
    #[arg(long, value_name = "CHAIN")]
    blockchain: Option<ChainId>,
    /// Encoding of files that state none by a byte order mark, such as windows-1252 [default: utf-8]
    #[arg(long, value_name = "NAME")]
    encoding: Option<Encoding>,
    /// Date of issue of a label set that does not state it [default: today]
    #[arg(long, value_name = "DATE")]
    published_on: Option<Date>,
    /// Accept the files with this digest although more than half of the labels are gone
    #[arg(long, value_name = "SHA256", value_parser = digest)]
    accept_digest: Option<String>,
    /// Limit of the time for fetching, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 300)]
    timeout: u64,
    /// Private networks from which the files may be fetched, such as 10.0.0.0/8 [default: the setting]
    #[arg(long, value_name = "NETWORKS")]
    source_networks: Option<Networks>,
    #[command(flatten)]
    credentials: CredentialsArgs,
    /// Print the changes as JSON, with every row that was left out
    #[arg(long)]
    json: bool,
}

const PRICE_EXAMPLES: &str = "\
Examples:
  assay ingest prices prices.csv
  assay ingest prices https://example.org/prices.jsonl --source own-prices

prices.csv:
  asset,day,usd
  eth/native,2026-01-31,3021.55
  btc/native,2026-01-31,90210.1
  eth/0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48,2026-01-31,0.9998";

/// Import daily prices of assets in US dollars
///
/// A file has the columns `asset` (chain and asset: `eth/native`, or `eth/0x...` for a token by its contract), `day`
/// (of UTC) and `usd` (price of one whole unit). Each price replaces the one of the same asset and day; other prices
/// stay. A file with a row that cannot be read, or with a price 100 times that of a neighboring day, changes nothing.
/// The same file again changes nothing and counts as verified.
#[derive(Debug, Args)]
#[command(after_help = PRICE_EXAMPLES)]
pub(super) struct PricesArgs {
    /// A file, a folder, or an http or https URL
    #[arg(value_name = "PATH|URL")]
    location: String,
    /// Format of the prices [default: jsonl for names that end so, else csv]
    #[arg(long, value_parser = parser(IntelKind::Prices))]
    format: Option<&'static Format>,
    /// Name of the source [default: prices]
    #[arg(long, value_name = "NAME")]
    source: Option<SourceId>,
    /// Encoding of files that state none by a byte order mark, such as windows-1252 [default: utf-8]
    #[arg(long, value_name = "NAME")]
    encoding: Option<Encoding>,
    /// Accept the files with this digest although a price is implausible
    #[arg(long, value_name = "SHA256", value_parser = digest)]
    accept_digest: Option<String>,
    /// Limit of the time for fetching, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 300)]
    timeout: u64,
    /// Private networks from which the files may be fetched, such as 10.0.0.0/8 [default: the setting]
    #[arg(long, value_name = "NETWORKS")]
    source_networks: Option<Networks>,
    #[command(flatten)]
    credentials: CredentialsArgs,
    /// Print the changes as JSON
    #[arg(long)]
    json: bool,
}

impl PricesArgs {
    /// The format of the flag, else that of the file's name.
    fn format(&self) -> Result<&'static Format, Failure> {
        let path = self.location.split(['?', '#']).next().unwrap_or_default();
        let name = path.rsplit('/').next().unwrap_or_default().to_ascii_lowercase();
        let is_json = name.split('.').any(|part| matches!(part, "jsonl" | "ndjson"));
        let by_name = || formats::by_name(IntelKind::Prices, if is_json { "jsonl" } else { "csv" });
        self.format.map_or_else(by_name, Ok).map_err(|error| Failure::Usage(error.to_string()))
    }
}

/// Credentials for the server of a URL.
#[derive(Debug, Args)]
struct CredentialsArgs {
    /// File that holds `user:password` or a token for the server
    #[arg(long, value_name = "FILE")]
    credentials_file: Option<PathBuf>,
    /// Servers that may be sent the credentials, separated by commas, such as lists.example:443 [default: that of the
    /// URL]
    #[arg(long, value_name = "HOST:PORT", value_delimiter = ',', requires = "credentials_file")]
    credentials_hosts: Option<Vec<ServerName>>,
}

impl CredentialsArgs {
    fn file(self) -> Option<CredentialsFile> {
        let file = self.credentials_file.map(CredentialsFile::new)?;
        Some(file.restricted_to(self.credentials_hosts))
    }
}

/// Parses the identifier of a format of a kind.
fn parser(kind: IntelKind) -> impl TypedValueParser<Value = &'static Format> {
    let values = formats::of_kind(kind)
        .map(|format| PossibleValue::new(format.id).help(format.title).aliases(format.short_id));
    PossibleValuesParser::new(values.collect::<Vec<_>>())
        .try_map(move |id| formats::by_name(kind, &id))
}

fn digest(text: &str) -> Result<String, String> {
    let text = text.strip_prefix("sha256:").unwrap_or(text);
    if text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        Ok(text.to_ascii_lowercase())
    } else {
        Err("a SHA-256 digest has 64 hexadecimal digits".into())
    }
}

/// The source of the flag, else the default source of the format.
fn source_of(given: Option<SourceId>, format: &Format) -> Result<SourceId, Failure> {
    let default = || format.default_source.and_then(|source| source.parse().ok());
    given
        .or_else(default)
        .ok_or_else(|| Failure::Usage(format!("--format {} needs --source", format.id)))
}

pub(super) async fn run(
    command: IngestCommand,
    context: &Context,
) -> Result<CommandOutcome, Failure> {
    match command {
        IngestCommand::Sanctions(args) => {
            let timeout = Duration::from_secs(args.timeout);
            let (Some(location), Some(format)) = (args.location, args.format) else {
                return ingest_all(timeout, args.json, context).await;
            };
            let source = source_of(args.source, format)?;
            let options =
                ImportOptions { history: args.history, accept_digest: args.accept_digest };
            let request = ImportRequest {
                published_on: args.published_on,
                encoding: args.encoding,
                options,
                access: access(args.source_networks, args.credentials.file(), context),
                ..ImportRequest::new(location, format, source, timeout)
            };
            ingest(&request, args.json, context).await
        }
        IngestCommand::Labels(args) => {
            let source = source_of(args.source, args.format)?;
            let timeout = Duration::from_secs(args.timeout);
            let request = ImportRequest {
                blockchain: args.blockchain,
                encoding: args.encoding,
                access: access(args.source_networks, args.credentials.file(), context),
                published_on: args.published_on,
                options: ImportOptions { history: false, accept_digest: args.accept_digest },
                ..ImportRequest::new(args.location, args.format, source, timeout)
            };
            ingest(&request, args.json, context).await
        }
        IngestCommand::Prices(args) => {
            let format = args.format()?;
            let source = source_of(args.source, format)?;
            let timeout = Duration::from_secs(args.timeout);
            let request = ImportRequest {
                encoding: args.encoding,
                access: access(args.source_networks, args.credentials.file(), context),
                options: ImportOptions { history: false, accept_digest: args.accept_digest },
                ..ImportRequest::new(args.location, format, source, timeout)
            };
            ingest(&request, args.json, context).await
        }
        IngestCommand::Chain(args) => ingest_chain::run(args, context).await,
    }
}

/// Networks and credentials of the flags, else of the settings.
fn access(
    networks: Option<Networks>,
    credentials: Option<CredentialsFile>,
    context: &Context,
) -> UrlAccess {
    let networks = networks.unwrap_or_else(|| context.settings.source_networks.clone());
    UrlAccess { networks, credentials }
}

async fn ingest(
    request: &ImportRequest,
    json: bool,
    context: &Context,
) -> Result<CommandOutcome, Failure> {
    let store = context.open_or_create().await?;
    let progress = Arc::new(Progress::new("files read", request.format.files.several));
    let shown = Arc::clone(&progress);
    let stage = stage!("import", source = %request.source);
    let importing = import(&*store, request, context.clock.now(), move || shown.add(1));
    let outcome = importing.instrument(stage).await;
    progress.finish();
    let outcome = outcome?;
    let is_changed = matches!(&outcome, ImportOutcome::Imported(ImportedContent::Labels(_)));
    if is_changed && context.settings.database().is_none() {
        // Loading writes the index of the labels, so that the next command finds it. With a database that several
        // machines share, the index would be written on this one alone. The labels are recorded even if it fails.
        if let Err(error) = IntelSnapshot::load(&*store, None).await {
            tracing::warn!(%error, "failed to write the label index");
        }
    }
    if json {
        print_json(&outcome)?;
    } else {
        write!(output(), "{}", import_outcome(&request.source, &outcome, text_width()))?;
    }
    Ok(CommandOutcome::Success)
}

/// Outcome of one of several imports.
#[derive(serde::Serialize)]
struct ListImport {
    source: SourceId,
    /// Duration of the import in seconds.
    seconds: f64,
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    outcome: Option<ImportOutcome>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    /// The failure is a refusal of what the file states.
    #[serde(skip)]
    is_refused: bool,
}

/// Imports every enabled list. Each import is a transaction of its own.
async fn ingest_all(
    timeout: Duration,
    json: bool,
    context: &Context,
) -> Result<CommandOutcome, Failure> {
    let store = context.open_or_create().await?;
    let feeds = directory(&*store).await?.feeds;
    let files = context.allowed_source_paths();
    let now = context.clock.now();
    let mut imports = tokio::task::JoinSet::new();
    for (name, feed) in feeds.iter().filter(|(_, feed)| !feed.spec.suspended) {
        let format = formats::by_id(feed.spec.format.as_str())
            .map_err(|error| Failure::Failed(error.to_string()))?;
        if format.kind() != IntelKind::Listings {
            continue;
        }
        let source: SourceId =
            name.as_str().parse().map_err(|error| Failure::Failed(format!("{name}: {error}")))?;
        let location = files.location(&feed.spec.location);
        let credentials = feed.spec.credentials_file.as_deref();
        let access = access(None, credentials.map(|path| files.credentials(path)), context);
        let accept_digest = feed.spec.accept_digest.clone();
        let (store, stage) = (Arc::clone(&store), stage!("import", source = %source));
        let importing = async move {
            let begun = std::time::Instant::now();
            let outcome = match location {
                Ok(location) => {
                    let mut request = ImportRequest::new(location, format, source.clone(), timeout);
                    request.options.accept_digest = accept_digest;
                    request.access = access;
                    let imported = import(&*store, &request, now, || {}).await;
                    imported.map_err(|error| {
                        (error.to_string(), matches!(error, ImportError::Refused { .. }))
                    })
                }
                Err(error) => Err((error.to_string(), false)),
            };
            let seconds = begun.elapsed().as_secs_f64();
            match outcome {
                Ok(outcome) => ListImport {
                    source,
                    seconds,
                    outcome: Some(outcome),
                    error: None,
                    is_refused: false,
                },
                Err((error, is_refused)) => {
                    ListImport { source, seconds, outcome: None, error: Some(error), is_refused }
                }
            }
        };
        imports.spawn(importing.instrument(stage));
    }
    let mut all = imports.join_all().await;
    if all.is_empty() {
        return Err(Failure::Usage(
            "no list is enabled: `assay sources available` names those that come with Assay".into(),
        ));
    }
    all.sort_by(|one, other| one.source.cmp(&other.source));
    let mut output = output();
    if json {
        print_json(&all)?;
    } else {
        for one in &all {
            if let Some(outcome) = &one.outcome {
                write!(output, "{}", import_outcome(&one.source, outcome, text_width()))?;
            }
            if let Some(error) = &one.error {
                writeln!(output, "{}: failed, nothing changed: {error}", one.source)?;
            }
            writeln!(output, "  {:.1} s", one.seconds)?;
        }
    }
    let failed: Vec<&str> =
        all.iter().filter(|one| one.error.is_some()).map(|one| one.source.as_str()).collect();
    if failed.is_empty() {
        return Ok(CommandOutcome::Success);
    }
    let message = format!("{} of {} lists failed: {}", failed.len(), all.len(), failed.join(", "));
    let only_refusals = all.iter().filter(|one| one.error.is_some()).all(|one| one.is_refused);
    Err(if only_refusals { Failure::Refused(message) } else { Failure::Failed(message) })
}
