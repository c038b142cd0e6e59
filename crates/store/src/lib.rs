//! Persistence: one contract ([`Store`]), and the backends that keep it.
//!
//! What is checked against lives in memory: [`IntelSnapshot`] is built from a store and swapped whole.
//! Nothing above this crate knows which backend is behind the contract; `tests/contract.rs` runs one
//! suite against every backend.
//!
//! - [`intel`]: sources, publications, listings and labels
//! - [`control`]: manifests and API keys
//! - [`snapshot`]: the index that answers "what is known about this address"
//! - [`sqlite`]: the embedded backend

pub mod control;
mod error;
pub mod intel;
pub mod snapshot;
pub mod sqlite;

use assay_engine::{facts::Environment, names::SourceId};
use async_trait::async_trait;
use jiff::Timestamp;

use assay_tenancy::key::KeyId;
use control::{Control, KeyRecord, ManifestRecord};
pub use error::StoreError;
use intel::{FetchConditions, Intel, LabelImport, PublicationImport, RecordedHistory};
pub use snapshot::IntelSnapshot;
pub use sqlite::SqliteStore;

/// How often each part changed. A program that serves from memory reloads the part whose counter moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Revisions {
    /// Counts changes of sources, listings and labels.
    pub intel: u64,
    /// Counts changes of manifests and keys.
    pub control: u64,
}

/// What every backend does. Each writing call is one transaction: it happens wholly or not at all.
#[async_trait]
pub trait Store: std::fmt::Debug + Send + Sync + 'static {
    /// Whether the data is real; decided when the store was made.
    async fn environment(&self) -> Result<Environment, StoreError>;

    /// How often each part changed.
    async fn revisions(&self) -> Result<Revisions, StoreError>;

    /// Everything that checks need: sources, recorded listings and labels.
    async fn intel(&self) -> Result<Intel, StoreError>;

    /// What is known of one source, to plan an import against.
    async fn source_history(&self, source: &SourceId) -> Result<RecordedHistory, StoreError>;

    /// Records a planned publication.
    ///
    /// # Errors
    ///
    /// [`StoreError::Conflict`] where anything changed since the plan was made: plan again.
    async fn record_publication(&self, import: PublicationImport) -> Result<(), StoreError>;

    /// Replaces a source's labels; where the digest is known already, only notes the fetch.
    async fn record_labels(&self, import: LabelImport) -> Result<(), StoreError>;

    /// What the server said when a source was last fetched from `url`.
    async fn fetch_conditions(
        &self,
        source: &SourceId,
        url: &str,
    ) -> Result<FetchConditions, StoreError>;

    /// Notes that a source's newest publication was confirmed unchanged, and where it was fetched from
    /// anew what the server said.
    async fn confirm_fetch(
        &self,
        source: &SourceId,
        at: Timestamp,
        fetched: Option<&(String, FetchConditions)>,
    ) -> Result<(), StoreError>;

    /// All manifests and keys.
    async fn control(&self) -> Result<Control, StoreError>;

    /// Adds or replaces manifests.
    ///
    /// # Errors
    ///
    /// [`StoreError::Conflict`] where the control revision is no longer `expected`: resolve again.
    async fn put_manifests(
        &self,
        manifests: &[ManifestRecord],
        expected: u64,
        at: Timestamp,
    ) -> Result<(), StoreError>;

    /// Adds a key, and in the same transaction lets the one it replaces expire.
    async fn add_key(
        &self,
        key: &KeyRecord,
        replaces: Option<(&KeyId, Timestamp)>,
    ) -> Result<(), StoreError>;

    /// Revokes a key; what was revoked stays so.
    ///
    /// # Errors
    ///
    /// [`StoreError::UnknownKey`] where there is no such key.
    async fn revoke_key(&self, id: &KeyId, at: Timestamp) -> Result<(), StoreError>;

    /// Notes when keys were last used. Not a change of the control revision.
    async fn touch_keys(&self, used: &[(KeyId, Timestamp)]) -> Result<(), StoreError>;
}
