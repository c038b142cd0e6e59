//! `assay probe`: whether a server answers, asked from where there is no other HTTP client: an image that
//! holds nothing but Assay.

use std::{io::Write, time::Duration};

use clap::Args;

use super::{Done, Failure, output};

/// Longest time for the answer.
const PATIENCE: Duration = Duration::from_secs(10);

const EXAMPLES: &str = "\
Examples:
  assay probe http://127.0.0.1:8080/readyz";

/// Ask a server whether it is ready: ends well where the answer is a success
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct ProbeArgs {
    /// What is asked for
    url: String,
}

pub(super) fn run(args: &ProbeArgs) -> Result<Done, Failure> {
    let url = &args.url;
    let agent = ureq::Agent::config_builder()
        .timeout_global(Some(PATIENCE))
        // A proxy would answer for itself.
        .proxy(None)
        .build()
        .new_agent();
    let answer = agent.get(url).call();
    let answer = answer.map_err(|error| Failure::Failed(format!("{url}: {error}")))?;
    writeln!(output(), "{url} answers {}", answer.status().as_u16())?;
    Ok(Done::Well)
}
