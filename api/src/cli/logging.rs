//! Log lines: for people or as JSON, on standard error.

use std::io::{self, IsTerminal};

use tracing_subscriber::EnvFilter;

use super::Failure;
use crate::settings::{LogFormat, Settings};

pub(super) fn start(settings: &Settings) -> Result<(), Failure> {
    let filter: EnvFilter = settings
        .log_level
        .parse()
        .map_err(|error| Failure::Usage(format!("log-level: {error}")))?;
    let lines = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(io::stderr)
        .with_ansi(io::stderr().is_terminal());
    match settings.log_format {
        LogFormat::Text => lines.init(),
        LogFormat::Json => lines.json().flatten_event(true).init(),
    }
    Ok(())
}
