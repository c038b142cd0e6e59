//! The context of work on keys, and its errors.

use std::sync::Arc;

use assay_crds::status::ApiKeyStatus;
use assay_engine::facts::Environment;
use assay_store::{Store, StoreError};
use tokio::sync::Semaphore;

use super::{cache::ReconcileCache, deleted::DeletedObjects};
use crate::{
    backoff::Failures, reason::ConditionReason, shared::Shared, writer::WriteError,
    written::WrittenStatuses,
};

/// The largest number of keys that are worked on at once.
pub(super) const CONCURRENCY: u16 = 16;

/// The context of work on keys, with the state that one run of it keeps.
#[derive(Debug)]
pub(super) struct Context {
    pub(super) shared: Shared,
    pub(super) store: Arc<dyn Store>,
    pub(super) environment: Environment,
    pub(super) failures: Failures,
    pub(super) written: WrittenStatuses<ApiKeyStatus>,
    pub(super) cache: ReconcileCache,
    pub(super) deleted: DeletedObjects,
    /// The places of keys that are worked on.
    pub(super) slots: Semaphore,
}

impl Context {
    /// A context for a run.
    pub(super) fn new(shared: Shared, store: Arc<dyn Store>, environment: Environment) -> Self {
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

    /// Forgets an object that was deleted or can no longer be parsed.
    pub(super) fn forget(&self, identity: Option<&String>) {
        self.failures.reset(identity);
        self.written.forget(identity);
        if let Some(identity) = identity {
            self.cache.remove(identity);
        }
    }
}

/// Why work on a key failed; it is retried.
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
    /// The reason in metrics and in the condition.
    pub(super) fn reason(&self) -> ConditionReason {
        match self {
            // Ids are unique: the Secret holds the key of another object.
            Self::Store(error) if error.is_unique_violation() => ConditionReason::KeyTaken,
            Self::Store(_) => ConditionReason::StoreUnavailable,
            Self::Write(_) | Self::Server(_) => ConditionReason::ApiServerUnavailable,
        }
    }
}
