//! `assay ingest`: lists into the store.

use std::{
    io::{self, Write},
    time::Duration,
};

use assay_engine::names::SourceId;
use assay_ingest::plan::{ImportOptions, ImportReport, ReportedEntry};
use clap::{Args, Subcommand};

use super::{Context, Done, Failure, Output, output};
use crate::import::{ImportOutcome, ImportRequest, SanctionsFormat, import};

#[derive(Debug, Subcommand)]
pub(super) enum IngestCommand {
    Sanctions(SanctionsArgs),
}

const EXAMPLES: &str = "\
Examples:
  assay ingest sanctions sdn_advanced.xml --format ofac-advanced
  assay ingest sanctions https://example.org/sdn_advanced.zip --format ofac-advanced";

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
    /// The source's name [default: ofac-sdn for ofac-advanced]
    #[arg(long, value_name = "NAME")]
    source: Option<SourceId>,
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

fn digest(text: &str) -> Result<String, String> {
    if text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        Ok(text.to_ascii_lowercase())
    } else {
        Err("a SHA-256 digest has 64 hexadecimal digits".into())
    }
}

pub(super) async fn run(command: IngestCommand, context: &Context) -> Result<Done, Failure> {
    let IngestCommand::Sanctions(args) = command;
    let source =
        match args.source {
            Some(source) => source,
            None => args.format.default_source().parse().map_err(
                |error: assay_engine::names::InvalidName| Failure::Usage(error.to_string()),
            )?,
        };
    let request = ImportRequest {
        location: args.location,
        format: args.format,
        source,
        options: ImportOptions { history: args.history, accept_digest: args.accept_digest },
        timeout: Duration::from_secs(args.timeout),
    };
    let store = context.open_or_create().await?;
    let outcome = import(&store, &request, context.clock.now()).await?;
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
