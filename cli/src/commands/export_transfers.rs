//! `assay export transfers`: an ingested chain, for other programs.

use std::{io::Write, path::PathBuf};

use assay_chain::{
    BlockHead, ChainBlock, ChainInput, ChainTransaction, Coin, Hidden, jsonl, resolve::NO_PLACE,
};
use assay_engine::{
    chain::ChainId,
    utxo::{Pool, ScriptOwner, TransactionKind},
};
use assay_graph::{self, GraphBlock, GraphTransaction};
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

/// Write the transactions of an ingested chain
///
/// As JSON lines they can be ingested again. As CSV, every input and output has a row.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct TransfersArgs {
    /// The blockchain, such as btc
    chain: ChainId,
    /// The format
    #[arg(long, value_enum, default_value_t = ExportFormat::Csv)]
    format: ExportFormat,
    /// The first block [default: the first there is]
    #[arg(long, value_name = "HEIGHT")]
    from: Option<u64>,
    /// The last block [default: the newest]
    #[arg(long, value_name = "HEIGHT")]
    to: Option<u64>,
    /// The file to write; standard output where left out
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
    place: usize,
    output: String,
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
            let mut each = |block: GraphBlock| {
                if outcome.is_ok() {
                    let block = chain_block(block);
                    outcome =
                        jsonl::write_block(args.chain, &block, &mut writer).map_err(Failure::from);
                }
            };
            graph.each_block(from, to, &mut each).await?;
        }
        ExportFormat::Csv => {
            let mut rows = csv::Writer::from_writer(&mut writer);
            let mut each = |block: GraphBlock| {
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
    Ok(Done::Well)
}

fn write_rows(
    chain: ChainId,
    block: &GraphBlock,
    rows: &mut csv::Writer<impl Write>,
) -> Result<(), Failure> {
    let time = block.block.time.to_string();
    for transaction in &block.transactions {
        let txid = transaction.txid.to_string();
        let row = |side, place, output: String, coin: Option<&assay_graph::Coin>| Row {
            height: block.block.height,
            time: &time,
            txid: &txid,
            kind: match transaction.kind {
                TransactionKind::Payment => "payment",
                TransactionKind::Coinbase => "coinbase",
                TransactionKind::Coinjoin(_) => "coinjoin",
            },
            side,
            place,
            output,
            address: coin.and_then(|coin| owner_text(chain, &coin.owner)),
            value: coin.map(|coin| coin.value),
        };
        for (place, input) in transaction.inputs.iter().enumerate() {
            let output = input.output.to_string();
            rows.serialize(row("input", place, output, input.coin.as_ref()))
                .map_err(csv_failure)?;
        }
        for (place, coin) in transaction.outputs.iter().enumerate() {
            let output = format!("{txid}:{place}");
            rows.serialize(row("output", place, output, Some(coin))).map_err(csv_failure)?;
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

/// A recorded block as its source gave it.
fn chain_block(block: GraphBlock) -> ChainBlock {
    ChainBlock {
        head: BlockHead {
            height: block.block.height,
            hash: block.block.hash,
            parent: block.block.parent,
            time: block.block.time,
        },
        transactions: block.transactions.into_iter().map(chain_transaction).collect(),
    }
}

fn chain_transaction(transaction: GraphTransaction) -> ChainTransaction {
    let coin = |coin: assay_graph::Coin| Coin { owner: coin.owner, value: coin.value };
    let (entered, spent): (Vec<_>, Vec<_>) =
        transaction.inputs.into_iter().partition(|input| input.output.index == NO_PLACE);
    let mut outputs: Vec<Coin> = transaction.outputs.into_iter().map(coin).collect();
    let mut hidden = match entered.into_iter().next() {
        None => Hidden::None,
        Some(input) => match input.coin {
            Some(coin) => Hidden::FromPool(coin.value),
            None => Hidden::FromNowhere,
        },
    };
    let shielded = ScriptOwner::Pool(Pool::ZcashShielded);
    if outputs.last().is_some_and(|last| last.owner == shielded)
        && let Some(last) = outputs.pop()
    {
        hidden = Hidden::IntoPool(last.value);
    }
    ChainTransaction {
        txid: transaction.txid,
        coinbase: transaction.kind == TransactionKind::Coinbase,
        inputs: spent
            .into_iter()
            .map(|input| ChainInput { output: input.output, coin: input.coin.map(coin) })
            .collect(),
        outputs,
        hidden,
    }
}
