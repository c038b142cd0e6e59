//! `assay export`: what is stored, for other programs.

use std::{
    fs::File,
    io::{self, BufWriter, Write},
    path::PathBuf,
};

use assay_engine::{
    chain::ChainId,
    evidence::{ListedAddresses, Listing},
};
use assay_store::{Store, intel::Intel};
use clap::{Args, Subcommand, ValueEnum};
use serde::Serialize;

use super::{Context, Done, Failure};

#[derive(Debug, Subcommand)]
pub(super) enum ExportCommand {
    Listings(ListingsArgs),
}

const EXAMPLES: &str = "\
Examples:
  assay export listings --format csv > listings.csv
  assay export listings --format jsonl --blockchain btc -o btc.jsonl";

/// Write every listing, ended ones included
///
/// One row for each address. An address that a token's code lists on several blockchains has a row for
/// each; one whose blockchain is not read yet has its row without one, as it was published.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct ListingsArgs {
    /// The format
    #[arg(long, value_enum, default_value_t = ExportFormat::Csv)]
    format: ExportFormat,
    /// Only addresses of one blockchain
    #[arg(long, value_name = "CHAIN")]
    blockchain: Option<ChainId>,
    /// The file to write; standard output where left out
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// A format for other programs.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum ExportFormat {
    /// Comma-separated values with a header
    Csv,
    /// One JSON object a line
    Jsonl,
}

#[derive(Serialize)]
struct Row<'a> {
    list: &'a str,
    entity_id: &'a str,
    entity: &'a str,
    programmes: Vec<&'a str>,
    asset_code: &'a str,
    blockchain: Option<&'static str>,
    address: Option<String>,
    address_as_published: &'a str,
    valid: Option<bool>,
    listed_on: Option<String>,
    delisted_on: Option<String>,
}

pub(super) async fn run(command: ExportCommand, context: &Context) -> Result<Done, Failure> {
    let ExportCommand::Listings(args) = command;
    let intel = context.open().await?.intel().await?;
    let target: Box<dyn Write> = match &args.output {
        Some(path) => Box::new(File::create(path).map_err(|error| {
            Failure::Failed(format!("failed to write {}: {error}", path.display()))
        })?),
        None => Box::new(io::stdout().lock()),
    };
    let mut target = BufWriter::new(target);
    match args.format {
        ExportFormat::Csv => write_csv(&mut target, &intel, args.blockchain)?,
        ExportFormat::Jsonl => {
            for row in rows(&intel, args.blockchain) {
                serde_json::to_writer(&mut target, &row).map_err(io::Error::from)?;
                target.write_all(b"\n")?;
            }
        }
    }
    target.flush()?;
    Ok(Done::Well)
}

fn rows(intel: &Intel, only: Option<ChainId>) -> impl Iterator<Item = Row<'_>> {
    intel
        .listings
        .iter()
        .flat_map(rows_of)
        .filter(move |row| only.is_none_or(|chain| row.blockchain == Some(chain.as_str())))
}

/// A row for each chain on which the entry lists an address; one without a chain where it lists none.
fn rows_of(listing: &Listing) -> Vec<Row<'_>> {
    let entry = &listing.entry;
    let row = |blockchain: Option<ChainId>, address: Option<String>, valid: Option<bool>| Row {
        list: entry.list.as_str(),
        entity_id: &entry.entity.id,
        entity: &entry.entity.name,
        programmes: entry.entity.programmes.iter().map(String::as_str).collect(),
        asset_code: &entry.asset_code,
        blockchain: blockchain.map(ChainId::as_str),
        address,
        address_as_published: &entry.address_as_published,
        valid,
        listed_on: listing.listed_on.map(|day| day.to_string()),
        delisted_on: listing.delisted_on.map(|day| day.to_string()),
    };
    match entry.addresses() {
        ListedAddresses::Valid(addresses) => addresses
            .into_iter()
            .map(|address| row(Some(address.chain()), Some(address.to_string()), Some(true)))
            .collect(),
        ListedAddresses::Misfiled(addresses, _) => addresses
            .into_iter()
            .map(|address| row(Some(address.chain()), Some(address.to_string()), Some(false)))
            .collect(),
        ListedAddresses::Invalid(_) => {
            vec![row(ChainId::from_list_code(&entry.asset_code), None, Some(false))]
        }
        ListedAddresses::Unsupported => vec![row(None, None, None)],
    }
}

fn write_csv(target: &mut impl Write, intel: &Intel, only: Option<ChainId>) -> Result<(), Failure> {
    let mut csv = csv::Writer::from_writer(target);
    let failed = |error: csv::Error| match error.into_kind() {
        csv::ErrorKind::Io(error) => Failure::from(error),
        other => Failure::Failed(format!("failed to write CSV: {other:?}")),
    };
    csv.write_record([
        "list",
        "entity_id",
        "entity",
        "programmes",
        "asset_code",
        "blockchain",
        "address",
        "address_as_published",
        "valid",
        "listed_on",
        "delisted_on",
    ])
    .map_err(failed)?;
    for row in rows(intel, only) {
        csv.write_record([
            row.list,
            row.entity_id,
            row.entity,
            &row.programmes.join(";"),
            row.asset_code,
            row.blockchain.unwrap_or_default(),
            row.address.as_deref().unwrap_or_default(),
            row.address_as_published,
            match row.valid {
                Some(true) => "true",
                Some(false) => "false",
                None => "",
            },
            row.listed_on.as_deref().unwrap_or_default(),
            row.delisted_on.as_deref().unwrap_or_default(),
        ])
        .map_err(failed)?;
    }
    csv.flush()?;
    Ok(())
}
