//! Statuses that a controller writes, including the last written statuses that the watch has not delivered yet.

use std::{
    collections::HashMap,
    fmt::Debug,
    sync::{Mutex, MutexGuard, PoisonError},
};

use assay_crds::status::Status;
use k8s_openapi::NamespaceResourceScope;
use kube::{Api, Resource, core::object::HasStatus};
use serde::{Serialize, de::DeserializeOwned};

use crate::{
    shared::SharedContext,
    writer::{MANAGER, WriteError},
};

/// The last written status of each object, by UID, until the watch delivers it.
#[derive(Debug)]
pub(crate) struct WrittenStatuses<S>(Mutex<HashMap<String, S>>);

impl<S> Default for WrittenStatuses<S> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<S: Status + Clone + Debug + PartialEq + Serialize> WrittenStatuses<S> {
    /// The last written status of an object.
    pub(crate) fn current(&self, object: &(impl Resource + HasStatus<Status = S>)) -> S {
        let written = object.meta().uid.as_ref().and_then(|uid| self.lock().get(uid).cloned());
        written.or_else(|| object.status().cloned()).unwrap_or_default()
    }

    /// Writes the status of an object, unless it equals the `current` status, and returns true if the status was
    /// written. For a deleted object nothing is written.
    ///
    /// # Errors
    ///
    /// Returns an error if the status was not written.
    pub(crate) async fn write<K>(
        &self,
        object: &K,
        current: &S,
        status: S,
        shared: &SharedContext,
    ) -> Result<bool, WriteError>
    where
        K: Resource<DynamicType = (), Scope = NamespaceResourceScope>
            + Clone
            + Debug
            + DeserializeOwned,
    {
        if *current == status {
            return Ok(false);
        }
        let namespace = object.meta().namespace.as_deref().unwrap_or_default();
        let api: Api<K> = Api::namespaced(shared.client.clone(), namespace);
        match shared.writer.status(&api, object, &(), MANAGER, &status).await {
            Err(error) if error.is_not_found() => return Ok(false),
            written => written?,
        }
        self.lock().insert(object.meta().uid.clone().unwrap_or_default(), status);
        Ok(true)
    }

    /// Forgets the written status of an object if the watch has delivered it.
    pub(crate) fn forget_delivered(&self, object: &(impl Resource + HasStatus<Status = S>)) {
        let mut written = self.lock();
        let uid = object.meta().uid.as_deref().unwrap_or_default();
        if written.get(uid).is_some_and(|status| object.status() == Some(status)) {
            written.remove(uid);
        }
    }

    /// Forgets the written status of the object with that UID.
    pub(crate) fn forget(&self, uid: Option<&String>) {
        uid.and_then(|uid| self.lock().remove(uid));
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, S>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
