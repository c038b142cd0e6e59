//! Records of an imported label set, and suppressions of labels.

use std::collections::BTreeMap;

use assay_address::{CanonicalAddress, ChainId};
use assay_engine::{
    evidence::AddressLabel,
    names::{ListId, SourceId},
    taxonomy::Category,
};
use jiff::{Timestamp, civil::Date};
use serde::Serialize;
use sha2::{Digest, Sha256};

use super::FetchConditions;

/// An import of all labels of a source.
#[derive(Clone, Debug)]
pub struct LabelImport {
    /// The source.
    pub source: SourceId,
    /// True if the data is demo data.
    pub sample: bool,
    /// Date of issue.
    pub published_on: Date,
    /// SHA-256 of the content of the label set.
    pub digest: String,
    /// The format's name.
    pub format: String,
    /// The file or URL that the labels were imported from.
    pub origin: String,
    /// The URL that the labels were fetched from and the validators of the answer; `None` for a file.
    pub fetched: Option<(String, FetchConditions)>,
    /// The labels.
    pub labels: Vec<AddressLabel>,
    /// Further results of the import, as JSON.
    pub report: serde_json::Value,
    /// Number of the source's imports with which the labels were compared; `None` if they were not compared.
    pub planned_after: Option<usize>,
    /// The time of the label import.
    pub at: Timestamp,
}

/// Numbers of a source's labels, with which an import is compared.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LabelCounts {
    /// The recorded imports, oldest first.
    pub imports: Vec<LabelImportCount>,
    /// Numbers of recorded labels that have not ended, by chain.
    pub by_chain: BTreeMap<ChainId, u64>,
}

/// One import of a source's labels.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LabelImportCount {
    /// The time of the import.
    pub at: Timestamp,
    /// The number of labels.
    pub labels: u64,
    /// SHA-256 of the content.
    pub digest: String,
}

/// The numbers of labels that an import changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct LabelChange {
    /// New labels.
    pub added: u64,
    /// Labels that are no longer in force.
    pub removed: u64,
    /// Unchanged labels.
    pub unchanged: u64,
}

/// Receives labels one by one.
pub type LabelSink<'a> = dyn FnMut(AddressLabel) + Send + 'a;

/// SHA-256 that identifies the state of all labels, suppressions aside. Each import that changes labels changes it; a
/// change of rows by SQL, past this crate, does not.
pub type LabelRevision = [u8; 32];

/// A request for the labels of the newest imports.
#[expect(missing_debug_implementations, reason = "a closure has nothing to show")]
pub struct LabelRequest<'a> {
    /// True if the caller has the labels of a revision: then `each` receives no labels.
    pub is_known: &'a mut (dyn FnMut(&LabelRevision) -> bool + Send + 'a),
    /// Receives the labels one by one.
    pub each: &'a mut LabelSink<'a>,
}

/// A decision that a label, or all labels of a source for an address, no longer counts. The decision also applies to
/// later imports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Suppression {
    /// The source of the labels.
    pub source: SourceId,
    /// The address.
    pub address: CanonicalAddress,
    /// The category of the suppressed labels; `None` for all categories.
    pub category: Option<Category>,
    /// The person who decided on the suppression.
    pub author: String,
    /// The reason.
    pub reason: String,
    /// The time of the decision on the suppression.
    pub at: Timestamp,
    /// Time at which the suppression was lifted.
    pub lifted_at: Option<Timestamp>,
}

impl Suppression {
    /// True if a label does not count while the suppression holds.
    #[must_use]
    pub fn covers(&self, AddressLabel { address, label }: &AddressLabel) -> bool {
        self.source == label.source
            && self.address == *address
            && self.category.is_none_or(|category| category == label.category)
    }

    /// True if the suppression holds at a time.
    #[must_use]
    pub fn holds_at(&self, time: Timestamp) -> bool {
        self.at <= time && self.lifted_at.is_none_or(|lifted| time < lifted)
    }
}

/// A recorded label and the time for which it is recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordedLabel {
    /// The label.
    pub label: AddressLabel,
    /// Begin of the record.
    pub recorded_from: Timestamp,
    /// End of the record; `None` if it has not ended.
    pub recorded_to: Option<Timestamp>,
}

/// Filter for recorded labels.
#[derive(Clone, Debug, Default)]
pub struct LabelFilter {
    /// Only labels of this source.
    pub source: Option<SourceId>,
    /// Only labels of this chain.
    pub chain: Option<ChainId>,
    /// True to include ended labels.
    pub history: bool,
}

/// A hash of all fields of a label: labels with the same fingerprint are equal.
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
