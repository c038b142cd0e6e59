//! Requests to import a list, a label set or prices.

use std::{fmt::Write, time::Duration};

use assay_address::ChainId;
use assay_engine::names::SourceId;
use assay_input::{Encoding, UrlAccess, redacted};
use jiff::civil::Date;
use sha2::{Digest, Sha256};

use super::ImportError;
use crate::{
    formats::{Format, ReadOption},
    labels::terms::TermTable,
    plan::ImportOptions,
};

/// Request to import a list, a label set or prices.
#[derive(Clone, Debug)]
pub struct ImportRequest {
    /// Path of a file or a folder, or an http or https URL.
    pub location: String,
    /// Format of the input.
    pub format: &'static Format,
    /// Source that the input belongs to.
    pub source: SourceId,
    /// Date of issue of a list or label set that does not state its own; defaults to the day of the import.
    pub published_on: Option<Date>,
    /// Blockchain of addresses whose files do not state it.
    pub blockchain: Option<ChainId>,
    /// Encoding of files that state none; `None`: UTF-8.
    pub encoding: Option<Encoding>,
    /// Decisions about a publication. Label sets and prices can be accepted by their digest, and have no history.
    pub options: ImportOptions,
    /// Limit of the time for fetching.
    pub timeout: Duration,
    /// Networks and credentials for fetching the input.
    pub access: UrlAccess,
}

impl ImportRequest {
    /// A request without options, to a public server: an older or implausible publication is refused.
    #[must_use]
    pub fn new(
        location: String,
        format: &'static Format,
        source: SourceId,
        timeout: Duration,
    ) -> Self {
        Self {
            location,
            format,
            source,
            published_on: None,
            blockchain: None,
            encoding: None,
            options: ImportOptions::default(),
            timeout,
            access: UrlAccess::default(),
        }
    }

    /// Refuses options that the format does not take and that would have no effect.
    pub(super) fn check(&self) -> Result<(), ImportError> {
        let given = [
            (self.published_on.is_some(), ReadOption::PublishedOn),
            (self.blockchain.is_some(), ReadOption::Blockchain),
        ];
        match given.into_iter().find(|(given, option)| *given && !self.format.takes(*option)) {
            Some((_, option)) => Err(ImportError::Option { format: self.format.id, option }),
            None => Ok(()),
        }
    }

    /// Command that imports the file with this digest although it is implausible. The URL is shown without secrets.
    pub(super) fn accepting(&self, digest: &str) -> String {
        let kind = self.format.kind().subcommand();
        let location = quoted(&redacted(&self.location));
        let (format, source) = (self.format.id, &self.source);
        let mut command =
            format!("assay ingest {kind} {location} --format {format} --source {source}");
        if let Some(date) = self.published_on {
            let _ = write!(command, " --published-on {date}");
        }
        if let Some(chain) = self.blockchain {
            let _ = write!(command, " --blockchain {chain}");
        }
        if self.options.history {
            command.push_str(" --history");
        }
        format!("{command} --accept-digest {digest}")
    }

    pub(super) fn is_url(&self) -> bool {
        self.location.contains("://")
    }

    /// Digest of everything that decides how the files are read: the program's version, the format with its
    /// terms, and the options.
    fn reading_digest(&self) -> Sha256 {
        let mut hash = Sha256::new();
        let chain = self.blockchain.map_or("", ChainId::as_str);
        let date = self.published_on.map(|date| date.to_string()).unwrap_or_default();
        let (version, format) = (env!("CARGO_PKG_VERSION"), self.format.id);
        hash.update(format!("{version}\0{format}\0{chain}\0{date}\n"));
        if let Some(encoding) = self.encoding {
            hash.update(format!("{encoding}\n"));
        }
        for term in self.format.terms.into_iter().flat_map(TermTable::rows) {
            hash.update(format!("{}\0{}\n", term.word, term.category));
        }
        hash
    }

    /// Key under which the validators of a download are stored. A program that reads the same file differently has
    /// another key, and downloads the file again.
    pub(super) fn conditions_key(&self) -> String {
        let mut hash = self.reading_digest();
        // The store keeps no secrets of a URL.
        hash.update(&self.location);
        let reading = hex::encode(hash.finalize());
        format!("{}#read-as-{reading}", redacted(&self.location))
    }

    /// Digest of imported labels: includes how files are read, so that a program that reads them differently imports
    /// the same content again.
    pub(super) fn digest_of_labels(&self, content_digest: &str) -> String {
        let mut hash = self.reading_digest();
        hash.update(content_digest);
        hex::encode(hash.finalize())
    }
}

/// A word of a command line for a shell.
fn quoted(word: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_./:@%+=,~".contains(letter);
    if !word.is_empty() && word.chars().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}
