//! Sources, publications, listings and labels, as they go in and out of a store.

use assay_engine::{
    address::CanonicalAddress,
    chain::ChainId,
    evidence::{
        AddressLabel, Listing, ListingEntry, SourceKind, SourceState,
        history::{Presence, PublicationRef, SourceHistory},
    },
    facts::Environment,
    names::{ListId, SourceId},
    taxonomy::Category,
};
use jiff::{Timestamp, civil::Date};
use serde::Serialize;
use sha2::{Digest, Sha256};

use crate::StoreError;

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
    /// How often labels changed.
    pub label_generation: u64,
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
    /// Where it was fetched from and what the server said; `None` for a file.
    pub fetched: Option<(String, FetchConditions)>,
    /// The labels.
    pub labels: Vec<AddressLabel>,
    /// What else is to be known of the import, as JSON.
    pub report: serde_json::Value,
    /// When.
    pub at: Timestamp,
}

/// What importing labels changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct LabelChange {
    /// Labels that were not there.
    pub added: u64,
    /// Labels that are no longer there.
    pub removed: u64,
    /// Labels that stay as they were.
    pub unchanged: u64,
}

/// Takes labels one by one.
pub type LabelSink<'a> = dyn FnMut(AddressLabel) + Send + 'a;

/// Which labels to hand out with the rest.
#[expect(missing_debug_implementations, reason = "a closure has nothing to show")]
pub struct LabelReading<'a> {
    /// The generation of labels that is known already: if it is the current one, none are handed out.
    pub known: Option<u64>,
    /// Takes them.
    pub each: &'a mut LabelSink<'a>,
}

/// A label, or all that a source says about an address, withdrawn by a person. It stays withdrawn
/// whatever later imports say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Suppression {
    /// Whose label.
    pub source: SourceId,
    /// About which address.
    pub address: CanonicalAddress,
    /// Which category; `None` for all.
    pub category: Option<Category>,
    /// Who withdraws it.
    pub author: String,
    /// Why.
    pub reason: String,
    /// When.
    pub at: Timestamp,
    /// When it was taken back.
    pub lifted_at: Option<Timestamp>,
}

/// A recorded label, with what became of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordedLabel {
    /// What it says.
    pub label: AddressLabel,
    /// From when on it was recorded.
    pub recorded_from: Timestamp,
    /// Until when.
    pub recorded_to: Option<Timestamp>,
}

/// Which labels to read.
#[derive(Clone, Debug, Default)]
pub struct LabelFilter {
    /// Of one source only.
    pub source: Option<SourceId>,
    /// Of one chain only.
    pub chain: Option<ChainId>,
    /// Those that no longer hold too.
    pub history: bool,
}

/// A source holds listings or labels, never both: what one says must not stand in for the other.
pub(crate) fn expect_kind(
    source: &SourceId,
    held: String,
    given: SourceKind,
) -> Result<(), StoreError> {
    if held == kind_text(given) {
        return Ok(());
    }
    Err(StoreError::OtherKind { source_name: source.to_string(), held, given: kind_text(given) })
}

/// The identifier of a kind of source.
pub(crate) const fn kind_text(kind: SourceKind) -> &'static str {
    match kind {
        SourceKind::Sanctions => "sanctions",
        SourceKind::Labels => "labels",
        SourceKind::Chain => "chain",
    }
}

/// Names what a label says: two labels with one fingerprint are the same.
pub(crate) type Fingerprint = [u8; 16];

/// The fingerprint of a label.
pub(crate) fn fingerprint(AddressLabel { address, label }: &AddressLabel) -> Fingerprint {
    let days = [label.valid_from, label.valid_until].map(|day| day.map(|day| day.to_string()));
    let texts = [
        Some(label.source.as_str()),
        Some(address.chain().as_str()),
        Some(address.as_str()),
        Some(label.category.as_str()),
        label.entity.as_deref(),
        Some(label.tier.as_str()),
        Some(&label.upstream),
        label.author.as_deref(),
        label.term.as_deref(),
        label.cites_list.as_ref().map(ListId::as_str),
        label.reason.as_deref(),
        label.reference.as_deref(),
        days[0].as_deref(),
        days[1].as_deref(),
    ];
    let mut hash = Sha256::new();
    hash.update([label.confidence.percent()]);
    for text in texts {
        // The length first, so that no two sequences of texts look alike.
        let length = text.map_or(u64::MAX, |text| text.len() as u64);
        hash.update(length.to_be_bytes());
        hash.update(text.unwrap_or_default());
    }
    let mut print = Fingerprint::default();
    print.iter_mut().zip(hash.finalize()).for_each(|(byte, hashed)| *byte = hashed);
    print
}
