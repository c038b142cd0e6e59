//! Importing labels: got, read, and put in the place of what the source said before, in one transaction.

use std::{
    fs,
    io::{self, BufReader},
    path::{Path, PathBuf},
    time::Duration,
};

use assay_engine::{chain::ChainId, names::SourceId};
use assay_input::{Conditions, Fetched, InputLimits, Spooled, fetch};
use assay_store::{
    IntelStore,
    intel::{FetchConditions, LabelChange, LabelImport},
};
use clap::ValueEnum;
use jiff::{Timestamp, civil::Date, tz::TimeZone};
use serde::Serialize;
use serde_json::json;
use sha2::{Digest, Sha256};

use super::{BUFFER_BYTES, ImportError};
use crate::{
    labels::{self, LabelError, LabelSet, explorer::Explorer},
    sanctions::Rejected,
};

/// A format of labels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LabelFormat {
    /// `GraphSense` TagPacks (YAML): a file, or a folder of them
    Tagpack,
    /// Name tags of block explorers (JSON); the chain by the file's name or --blockchain
    Explorer,
    /// Plain labels as CSV, with the header that the documentation names
    Csv,
    /// Plain labels, one JSON object a line
    Jsonl,
}

impl LabelFormat {
    /// The format's name.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Tagpack => "tagpack",
            Self::Explorer => "explorer",
            Self::Csv => "csv",
            Self::Jsonl => "jsonl",
        }
    }

    /// How files of this format are called in a folder.
    const fn extensions(self) -> &'static [&'static str] {
        match self {
            Self::Tagpack => &["yaml", "yml"],
            Self::Explorer => &["json"],
            Self::Csv => &["csv"],
            Self::Jsonl => &["jsonl", "ndjson"],
        }
    }
}

/// What to import.
#[derive(Clone, Debug)]
pub struct LabelRequest {
    /// A file, a folder, or an http or https URL.
    pub location: String,
    /// The format.
    pub format: LabelFormat,
    /// The source.
    pub source: SourceId,
    /// The chain of an explorer's labels, where the file's name does not tell it.
    pub blockchain: Option<ChainId>,
    /// Longest time for fetching.
    pub timeout: Duration,
}

/// What an import came to.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum LabelOutcome {
    /// The server has nothing newer.
    NotModified,
    /// These very labels are known already.
    Unchanged {
        /// SHA-256 of the content.
        digest: String,
    },
    /// Labels were recorded.
    Imported {
        /// SHA-256 of the content.
        digest: String,
        /// Files that were read.
        files: usize,
        /// The newest date that the files give, else the day of the import.
        published_on: Date,
        /// Labels in all.
        labels: usize,
        /// What changed.
        #[serde(flatten)]
        change: LabelChange,
        /// What could not be taken in.
        rejected: Vec<Rejected>,
        /// Words that no table knows, and how often they came.
        unknown_terms: std::collections::BTreeMap<String, u64>,
        /// Labels about chains that are not read, by the source's code.
        unsupported: std::collections::BTreeMap<String, u64>,
    },
}

/// Imports labels. `progress` hears of each file that was read.
///
/// # Errors
///
/// Where they cannot be got or read, or the store fails. Nothing changed then.
pub async fn import(
    store: &dyn IntelStore,
    request: &LabelRequest,
    now: Timestamp,
    progress: impl Fn() + Send + 'static,
) -> Result<LabelOutcome, ImportError> {
    let known = if is_url(&request.location) {
        store.fetch_conditions(&request.source, &fetched_as(request)).await?
    } else {
        FetchConditions::default()
    };
    let asked = request.clone();
    // Fetching, unpacking and parsing block: they get a thread of their own.
    let got = assay_telemetry::request::on_thread(move || read(&asked, known, &progress));
    let Some(Got { set, digest, files, fetched }) =
        got.await.map_err(|_| ImportError::Stopped)??
    else {
        store.confirm_fetch(&request.source, now, None).await?;
        return Ok(LabelOutcome::NotModified);
    };
    let LabelSet { published_on, labels, rejected, unknown_terms, unsupported } = set;
    if labels.is_empty() {
        return Err(ImportError::NoLabels { origin: request.location.clone() });
    }
    let published_on = published_on.unwrap_or_else(|| now.to_zoned(TimeZone::UTC).date());
    let count = labels.len();
    let import = LabelImport {
        source: request.source.clone(),
        sample: false,
        published_on,
        digest: digest.clone(),
        format: request.format.as_str().to_owned(),
        origin: request.location.clone(),
        fetched,
        labels,
        report: json!({
            "files": files, "rejected": rejected, "unknown_terms": unknown_terms,
            "unsupported": unsupported,
        }),
        at: now,
    };
    let change = store.record_labels(import).await?;
    Ok(match change {
        None => LabelOutcome::Unchanged { digest },
        Some(change) => LabelOutcome::Imported {
            digest,
            files,
            published_on,
            labels: count,
            change,
            rejected,
            unknown_terms,
            unsupported,
        },
    })
}

/// What was read.
struct Got {
    set: LabelSet,
    digest: String,
    files: usize,
    fetched: Option<(String, FetchConditions)>,
}

fn is_url(location: &str) -> bool {
    location.contains("://")
}

fn read(
    request: &LabelRequest,
    known: FetchConditions,
    progress: &impl Fn(),
) -> Result<Option<Got>, ImportError> {
    let limits = InputLimits::default();
    let mut digest = Digesting::new(request);
    if is_url(&request.location) {
        let known = Conditions { etag: known.etag, last_modified: known.last_modified };
        let (spooled, Conditions { etag, last_modified }) =
            match fetch(&request.location, &known, limits, request.timeout)? {
                Fetched::NotModified => return Ok(None),
                Fetched::New(spooled, conditions) => (spooled, conditions),
            };
        let path = request.location.split(['?', '#']).next().unwrap_or_default().to_owned();
        let set = read_file(request, Path::new(&path), &spooled, &mut digest)?;
        progress();
        let fetched = Some((fetched_as(request), FetchConditions { etag, last_modified }));
        return Ok(Some(Got { set, digest: digest.finish(), files: 1, fetched }));
    }
    let files = files(Path::new(&request.location), request.format)?;
    let sets = files
        .iter()
        .map(|path| {
            let spooled = Spooled::from_file(path, limits)?;
            let set = read_file(request, path, &spooled, &mut digest);
            progress();
            set
        })
        .collect::<Result<LabelSet, ImportError>>()?;
    Ok(Some(Got { set: sets, digest: digest.finish(), files: files.len(), fetched: None }))
}

/// The file, or all files of the format in the folder, by name.
fn files(path: &Path, format: LabelFormat) -> Result<Vec<PathBuf>, ImportError> {
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let failed = |source: io::Error| ImportError::Folder { path: path.to_owned(), source };
    let mut files = Vec::new();
    for entry in fs::read_dir(path).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        let extension = path.extension().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
        if path.is_file() && format.extensions().contains(&extension.as_str()) {
            files.push(path);
        }
    }
    if files.is_empty() {
        return Err(ImportError::EmptyFolder { path: path.to_owned(), format: format.as_str() });
    }
    files.sort();
    Ok(files)
}

fn read_file(
    request: &LabelRequest,
    path: &Path,
    spooled: &Spooled,
    digest: &mut Digesting,
) -> Result<LabelSet, ImportError> {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    digest.file(&name, spooled.digest());
    let source = &request.source;
    let explorer = || explorer(request, path);
    let read = |content: &mut dyn io::Read| -> Result<LabelSet, ImportError> {
        let input = BufReader::with_capacity(BUFFER_BYTES, content);
        Ok(match request.format {
            LabelFormat::Tagpack => labels::tagpack::read(input, &name, source)?,
            LabelFormat::Explorer => labels::explorer::read(input, &name, source, &explorer()?)?,
            LabelFormat::Csv => labels::csv::read(input, &name, source)?,
            LabelFormat::Jsonl => labels::jsonl::read(input, &name, source)?,
        })
    };
    spooled.unpack(InputLimits::default(), read)?
}

/// The explorer that a file comes from.
fn explorer(request: &LabelRequest, path: &Path) -> Result<Explorer, ImportError> {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    match (request.blockchain, Explorer::of_file(&stem)) {
        (Some(chain), Some(known)) => Ok(Explorer { chain, ..known }),
        (Some(chain), None) => Ok(Explorer { chain, host: stem }),
        (None, Some(known)) => Ok(known),
        (None, None) => {
            let known: Vec<&str> = Explorer::known().map(|(name, ..)| name).collect();
            Err(ImportError::UnknownExplorer { file: stem, known: known.join(", ") })
        }
    }
}

impl From<LabelError> for ImportError {
    fn from(error: LabelError) -> Self {
        Self::Labels(error)
    }
}

/// Digests files, and the tables by which they were read: a program with other tables reads the same
/// files anew.
struct Digesting(Sha256);

/// What a server's word about a file belongs to: where it is, and how it was read. A program that would
/// read the same file otherwise asks for it anew.
fn fetched_as(request: &LabelRequest) -> String {
    format!("{}#read-as-{}", request.location, Digesting::new(request).finish())
}

impl Digesting {
    fn new(request: &LabelRequest) -> Self {
        let mut hash = Sha256::new();
        hash.update(env!("CARGO_PKG_VERSION"));
        let chain = request.blockchain.map_or("", ChainId::as_str);
        hash.update(format!("\0{}\0{chain}\n", request.format.as_str()));
        for table in labels::terms::tables() {
            for term in table.rows() {
                hash.update(format!("{}\0{}\n", term.word, term.category));
            }
        }
        Self(hash)
    }

    fn file(&mut self, name: &str, digest: &str) {
        self.0.update(format!("{name}\0{digest}\n"));
    }

    fn finish(self) -> String {
        hex::encode(self.0.finalize())
    }
}
