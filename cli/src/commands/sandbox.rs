//! `assay sandbox`: the addresses and transactions that choose an answer of the sandbox.

use std::io::Write;

use assay_address::ChainId;
use assay_sandbox::{OutcomeEntry, catalog};
use clap::Args;

use super::{CommandOutcome, Failure, output, print_json, terminal::output_width};
use crate::render::table;

const EXAMPLES: &str = "\
Examples:
  assay sandbox
  assay sandbox eth --json";

/// List the addresses that choose an answer to a key of the sandbox
///
/// `assay keys create --sandbox` makes such keys. Their answers are made up, and read no data.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct SandboxArgs {
    /// Blockchain, such as btc, eth or trx
    #[arg(default_value = "btc")]
    chain: ChainId,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &SandboxArgs) -> Result<CommandOutcome, Failure> {
    let catalog = catalog(args.chain);
    if args.json {
        return print_json(&catalog);
    }
    let header = ["OUTCOME", "STATUS", "ADDRESS OR TRANSACTION"].map(str::to_owned);
    let rows = catalog.outcomes.into_iter().flat_map(|entry| {
        let OutcomeEntry { outcome, status, addresses, transaction, .. } = entry;
        let row = move |chosen_by| [outcome.clone(), status.to_string(), chosen_by];
        addresses.into_iter().chain(transaction).map(row)
    });
    let rows: Vec<_> = std::iter::once(header).chain(rows).collect();
    write!(output(), "{}", table(&rows, output_width()))?;
    Ok(CommandOutcome::Success)
}
