//! `assay export labels`: labels, in a format that can be imported again.

use std::{path::PathBuf, sync::Arc};

use assay_address::ChainId;
use assay_engine::{evidence::AddressLabel, names::SourceId, taxonomy::Category};
use assay_intel::labels::FIELDS;
use assay_store::intel::{LabelFilter, RecordedLabel};
use clap::Args;
use jiff::civil::Date;
use serde_json::{Map, Value};

use super::sink::{ExportFormat, Sink, spreadsheet_safe};
use crate::commands::{Context, Failure};

/// Export labels in a format that can be imported again
///
/// Withdrawn labels are included; `assay labels suppressed` lists the withdrawals.
#[derive(Debug, Args)]
pub(in crate::commands) struct LabelsArgs {
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

/// Columns of a label that an import does not have.
const HISTORY_COLUMNS: [&str; 3] = ["source", "recorded_from", "recorded_to"];

pub(super) async fn run(args: LabelsArgs, context: &Context) -> Result<(), Failure> {
    let store = context.open().await?;
    let filter = LabelFilter { source: args.source, chain: args.blockchain, history: args.history };
    // Columns that an import reads come first, so that an exported file can be imported.
    let more: &[&str] = if args.history { &HISTORY_COLUMNS } else { &[] };
    let columns: Vec<&str> = FIELDS.iter().chain(more).copied().collect();
    let mut sink = Sink::new(args.format, &columns, args.output.as_deref())?;
    let mut outcome = Ok(());
    let mut each = |label: RecordedLabel| {
        if outcome.is_ok() {
            let values = label_values(&label);
            let named = columns.iter().zip(&values).filter(|(_, value)| !value.is_empty());
            let object: Map<String, Value> =
                named.map(|(name, value)| ((*name).to_owned(), json_value(name, value))).collect();
            let cells =
                values.iter().take(columns.len()).map(|value| spreadsheet_safe(value).into_owned());
            outcome = sink.row_or_cells(&object, cells);
        }
    };
    store.labels(&filter, &mut each).await?;
    outcome?;
    sink.finish()
}

/// The values of a label's columns, in the order of the columns.
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

fn json_value(column: &str, value: &str) -> Value {
    match (column, value.parse::<u8>()) {
        ("confidence", Ok(percent)) => percent.into(),
        _ => value.into(),
    }
}
