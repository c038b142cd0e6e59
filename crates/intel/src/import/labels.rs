//! Recording a label set in place of the labels that the source had before.

use std::collections::BTreeMap;

use assay_store::{
    IntelStore, StoreError,
    intel::{LabelChange, LabelImport},
};
use jiff::{Timestamp, civil::Date, tz::TimeZone};
use serde::Serialize;
use serde_json::json;

use super::{ImportError, ImportOrigin, ImportOutcome, ImportedContent};
use crate::{
    labels::LabelSet,
    listings::Rejected,
    plan::{Digests, ImportOptions, label_loss},
};

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

impl ImportedLabels {
    /// True if more than half of ten or more labels were replaced by others.
    #[must_use]
    pub const fn is_mostly_replaced(&self) -> bool {
        let LabelChange { removed, unchanged, .. } = self.change;
        label_loss::is_mostly_replaced(removed.saturating_add(unchanged), removed)
    }
}

/// Records a label set of `files` files with a digest of their content.
pub(super) async fn record(
    store: &dyn IntelStore,
    set: LabelSet,
    files: usize,
    provenance: ImportOrigin,
    content_digest: &str,
    options: &ImportOptions,
    now: Timestamp,
) -> Result<ImportOutcome, ImportError> {
    let ImportOrigin { source, sample, format, origin, file_digest, digest, fetched } = provenance;
    let LabelSet { published_on, labels, rejected, unknown_terms, unsupported } = set;
    if labels.is_empty() {
        let first = rejected.first().map(|first| first.reason.clone());
        return Err(ImportError::NoLabels { origin, rejected: rejected.len(), first });
    }
    let published_on = published_on.unwrap_or_else(|| now.to_zoned(TimeZone::UTC).date());
    let count = labels.len();
    let is_accepted = Digests { file: &file_digest, content: content_digest }.accepted_by(options);
    let mut import = LabelImport {
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
        planned_after: None,
        at: now,
    };
    let change = loop {
        let known = store.label_counts(&import.source).await?;
        let is_newest = known.imports.last().is_some_and(|newest| newest.digest == digest);
        if !is_newest && !is_accepted {
            label_loss::check(&known, &import.labels, now, &file_digest)
                .map_err(|source| ImportError::refused(&import.origin, source))?;
        }
        import.planned_after = Some(known.imports.len());
        match store.record_labels(&import).await {
            Ok(change) => break change,
            // Another import was recorded meanwhile: compare again.
            Err(StoreError::Conflict) => {}
            Err(error) => return Err(error.into()),
        }
    };
    Ok(match change {
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
