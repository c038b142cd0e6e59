//! `assay openapi`: the API's description.

use std::io::Write;

use assay_api::openapi;
use clap::Args;

use super::{CommandOutcome, Failure, output};

/// Print the API's description (OpenAPI 3.1)
#[derive(Debug, Args)]
pub(super) struct OpenapiArgs {}

pub(super) fn run() -> Result<CommandOutcome, Failure> {
    let text = serde_json::to_string_pretty(&openapi::document())
        .map_err(|error| Failure::Failed(error.to_string()))?;
    writeln!(output(), "{text}")?;
    Ok(CommandOutcome::Success)
}
