//! `assay ingest`: lists into the store.

use std::{
    io::{self, Write},
    sync::Arc,
    time::Duration,
};

use assay_engine::{chain::ChainId, names::SourceId};
use assay_intel::{
    import::{
        self, ImportOutcome, ImportRequest, SanctionsFormat,
        labels::{LabelFormat, LabelOutcome, LabelRequest},
    },
    plan::{ImportOptions, ImportReport, ReportedEntry},
};
use assay_telemetry::stage;
use clap::{Args, Subcommand};
use jiff::{civil::Date, tz::TimeZone};
use tracing::Instrument;

use super::{
    Context, Done, Failure, Output,
    ingest_chain::{self, ChainArgs},
    output,
    progress::Progress,
};

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
/// Packed files (gzip, bzip2, xz, zip) are unpacked. The import is one transaction: a truncated, broken
/// or implausible file changes nothing. The same file again changes nothing and counts as verified.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct SanctionsArgs {
    /// A file, or an http or https URL
    #[arg(value_name = "FILE|URL")]
    location: String,
    /// The format
    #[arg(long, value_enum)]
    format: SanctionsFormat,
    /// The source's name [default: ofac-sdn for OFAC's formats]
    #[arg(long, value_name = "NAME")]
    source: Option<SourceId>,
    /// Date of issue of a csv or jsonl list, which does not tell it [default: today]
    #[arg(long, value_name = "DATE")]
    published_on: Option<Date>,
    /// File an older publication in the past instead of refusing it
    #[arg(long)]
    history: bool,
    /// Take this very file in, however implausible it looks
    #[arg(long, value_name = "SHA256", value_parser = digest)]
    accept_digest: Option<String>,
    /// Longest time for fetching, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 300)]
    timeout: u64,
    /// Print what changed as JSON
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
/// They replace what the source said before, in one transaction. A broken file changes nothing; a row
/// that is wrong is left out and reported. The same files again change nothing and count as verified.
#[derive(Debug, Args)]
#[command(after_help = LABEL_EXAMPLES)]
pub(super) struct LabelsArgs {
    /// A file, a folder, or an http or https URL
    #[arg(value_name = "PATH|URL")]
    location: String,
    /// The format
    #[arg(long, value_enum)]
    format: LabelFormat,
    /// The source's name
    #[arg(long, value_name = "NAME")]
    source: SourceId,
    /// The blockchain of an explorer's labels, where the file's name does not tell it
    #[arg(long, value_name = "CHAIN")]
    blockchain: Option<ChainId>,
    /// Longest time for fetching, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 300)]
    timeout: u64,
    /// Print what changed as JSON, with every row that was left out
    #[arg(long)]
    json: bool,
}

async fn labels(args: LabelsArgs, context: &Context) -> Result<Done, Failure> {
    let request = LabelRequest {
        location: args.location,
        format: args.format,
        source: args.source,
        blockchain: args.blockchain,
        timeout: Duration::from_secs(args.timeout),
    };
    let store = context.open_or_create().await?;
    let progress = Arc::new(Progress::new("files read", true));
    let shown = Arc::clone(&progress);
    let stage = stage!("import", source = %request.source);
    let now = context.clock.now();
    let importing = import::labels::import(&*store, &request, now, move || shown.add(1));
    let outcome = importing.instrument(stage).await;
    progress.finish();
    let outcome = outcome?;
    let mut output = output();
    if args.json {
        let text = serde_json::to_string_pretty(&outcome).map_err(io::Error::from)?;
        writeln!(output, "{text}")?;
    } else {
        print_labels(&mut output, &request.source, &outcome)?;
    }
    Ok(Done::Well)
}

fn print_labels(
    output: &mut Output,
    source: &SourceId,
    outcome: &LabelOutcome,
) -> Result<(), Failure> {
    match outcome {
        LabelOutcome::NotModified => {
            writeln!(output, "{source}: the server has nothing newer; counted as verified")?;
        }
        LabelOutcome::Unchanged { .. } => {
            writeln!(output, "{source}: unchanged; counted as verified")?;
        }
        LabelOutcome::Imported {
            digest,
            files,
            published_on,
            labels,
            change,
            rejected,
            unknown_terms,
            unsupported,
        } => {
            writeln!(output, "{source}: {labels} labels of {published_on} from {files} files")?;
            writeln!(
                output,
                "  {} added, {} removed, {} unchanged, {} rejected",
                change.added,
                change.removed,
                change.unchanged,
                rejected.len()
            )?;
            for rejected in rejected.iter().take(MOST_LISTED) {
                writeln!(output, "  rejected {}: {}", rejected.place, rejected.reason)?;
            }
            if rejected.len() > MOST_LISTED {
                let more = rejected.len() - MOST_LISTED;
                writeln!(output, "  and {more} more rejected: --json lists all")?;
            }
            for (what, counts) in [
                ("kept as uncategorized, word not in the tables", unknown_terms),
                ("left out, chain not read yet", unsupported),
            ] {
                if !counts.is_empty() {
                    let counts: Vec<String> =
                        counts.iter().map(|(word, count)| format!("{word} {count}")).collect();
                    writeln!(output, "  {what}: {}", counts.join(", "))?;
                }
            }
            writeln!(output, "  content {digest}")?;
        }
    }
    Ok(())
}

fn digest(text: &str) -> Result<String, String> {
    if text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        Ok(text.to_ascii_lowercase())
    } else {
        Err("a SHA-256 digest has 64 hexadecimal digits".into())
    }
}

pub(super) async fn run(command: IngestCommand, context: &Context) -> Result<Done, Failure> {
    match command {
        IngestCommand::Sanctions(args) => sanctions(args, context).await,
        IngestCommand::Labels(args) => labels(args, context).await,
        IngestCommand::Chain(args) => ingest_chain::run(args, context).await,
    }
}

async fn sanctions(args: SanctionsArgs, context: &Context) -> Result<Done, Failure> {
    let usual = || args.format.default_source().and_then(|source| source.parse().ok());
    let source = args.source.clone().or_else(usual).ok_or_else(|| {
        Failure::Usage(format!("--format {} needs --source", args.format.as_str()))
    })?;
    let now = context.clock.now();
    let today = now.to_zoned(TimeZone::UTC).date();
    let request = ImportRequest {
        location: args.location,
        format: args.format,
        source,
        published_on: args.published_on.unwrap_or(today),
        options: ImportOptions { history: args.history, accept_digest: args.accept_digest },
        timeout: Duration::from_secs(args.timeout),
    };
    let store = context.open_or_create().await?;
    let stage = stage!("import", source = %request.source);
    let outcome = import::import(&*store, &request, now).instrument(stage).await?;
    let mut output = output();
    if args.json {
        let text = serde_json::to_string_pretty(&outcome).map_err(io::Error::from)?;
        writeln!(output, "{text}")?;
    } else {
        print(&mut output, &request.source, &outcome)?;
    }
    Ok(Done::Well)
}

fn print(output: &mut Output, source: &SourceId, outcome: &ImportOutcome) -> Result<(), Failure> {
    match outcome {
        ImportOutcome::NotModified => {
            writeln!(output, "{source}: the server has nothing newer; counted as verified")?;
        }
        ImportOutcome::Unchanged { verified: true, .. } => {
            writeln!(output, "{source}: unchanged; counted as verified")?;
        }
        ImportOutcome::Unchanged { verified: false, .. } => {
            writeln!(output, "{source}: this publication is known; nothing changed")?;
        }
        ImportOutcome::Imported {
            digest,
            file_digest,
            published_on,
            parties,
            addresses,
            history,
            report,
        } => {
            let filed = if *history { ", filed in the past" } else { "" };
            writeln!(
                output,
                "{source}: publication of {published_on}{filed}: {addresses} addresses of {parties} \
                 parties"
            )?;
            print_report(output, report)?;
            writeln!(output, "  content {digest}\n  file    {file_digest}")?;
        }
    }
    Ok(())
}

/// More than this many rows are counted instead of listed.
const MOST_LISTED: usize = 20;

fn print_report(output: &mut Output, report: &ImportReport) -> Result<(), Failure> {
    writeln!(
        output,
        "  {} added, {} removed, {} updated, {} unchanged, {} rejected",
        report.added.len(),
        report.removed.len(),
        report.updated,
        report.unchanged,
        report.rejected.len()
    )?;
    for (sign, entries) in [('+', &report.added), ('-', &report.removed)] {
        if entries.len() <= MOST_LISTED {
            for entry in entries {
                writeln!(output, "  {sign} {}", line(entry))?;
            }
        }
    }
    for rejected in &report.rejected {
        writeln!(output, "  rejected {}: {}", rejected.place, rejected.reason)?;
    }
    for invalid in &report.invalid {
        writeln!(
            output,
            "  not valid, kept and marked: {}: {}",
            line(&invalid.entry),
            invalid.reason
        )?;
    }
    if !report.unsupported.is_empty() {
        let codes: Vec<String> =
            report.unsupported.iter().map(|(code, count)| format!("{code} {count}")).collect();
        writeln!(output, "  kept verbatim, chain not read yet: {}", codes.join(", "))?;
    }
    Ok(())
}

fn line(entry: &ReportedEntry) -> String {
    let ReportedEntry { list, entity_id, entity, asset_code, address } = entry;
    format!("{asset_code} {address}  {entity} ({list} {entity_id})")
}
