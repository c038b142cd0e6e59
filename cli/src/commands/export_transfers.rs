//! `assay export transfers`: the transactions of an ingested chain.

use std::{io::Write, path::PathBuf};

use assay_address::ChainId;
use assay_chain::jsonl;
use assay_engine::utxo::{Block, ResolvedBlock, ScriptOwner, TransactionKind, TxOut};
use clap::Args;
use serde::Serialize;

use super::{
    Context, Done, Failure,
    export::{ExportFormat, target},
    graph as open_graph,
    rows::csv_failure,
};

const EXAMPLES: &str = "\
Examples:
  assay export transfers btc --format jsonl -o btc.jsonl
  assay export transfers btc --from 426884 --to 426884 > block.csv";

/// Export the transactions of an ingested chain
///
/// JSON lines can be ingested again. CSV has one row per input and output.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct TransfersArgs {
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

pub(super) async fn run(args: TransfersArgs, context: &Context) -> Result<Done, Failure> {
    let databases = context.open_databases().await?;
    let graph = open_graph(&*databases.graphs, args.chain).await?;
    let tip = graph
        .tip()
        .await?
        .ok_or_else(|| Failure::Failed(format!("the {} chain holds no block yet", args.chain)))?;
    let from = args.from.unwrap_or(tip.start).max(tip.start);
    let to = args.to.unwrap_or(tip.block.height).min(tip.block.height);
    let mut writer = target(args.output.as_deref())?;
    // The first failure is kept: later blocks are not written then.
    let mut outcome: Result<(), Failure> = Ok(());
    match args.format {
        ExportFormat::Jsonl => {
            let mut each = |block: ResolvedBlock| {
                if outcome.is_ok() {
                    outcome =
                        jsonl::write_block(args.chain, &block, &mut writer).map_err(Failure::from);
                }
            };
            graph.each_block(from, to, &mut each).await?;
        }
        ExportFormat::Csv => {
            let mut rows = csv::Writer::from_writer(&mut writer);
            let mut each = |block: ResolvedBlock| {
                if outcome.is_ok() {
                    outcome = write_rows(args.chain, &block, &mut rows);
                }
            };
            graph.each_block(from, to, &mut each).await?;
            rows.flush().map_err(Failure::from)?;
        }
    }
    outcome?;
    writer.flush()?;
    Ok(Done::Success)
}

fn write_rows(
    chain: ChainId,
    block: &Block,
    rows: &mut csv::Writer<impl Write>,
) -> Result<(), Failure> {
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
            rows.serialize(row("input", index, outpoint, input.spent.as_ref()))
                .map_err(csv_failure)?;
        }
        for (index, output) in transaction.outputs.iter().enumerate() {
            let outpoint = format!("{txid}:{index}");
            rows.serialize(row("output", index, outpoint, Some(output))).map_err(csv_failure)?;
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
