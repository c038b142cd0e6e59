//! `assay export transfers`: the transactions of an ingested chain.

use std::path::PathBuf;

use assay_address::{ChainId, LedgerKind};
use assay_chain::jsonl;
use assay_engine::utxo::{Block, ResolvedBlock, ScriptOwner, TransactionKind, TxOut};
use clap::Args;
use serde::Serialize;

use super::{
    account_transfers,
    sink::{ExportFormat, Sink},
};
use crate::commands::{Context, Failure, graph as open_graph, parse_address, require_block};

const EXAMPLES: &str = "\
Examples:
  assay export transfers btc --format jsonl -o btc.jsonl
  assay export transfers btc --from 426884 --to 426884 > block.csv
  assay export transfers eth --address ADDRESS -o transfers.csv";

/// Export the transactions of an ingested chain
///
/// JSON lines can be ingested again. CSV has one row per input and output. On an account chain, both formats have one row
/// per transfer and can be ingested again (`--transfers`).
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(in crate::commands) struct TransfersArgs {
    /// Blockchain, such as btc
    chain: ChainId,
    /// Format of the output
    #[arg(long, value_enum, default_value_t = ExportFormat::Csv)]
    format: ExportFormat,
    /// Height of the first block [default: the first recorded]
    #[arg(long, value_name = "HEIGHT")]
    from: Option<u64>,
    /// Height of the last block [default: the newest]
    #[arg(long, value_name = "HEIGHT")]
    to: Option<u64>,
    /// Account that pays or receives the transfers, on an account chain [default: all]
    #[arg(long)]
    address: Option<String>,
    /// File to write [default: standard output]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// An input or output.
#[derive(Serialize)]
struct Row<'a> {
    height: u64,
    time: &'a str,
    txid: &'a str,
    kind: &'static str,
    side: &'static str,
    index: usize,
    outpoint: String,
    address: Option<String>,
    value: Option<u64>,
}

pub(super) async fn run(args: TransfersArgs, context: &Context) -> Result<(), Failure> {
    if args.chain.info().ledger == LedgerKind::Account {
        let account = args.address.as_deref().map(|text| parse_address(args.chain, text));
        let account = account.transpose()?;
        let selection = account_transfers::Selection { from: args.from, to: args.to, account };
        let columns = account_transfers::COLUMNS;
        let sink = Sink::new(args.format, &columns, args.output.as_deref())?;
        return account_transfers::run(args.chain, &selection, sink, context).await;
    }
    if args.address.is_some() {
        return Err(Failure::Usage(format!(
            "--address: transactions on {} have several payers; export all of them",
            args.chain
        )));
    }
    let databases = context.open_databases().await?;
    let graph = open_graph(&databases.graphs, args.chain)?;
    let tip = require_block(args.chain, graph.tip().await?)?;
    let from = args.from.unwrap_or(tip.start).max(tip.start);
    let to = args.to.unwrap_or(tip.block.height).min(tip.block.height);
    let mut sink = Sink::new(args.format, &[], args.output.as_deref())?;
    // The first failure is kept: later blocks are not written then.
    let mut outcome: Result<(), Failure> = Ok(());
    let mut each = |block: ResolvedBlock| {
        if outcome.is_ok() {
            outcome = match &mut sink {
                Sink::Lines(lines) => {
                    jsonl::write_block(args.chain, &block, lines).map_err(Failure::from)
                }
                csv @ Sink::Csv(_) => write_rows(args.chain, &block, csv),
            };
        }
    };
    graph.each_block(from, to, &mut each).await?;
    outcome?;
    sink.finish()
}

fn write_rows(chain: ChainId, block: &Block, sink: &mut Sink) -> Result<(), Failure> {
    let time = block.reference.time.to_string();
    for transaction in &block.transactions {
        let txid = transaction.txid.to_string();
        let row = |side, index, outpoint: String, moved: Option<&TxOut>| Row {
            height: block.reference.height,
            time: &time,
            txid: &txid,
            kind: match transaction.kind {
                TransactionKind::Payment => "payment",
                TransactionKind::Coinbase => "coinbase",
                TransactionKind::Coinjoin(_) => "coinjoin",
            },
            side,
            index,
            outpoint,
            address: moved.and_then(|moved| owner_text(chain, &moved.owner)),
            value: moved.map(|moved| moved.value),
        };
        for (index, input) in transaction.inputs.iter().enumerate() {
            let outpoint = input.outpoint.to_string();
            sink.row(&row("input", index, outpoint, input.spent.as_ref()))?;
        }
        for (index, output) in transaction.outputs.iter().enumerate() {
            let outpoint = format!("{txid}:{index}");
            sink.row(&row("output", index, outpoint, Some(output)))?;
        }
    }
    Ok(())
}

fn owner_text(chain: ChainId, owner: &ScriptOwner) -> Option<String> {
    match owner {
        ScriptOwner::Pool(pool) => Some(pool.as_str().to_owned()),
        owner => owner.address(chain).map(|address| address.to_string()),
    }
}
