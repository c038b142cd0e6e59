//! `assay export prices`: all prices in force, in a form that `assay ingest prices` reads.

use std::path::PathBuf;

use assay_store::intel::PriceRequest;
use clap::Args;
use serde::Serialize;

use super::sink::{ExportFormat, Sink};
use crate::commands::{Context, Failure};

const EXAMPLES: &str = "\
Examples:
  assay export prices --format csv > prices.csv
  assay export prices --format jsonl -o prices.jsonl";

/// Export the daily prices of all assets
///
/// One row per asset and day, in the columns that `assay ingest prices` reads.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(in crate::commands) struct PricesArgs {
    /// Format of the output
    #[arg(long, value_enum, default_value_t = ExportFormat::Csv)]
    format: ExportFormat,
    /// File to write [default: standard output]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

#[derive(Serialize)]
struct Row {
    asset: String,
    day: String,
    usd: String,
}

pub(super) async fn run(args: PricesArgs, context: &Context) -> Result<(), Failure> {
    let store = context.open().await?;
    let intel = store.intel(None, Some(PriceRequest::default())).await?;
    let mut sink = Sink::new(args.format, &["asset", "day", "usd"], args.output.as_deref())?;
    for (asset, day, price) in intel.prices.unwrap_or_default().rows() {
        let row = Row { asset: asset.to_string(), day: day.to_string(), usd: price.to_string() };
        sink.row_or_cells(&row, [&row.asset, &row.day, &row.usd])?;
    }
    sink.finish()
}
