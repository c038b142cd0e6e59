//! `assay chain`: serving the graph of a chain, its backups, and its fingerprint.
//!
//! - [`serve`]: the chain server

pub(super) mod serve;

use std::{
    io::Write,
    path::{Path, PathBuf},
};

use assay_address::{ChainId, LedgerKind};
use assay_graph::{EmbeddedGraphs, GraphTip, account::RecordedState};
use clap::{Args, Subcommand};

use super::{CommandOutcome, Context, Failure, graph, output, require_graph};

#[derive(Debug, Subcommand)]
pub(super) enum ChainCommand {
    Serve(Box<serve::ServeArgs>),
    Backup(BackupArgs),
    Restore(RestoreArgs),
    Verify(VerifyArgs),
}

const BACKUP_EXAMPLES: &str = "\
Examples:
  assay chain backup btc /backups/btc.graph
  assay chain verify btc                        # its fingerprint, to compare";

/// Copy the graph of a chain to a file
///
/// The copy is one state of the graph, also while a server follows the chain. The copy has only blocks: no lists,
/// labels or keys.
#[derive(Debug, Args)]
#[command(after_help = BACKUP_EXAMPLES)]
pub(super) struct BackupArgs {
    /// Blockchain, such as btc
    chain: ChainId,
    /// File to write, which must not exist
    file: PathBuf,
}

/// Restore the graph of a chain from a backup
///
/// There must be no graph of the chain. A server that follows the chain goes on from the backup's newest block.
#[derive(Debug, Args)]
pub(super) struct RestoreArgs {
    /// Blockchain, such as btc
    chain: ChainId,
    /// Backup
    file: PathBuf,
}

/// Read a chain's graph and print its fingerprint
///
/// Graphs with equal fingerprints have the same blocks, transactions and clusters; on account chains, the same blocks,
/// transfers and ledgers. Indexes, which follow from the blocks, are not read.
#[derive(Debug, Args)]
pub(super) struct VerifyArgs {
    /// Blockchain, such as btc
    chain: ChainId,
}

pub(super) async fn run(
    command: ChainCommand,
    context: Context,
) -> Result<CommandOutcome, Failure> {
    let graphs = context.graphs();
    match command {
        ChainCommand::Serve(args) => serve::run(*args, context).await,
        ChainCommand::Backup(BackupArgs { chain, file }) => back_up(&graphs, chain, &file),
        ChainCommand::Restore(RestoreArgs { chain, file }) => restore(&graphs, chain, &file),
        ChainCommand::Verify(VerifyArgs { chain }) => verify(&graphs, chain).await,
    }
}

fn back_up(
    graphs: &EmbeddedGraphs,
    chain: ChainId,
    file: &Path,
) -> Result<CommandOutcome, Failure> {
    if file.exists() {
        let message = format!("{} exists already: name another file", file.display());
        return Err(Failure::Usage(message));
    }
    let newest = if has_accounts(chain) {
        last(&require_graph(chain, graphs.back_up_accounts(chain, file)?)?)
    } else {
        block(&require_graph(chain, graphs.back_up(chain, file)?)?)
    };
    let file = file.display();
    writeln!(output(), "{chain}: blocks up to {newest} or newer written to {file}")?;
    Ok(CommandOutcome::Success)
}

fn restore(
    graphs: &EmbeddedGraphs,
    chain: ChainId,
    file: &Path,
) -> Result<CommandOutcome, Failure> {
    if !file.is_file() {
        return Err(Failure::Usage(format!("there is no file {}", file.display())));
    }
    let newest = if has_accounts(chain) {
        last(&graphs.restore_accounts(chain, file)?)
    } else {
        block(&graphs.restore(chain, file)?)
    };
    writeln!(output(), "{chain}: blocks up to {newest} restored")?;
    Ok(CommandOutcome::Success)
}

async fn verify(graphs: &EmbeddedGraphs, chain: ChainId) -> Result<CommandOutcome, Failure> {
    if has_accounts(chain) {
        let snapshot = require_graph(chain, graphs.account_snapshot(chain)?)?;
        let fingerprint = snapshot.fingerprint()?;
        writeln!(output(), "{chain}: blocks up to {}", last(snapshot.recorded()))?;
        writeln!(output(), "fingerprint {}", hex::encode(fingerprint))?;
        return Ok(CommandOutcome::Success);
    }
    let view = graph(graphs, chain)?.view().await?;
    let empty = || Failure::Failed(format!("the graph of the {chain} chain has no block"));
    let view = view.ok_or_else(empty)?;
    let tip = view.tip().await?.ok_or_else(empty)?;
    let fingerprint = view.fingerprint().await?;
    writeln!(output(), "{chain}: blocks up to {}", block(&tip))?;
    writeln!(output(), "fingerprint {}", hex::encode(fingerprint))?;
    Ok(CommandOutcome::Success)
}

/// True for a chain of accounts.
fn has_accounts(chain: ChainId) -> bool {
    chain.info().ledger == LedgerKind::Account
}

/// Describes the newest block of an account chain in words.
fn last(recorded: &RecordedState) -> String {
    format!("{} (digest {})", recorded.tip.height, hex::encode(recorded.digest))
}

/// Describes a block in words.
fn block(tip: &GraphTip) -> String {
    format!("{} ({})", tip.block.height, hex::encode(tip.block.hash))
}
