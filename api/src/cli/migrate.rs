//! `assay migrate`: the database made, or its schema brought up to date.

use std::io::Write;

use clap::Args;

use super::{Context, Done, Failure, output};

/// Make the database, or bring its schema up to date
///
/// Other commands do so too; this one does nothing else, to be run before a new version serves. Several
/// at once wait for each other. A database that a newer program wrote is refused.
#[derive(Debug, Args)]
pub(super) struct MigrateArgs {}

pub(super) async fn run(context: &Context) -> Result<Done, Failure> {
    let store = context.open_or_create().await?;
    let environment = store.environment().await?.as_str();
    store.close().await;
    writeln!(output(), "the database is up to date ({environment} data)")?;
    Ok(Done::Well)
}
