//! Fetching and reading an input.

use std::path::Path;

use assay_input::{Conditions, FetchOutcome, Files, InputLimits, fetch};
use assay_store::intel::FetchConditions;
use jiff::civil::Date;

use super::{ImportError, request::ImportRequest};
use crate::{
    formats::{FormatInput, FormatReadError, FormatReader, ReadContext},
    labels::LabelSet,
    listings::Publication,
    prices::PriceSet,
};

/// Content of an input.
pub(super) enum Content {
    Listings(Publication),
    Labels(LabelSet),
    Prices(PriceSet),
}

/// Input that was read.
pub(super) struct ReadInput {
    pub(super) content: Content,
    /// Number of files.
    pub(super) files: usize,
    /// SHA-256 before unpacking.
    pub(super) file_digest: String,
    /// SHA-256 after unpacking.
    pub(super) content_digest: String,
    /// Location and conditions of a download.
    pub(super) fetched: Option<(String, FetchConditions)>,
}

/// Fetches and reads an input; `None` if the server has no newer content than `known`.
pub(super) fn read(
    request: &ImportRequest,
    known: FetchConditions,
    today: Date,
    progress: &dyn Fn(),
) -> Result<Option<ReadInput>, ImportError> {
    let (limits, selection) = (InputLimits::default(), request.format.files);
    let (files, fetched) = if request.is_url() {
        let known = Conditions { etag: known.etag, last_modified: known.last_modified };
        match fetch(&request.location, &known, limits, request.timeout, &request.access)? {
            FetchOutcome::NotModified => return Ok(None),
            FetchOutcome::New(spooled, Conditions { etag, last_modified }) => {
                let files =
                    Files::spooled(file_name_of(&request.location), spooled, selection, limits);
                (files, Some((request.conditions_key(), FetchConditions { etag, last_modified })))
            }
        }
    } else {
        let files = Files::from_path(Path::new(&request.location), selection, limits);
        (files.map_err(FormatReadError::from)?, None)
    };
    let mut input = FormatInput::new(files, progress).with_encoding(request.encoding);
    let context = ReadContext {
        source: &request.source,
        published_on: request.published_on.unwrap_or(today),
        blockchain: request.blockchain,
    };
    let output = match request.format.reader {
        FormatReader::Listings(read) => Content::Listings(read(&mut input, &context)?),
        FormatReader::Labels(read) => Content::Labels(read(&mut input, &context)?),
        FormatReader::Prices(read) => Content::Prices(read(&mut input, &context)?),
    };
    let files = input.files();
    Ok(Some(ReadInput {
        content: output,
        files: files.read().len(),
        file_digest: files.file_digest(),
        content_digest: files.content_digest(),
        fetched,
    }))
}

/// The file name in a URL.
fn file_name_of(url: &str) -> &str {
    let path = url.split(['?', '#']).next().unwrap_or_default();
    path.rsplit('/').next().unwrap_or_default()
}
