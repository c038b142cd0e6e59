//! `assay manual`: the manual pages of all commands.

use std::path::PathBuf;

use clap::{Args, Command};

use super::{CommandOutcome, Failure};

/// Write a manual page for each command into a folder
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  assay manual /usr/local/share/man/man1   then: man assay-check")]
pub(super) struct ManualArgs {
    /// Folder that exists
    folder: PathBuf,
}

pub(super) fn run(args: &ManualArgs, command: Command) -> Result<CommandOutcome, Failure> {
    clap_mangen::generate_to(command, &args.folder).map_err(|error| {
        let folder = args.folder.display();
        Failure::Failed(format!("cannot write manual pages into {folder}: {error}"))
    })?;
    Ok(CommandOutcome::Success)
}
