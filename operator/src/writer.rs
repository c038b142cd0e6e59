//! Every write to the API server: by one field manager, and only while this operator is the one that
//! works.

use std::{fmt::Debug, time::Duration};

use assay_telemetry::stage;
use k8s_openapi::api::core::v1::ObjectReference;
use kube::{
    Api, Client, Resource,
    api::{DeleteParams, Patch, PatchParams, PostParams, Preconditions},
    runtime::events::{Event, EventType, Recorder, Reporter},
};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, json};
use tokio::time::timeout;
use tracing::Instrument;

use crate::{leader::Leadership, metrics::Metrics};

/// Who owns every field that the operator writes.
pub const MANAGER: &str = "assay-operator";
/// Keeps an object until its rows in the store are gone.
pub const FINALIZER: &str = "assay.dev/store";
/// Longest time for one write.
const WRITE_TIMEOUT: Duration = Duration::from_secs(10);

/// Why something was not written.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// This operator is not the one that works any more.
    #[error("the Lease is lost: nothing is written")]
    NotLeader,
    /// The API server did not answer in time.
    #[error("the API server did not answer in time")]
    TimedOut,
    /// The API server refused, or could not be reached.
    #[error("the API server failed: {0}")]
    Server(#[from] kube::Error),
}

impl WriteError {
    /// Whether the object is not there any more.
    #[must_use]
    pub fn is_not_found(&self) -> bool {
        matches!(self, Self::Server(kube::Error::Api(status)) if status.code == 404)
    }
}

/// Writes to the API server.
#[derive(Clone)]
pub struct Writer {
    leadership: Leadership,
    client: Client,
    reporter: Reporter,
    /// Knows what it told lately, so that what is repeated is counted.
    warnings: Recorder,
    metrics: Metrics,
}

impl Debug for Writer {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Writer")
    }
}

impl Writer {
    /// A writer that stops with the leadership.
    #[must_use]
    pub fn new(client: Client, name: &str, leadership: Leadership, metrics: Metrics) -> Self {
        let reporter = Reporter { controller: MANAGER.into(), instance: Some(name.to_owned()) };
        let warnings = Recorder::new(client.clone(), reporter.clone());
        Self { leadership, client, reporter, warnings, metrics }
    }

    /// Whether this operator may still write.
    #[must_use]
    pub fn may_write(&self) -> bool {
        self.leadership.is_held()
    }

    /// Sets the status of an object.
    ///
    /// # Errors
    ///
    /// Where it was not written.
    pub async fn status<K>(
        &self,
        api: &Api<K>,
        object: &K,
        kind: &K::DynamicType,
        status: &impl Serialize,
    ) -> Result<(), WriteError>
    where
        K: Resource + Clone + DeserializeOwned + Debug,
    {
        let name = object.meta().name.clone().unwrap_or_default();
        let body = json!({
            "apiVersion": K::api_version(kind),
            "kind": K::kind(kind),
            // An object of the same name that came since is another one.
            "metadata": {"name": name, "uid": object.meta().uid},
            "status": status,
        });
        let parameters = PatchParams::apply(MANAGER).force();
        self.write("status", api.patch_status(&name, &parameters, &Patch::Apply(&body))).await?;
        Ok(())
    }

    /// Puts the finalizer on an object, or takes it away.
    ///
    /// # Errors
    ///
    /// Where it was not written.
    pub async fn finalizer<K>(
        &self,
        api: &Api<K>,
        object: &K,
        kind: &K::DynamicType,
        there: bool,
    ) -> Result<K, WriteError>
    where
        K: Resource + Clone + DeserializeOwned + Debug,
    {
        let name = object.meta().name.clone().unwrap_or_default();
        let finalizers: &[&str] = if there { &[FINALIZER] } else { &[] };
        let body = json!({
            "apiVersion": K::api_version(kind),
            "kind": K::kind(kind),
            "metadata": {"name": name, "uid": object.meta().uid, "finalizers": finalizers},
        });
        self.apply("finalizer", api, &name, &body).await
    }

    /// Applies an object.
    ///
    /// # Errors
    ///
    /// Where it was not written.
    pub async fn apply<K>(
        &self,
        what: &'static str,
        api: &Api<K>,
        name: &str,
        body: &Value,
    ) -> Result<K, WriteError>
    where
        K: Clone + DeserializeOwned + Debug,
    {
        let parameters = PatchParams::apply(MANAGER).force();
        self.write(what, api.patch(name, &parameters, &Patch::Apply(body))).await
    }

    /// Creates an object; fails where there is one.
    ///
    /// # Errors
    ///
    /// Where it was not written.
    pub async fn create<K>(
        &self,
        what: &'static str,
        api: &Api<K>,
        object: &K,
    ) -> Result<K, WriteError>
    where
        K: Clone + Serialize + DeserializeOwned + Debug,
    {
        let parameters =
            PostParams { field_manager: Some(MANAGER.into()), ..PostParams::default() };
        self.write(what, api.create(&parameters, object)).await
    }

    /// Deletes an object, and no other one of its name.
    ///
    /// # Errors
    ///
    /// Where it was not deleted; that it is gone already is well.
    pub async fn delete<K>(
        &self,
        what: &'static str,
        api: &Api<K>,
        object: &K,
    ) -> Result<(), WriteError>
    where
        K: Resource + Clone + DeserializeOwned + Debug,
    {
        let name = object.meta().name.clone().unwrap_or_default();
        let preconditions =
            Preconditions { uid: object.meta().uid.clone(), resource_version: None };
        let parameters =
            DeleteParams { preconditions: Some(preconditions), ..DeleteParams::background() };
        let deleted = async { api.delete(&name, &parameters).await.map(drop) };
        match self.write(what, deleted).await {
            Err(error) if !error.is_not_found() => Err(error),
            _ => Ok(()),
        }
    }

    /// Tells what happened to an object. It is news, not a record: where it fails, nothing else does.
    pub async fn event(
        &self,
        object: &ObjectReference,
        is_warning: bool,
        reason: &str,
        action: &str,
        note: String,
    ) {
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
            // What went well is told once. To remember thousands of those takes memory, and each time
            // all of them are looked through.
            let once = Recorder::new(self.client.clone(), self.reporter.clone());
            Ok(once.publish(&event, object).await?)
        };
        if let Err(error) = self.bounded("event", published).await {
            tracing::warn!(%error, reason, "failed to tell what happened");
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
        if !self.may_write() {
            return Err(WriteError::NotLeader);
        }
        let writing = timeout(WRITE_TIMEOUT, request).instrument(stage!("write", what));
        let done = writing.await.map_err(|_| WriteError::TimedOut)??;
        self.metrics.wrote(what);
        Ok(done)
    }
}
