//! `assay export`: listings, labels, transactions, clusters, exposures and patterns as CSV or JSON lines.

use std::{
    borrow::Cow,
    fs::File,
    io::{self, BufWriter, Write},
    path::{Path, PathBuf},
    sync::Arc,
};

use assay_address::ChainId;
use assay_engine::{
    evidence::{AddressLabel, ListedAddresses, Listing},
    names::SourceId,
    taxonomy::Category,
};
use assay_input::text::formula_start;
use assay_intel::labels::FIELDS;
use assay_store::intel::{Intel, LabelFilter, RecordedLabel};
use clap::{Args, Subcommand, ValueEnum};
use jiff::civil::Date;
use serde::Serialize;

use super::{
    Context, Done, Failure,
    export_clusters::{self, ClustersArgs},
    export_exposures::{self, ExposuresArgs},
    export_patterns::{self, PatternsArgs},
    export_transfers::{self, TransfersArgs},
    rows::csv_failure,
};

#[derive(Debug, Subcommand)]
pub(super) enum ExportCommand {
    Listings(ListingsArgs),
    Labels(LabelsArgs),
    Transfers(TransfersArgs),
    Clusters(ClustersArgs),
    Exposures(ExposuresArgs),
    Patterns(PatternsArgs),
}

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
pub(super) struct ListingsArgs {
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

/// Export labels in a format that can be imported again
///
/// Withdrawn labels are included; `assay labels suppressed` lists the withdrawals.
#[derive(Debug, Args)]
pub(super) struct LabelsArgs {
    /// Format of the output
    #[arg(long, value_enum, default_value_t = ExportFormat::Csv)]
    format: ExportFormat,
    /// Restrict to one source
    #[arg(long, value_name = "NAME")]
    source: Option<SourceId>,
    /// Restrict to one blockchain
    #[arg(long, value_name = "CHAIN")]
    blockchain: Option<ChainId>,
    /// Include labels that are no longer in force, with the time span of each record
    #[arg(long)]
    history: bool,
    /// File to write [default: standard output]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// A format for other programs.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(super) enum ExportFormat {
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
    programs: Vec<&'a str>,
    asset_code: &'a str,
    blockchain: Option<&'static str>,
    address: Option<String>,
    address_as_published: &'a str,
    valid: Option<bool>,
    listed_on: Option<String>,
    delisted_on: Option<String>,
}

pub(super) async fn run(command: ExportCommand, context: &Context) -> Result<Done, Failure> {
    match command {
        ExportCommand::Listings(args) => listings(args, context).await,
        ExportCommand::Labels(args) => labels(args, context).await,
        ExportCommand::Transfers(args) => export_transfers::run(args, context).await,
        ExportCommand::Clusters(args) => export_clusters::run(args, context).await,
        ExportCommand::Exposures(args) => export_exposures::run(args, context).await,
        ExportCommand::Patterns(args) => export_patterns::run(args, context).await,
    }
}

pub(super) fn target(output: Option<&Path>) -> Result<BufWriter<Box<dyn Write + Send>>, Failure> {
    let target: Box<dyn Write + Send> = match output {
        Some(path) => Box::new(File::create(path).map_err(|error| {
            Failure::Failed(format!("failed to write {}: {error}", path.display()))
        })?),
        None => Box::new(io::stdout()),
    };
    Ok(BufWriter::new(target))
}

/// Columns of a label that an import does not have.
const HISTORY_COLUMNS: [&str; 3] = ["source", "recorded_from", "recorded_to"];

async fn labels(args: LabelsArgs, context: &Context) -> Result<Done, Failure> {
    let store = context.open().await?;
    let filter = LabelFilter { source: args.source, chain: args.blockchain, history: args.history };
    let mut target = target(args.output.as_deref())?;
    // Columns that an import reads come first, so that an exported file can be imported.
    let more: &[&str] = if args.history { &HISTORY_COLUMNS } else { &[] };
    let columns: Vec<&str> = FIELDS.iter().chain(more).copied().collect();
    let mut failure: Option<Failure> = None;
    match args.format {
        ExportFormat::Csv => {
            let mut csv = csv::Writer::from_writer(target);
            csv.write_record(&columns).map_err(csv_failure)?;
            store
                .labels(&filter, &mut |row| {
                    if failure.is_none() {
                        let values = label_values(&row);
                        let cells = values.iter().take(columns.len()).map(|value| harmless(value));
                        failure =
                            csv.write_record(cells.map(Cow::into_owned)).err().map(csv_failure);
                    }
                })
                .await?;
            csv.flush()?;
        }
        ExportFormat::Jsonl => {
            store
                .labels(&filter, &mut |row| {
                    if failure.is_none() {
                        let values = label_values(&row);
                        let fields: serde_json::Map<String, serde_json::Value> = columns
                            .iter()
                            .zip(values)
                            .filter(|(_, value)| !value.is_empty())
                            .map(|(column, value)| {
                                ((*column).to_owned(), json_value(column, value))
                            })
                            .collect();
                        let written = serde_json::to_writer(&mut target, &fields)
                            .map_err(io::Error::from)
                            .and_then(|()| target.write_all(b"\n"));
                        failure = written.err().map(Failure::from);
                    }
                })
                .await?;
            target.flush()?;
        }
    }
    failure.map_or(Ok(Done::Success), Err)
}

/// The values of a label, in the order of the columns.
fn label_values(
    RecordedLabel { label: labelled, recorded_from, recorded_to }: &RecordedLabel,
) -> [String; 16] {
    let AddressLabel { address, label } = labelled;
    let optional = |text: &Option<Arc<str>>| text.as_deref().unwrap_or_default().to_owned();
    let day = |day: Option<Date>| day.map(|day| day.to_string()).unwrap_or_default();
    // A word that no table knew is the category that the source gave.
    let category = match (&label.term, label.category) {
        (Some(term), Category::Uncategorized) => term.to_string(),
        (_, category) => category.to_string(),
    };
    [
        address.chain().to_string(),
        address.to_string(),
        category,
        optional(&label.entity),
        label.confidence.percent().to_string(),
        label.tier.as_str().to_owned(),
        optional(&label.author),
        optional(&label.reason),
        optional(&label.reference),
        label.upstream.to_string(),
        label.cites_list.as_ref().map(ToString::to_string).unwrap_or_default(),
        day(label.valid_from),
        day(label.valid_until),
        label.source.to_string(),
        recorded_from.to_string(),
        recorded_to.map(|time| time.to_string()).unwrap_or_default(),
    ]
}

fn json_value(column: &str, value: String) -> serde_json::Value {
    match (column, value.parse::<u8>()) {
        ("confidence", Ok(percent)) => percent.into(),
        _ => value.into(),
    }
}

/// A cell that a spreadsheet does not evaluate as a formula.
fn harmless(value: &str) -> Cow<'_, str> {
    if formula_start(value).is_some() {
        Cow::Owned(format!("'{value}"))
    } else {
        Cow::Borrowed(value)
    }
}

async fn listings(args: ListingsArgs, context: &Context) -> Result<Done, Failure> {
    let intel = context.open().await?.intel(None).await?;
    let mut target = target(args.output.as_deref())?;
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
    Ok(Done::Success)
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
        programs: entry.entity.programs.iter().map(String::as_str).collect(),
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
    csv.write_record([
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
    ])
    .map_err(csv_failure)?;
    for row in rows(intel, only) {
        csv.write_record([
            row.list,
            &harmless(row.entity_id),
            &harmless(row.entity),
            &harmless(&row.programs.join(";")),
            &harmless(row.asset_code),
            row.blockchain.unwrap_or_default(),
            row.address.as_deref().unwrap_or_default(),
            &harmless(row.address_as_published),
            match row.valid {
                Some(true) => "true",
                Some(false) => "false",
                None => "",
            },
            row.listed_on.as_deref().unwrap_or_default(),
            row.delisted_on.as_deref().unwrap_or_default(),
        ])
        .map_err(csv_failure)?;
    }
    csv.flush()?;
    Ok(())
}
