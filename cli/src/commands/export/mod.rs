//! `assay export`: listings, labels, prices, transactions, clusters, exposures and patterns as CSV or JSON lines.

mod account_exposures;
mod account_transfers;
mod clusters;
mod exposures;
mod labels;
mod listings;
mod patterns;
mod prices;
mod sink;
mod transfers;

use clap::Subcommand;

use super::{CommandOutcome, Context, Failure};

#[derive(Debug, Subcommand)]
pub(super) enum ExportCommand {
    Listings(listings::ListingsArgs),
    Labels(labels::LabelsArgs),
    Prices(prices::PricesArgs),
    Transfers(transfers::TransfersArgs),
    Clusters(clusters::ClustersArgs),
    Exposures(exposures::ExposuresArgs),
    Patterns(patterns::PatternsArgs),
}

pub(super) async fn run(
    command: ExportCommand,
    context: &Context,
) -> Result<CommandOutcome, Failure> {
    match command {
        ExportCommand::Listings(args) => listings::run(args, context).await?,
        ExportCommand::Labels(args) => labels::run(args, context).await?,
        ExportCommand::Prices(args) => prices::run(args, context).await?,
        ExportCommand::Transfers(args) => transfers::run(args, context).await?,
        ExportCommand::Clusters(args) => clusters::run(args, context).await?,
        ExportCommand::Exposures(args) => exposures::run(args, context).await?,
        ExportCommand::Patterns(args) => patterns::run(args, context).await?,
    }
    Ok(CommandOutcome::Success)
}
