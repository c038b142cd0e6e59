//! `assay export clusters`: the cluster of each address of an ingested chain.

use std::{
    io::{self, Write},
    ops::ControlFlow,
    path::PathBuf,
};

use assay_address::ChainId;
use assay_graph::Membership;
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
  assay export clusters --blockchain btc --format csv -o clusters.csv
  assay export clusters --blockchain btc --format jsonl | jq -r .cluster | sort | uniq -c";

/// Export the cluster of each address that shares one with others
///
/// One row per address: `blockchain`, `address`, `cluster`. A cluster is named by its address that appeared
/// first on the chain. An address without a row is a cluster of its own.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct ClustersArgs {
    /// Blockchain, such as btc
    #[arg(long, value_name = "CHAIN")]
    blockchain: ChainId,
    /// Format of the output
    #[arg(long, value_enum, default_value_t = ExportFormat::Csv)]
    format: ExportFormat,
    /// File to write [default: standard output]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

#[derive(Serialize)]
struct Row {
    blockchain: ChainId,
    address: String,
    cluster: String,
}

pub(super) async fn run(args: ClustersArgs, context: &Context) -> Result<Done, Failure> {
    let chain = args.blockchain;
    let databases = context.open_databases().await?;
    let graph = open_graph(&*databases.graphs, chain).await?;
    let mut writer = target(args.output.as_deref())?;
    let mut outcome: Result<(), Failure> = Ok(());
    let row = |member: &Membership| {
        let (address, cluster) = (member.owner.address(chain)?, member.cluster.address(chain)?);
        Some(Row { blockchain: chain, address: address.to_string(), cluster: cluster.to_string() })
    };
    match args.format {
        ExportFormat::Jsonl => {
            let mut each = |member: Membership| {
                if let Some(row) = row(&member) {
                    let written = serde_json::to_writer(&mut writer, &row).map_err(io::Error::from);
                    outcome = written.and_then(|()| writer.write_all(b"\n")).map_err(Failure::from);
                }
                go_on(&outcome)
            };
            graph.each_member(&mut each).await?;
        }
        ExportFormat::Csv => {
            let mut rows = csv::WriterBuilder::new().has_headers(false).from_writer(&mut writer);
            rows.write_record(["blockchain", "address", "cluster"]).map_err(csv_failure)?;
            let mut each = |member: Membership| {
                if let Some(row) = row(&member) {
                    outcome = rows.serialize(row).map_err(csv_failure);
                }
                go_on(&outcome)
            };
            graph.each_member(&mut each).await?;
            rows.flush().map_err(Failure::from)?;
        }
    }
    outcome?;
    writer.flush()?;
    Ok(Done::Success)
}

/// The first failure ends the export.
const fn go_on(outcome: &Result<(), Failure>) -> ControlFlow<()> {
    match outcome {
        Ok(()) => ControlFlow::Continue(()),
        Err(_) => ControlFlow::Break(()),
    }
}
