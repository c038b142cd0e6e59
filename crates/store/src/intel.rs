//! Sources, publications, listings and labels, as they go in and out of a store.

use assay_engine::{
    address::CanonicalAddress,
    evidence::{
        Label, Listing, ListingEntry, SourceKind, SourceState,
        history::{Presence, PublicationRef, SourceHistory},
    },
    facts::Environment,
    names::SourceId,
};
use jiff::{Timestamp, civil::Date};

/// Names the row of a listing.
pub type RowId = i64;

/// Everything that checks need.
#[derive(Clone, Debug)]
pub struct Intel {
    /// Whether the data is real.
    pub environment: Environment,
    /// How often sources, listings and labels changed.
    pub generation: u64,
    /// Names what they say. Two stores into which the same was imported in the same order have the
    /// same.
    pub data_revision: String,
    /// Every source, by name.
    pub sources: Vec<SourceState>,
    /// Every recorded listing, ended ones included.
    pub listings: Vec<Listing>,
    /// Every recorded label, ended ones included.
    pub labels: Vec<AddressLabel>,
}

/// A label and the address it is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AddressLabel {
    /// The address.
    pub address: CanonicalAddress,
    /// What is said about it.
    pub label: Label,
}

/// What is known of a source, and when that was.
#[derive(Clone, Debug)]
pub struct RecordedHistory {
    /// The generation it was read at.
    pub generation: u64,
    /// Its publications and listings.
    pub history: SourceHistory<RowId>,
}

/// A publication to be recorded, as planned.
#[derive(Clone, Debug)]
pub struct PublicationImport {
    /// The generation that the plan was made at.
    pub planned_at_generation: u64,
    /// The source.
    pub source: SourceId,
    /// Whether it is made up.
    pub sample: bool,
    /// The publication.
    pub publication: PublicationRecord,
    /// Whether it is the newest of its source: then the source counts as verified now.
    pub newest: bool,
    /// Recorded listings that no longer hold as they are.
    pub ended: Vec<RowId>,
    /// Listings to be recorded.
    pub begun: Vec<(ListingEntry, Presence)>,
    /// Where it was fetched from and what the server said; `None` for a file.
    pub fetched: Option<(String, FetchConditions)>,
    /// When.
    pub at: Timestamp,
}

/// A publication's own facts.
#[derive(Clone, Debug)]
pub struct PublicationRecord {
    /// Its place in the source's history.
    pub reference: PublicationRef,
    /// SHA-256 of its content.
    pub digest: String,
    /// SHA-256 of the file as it came.
    pub file_digest: String,
    /// The format's name.
    pub format: String,
    /// The file or URL.
    pub origin: String,
    /// How many addresses it holds.
    pub entries: u64,
    /// What importing it changed, as JSON.
    pub report: serde_json::Value,
}

/// What a server said of an answer, to ask for a newer one only.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FetchConditions {
    /// The answer's entity tag.
    pub etag: Option<String>,
    /// When the answer was last modified.
    pub last_modified: Option<String>,
}

/// All labels of a source.
#[derive(Clone, Debug)]
pub struct LabelImport {
    /// The source.
    pub source: SourceId,
    /// Whether it is made up.
    pub sample: bool,
    /// Date of issue.
    pub published_on: Date,
    /// SHA-256 of the content.
    pub digest: String,
    /// The format's name.
    pub format: String,
    /// The file or URL.
    pub origin: String,
    /// The labels.
    pub labels: Vec<AddressLabel>,
    /// When.
    pub at: Timestamp,
}

/// The identifier of a kind of source.
pub(crate) const fn kind_text(kind: SourceKind) -> &'static str {
    match kind {
        SourceKind::Sanctions => "sanctions",
        SourceKind::Labels => "labels",
    }
}
