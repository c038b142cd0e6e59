//! `assay apply`: manifests from files, applied to the database.

use std::{io::Write, path::PathBuf};

use assay_service::manifests;
use assay_tenancy::manifest::Document;
use clap::Args;

use super::{CommandOutcome, Context, Failure, locations::warn_of_locations, output};

const EXAMPLES: &str = "\
Examples:
  assay apply -f tenants/
  assay apply -f plans.yaml -f acme.yaml";

/// Apply manifests: plans, tenants, rate limits and risk policies
///
/// The manifests are validated together with the stored manifests. If a manifest is invalid, nothing changes and every
/// problem is reported.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct ApplyArgs {
    /// File, folder, or `-` for standard input; repeatable
    #[arg(short = 'f', long = "file", required = true, value_name = "FILE|DIR")]
    files: Vec<PathBuf>,
}

pub(super) async fn run(args: &ApplyArgs, context: &Context) -> Result<CommandOutcome, Failure> {
    let mut documents: Vec<Document> = Vec::new();
    for file in &args.files {
        documents.extend(manifests::read(file)?);
    }
    let store = context.open_or_create().await?;
    let applied =
        manifests::apply(&*store, documents, &context.allowed_source_paths(), context.clock.now())
            .await?;
    let mut output = output();
    for (manifest, outcome) in &applied {
        writeln!(output, "{} {} {}", manifest.kind.as_str(), manifest.name, outcome.as_str())?;
    }
    drop(output);
    warn_of_locations(applied.iter().map(|(record, _)| record), context).await?;
    Ok(CommandOutcome::Success)
}
