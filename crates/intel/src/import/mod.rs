//! Importing a list, a label set or prices: fetched, spooled, read, and recorded in one transaction.
//!
//! All take the same steps except the last: [`listings`] plans the changes of a publication, [`labels`] replaces the
//! labels of the source, [`prices`] those of the same assets and days.

mod error;
pub mod labels;
pub mod listings;
pub mod prices;
mod read;
mod request;

use assay_input::redacted;
use assay_store::{IntelStore, intel::FetchConditions};
use jiff::{Timestamp, tz::TimeZone};
use serde::Serialize;

use self::read::{Content, ReadInput};
pub use self::{
    error::ImportError,
    labels::ImportedLabels,
    listings::{ImportOrigin, ImportedListings},
    prices::ImportedPrices,
    request::ImportRequest,
};
/// Outcome of an import.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum ImportOutcome {
    /// The server has no newer content. The source counts as verified now.
    NotModified,
    /// The content was imported before. Nothing changed.
    Unchanged {
        /// SHA-256 of the content.
        digest: String,
        /// The content is the newest of the source, which counts as verified now.
        verified: bool,
    },
    /// The content was recorded.
    Imported(ImportedContent),
}

/// Content that was recorded, with the changes.
#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
pub enum ImportedContent {
    /// Publication of listings.
    Listings(ImportedListings),
    /// Set of labels.
    Labels(ImportedLabels),
    /// Prices.
    Prices(ImportedPrices),
}

/// Imports a list, a label set or prices. `progress` is called after each file.
///
/// # Errors
///
/// Returns an error if the input cannot be fetched or read, the publication is refused, or the store fails. A failed
/// import changes nothing.
pub async fn import(
    store: &dyn IntelStore,
    request: &ImportRequest,
    now: Timestamp,
    progress: impl Fn() + Send + 'static,
) -> Result<ImportOutcome, ImportError> {
    request.check()?;
    let known = if request.is_url() {
        store.fetch_conditions(&request.source, &request.conditions_key()).await?
    } else {
        FetchConditions::default()
    };
    let today = now.to_zoned(TimeZone::UTC).date();
    let reading = request.clone();
    // Fetching, unpacking and parsing block: they run on a thread of their own.
    let read = assay_telemetry::request::run_on_thread(move || {
        read::read(&reading, known, today, &progress)
    });
    let Some(ReadInput { content, files, file_digest, content_digest, fetched }) =
        read.await.map_err(|_| ImportError::Stopped)??
    else {
        store.confirm_fetch(&request.source, now, None).await?;
        return Ok(ImportOutcome::NotModified);
    };
    let mut provenance = ImportOrigin {
        source: request.source.clone(),
        sample: false,
        format: request.format.id.to_owned(),
        origin: redacted(&request.location),
        file_digest,
        digest: content_digest,
        fetched,
    };
    let recorded = match content {
        Content::Listings(publication) => {
            listings::record(store, &publication, &provenance, &request.options, now).await
        }
        Content::Labels(mut set) => {
            // What the import states about the set counts, not the day of the import.
            set.published_on = request.published_on.or(set.published_on);
            let content = std::mem::take(&mut provenance.digest);
            provenance.digest = request.digest_of_labels(&content);
            labels::record(store, set, files, provenance, &content, &request.options, now).await
        }
        Content::Prices(set) => {
            prices::record(store, &set, files, &provenance, &request.options, now).await
        }
    };
    recorded.map_err(|error| match error {
        ImportError::Refused { origin, source, .. } => {
            let command = source.digest().map(|digest| request.accepting(digest));
            ImportError::Refused { origin, source, command }
        }
        other => other,
    })
}
