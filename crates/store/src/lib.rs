//! Persistence: one contract ([`Store`]), and the backends that keep it.
//!
//! Nothing above this crate knows which backend is behind the contract; `tests/contract.rs` runs one
//! suite against every backend.
//!
//! - [`intel`]: sources, publications, listings and labels
//! - [`control`]: manifests and API keys
//! - [`usage`]: what was charged and what was answered
//! - [`fetched`]: what was fetched on demand
//! - [`seats`], [`quotas`]: what several servers arrange, to keep limits together
//! - [`sqlite`]: the embedded backend
//! - [`postgres`]: the backend that several servers share

pub mod control;
mod error;
pub mod fetched;
pub mod intel;
pub mod postgres;
pub mod quotas;
mod row;
pub mod seats;
pub mod sqlite;
pub mod usage;
mod value;

use assay_engine::{
    address::CanonicalAddress, chain::ChainId, facts::Environment, names::SourceId,
};
use assay_tenancy::{
    Name,
    key::{KeyId, Scope},
    manifest::Kind,
};
use async_trait::async_trait;
use jiff::{Timestamp, civil::Date};

use assay_database::ChangeSubscription;
use control::{Control, KeyRecord, ManifestRecord};
pub use error::StoreError;
use fetched::{Fetched, FetchedKind};
use intel::{
    FetchConditions, Intel, LabelChange, LabelFilter, LabelImport, LabelReading, PublicationImport,
    RecordedHistory, RecordedLabel, Suppression,
};
pub use postgres::PostgresStore;
pub use sqlite::SqliteStore;

use usage::{KeptCheck, Purge, Purged, UsageBatch, UsageCount};

/// How often each part changed. A program that serves from memory reloads the part whose counter moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Revisions {
    /// Counts changes of sources, listings and labels.
    pub intel: u64,
    /// Counts changes of manifests and keys.
    pub control: u64,
}

/// What servers arrange through a store that several of them use.
pub trait Shared: seats::Seats + quotas::Quotas + Send + Sync {}

impl<T: seats::Seats + quotas::Quotas + Send + Sync> Shared for T {}

/// What every backend does. Each writing call is one transaction: it happens wholly or not at all.
#[async_trait]
pub trait Store: std::fmt::Debug + Send + Sync + 'static {
    /// Whether the data is real; decided when the store was made.
    async fn environment(&self) -> Result<Environment, StoreError>;

    /// How often each part changed.
    async fn revisions(&self) -> Result<Revisions, StoreError>;

    /// Subscribes to changes of the store. `None` if the backend cannot notify: then only
    /// [`Store::revisions`] tells.
    fn subscribe(&self) -> Option<ChangeSubscription>;

    /// What servers arrange through the store; `None` where the backend is embedded and has one server,
    /// which arranges everything in its own memory.
    fn shared(&self) -> Option<&dyn Shared>;

    /// Everything that checks need: sources and recorded listings; and, where `labels` are asked for,
    /// every label that stands, one by one, those of one address one after the other. All of it is of
    /// one moment.
    async fn intel(&self, labels: Option<LabelReading<'_>>) -> Result<Intel, StoreError>;

    /// What is known of one source, to plan an import against.
    async fn source_history(&self, source: &SourceId) -> Result<RecordedHistory, StoreError>;

    /// Records a planned publication.
    ///
    /// # Errors
    ///
    /// [`StoreError::Conflict`] where anything changed since the plan was made: plan again.
    async fn record_publication(&self, import: PublicationImport) -> Result<(), StoreError>;

    /// Replaces a source's labels and says what that changed; `None` where the digest is that of the
    /// newest import: then only the fetch is noted.
    async fn record_labels(&self, import: LabelImport) -> Result<Option<LabelChange>, StoreError>;

    /// Recorded labels, withdrawn ones included, by chain and address.
    async fn labels(
        &self,
        filter: &LabelFilter,
        each: &mut (dyn FnMut(RecordedLabel) + Send),
    ) -> Result<(), StoreError>;

    /// Withdraws labels; says how many that are recorded now it withdraws.
    async fn suppress_labels(&self, suppression: &Suppression) -> Result<u64, StoreError>;

    /// Takes withdrawals of a source's labels about an address back; says how many.
    async fn lift_suppressions(
        &self,
        source: &SourceId,
        address: &CanonicalAddress,
        at: Timestamp,
    ) -> Result<u64, StoreError>;

    /// Every withdrawal, those taken back included, in order.
    async fn suppressions(&self) -> Result<Vec<Suppression>, StoreError>;

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

    /// Adds or replaces manifests, and removes others; what is not there needs no removal.
    ///
    /// # Errors
    ///
    /// [`StoreError::Conflict`] where the control revision is no longer `expected`: resolve again.
    async fn put_manifests(
        &self,
        manifests: &[ManifestRecord],
        removed: &[(Kind, Name)],
        expected: u64,
        at: Timestamp,
    ) -> Result<(), StoreError>;

    /// Every key of one tenant, revoked and expired ones included, the oldest first.
    async fn keys_of(&self, tenant: &Name) -> Result<Vec<KeyRecord>, StoreError>;

    /// The keys of that name, revoked and expired ones included, the oldest first.
    async fn keys_named(&self, name: &str) -> Result<Vec<KeyRecord>, StoreError>;

    /// Adds a key, and in the same transaction lets the one it replaces expire.
    async fn add_key(
        &self,
        key: &KeyRecord,
        replaces: Option<(&KeyId, Timestamp)>,
    ) -> Result<(), StoreError>;

    /// Changes what a key is good for, from now on.
    ///
    /// # Errors
    ///
    /// [`StoreError::UnknownKey`] where there is no such key.
    async fn regrant_key(
        &self,
        id: &KeyId,
        scopes: &[Scope],
        expires_at: Option<Timestamp>,
    ) -> Result<(), StoreError>;

    /// Revokes a key; what was revoked stays so.
    ///
    /// # Errors
    ///
    /// [`StoreError::UnknownKey`] where there is no such key.
    async fn revoke_key(&self, id: &KeyId, at: Timestamp) -> Result<(), StoreError>;

    /// Notes when keys were last used. Not a change of the control revision.
    async fn touch_keys(&self, used: &[(KeyId, Timestamp)]) -> Result<(), StoreError>;

    /// Adds to what was charged; nothing where the batch was added before.
    async fn add_usage(&self, batch: &UsageBatch) -> Result<(), StoreError>;

    /// What was charged from one day to another, both included, by tenant and day.
    async fn usage(
        &self,
        tenant: Option<&Name>,
        from: Date,
        to: Date,
    ) -> Result<Vec<UsageCount>, StoreError>;

    /// Keeps answers.
    async fn keep_checks(&self, checks: &[KeptCheck]) -> Result<(), StoreError>;

    /// A kept answer of a tenant.
    async fn kept_check(&self, tenant: &Name, id: &str) -> Result<Option<KeptCheck>, StoreError>;

    /// What was fetched under these keys, in any order; what was not is missing.
    async fn fetched(
        &self,
        chain: ChainId,
        kind: FetchedKind,
        keys: &[String],
    ) -> Result<Vec<Fetched>, StoreError>;

    /// Keeps what was fetched, in the place of what was kept under the same keys.
    async fn keep_fetched(&self, records: &[Fetched]) -> Result<(), StoreError>;

    /// Deletes what of a tenant's is older than it is kept.
    async fn purge(&self, purge: &Purge) -> Result<Purged, StoreError>;

    /// Deletes what is no tenant's: what was fetched before a moment, writers of usage that wrote nothing
    /// since then, and windows of limits that ended long ago. Says how many fetched texts that were.
    async fn purge_common(&self, before: Timestamp) -> Result<u64, StoreError>;

    /// Closes the store once everything under way is done.
    async fn close(&self);
}
