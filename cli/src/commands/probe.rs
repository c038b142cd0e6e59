//! `assay probe`: a health probe for images without another HTTP client.

use std::{io::Write, time::Duration};

use clap::Args;

use super::{CommandOutcome, Failure, output};

/// Timeout of the request.
const TIMEOUT: Duration = Duration::from_secs(10);

const EXAMPLES: &str = "\
Examples:
  assay probe http://127.0.0.1:9090/readyz";

/// Send a GET request and exit with 0 if the response is a success
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct ProbeArgs {
    /// URL to request
    url: String,
}

pub(super) fn run(args: &ProbeArgs) -> Result<CommandOutcome, Failure> {
    let url = &args.url;
    let agent = ureq::Agent::config_builder()
        .timeout_global(Some(TIMEOUT))
        // A proxy would answer for itself.
        .proxy(None)
        .build()
        .new_agent();
    let answer = agent.get(url).call();
    let answer = answer.map_err(|error| Failure::Failed(format!("{url}: {error}")))?;
    writeln!(output(), "{url} responds {}", answer.status().as_u16())?;
    Ok(CommandOutcome::Success)
}
