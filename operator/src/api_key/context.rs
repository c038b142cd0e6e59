//! The context of reconciliations of `ApiKey` objects, and their errors.

use std::sync::Arc;

use assay_crds::status::ApiKeyStatus;
use assay_engine::facts::Environment;
use assay_store::{Store, StoreError};
use tokio::sync::Semaphore;

use super::{cache::ReconcileCache, deleted::DeletedObjects};
use crate::{
    backoff::Failures, reason::ConditionReason, shared::SharedContext, writer::WriteError,
    written::WrittenStatuses,
};

/// The largest number of `ApiKey` objects that are reconciled concurrently.
pub(super) const CONCURRENCY: u16 = 16;

/// The context of reconciliations of `ApiKey` objects: clients, store, caches.
#[derive(Debug)]
pub(super) struct Context {
    pub(super) shared: SharedContext,
    pub(super) store: Arc<dyn Store>,
    pub(super) environment: Environment,
    pub(super) failures: Failures,
    pub(super) written: WrittenStatuses<ApiKeyStatus>,
    pub(super) cache: ReconcileCache,
    pub(super) deleted: DeletedObjects,
    /// Permits that bound concurrent reconciliations.
    pub(super) slots: Semaphore,
}

impl Context {
    /// A context with empty caches.
    pub(super) fn new(
        shared: SharedContext,
        store: Arc<dyn Store>,
        environment: Environment,
    ) -> Self {
        Self {
            shared,
            store,
            environment,
            failures: Failures::default(),
            written: WrittenStatuses::default(),
            cache: ReconcileCache::default(),
            deleted: DeletedObjects::default(),
            slots: Semaphore::new(CONCURRENCY.into()),
        }
    }

    /// Removes an object that was deleted or can no longer be parsed from all caches.
    pub(super) fn forget(&self, identity: Option<&String>) {
        self.failures.reset(identity);
        self.written.forget(identity);
        if let Some(identity) = identity {
            self.cache.remove(identity);
        }
    }
}

/// Error of a reconciliation of an `ApiKey`, which is retried.
#[derive(Debug, thiserror::Error)]
pub(super) enum KeyError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Write(#[from] WriteError),
    #[error("the API server failed: {0}")]
    Server(#[from] kube::Error),
}

impl KeyError {
    /// The reason in metrics and in the condition `Ready`.
    pub(super) fn reason(&self) -> ConditionReason {
        match self {
            // Ids are unique: the Secret holds the key of another object.
            Self::Store(error) if error.is_unique_violation() => ConditionReason::KeyTaken,
            Self::Store(_) => ConditionReason::StoreUnavailable,
            Self::Write(_) | Self::Server(_) => ConditionReason::ApiServerUnavailable,
        }
    }
}
