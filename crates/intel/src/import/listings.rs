//! Recording a planned publication of listings.

use assay_engine::names::SourceId;
use assay_store::{
    IntelStore, StoreError,
    intel::{FetchConditions, PublicationImport, PublicationRecord},
};
use jiff::{Timestamp, civil::Date, tz::TimeZone};
use serde::Serialize;

use super::{ImportError, ImportOutcome, ImportedContent};
use crate::{
    listings::Publication,
    plan::{Digests, ImportOptions, ImportPlan, ImportReport, plan},
};

/// Publication that was recorded, with the changes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ImportedListings {
    /// SHA-256 of the content.
    pub digest: String,
    /// SHA-256 of the file before unpacking.
    pub file_digest: String,
    /// Date of issue, at most the day of the import.
    pub published_on: Date,
    /// Number of parties, with and without addresses.
    pub parties: u64,
    /// Number of addresses.
    pub addresses: u64,
    /// The publication is older than the newest publication and was inserted into the history at its date.
    pub history: bool,
    /// Changes.
    pub report: Box<ImportReport>,
}

/// Origin of an import.
#[derive(Clone, Debug)]
pub struct ImportOrigin {
    /// Source that the content belongs to.
    pub source: SourceId,
    /// The content is demo data.
    pub sample: bool,
    /// Identifier of the format.
    pub format: String,
    /// Path or URL of the input.
    pub origin: String,
    /// SHA-256 of the file before unpacking.
    pub file_digest: String,
    /// SHA-256 of the content.
    pub digest: String,
    /// Key and conditions of a download; `None` for a file.
    pub fetched: Option<(String, FetchConditions)>,
}

/// Plans and records a publication.
///
/// # Errors
///
/// Returns an error if the publication is refused, or the store fails.
pub async fn record(
    store: &dyn IntelStore,
    publication: &Publication,
    provenance: &ImportOrigin,
    options: &ImportOptions,
    now: Timestamp,
) -> Result<ImportOutcome, ImportError> {
    let today = now.to_zoned(TimeZone::UTC).date();
    let digests = Digests { file: &provenance.file_digest, content: &provenance.digest };
    loop {
        let known = store.source_history(&provenance.source).await?;
        let planned = plan(&known.history, publication, digests, options, today)
            .map_err(|source| ImportError::refused(&provenance.origin, source))?;
        let (reference, entries, newest, ended, begun, report) = match planned {
            ImportPlan::Known { newest } => {
                if newest {
                    let fetched = provenance.fetched.as_ref();
                    store.confirm_fetch(&provenance.source, now, fetched).await?;
                }
                let digest = provenance.digest.clone();
                return Ok(ImportOutcome::Unchanged { digest, verified: newest });
            }
            ImportPlan::Record { reference, entries, newest, ended, begun, report } => {
                (reference, entries, newest, ended, begun, report)
            }
        };
        let import = PublicationImport {
            planned_at_generation: known.generation,
            source: provenance.source.clone(),
            sample: provenance.sample,
            publication: PublicationRecord {
                reference,
                digest: provenance.digest.clone(),
                file_digest: provenance.file_digest.clone(),
                format: provenance.format.clone(),
                origin: provenance.origin.clone(),
                entries,
                report: serde_json::to_value(&report).unwrap_or_default(),
            },
            newest,
            ended,
            begun,
            fetched: provenance.fetched.clone(),
            at: now,
        };
        match store.record_publication(import).await {
            Ok(()) => {
                return Ok(ImportOutcome::Imported(ImportedContent::Listings(ImportedListings {
                    digest: provenance.digest.clone(),
                    file_digest: provenance.file_digest.clone(),
                    published_on: reference.published_on,
                    parties: publication.parties,
                    addresses: entries,
                    history: !newest,
                    report,
                })));
            }
            // Another import was recorded meanwhile: plan again.
            Err(StoreError::Conflict) => {}
            Err(error) => return Err(error.into()),
        }
    }
}
