//! The stores of control, intel, usage and coordination data, and their backends.
//!
//! Each kind of data has a trait in the module of its records; [`Store`] combines all traits. A function takes the
//! narrowest trait that it needs. `tests/all/contract` runs one suite against every backend.
//!
//! - [`control`]: manifests and API keys ([`ControlStore`])
//! - [`intel`]: sources, publications, listings, labels and prices ([`IntelStore`])
//! - [`usage`]: charges and kept checks ([`UsageStore`]); [`checks`]: what a search of kept checks asks and finds
//! - [`idempotency`]: idempotency keys of requests, with their answers ([`IdempotencyStore`])
//! - [`receivers`]: receivers of withdrawals that tenants checked ([`ReceiverStore`])
//! - [`sessions`]: sessions of people in the console ([`SessionStore`])
//! - [`fetched`]: history that was fetched on demand ([`FetchedStore`])
//! - [`jobs`]: background work ([`JobStore`])
//! - [`coordination`]: state that the replicas of a service share to enforce limits together ([`SlotStore`],
//!   [`QuotaStore`])
//! - `sql`: the queries of all traits except the traits of coordination, in one text for both backends
//! - [`sqlite`]: the embedded backend
//! - [`postgres`]: the backend that several servers share

pub mod checks;
pub mod control;
pub mod coordination;
mod error;
pub mod fetched;
pub mod idempotency;
pub mod intel;
pub mod jobs;
mod migrations;
pub mod postgres;
pub mod receivers;
mod row;
pub mod sessions;
mod sql;
pub mod sqlite;
pub mod usage;
mod value;

use std::sync::Arc;

use assay_database::ChangeSubscription;
use assay_engine::facts::Environment;
use async_trait::async_trait;
use jiff::Timestamp;

pub use control::ControlStore;
pub use coordination::{Coordination, QuotaStore, SlotStore};
pub use error::StoreError;
pub use fetched::FetchedStore;
pub use idempotency::IdempotencyStore;
pub use intel::IntelStore;
pub use jobs::JobStore;
pub use postgres::PostgresStore;
pub use receivers::ReceiverStore;
pub use sessions::SessionStore;
pub use sqlite::SqliteStore;
pub use usage::UsageStore;

/// Change counters of a store. A program that serves from memory reloads the part of the data whose counter changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Revisions {
    /// Changes of sources, listings, labels and prices.
    pub intel: u64,
    /// Changes of manifests and keys together.
    pub control: u64,
    /// Changes of manifests.
    pub manifests: u64,
    /// Changes of keys.
    pub keys: u64,
}

/// A store of all kinds of data. Each writing call of its traits is one transaction: it is applied wholly
/// or not at all.
#[async_trait]
pub trait Store:
    ControlStore
    + IntelStore
    + UsageStore
    + ReceiverStore
    + IdempotencyStore
    + SessionStore
    + FetchedStore
    + JobStore
    + 'static
{
    /// Environment of the data, production or demo; set when the store was created.
    async fn environment(&self) -> Result<Environment, StoreError>;

    /// The change counters.
    async fn revisions(&self) -> Result<Revisions, StoreError>;

    /// The time by the database's clock. `None` for the embedded backend, which has the clock of its only server.
    async fn time(&self) -> Result<Option<Timestamp>, StoreError>;

    /// Subscribes to changes. `None` if the backend cannot notify: then callers poll [`Store::revisions`].
    fn subscribe(&self) -> Option<ChangeSubscription>;

    /// The data that several servers share to enforce limits together. `None` for the embedded backend: its
    /// only server keeps limits in memory.
    fn coordination(&self) -> Option<Arc<dyn Coordination>>;

    /// Closes the store after running operations have finished.
    async fn close(&self);
}
