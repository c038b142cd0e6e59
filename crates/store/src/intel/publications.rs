//! Records of an imported sanctions list.

use assay_engine::{
    evidence::{
        ListingEntry,
        history::{Presence, PublicationRef, SourceHistory},
    },
    names::SourceId,
};
use jiff::Timestamp;

/// Identifier of a listing's row.
pub type RowId = i64;

/// The recorded history of a source at one intel revision.
#[derive(Clone, Debug)]
pub struct RecordedHistory {
    /// The intel revision.
    pub generation: u64,
    /// Publications and listings.
    pub history: SourceHistory<RowId>,
}

/// A planned import of a publication.
#[derive(Clone, Debug)]
pub struct PublicationImport {
    /// The intel revision at which the plan was made.
    pub planned_at_generation: u64,
    /// The source.
    pub source: SourceId,
    /// True if the data is demo data.
    pub sample: bool,
    /// The publication.
    pub publication: PublicationRecord,
    /// True if the publication is the latest of its source; the source then counts as verified now.
    pub newest: bool,
    /// Recorded listings that end.
    pub ended: Vec<RowId>,
    /// Listings that begin.
    pub begun: Vec<(ListingEntry, Presence)>,
    /// The URL that the publication was fetched from and the validators of the answer; `None` for a file.
    pub fetched: Option<(String, FetchConditions)>,
    /// The time of the import of the publication.
    pub at: Timestamp,
}

/// The properties of a publication.
#[derive(Clone, Debug)]
pub struct PublicationRecord {
    /// Date of issue, and the position in the source's history.
    pub reference: PublicationRef,
    /// SHA-256 of the content of the publication.
    pub digest: String,
    /// SHA-256 of the file as fetched.
    pub file_digest: String,
    /// The format's name.
    pub format: String,
    /// The file or URL that the publication was imported from.
    pub origin: String,
    /// The number of addresses in the publication.
    pub entries: u64,
    /// Changes that the import made, as JSON.
    pub report: serde_json::Value,
}

/// The validators of an HTTP response (RFC 9110), for a conditional request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FetchConditions {
    /// The entity tag.
    pub etag: Option<String>,
    /// The time at which the content was last modified, as the server wrote it.
    pub last_modified: Option<String>,
}
