//! Sources, publications, listings, labels and prices.
//!
//! - `publications`: records of an imported sanctions list
//! - `labels`: records of an imported label set, and suppressions of labels
//! - `prices`: records of imported prices

mod labels;
mod prices;
mod publications;

use std::path::Path;

use assay_address::CanonicalAddress;
use assay_engine::{
    account::Prices,
    evidence::{Listing, SourceKind, SourceState},
    facts::Environment,
    names::SourceId,
};
use async_trait::async_trait;
use jiff::Timestamp;

pub(crate) use labels::{Fingerprint, fingerprint};
pub use labels::{
    LabelChange, LabelCounts, LabelFilter, LabelImport, LabelImportCount, LabelRequest,
    LabelRevision, LabelSink, RecordedLabel, Suppression,
};
pub use prices::{PriceImport, PriceRequest, RecordedPrices};
pub use publications::{
    FetchConditions, PublicationImport, PublicationRecord, RecordedHistory, RowId,
};

use crate::StoreError;

/// The store of sources, publications, listings, labels and prices.
#[async_trait]
pub trait IntelStore: std::fmt::Debug + Send + Sync {
    /// Folder on this machine for files that follow from the store's data and can be made again at any time. `None`:
    /// what follows from the data is kept in memory only.
    fn cache_folder(&self) -> Option<&Path>;

    /// All data that checks need: sources, recorded listings, suppressions, `prices` if requested and, if `labels` are
    /// requested, every label of the newest imports, suppressed ones included, one by one, in the order of their
    /// addresses. All data are of the same moment.
    async fn intel(
        &self,
        labels: Option<LabelRequest<'_>>,
        prices: Option<PriceRequest>,
    ) -> Result<Intel, StoreError>;

    /// The recorded history of one source, to plan an import against.
    async fn source_history(&self, source: &SourceId) -> Result<RecordedHistory, StoreError>;

    /// Records a planned publication.
    ///
    /// # Errors
    ///
    /// Returns [`StoreError::Conflict`] if anything changed since the plan was made: plan again.
    async fn record_publication(&self, import: PublicationImport) -> Result<(), StoreError>;

    /// Replaces the labels of a source. `None` if the digest is that of the newest import: then only the
    /// fetch is recorded.
    ///
    /// # Errors
    ///
    /// Returns [`StoreError::Conflict`] if another import was recorded since the labels were compared.
    async fn record_labels(&self, import: &LabelImport) -> Result<Option<LabelChange>, StoreError>;

    /// All prices, and the newest import of a source, to plan an import against.
    async fn recorded_prices(&self, source: &SourceId) -> Result<RecordedPrices, StoreError>;

    /// Records a planned import of prices.
    ///
    /// # Errors
    ///
    /// Returns [`StoreError::Conflict`] if prices changed since the import was planned: plan again.
    async fn record_prices(&self, import: &PriceImport) -> Result<(), StoreError>;

    /// Numbers of a source's labels, to compare an import with.
    async fn label_counts(&self, source: &SourceId) -> Result<LabelCounts, StoreError>;

    /// Hands recorded labels to `each`, suppressed ones included, in the order of chain and address.
    async fn labels(
        &self,
        filter: &LabelFilter,
        each: &mut (dyn FnMut(RecordedLabel) + Send),
    ) -> Result<(), StoreError>;

    /// Suppresses labels. Returns the number of recorded labels that are suppressed.
    async fn suppress_labels(&self, suppression: &Suppression) -> Result<u64, StoreError>;

    /// Lifts the suppressions of a source's labels of an address. Returns how many.
    async fn lift_suppressions(
        &self,
        source: &SourceId,
        address: &CanonicalAddress,
        at: Timestamp,
    ) -> Result<u64, StoreError>;

    /// All suppressions, lifted ones included, in order.
    async fn suppressions(&self) -> Result<Vec<Suppression>, StoreError>;

    /// The validators of the last answer with which a source was fetched from `url`.
    async fn fetch_conditions(
        &self,
        source: &SourceId,
        url: &str,
    ) -> Result<FetchConditions, StoreError>;

    /// Records that the newest publication of a source was confirmed unchanged, and the validators of the
    /// answer if it was fetched again.
    async fn confirm_fetch(
        &self,
        source: &SourceId,
        at: Timestamp,
        fetched: Option<&(String, FetchConditions)>,
    ) -> Result<(), StoreError>;
}

/// Everything that checks need.
#[derive(Clone, Debug)]
pub struct Intel {
    /// Environment of the data: production or demo.
    pub environment: Environment,
    /// The intel revision: the number of changes of sources, listings, labels and prices.
    pub generation: u64,
    /// Identifies the data. Two stores into which the same data were imported in the same order have the same revision.
    pub data_revision: String,
    /// All sources, by name.
    pub sources: Vec<SourceState>,
    /// All recorded listings, ended ones included.
    pub listings: Vec<Listing>,
    /// The number of changes of labels by imports. Suppressions are no such changes: they take effect without reading
    /// all labels again.
    pub label_generation: u64,
    /// The state of all labels.
    pub label_revision: LabelRevision,
    /// Suppressions of labels that are not lifted, in order.
    pub suppressions: Vec<Suppression>,
    /// The sources of prices, by name.
    pub price_sources: Vec<SourceState>,
    /// The number of changes of prices.
    pub price_generation: u64,
    /// All prices; `None` if they were not requested, or the caller has them.
    pub prices: Option<Prices>,
}

/// Refuses data of one kind for a source of another kind.
pub(crate) fn expect_kind(
    source: &SourceId,
    held: String,
    given: SourceKind,
) -> Result<(), StoreError> {
    if held == kind_text(given) {
        return Ok(());
    }
    Err(StoreError::SourceKindMismatch {
        source_name: source.to_string(),
        held,
        given: kind_text(given),
    })
}

/// The identifier of a kind of source in databases.
pub(crate) const fn kind_text(kind: SourceKind) -> &'static str {
    match kind {
        SourceKind::Sanctions => "sanctions",
        SourceKind::Labels => "labels",
        SourceKind::Prices => "prices",
        SourceKind::Chain => "chain",
    }
}
