//! Recording a label set in place of the labels that the source had before.

use std::collections::BTreeMap;

use assay_store::{
    IntelStore,
    intel::{LabelChange, LabelImport},
};
use jiff::{Timestamp, civil::Date, tz::TimeZone};
use serde::Serialize;
use serde_json::json;

use super::{ImportError, ImportOrigin, ImportOutcome, ImportedContent};
use crate::{labels::LabelSet, listings::Rejected};

/// Label set that was recorded, with the changes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ImportedLabels {
    /// SHA-256 of the content.
    pub digest: String,
    /// Number of files.
    pub files: usize,
    /// The date that the import states, else the newest date in the files, else the day of the import.
    pub published_on: Date,
    /// Number of labels.
    pub labels: usize,
    /// Numbers of labels that changed.
    #[serde(flatten)]
    pub change: LabelChange,
    /// Rows that are left out, each with the reason.
    pub rejected: Vec<Rejected>,
    /// Number of uses of each unknown term.
    pub unknown_terms: BTreeMap<String, u64>,
    /// Number of labels that are left out because Assay does not support their chain, by the source's code
    /// for the chain.
    pub unsupported: BTreeMap<String, u64>,
}

/// Records a label set of `files` files.
pub(super) async fn record(
    store: &dyn IntelStore,
    set: LabelSet,
    files: usize,
    provenance: ImportOrigin,
    now: Timestamp,
) -> Result<ImportOutcome, ImportError> {
    let ImportOrigin { source, sample, format, origin, file_digest: _, digest, fetched } =
        provenance;
    let LabelSet { published_on, labels, rejected, unknown_terms, unsupported } = set;
    if labels.is_empty() {
        return Err(ImportError::NoLabels { origin });
    }
    let published_on = published_on.unwrap_or_else(|| now.to_zoned(TimeZone::UTC).date());
    let count = labels.len();
    let import = LabelImport {
        source,
        sample,
        published_on,
        digest: digest.clone(),
        format,
        origin,
        fetched,
        labels,
        report: json!({
            "files": files, "rejected": rejected, "unknown_terms": unknown_terms,
            "unsupported": unsupported,
        }),
        at: now,
    };
    Ok(match store.record_labels(import).await? {
        None => ImportOutcome::Unchanged { digest, verified: true },
        Some(change) => ImportOutcome::Imported(ImportedContent::Labels(ImportedLabels {
            digest,
            files,
            published_on,
            labels: count,
            change,
            rejected,
            unknown_terms,
            unsupported,
        })),
    })
}
