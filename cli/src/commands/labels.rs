//! `assay labels`: the withdrawal of labels, and their restoration.

use std::io::Write;

use assay_address::ChainId;
use assay_engine::{names::SourceId, taxonomy::Category};
use assay_store::intel::Suppression;
use clap::{Args, Subcommand};
use serde_json::{Value, json};

use super::{
    CommandOutcome, Context, Failure, output, parse_address, print_json, terminal::output_width,
};
use crate::render::{counted, table};

#[derive(Debug, Subcommand)]
pub(super) enum LabelsCommand {
    Suppress(SuppressArgs),
    Restore(RestoreArgs),
    Suppressed(SuppressedArgs),
}

const EXAMPLES: &str = "\
Examples:
  assay labels suppress eth 0x931546D9e66836AbF687d2bc64B30407bAc8C568 --source tagpacks \\
    --author jane@acme.example --reason 'confused with another address'";

/// Withdraw a source's labels of an address
///
/// The labels stay in the history, with the author and the reason of the withdrawal. The labels stay withdrawn in
/// later imports until `assay labels restore`. Listings cannot be withdrawn.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct SuppressArgs {
    /// Blockchain
    chain: ChainId,
    /// Address
    address: String,
    /// Source whose labels are withdrawn
    #[arg(long, value_name = "NAME")]
    source: SourceId,
    /// Restrict to one category
    #[arg(long, value_name = "CATEGORY")]
    category: Option<Category>,
    /// Author of the withdrawal
    #[arg(long, value_name = "NAME")]
    author: String,
    /// Reason of the withdrawal
    #[arg(long, value_name = "TEXT")]
    reason: String,
}

/// Restore the withdrawn labels of an address
#[derive(Debug, Args)]
pub(super) struct RestoreArgs {
    /// Blockchain
    chain: ChainId,
    /// Address
    address: String,
    /// Source whose labels are restored
    #[arg(long, value_name = "NAME")]
    source: SourceId,
}

/// List withdrawals, including those that were restored
#[derive(Debug, Args)]
pub(super) struct SuppressedArgs {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(
    command: LabelsCommand,
    context: &Context,
) -> Result<CommandOutcome, Failure> {
    let store = context.open().await?;
    let now = context.clock.now();
    match command {
        LabelsCommand::Suppress(args) => {
            let address = parse_address(args.chain, &args.address)?;
            for (name, text) in [("author", &args.author), ("reason", &args.reason)] {
                if text.trim().is_empty() {
                    return Err(Failure::Usage(format!(
                        "--{name} is empty: it is kept permanently with the withdrawal"
                    )));
                }
            }
            let suppression = Suppression {
                source: args.source,
                address,
                category: args.category,
                author: args.author,
                reason: args.reason,
                at: now,
                lifted_at: None,
            };
            let withdrawn = store.suppress_labels(&suppression).await?;
            let none = if withdrawn == 0 {
                " (no label matches now; later imports are affected)"
            } else {
                ""
            };
            writeln!(output(), "{} withdrawn{none}", counted(withdrawn, "label", "labels"))?;
        }
        LabelsCommand::Restore(args) => {
            let address = parse_address(args.chain, &args.address)?;
            let lifted = store.lift_suppressions(&args.source, &address, now).await?;
            if lifted == 0 {
                return Err(Failure::Input(format!(
                    "no label of {} on this address is withdrawn",
                    args.source
                )));
            }
            let withdrawals = counted(lifted, "withdrawal", "withdrawals");
            writeln!(output(), "{withdrawals} restored")?;
        }
        LabelsCommand::Suppressed(args) => {
            return list(&store.suppressions().await?, args.json);
        }
    }
    Ok(CommandOutcome::Success)
}

fn list(suppressions: &[Suppression], json: bool) -> Result<CommandOutcome, Failure> {
    if json {
        let rows: Vec<Value> = suppressions
            .iter()
            .map(|row| {
                json!({
                    "source": row.source,
                    "blockchain": row.address.chain(),
                    "address": row.address.as_str(),
                    "category": row.category,
                    "author": row.author,
                    "reason": row.reason,
                    "suppressed_at": row.at,
                    "restored_at": row.lifted_at,
                })
            })
            .collect();
        return print_json(&rows);
    }
    let header =
        ["SOURCE", "CHAIN", "ADDRESS", "CATEGORY", "AUTHOR", "SINCE", "RESTORED", "REASON"];
    let rows = suppressions.iter().map(|row| {
        [
            row.source.to_string(),
            row.address.chain().to_string(),
            row.address.to_string(),
            row.category.map_or_else(|| "all".to_owned(), |category| category.to_string()),
            row.author.clone(),
            row.at.to_string(),
            row.lifted_at.map(|at| at.to_string()).unwrap_or_default(),
            row.reason.clone(),
        ]
    });
    let rows: Vec<_> = std::iter::once(header.map(str::to_owned)).chain(rows).collect();
    write!(output(), "{}", table(&rows, output_width()))?;
    Ok(CommandOutcome::Success)
}
