//! The context of work on keys, and its errors.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use assay_crds::{ApiKey, status::ApiKeyStatus};
use assay_engine::facts::Environment;
use assay_store::{Store, StoreError};
use kube::Client;
use tokio::sync::watch;

use crate::{
    backoff::Failures,
    client::SharedClient,
    health::Health,
    in_force::InForce,
    instance::Instance,
    reason::Reason,
    scope::WatchScope,
    writer::{WriteError, Writer},
};

/// The context of work on keys.
#[derive(Clone, Debug)]
pub(crate) struct Context {
    pub(super) client: SharedClient,
    pub(super) instance: Instance,
    pub(super) store: Arc<dyn Store>,
    pub(super) environment: Environment,
    pub(super) writer: Writer,
    pub(super) health: Health,
    pub(super) in_force: watch::Receiver<InForce>,
    pub(super) failures: Arc<Failures>,
    /// The last written status of each object, by UID, until the watch delivers it.
    written: Arc<Mutex<HashMap<String, ApiKeyStatus>>>,
    /// The namespaces whose keys are watched.
    pub(super) scope: WatchScope,
    /// The interval between reconciliations while nothing changes.
    pub(super) resync: Duration,
}

impl Context {
    /// A context.
    #[expect(clippy::too_many_arguments, reason = "each is a part of the program")]
    pub(crate) fn new(
        client: Client,
        instance: Instance,
        store: Arc<dyn Store>,
        environment: Environment,
        writer: Writer,
        health: Health,
        in_force: watch::Receiver<InForce>,
        scope: WatchScope,
        resync: Duration,
    ) -> Self {
        let client = SharedClient(client);
        let (failures, written) = <(Arc<_>, Arc<_>)>::default();
        Self {
            client,
            instance,
            store,
            environment,
            writer,
            health,
            in_force,
            failures,
            written,
            scope,
            resync,
        }
    }

    pub(super) fn written(&self) -> MutexGuard<'_, HashMap<String, ApiKeyStatus>> {
        self.written.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Forgets the written status of an object if the watch has delivered it.
    pub(super) fn forget_written(&self, object: &ApiKey, identity: &str) {
        let mut written = self.written();
        if written.get(identity).is_some_and(|status| object.status.as_ref() == Some(status)) {
            written.remove(identity);
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
    #[error("this operator does not hold the Lease: nothing was written")]
    NotLeader,
}

impl KeyError {
    /// The reason in metrics and in the condition.
    pub(super) fn reason(&self) -> Reason {
        match self {
            // Ids are unique: the Secret holds the key of another object.
            Self::Store(error) if error.is_unique_violation() => Reason::KeyTaken,
            Self::Store(_) => Reason::StoreUnavailable,
            Self::Write(_) | Self::Server(_) | Self::NotLeader => Reason::ApiServerUnavailable,
        }
    }
}
