//! Writes to the API server, allowed only while this operator is the leader.

use std::{fmt::Debug, time::Duration};

use assay_telemetry::stage;
use k8s_openapi::api::core::v1::ObjectReference;
use kube::{
    Api, Client, Resource, ResourceExt,
    api::{DeleteParams, Patch, PatchParams, PostParams, Preconditions},
    runtime::events::{Event, EventType, Recorder, Reporter},
};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Map, Value, json};
use tokio::time::timeout;
use tracing::Instrument;

use crate::{leader::Leadership, metrics::OperatorMetrics, scope::WatchScope};

/// The field manager of the operator's writes. Some parts of statuses have field managers of their own.
pub const MANAGER: &str = "assay-operator";
/// The finalizer that keeps an object until its rows in the store are deleted.
pub const FINALIZER: &str = "assay.dev/store";
/// The content of an object, which a write sends or returns.
pub(crate) trait ObjectContent: Clone + Debug + DeserializeOwned {}

impl<K: Clone + Debug + DeserializeOwned> ObjectContent for K {}

/// Says whether an object has the finalizer of the operator.
pub(crate) fn has_finalizer(object: &impl ResourceExt) -> bool {
    object.finalizers().iter().any(|name| name == FINALIZER)
}

/// The longest time for one write.
const WRITE_TIMEOUT: Duration = Duration::from_secs(10);

/// Error of a write to the API server.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// This operator is no longer the leader.
    #[error("this operator does not hold the Lease: nothing was written")]
    NotLeader,
    /// The API server did not answer in time.
    #[error("the API server did not answer in time")]
    TimedOut,
    /// The API server refused the request or could not be reached.
    #[error("the API server failed: {0}")]
    Server(#[from] kube::Error),
    /// The object, or the answer, is not valid JSON of its type.
    #[error("an object cannot be converted: {0}")]
    Json(#[from] serde_json::Error),
}

impl WriteError {
    /// Says whether the object, or its kind, does not exist.
    #[must_use]
    pub fn is_not_found(&self) -> bool {
        matches!(self, Self::Server(kube::Error::Api(status)) if status.code == 404)
    }

    /// The message of the API server, if it refused the object as invalid or forbidden.
    #[must_use]
    pub fn refusal(&self) -> Option<&str> {
        match self {
            Self::Server(kube::Error::Api(status)) if [403, 422].contains(&status.code) => {
                Some(&status.message)
            }
            _ => None,
        }
    }
}

/// Writes to the API server.
#[derive(Clone)]
pub struct Writer {
    leadership: Leadership,
    scope: WatchScope,
    client: Client,
    reporter: Reporter,
    /// Remembers recent warnings, so that repeated warnings are counted in one event.
    warnings: Recorder,
    metrics: OperatorMetrics,
}

impl Debug for Writer {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Writer")
    }
}

impl Writer {
    /// A writer that refuses to write without leadership.
    #[must_use]
    pub(crate) fn new(
        client: Client,
        name: &str,
        leadership: Leadership,
        scope: WatchScope,
        metrics: OperatorMetrics,
    ) -> Self {
        let reporter = Reporter { controller: MANAGER.into(), instance: Some(name.to_owned()) };
        let warnings = Recorder::new(client.clone(), reporter.clone());
        Self { leadership, scope, client, reporter, warnings, metrics }
    }

    /// Says whether this operator may write, because it holds the Lease.
    #[must_use]
    pub fn may_write(&self) -> bool {
        self.leadership.is_held()
    }

    /// Checks that this operator may write.
    ///
    /// # Errors
    ///
    /// Returns an error if this operator does not hold the Lease.
    pub fn require_leadership(&self) -> Result<(), WriteError> {
        if self.may_write() { Ok(()) } else { Err(WriteError::NotLeader) }
    }

    /// Sets the part of an object's status that a field manager owns; `None` removes the part.
    ///
    /// # Errors
    ///
    /// Returns an error if the object was not written.
    pub async fn status<K: Resource + ObjectContent>(
        &self,
        api: &Api<K>,
        object: &K,
        kind: &K::DynamicType,
        manager: &str,
        status: &(impl Serialize + Debug),
    ) -> Result<(), WriteError> {
        let name = object.meta().name.as_deref().unwrap_or_default();
        let status = Some(serde_json::to_value(status)?).filter(|status| !status.is_null());
        let fields = owned_fields(object, kind, None, status);
        let parameters = PatchParams::apply(manager).force();
        self.write("status", api.patch_status(name, &parameters, &Patch::Apply(&fields))).await?;
        Ok(())
    }

    /// Adds the finalizer to an object, or removes it.
    ///
    /// # Errors
    ///
    /// Returns an error if the object was not written.
    pub async fn finalizer<K: Resource + ObjectContent>(
        &self,
        api: &Api<K>,
        object: &K,
        kind: &K::DynamicType,
        is_present: bool,
    ) -> Result<K, WriteError> {
        let name = object.meta().name.as_deref().unwrap_or_default();
        let finalizers: &[&str] = if is_present { &[FINALIZER] } else { &[] };
        let fields = owned_fields(object, kind, Some(finalizers), None);
        self.apply("finalizer", api, name, &fields).await
    }

    /// Applies an object by server-side apply: the operator owns exactly its fields.
    ///
    /// # Errors
    ///
    /// Returns an error if the object was not written.
    pub async fn apply<K: ObjectContent>(
        &self,
        what: &'static str,
        api: &Api<K>,
        name: &str,
        object: &(impl Serialize + Debug),
    ) -> Result<K, WriteError> {
        let parameters = PatchParams::apply(MANAGER).force();
        self.write(what, api.patch(name, &parameters, &Patch::Apply(object))).await
    }

    /// Creates an object. The call fails if an object of that name exists.
    ///
    /// # Errors
    ///
    /// Returns an error if the object was not written.
    pub async fn create<K: Serialize + ObjectContent>(
        &self,
        what: &'static str,
        api: &Api<K>,
        object: &K,
    ) -> Result<K, WriteError> {
        let field_manager = Some(MANAGER.into());
        let parameters = PostParams { field_manager, ..PostParams::default() };
        self.write(what, api.create(&parameters, object)).await
    }

    /// Changes some fields of an existing object.
    ///
    /// # Errors
    ///
    /// Returns an error if the object was not written.
    pub async fn merge<K: ObjectContent>(
        &self,
        what: &'static str,
        api: &Api<K>,
        name: &str,
        fields: &(impl Serialize + Debug),
    ) -> Result<K, WriteError> {
        let field_manager = Some(MANAGER.into());
        let parameters = PatchParams { field_manager, ..PatchParams::default() };
        self.write(what, api.patch(name, &parameters, &Patch::Merge(fields))).await
    }

    /// Changes an object by the operations of a JSON patch.
    ///
    /// # Errors
    ///
    /// Returns an error if an operation has another form, or the object was not written.
    pub async fn patch<K: ObjectContent>(
        &self,
        what: &'static str,
        api: &Api<K>,
        name: &str,
        operations: Vec<Value>,
    ) -> Result<K, WriteError> {
        let field_manager = Some(MANAGER.into());
        let parameters = PatchParams { field_manager, ..PatchParams::default() };
        let patch = Patch::Json::<()>(serde_json::from_value(Value::Array(operations))?);
        self.write(what, api.patch(name, &parameters, &patch)).await
    }

    /// Deletes an object, but not a later object of the same name. `parameters` set the propagation of the deletion to
    /// the objects that it owns.
    ///
    /// # Errors
    ///
    /// Returns an error if the object was not deleted. An object that does not exist is no error.
    pub async fn delete<K: Resource + ObjectContent>(
        &self,
        what: &'static str,
        api: &Api<K>,
        object: &K,
        parameters: DeleteParams,
    ) -> Result<(), WriteError> {
        let name = object.meta().name.clone().unwrap_or_default();
        let preconditions =
            Preconditions { uid: object.meta().uid.clone(), resource_version: None };
        let parameters = DeleteParams { preconditions: Some(preconditions), ..parameters };
        let deleted = async { api.delete(&name, &parameters).await.map(drop) };
        match self.write(what, deleted).await {
            Err(error) if !error.is_not_found() => Err(error),
            _ => Ok(()),
        }
    }

    /// Publishes an event about an object, unless the event's namespace is not watched. Events about cluster-scoped
    /// objects are in `default`. A failure is only logged.
    pub async fn event(
        &self,
        object: &ObjectReference,
        is_warning: bool,
        reason: &str,
        action: &str,
        note: String,
    ) {
        if !self.scope.may_create_events_about(object.namespace.as_deref()) {
            return;
        }
        let event = Event {
            type_: if is_warning { EventType::Warning } else { EventType::Normal },
            reason: reason.to_owned(),
            note: Some(note),
            action: action.to_owned(),
            secondary: None,
        };
        let published = async {
            if is_warning {
                return Ok(self.warnings.publish(&event, object).await?);
            }
            // Other events occur once. Remembering thousands of them would take memory, and time to
            // search them.
            let once = Recorder::new(self.client.clone(), self.reporter.clone());
            Ok(once.publish(&event, object).await?)
        };
        if let Err(error) = self.bounded("event", published).await {
            tracing::warn!(%error, reason, "failed to publish an event");
        }
    }

    async fn write<T>(
        &self,
        what: &'static str,
        request: impl Future<Output = Result<T, kube::Error>>,
    ) -> Result<T, WriteError> {
        self.bounded(what, async { Ok(request.await?) }).await
    }

    async fn bounded<T>(
        &self,
        what: &'static str,
        request: impl Future<Output = Result<T, WriteError>>,
    ) -> Result<T, WriteError> {
        self.require_leadership()?;
        let writing = timeout(WRITE_TIMEOUT, request).instrument(stage!("write", what));
        let done = writing.await.map_err(|_| WriteError::TimedOut)??;
        self.metrics.count_write(what);
        Ok(done)
    }
}

/// An object of Assay's own kinds with only the fields that server-side apply is to own: finalizers or status. The
/// write fails if a later object has the same name.
fn owned_fields<K: Resource>(
    object: &K,
    kind: &K::DynamicType,
    finalizers: Option<&[&str]>,
    status: Option<Value>,
) -> Value {
    let of = |name: &str, value: Value| (name.to_owned(), value);
    let mut metadata = Map::from_iter([of("name", json!(object.meta().name))]);
    metadata.extend(object.meta().uid.as_ref().map(|uid| of("uid", json!(uid))));
    metadata.extend(finalizers.map(|finalizers| of("finalizers", json!(finalizers))));
    let types = [of("apiVersion", json!(K::api_version(kind))), of("kind", json!(K::kind(kind)))];
    let content = types.into_iter().chain([of("metadata", metadata.into())]);
    content.chain(status.map(|status| of("status", status))).collect()
}

#[cfg(test)]
mod tests {
    use assay_crds::{ApiKey, status::ApiKeyStatus};

    use super::*;

    #[test]
    fn only_the_fields_that_are_owned_are_applied() {
        let object: ApiKey = serde_json::from_value(json!({
            "apiVersion": "assay.dev/v1alpha1", "kind": "ApiKey",
            "metadata": {
                "name": "backend", "namespace": "team", "uid": "1", "labels": {"a": "b"},
                "finalizers": ["other"],
            },
            "spec": {"tenant": "acme"},
        }))
        .unwrap();
        let status = ApiKeyStatus { observed_generation: Some(1), ..ApiKeyStatus::default() };
        let kind = json!({"apiVersion": "assay.dev/v1alpha1", "kind": "ApiKey"});
        let mut expected = kind.clone();
        expected["metadata"] = json!({"name": "backend", "uid": "1"});
        expected["status"] = json!({"observedGeneration": 1, "conditions": []});
        assert_eq!(owned_fields(&object, &(), None, Some(json!(status))), expected);
        for finalizers in [&["ours"][..], &[]] {
            let mut expected = kind.clone();
            expected["metadata"] = json!({"name": "backend", "uid": "1", "finalizers": finalizers});
            assert_eq!(owned_fields(&object, &(), Some(finalizers), None), expected);
        }
    }
}
