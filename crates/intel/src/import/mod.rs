//! Importing a sanctions list: got, spooled, read, planned, recorded in one transaction.
//! [`labels`] does the same for labels.

pub mod labels;

use std::{
    io::{self, BufReader},
    path::{Path, PathBuf},
    time::Duration,
};

use assay_engine::names::{InvalidName, SourceId};
use assay_input::{
    Conditions, FetchError, Fetched, Hashing, InputLimits, SpoolError, Spooled, UnpackError, fetch,
};
use assay_store::{
    IntelStore, StoreError,
    intel::{FetchConditions, PublicationImport, PublicationRecord},
};
use clap::ValueEnum;
use jiff::{Timestamp, civil::Date};
use serde::Serialize;

use crate::{
    labels::LabelError,
    plan::{Digests, ImportOptions, ImportPlan, ImportReport, Refusal, plan},
    sanctions::{self, Format, Publication, ReadError},
};

/// How much of a list is buffered.
const BUFFER_BYTES: usize = 64 * 1024;

/// A format of sanctions lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum SanctionsFormat {
    /// OFAC's SDN list, Advanced XML
    OfacAdvanced,
    /// OFAC's SDN list, Enhanced XML
    OfacEnhanced,
    /// Plain listings as CSV, with the header that the documentation names
    Csv,
    /// Plain listings, one JSON object a line
    Jsonl,
}

impl SanctionsFormat {
    /// The format's name.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::OfacAdvanced => "ofac-advanced",
            Self::OfacEnhanced => "ofac-enhanced",
            Self::Csv => "csv",
            Self::Jsonl => "jsonl",
        }
    }

    /// The source that a list of this format is, unless it is named otherwise; plain listings can be
    /// anybody's.
    #[must_use]
    pub const fn default_source(self) -> Option<&'static str> {
        match self {
            Self::OfacAdvanced | Self::OfacEnhanced => Some("ofac-sdn"),
            Self::Csv | Self::Jsonl => None,
        }
    }

    /// How to read it; plain listings do not tell their date of issue.
    const fn reading(self, published_on: Date) -> Format {
        match self {
            Self::OfacAdvanced => Format::OfacAdvanced,
            Self::OfacEnhanced => Format::OfacEnhanced,
            Self::Csv => Format::Table { published_on },
            Self::Jsonl => Format::Lines { published_on },
        }
    }
}

/// Why an import failed. Nothing changed then.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// The list could not be fetched.
    #[error(transparent)]
    Fetch(#[from] FetchError),
    /// The file could not be read.
    #[error(transparent)]
    Spool(#[from] SpoolError),
    /// The file could not be unpacked.
    #[error(transparent)]
    Unpack(#[from] UnpackError),
    /// The file is truncated, not well-formed or of another format.
    #[error("{origin}: {source}")]
    Read {
        /// The file or URL.
        origin: String,
        /// What is wrong.
        #[source]
        source: ReadError,
    },
    /// The publication is older than what is known, or implausible.
    #[error("{origin}: {source}")]
    Refused {
        /// The file or URL.
        origin: String,
        /// Why.
        #[source]
        source: Refusal,
    },
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A file of labels is broken.
    #[error(transparent)]
    Labels(LabelError),
    /// A folder cannot be read.
    #[error("failed to read {path}: {source}")]
    Folder {
        /// The folder.
        path: PathBuf,
        /// What happened.
        #[source]
        source: io::Error,
    },
    /// A folder holds no file of the format.
    #[error("{path} holds no {format} file")]
    EmptyFolder {
        /// The folder.
        path: PathBuf,
        /// The format.
        format: &'static str,
    },
    /// Labels without any: what the source said before is not replaced by nothing.
    #[error("{origin}: there is no label in it that could be taken in; nothing was changed")]
    NoLabels {
        /// The file, folder or URL.
        origin: String,
    },
    /// A file's name does not tell which explorer it is from.
    #[error(
        "`{file}` does not tell the blockchain: say it with --blockchain, or name the file after its \
         explorer: {known}"
    )]
    UnknownExplorer {
        /// The file's name.
        file: String,
        /// The explorers that are known.
        known: String,
    },
    /// A manifest's name cannot be a source's.
    #[error(transparent)]
    Name(InvalidName),
    /// Reading stopped unexpectedly.
    #[error("reading the list stopped unexpectedly")]
    Stopped,
}

/// What an import came to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum ImportOutcome {
    /// The server has nothing newer.
    NotModified,
    /// This very publication is known already.
    Unchanged {
        /// SHA-256 of its content.
        digest: String,
        /// Whether it is the newest, so that the source counts as verified now.
        verified: bool,
    },
    /// A publication was recorded.
    Imported {
        /// SHA-256 of its content.
        digest: String,
        /// SHA-256 of the file as it came.
        file_digest: String,
        /// Its date of issue.
        published_on: Date,
        /// Parties that it lists, with and without addresses.
        parties: u64,
        /// Addresses that it holds.
        addresses: u64,
        /// Whether it was filed in the past.
        history: bool,
        /// What it changed.
        report: ImportReport,
    },
}

/// What to import.
#[derive(Clone, Debug)]
pub struct ImportRequest {
    /// A file, or an http or https URL.
    pub location: String,
    /// The format.
    pub format: SanctionsFormat,
    /// The source.
    pub source: SourceId,
    /// Date of issue of a list that does not tell it.
    pub published_on: Date,
    /// What the person who imports decided.
    pub options: ImportOptions,
    /// Longest time for fetching.
    pub timeout: Duration,
}

/// Where a publication comes from.
#[derive(Clone, Debug)]
pub struct Provenance {
    /// The source.
    pub source: SourceId,
    /// Whether it is made up.
    pub sample: bool,
    /// The format's name.
    pub format: String,
    /// The file or URL.
    pub origin: String,
    /// SHA-256 of the file as it came.
    pub file_digest: String,
    /// SHA-256 of its content.
    pub digest: String,
    /// Where it was fetched from and what the server said.
    pub fetched: Option<(String, FetchConditions)>,
}

/// Imports a list.
///
/// # Errors
///
/// Where it cannot be got or read, is refused, or the store fails.
pub async fn import(
    store: &dyn IntelStore,
    request: &ImportRequest,
    now: Timestamp,
) -> Result<ImportOutcome, ImportError> {
    let limits = InputLimits::default();
    let is_url = request.location.contains("://");
    let known = if is_url {
        store.fetch_conditions(&request.source, &request.location).await?
    } else {
        FetchConditions::default()
    };
    let (location, timeout) = (request.location.clone(), request.timeout);
    let format = request.format.reading(request.published_on);
    // Fetching, unpacking and parsing block: they get a thread of their own.
    let read = assay_telemetry::request::on_thread(move || -> Result<_, ImportError> {
        let (spooled, fetched) = if is_url {
            let known = Conditions { etag: known.etag, last_modified: known.last_modified };
            match fetch(&location, &known, limits, timeout)? {
                Fetched::NotModified => return Ok(None),
                Fetched::New(spooled, Conditions { etag, last_modified }) => {
                    (spooled, Some((location, FetchConditions { etag, last_modified })))
                }
            }
        } else {
            (Spooled::from_file(Path::new(&location), limits)?, None)
        };
        let (publication, digest) = read_publication(&spooled, format, limits)?;
        Ok(Some((spooled.digest().to_owned(), digest, publication, fetched)))
    });
    let Some((file_digest, digest, publication, fetched)) =
        read.await.map_err(|_| ImportError::Stopped)??
    else {
        store.confirm_fetch(&request.source, now, None).await?;
        return Ok(ImportOutcome::NotModified);
    };
    let provenance = Provenance {
        source: request.source.clone(),
        sample: false,
        format: request.format.as_str().to_owned(),
        origin: request.location.clone(),
        file_digest,
        digest,
        fetched,
    };
    record(store, &publication, &provenance, &request.options, now).await
}

/// Reads a spooled list, and digests its content.
fn read_publication(
    spooled: &Spooled,
    format: Format,
    limits: InputLimits,
) -> Result<(Publication, String), ImportError> {
    let failed = |source| ImportError::Read { origin: spooled.origin().to_owned(), source };
    spooled.unpack(limits, |content| {
        let mut hashing = Hashing::new(content);
        let input = BufReader::with_capacity(BUFFER_BYTES, &mut hashing);
        let publication = sanctions::read(format, input).map_err(failed)?;
        let digest = hashing
            .finish()
            .map_err(|source| SpoolError { origin: spooled.origin().to_owned(), source })?;
        Ok((publication, digest))
    })?
}

/// Plans and records a publication that was read.
///
/// # Errors
///
/// Where it is refused or the store fails.
pub async fn record(
    store: &dyn IntelStore,
    publication: &Publication,
    provenance: &Provenance,
    options: &ImportOptions,
    now: Timestamp,
) -> Result<ImportOutcome, ImportError> {
    let today = now.to_zoned(jiff::tz::TimeZone::UTC).date();
    let digests = Digests { file: &provenance.file_digest, content: &provenance.digest };
    loop {
        let known = store.source_history(&provenance.source).await?;
        let planned = plan(&known.history, publication, digests, options, today)
            .map_err(|source| ImportError::Refused { origin: provenance.origin.clone(), source })?;
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
                return Ok(ImportOutcome::Imported {
                    digest: provenance.digest.clone(),
                    file_digest: provenance.file_digest.clone(),
                    published_on: publication.published_on,
                    parties: publication.parties,
                    addresses: entries,
                    history: !newest,
                    report,
                });
            }
            // Somebody else imported something meanwhile: plan again.
            Err(StoreError::Conflict) => {}
            Err(error) => return Err(error.into()),
        }
    }
}
