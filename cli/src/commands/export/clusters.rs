//! `assay export clusters`: the cluster of each address of an ingested chain.

use std::{ops::ControlFlow, path::PathBuf};

use assay_address::ChainId;
use assay_graph::Membership;
use clap::Args;
use serde::Serialize;

use super::sink::{ExportFormat, Sink};
use crate::commands::{Context, Failure, graph as open_graph};

const EXAMPLES: &str = "\
Examples:
  assay export clusters --blockchain btc --format csv -o clusters.csv
  assay export clusters --blockchain btc --format jsonl | jq -r .cluster | sort | uniq -c";

/// Export the cluster of each address that shares a cluster with other addresses
///
/// One row per address: `blockchain`, `address`, `cluster`. A cluster is named by its address that appeared
/// first on the chain. An address without a row is a cluster of its own.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(in crate::commands) struct ClustersArgs {
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

const COLUMNS: [&str; 3] = ["blockchain", "address", "cluster"];

pub(super) async fn run(args: ClustersArgs, context: &Context) -> Result<(), Failure> {
    let chain = args.blockchain;
    let databases = context.open_databases().await?;
    let graph = open_graph(&databases.graphs, chain)?;
    let mut sink = Sink::new(args.format, &COLUMNS, args.output.as_deref())?;
    let mut outcome = Ok(());
    let row = |member: &Membership| {
        let (address, cluster) = (member.owner.address(chain)?, member.cluster.address(chain)?);
        Some(Row { blockchain: chain, address: address.to_string(), cluster: cluster.to_string() })
    };
    let mut each = |member: Membership| {
        outcome = row(&member).map_or(Ok(()), |row| sink.row(&row));
        // The first failure ends the export.
        if outcome.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    };
    graph.each_member(&mut each).await?;
    outcome?;
    sink.finish()
}
