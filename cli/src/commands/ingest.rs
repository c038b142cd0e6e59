//! `assay ingest`: the import of sanctions lists and labels.

use std::{
    io::{self, Write},
    path::PathBuf,
    sync::Arc,
    time::Duration,
};

use assay_egress::Networks;
use assay_engine::{chain::ChainId, names::SourceId};
use assay_input::UrlAccess;
use assay_intel::{
    formats::{self, Format, IntelKind},
    import::{ImportRequest, import},
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
    Context, Done, Failure,
    ingest_chain::{self, ChainArgs},
    output,
    progress::Progress,
    terminal::text_width,
};
use crate::render::import_outcome;

#[derive(Debug, Subcommand)]
pub(super) enum IngestCommand {
    Sanctions(SanctionsArgs),
    Labels(LabelsArgs),
    Chain(ChainArgs),
}

const EXAMPLES: &str = "\
Examples:
  assay ingest sanctions sdn_advanced.xml --format ofac-advanced
  assay ingest sanctions https://example.org/sdn_advanced.zip --format ofac-advanced
  assay ingest sanctions own.csv --format csv --source own --published-on 2026-11-20";

/// Import a sanctions list from a file or a URL
///
/// Packed files (gzip, bzip2, xz, zip) are unpacked. The import is one transaction: a truncated, damaged
/// or implausible file changes nothing. The same file again changes nothing and counts as verified.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct SanctionsArgs {
    /// A file, or an http or https URL
    #[arg(value_name = "FILE|URL")]
    location: String,
    /// Format of the list; `csv` and `jsonl` are short for Assay's own
    #[arg(long, value_parser = parser(IntelKind::Listings))]
    format: &'static Format,
    /// Name of the source [default: ofac-sdn for OFAC's formats]
    #[arg(long, value_name = "NAME")]
    source: Option<SourceId>,
    /// Date of issue of a list in Assay's own formats, which do not state it [default: today]
    #[arg(long, value_name = "DATE")]
    published_on: Option<Date>,
    /// File an older publication in the past instead of refusing it
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
    /// File that holds `user:password` or a token for the server
    #[arg(long, value_name = "FILE")]
    credentials_file: Option<PathBuf>,
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
/// They replace the labels that the source had before, in one transaction. A damaged file changes
/// nothing; a row that is wrong is left out and reported. The same files again change nothing and count
/// as verified.
#[derive(Debug, Args)]
#[command(after_help = LABEL_EXAMPLES)]
pub(super) struct LabelsArgs {
    /// A file, a folder, or an http or https URL
    #[arg(value_name = "PATH|URL")]
    location: String,
    /// Format of the labels; `csv` and `jsonl` are short for Assay's own
    #[arg(long, value_parser = parser(IntelKind::Labels))]
    format: &'static Format,
    /// Name of the source
    #[arg(long, value_name = "NAME")]
    source: Option<SourceId>,
    /// Blockchain of an explorer's labels, if the file's name does not name the explorer
    #[arg(long, value_name = "CHAIN")]
    blockchain: Option<ChainId>,
    /// Limit of the time for fetching, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 300)]
    timeout: u64,
    /// Private networks from which the files may be fetched, such as 10.0.0.0/8 [default: the setting]
    #[arg(long, value_name = "NETWORKS")]
    source_networks: Option<Networks>,
    /// File that holds `user:password` or a token for the server
    #[arg(long, value_name = "FILE")]
    credentials_file: Option<PathBuf>,
    /// Print the changes as JSON, with every row that was left out
    #[arg(long)]
    json: bool,
}

/// Parses the identifier of a format of a kind.
fn parser(kind: IntelKind) -> impl TypedValueParser<Value = &'static Format> {
    let values = formats::of_kind(kind)
        .map(|format| PossibleValue::new(format.id).help(format.title).aliases(format.short_id));
    PossibleValuesParser::new(values.collect::<Vec<_>>())
        .try_map(move |id| formats::by_name(kind, &id))
}

fn digest(text: &str) -> Result<String, String> {
    if text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        Ok(text.to_ascii_lowercase())
    } else {
        Err("a SHA-256 digest has 64 hexadecimal digits".into())
    }
}

/// The source that is given, else the default source of the format.
fn source_of(given: Option<SourceId>, format: &Format) -> Result<SourceId, Failure> {
    let default = || format.default_source.and_then(|source| source.parse().ok());
    given
        .or_else(default)
        .ok_or_else(|| Failure::Usage(format!("--format {} needs --source", format.id)))
}

pub(super) async fn run(command: IngestCommand, context: &Context) -> Result<Done, Failure> {
    match command {
        IngestCommand::Sanctions(args) => {
            let source = source_of(args.source, args.format)?;
            let timeout = Duration::from_secs(args.timeout);
            let options =
                ImportOptions { history: args.history, accept_digest: args.accept_digest };
            let request = ImportRequest {
                published_on: args.published_on,
                options,
                access: access(args.source_networks, args.credentials_file, context),
                ..ImportRequest::new(args.location, args.format, source, timeout)
            };
            ingest(&request, args.json, context).await
        }
        IngestCommand::Labels(args) => {
            let source = source_of(args.source, args.format)?;
            let timeout = Duration::from_secs(args.timeout);
            let request = ImportRequest {
                blockchain: args.blockchain,
                access: access(args.source_networks, args.credentials_file, context),
                ..ImportRequest::new(args.location, args.format, source, timeout)
            };
            ingest(&request, args.json, context).await
        }
        IngestCommand::Chain(args) => ingest_chain::run(args, context).await,
    }
}

/// Access by what is given, else by the settings.
fn access(
    networks: Option<Networks>,
    credentials: Option<PathBuf>,
    context: &Context,
) -> UrlAccess {
    let networks = networks.unwrap_or_else(|| context.settings.source_networks.clone());
    UrlAccess { networks, credentials }
}

async fn ingest(request: &ImportRequest, json: bool, context: &Context) -> Result<Done, Failure> {
    let store = context.open_or_create().await?;
    let progress = Arc::new(Progress::new("files read", request.format.files.several));
    let shown = Arc::clone(&progress);
    let stage = stage!("import", source = %request.source);
    let importing = import(&*store, request, context.clock.now(), move || shown.add(1));
    let outcome = importing.instrument(stage).await;
    progress.finish();
    let outcome = outcome?;
    let mut output = output();
    if json {
        let text = serde_json::to_string_pretty(&outcome).map_err(io::Error::from)?;
        writeln!(output, "{text}")?;
    } else {
        write!(output, "{}", import_outcome(&request.source, &outcome, text_width()))?;
    }
    Ok(Done::Success)
}
