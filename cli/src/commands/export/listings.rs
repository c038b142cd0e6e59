//! `assay export listings`: the entries of all lists.

use std::path::PathBuf;

use assay_address::ChainId;
use assay_engine::evidence::{ListedAddresses, Listing};
use assay_store::intel::Intel;
use clap::Args;
use serde::Serialize;

use super::sink::{ExportFormat, Sink, spreadsheet_safe};
use crate::commands::{Context, Failure};

const EXAMPLES: &str = "\
Examples:
  assay export listings --format csv > listings.csv
  assay export listings --format jsonl --blockchain btc -o btc.jsonl";

/// Export all listings, including ended ones
///
/// One row per address and blockchain. An address of an unsupported blockchain has a row without
/// `blockchain`, as it was published.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(in crate::commands) struct ListingsArgs {
    /// Format of the output
    #[arg(long, value_enum, default_value_t = ExportFormat::Csv)]
    format: ExportFormat,
    /// Restrict to one blockchain
    #[arg(long, value_name = "CHAIN")]
    blockchain: Option<ChainId>,
    /// File to write [default: standard output]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

#[derive(Serialize)]
struct Row<'a> {
    list: &'a str,
    entity_id: &'a str,
    entity: &'a str,
    programs: Vec<&'a str>,
    asset_code: &'a str,
    blockchain: Option<&'static str>,
    address: Option<String>,
    address_as_published: &'a str,
    valid: Option<bool>,
    listed_on: Option<String>,
    delisted_on: Option<String>,
}

const COLUMNS: [&str; 11] = [
    "list",
    "entity_id",
    "entity",
    "programs",
    "asset_code",
    "blockchain",
    "address",
    "address_as_published",
    "valid",
    "listed_on",
    "delisted_on",
];

pub(super) async fn run(args: ListingsArgs, context: &Context) -> Result<(), Failure> {
    let intel = context.open().await?.intel(None, None).await?;
    let mut sink = Sink::new(args.format, &COLUMNS, args.output.as_deref())?;
    for row in rows(&intel, args.blockchain) {
        let cells = [
            row.list.into(),
            spreadsheet_safe(row.entity_id),
            spreadsheet_safe(row.entity),
            spreadsheet_safe(&row.programs.join(";")).into_owned().into(),
            spreadsheet_safe(row.asset_code),
            row.blockchain.unwrap_or_default().into(),
            row.address.as_deref().unwrap_or_default().into(),
            spreadsheet_safe(row.address_as_published),
            row.valid.map(|valid| valid.to_string()).unwrap_or_default().into(),
            row.listed_on.as_deref().unwrap_or_default().into(),
            row.delisted_on.as_deref().unwrap_or_default().into(),
        ];
        sink.row_or_cells(&row, cells.iter().map(|cell| cell.as_bytes()))?;
    }
    sink.finish()
}

fn rows(intel: &Intel, only: Option<ChainId>) -> impl Iterator<Item = Row<'_>> {
    intel
        .listings
        .iter()
        .flat_map(rows_of)
        .filter(move |row| only.is_none_or(|chain| row.blockchain == Some(chain.as_str())))
}

/// A row for each chain on which the entry lists an address; one row without a chain if the entry lists none.
fn rows_of(listing: &Listing) -> Vec<Row<'_>> {
    let entry = &listing.entry;
    let row = |blockchain: Option<ChainId>, address: Option<String>, valid: Option<bool>| Row {
        list: entry.list.as_str(),
        entity_id: &entry.entity.id,
        entity: &entry.entity.name,
        programs: entry.entity.programs.iter().map(String::as_str).collect(),
        asset_code: &entry.asset_code,
        blockchain: blockchain.map(ChainId::as_str),
        address,
        address_as_published: &entry.address_as_published,
        valid,
        listed_on: listing.listed_on.map(|day| day.to_string()),
        delisted_on: listing.delisted_on.map(|day| day.to_string()),
    };
    let ListedAddresses { addresses, misfiled, unmatched } = entry.addresses();
    let valid = Some(misfiled.is_none() && unmatched.is_none());
    let listed = addresses
        .into_iter()
        .map(|address| row(Some(address.chain()), Some(address.to_string()), valid));
    listed.chain(unmatched.map(|text| row(Some(text.chain), None, Some(false)))).collect()
}
