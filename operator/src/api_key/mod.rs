//! `ApiKey`: from the random number to the Secret.
//!
//! The Secret is written first, and its key is stored then: whatever ends the program in between, the
//! next run finds the key in the Secret and stores it. So no key is made twice, and a cluster that was
//! restored from a backup goes on with the keys that its Secrets hold. Whoever may write Secrets in a
//! tenant's namespaces may therefore choose its keys, as whoever may read them has them.

mod apply;
mod build;
mod fetch;
mod status;
mod validate;

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use assay_crds::{ApiKey, Tenant, status::ApiKeyStatus};
use assay_engine::facts::Environment;
use assay_store::{Store, StoreError};
use assay_telemetry::stage;
use futures_util::StreamExt;
use k8s_openapi::api::core::v1::Secret;
use kube::{
    Api, Client, Resource, ResourceExt,
    core::{DeserializeGuard, PartialObjectMeta},
    runtime::{
        Controller,
        controller::{Action, Config},
        reflector::ObjectRef,
        watcher,
    },
};
use tokio::sync::watch;
use tracing::Instrument;

use crate::{
    backoff::{self, Failures},
    client::SharedClient,
    health::Health,
    publish::InForce,
    reason::Reason,
    system, traced,
    writer::{WriteError, Writer},
};

/// The kind, as metrics name it.
const KIND: &str = "ApiKey";
/// Most keys that are worked on at once.
const CONCURRENCY: u16 = 8;
/// How often a key is looked at although nothing seems to have changed.
const RESYNC: Duration = Duration::from_mins(15);
/// Asks for a new key at once, whenever its value is another one.
pub const ROTATE: &str = "assay.dev/rotate";

/// What is watched: an object that cannot be read holds up no other.
type Guarded = DeserializeGuard<ApiKey>;

/// What work on keys needs.
#[derive(Clone, Debug)]
pub struct Context {
    client: SharedClient,
    store: Arc<dyn Store>,
    environment: Environment,
    writer: Writer,
    health: Health,
    in_force: watch::Receiver<InForce>,
    failures: Arc<Failures>,
    /// What was told of each object, by its identity; the watch brings it back later.
    told: Arc<Mutex<HashMap<String, ApiKeyStatus>>>,
}

/// Why work on a key failed; it is tried again.
#[derive(Debug, thiserror::Error)]
pub enum KeyError {
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Something was not written.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// The API server failed.
    #[error("the API server failed: {0}")]
    Server(#[from] kube::Error),
    /// The Lease is lost.
    #[error("the Lease is lost: nothing is written")]
    NotLeader,
}

impl KeyError {
    fn reason(&self) -> Reason {
        match self {
            // An id is given once: somebody put another object's key into the Secret.
            Self::Store(error) if error.is_repetition() => Reason::KeyTaken,
            Self::Store(_) => Reason::StoreUnavailable,
            Self::Write(_) | Self::Server(_) | Self::NotLeader => Reason::ApiServerUnavailable,
        }
    }
}

impl Context {
    /// What work on keys needs.
    #[must_use]
    pub fn new(
        client: Client,
        store: Arc<dyn Store>,
        environment: Environment,
        writer: Writer,
        health: Health,
        in_force: watch::Receiver<InForce>,
    ) -> Self {
        let client = SharedClient(client);
        let (failures, told) = <(Arc<_>, Arc<_>)>::default();
        Self { client, store, environment, writer, health, in_force, failures, told }
    }

    /// Works until the program ends.
    pub async fn run(mut self) {
        // Until something was published, every tenant would seem to be missing.
        if self.in_force.changed().await.is_err() {
            return;
        }
        let client = self.client.0.clone();
        let controller =
            Controller::new(Api::<Guarded>::all(client.clone()), watcher::Config::default())
                .with_config(Config::default().concurrency(CONCURRENCY));
        let keys = controller.store();
        let ours = watcher::Config::default().labels(&build::label_selector());
        controller
            .owns(Api::<PartialObjectMeta<Secret>>::all(client.clone()), ours)
            .watches(
                Api::<PartialObjectMeta<Tenant>>::all(client),
                watcher::Config::default(),
                move |tenant| {
                    let name = tenant.name_any();
                    let of_tenant = |key: &Arc<Guarded>| {
                        key.0.as_ref().is_ok_and(|key| key.spec.tenant.as_str() == name)
                    };
                    let keys: Vec<_> = keys.state().into_iter().filter(of_tenant).collect();
                    keys.into_iter().map(|key| ObjectRef::from_obj(&*key))
                },
            )
            .run(reconcile, retry, Arc::new(self))
            .for_each(|_| std::future::ready(()))
            .await;
    }

    fn told(&self) -> std::sync::MutexGuard<'_, HashMap<String, ApiKeyStatus>> {
        self.told.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Fetch, validate, build, apply, status.
async fn reconcile(guarded: Arc<Guarded>, context: Arc<Context>) -> Result<Action, KeyError> {
    let Ok(object) = &guarded.0 else {
        // The definition refuses such objects; this one is older than the definition.
        context.health.metrics.failed(KIND, Reason::Invalid);
        return Ok(Action::await_change());
    };
    if !context.writer.may_write() {
        return Err(KeyError::NotLeader);
    }
    let worked = traced::looking_after(KIND, object, Box::pin(work(object, &context))).await;
    if let Err(error) = &worked {
        status::tell_of_failure(object, error, &context, system::now()).await;
    } else {
        context.failures.over(guarded.meta().uid.as_ref());
    }
    worked
}

async fn work(object: &ApiKey, context: &Context) -> Result<Action, KeyError> {
    let now = system::now();
    let mut fetched = fetch::fetch(object, context).instrument(stage!("fetch")).await?;
    if object.meta().deletion_timestamp.is_some() {
        apply::revoke(&fetched, context, now).await?;
        context.told().remove(&object.uid().unwrap_or_default());
        return Ok(Action::await_change());
    }
    if validate::is_in_force(&fetched, now).is_ok() {
        let regrants = build::regrants(&fetched, now);
        let news = ("KeyChanged", "is good for what the object says now");
        apply::regrant(&mut fetched, &regrants, news, context).await?;
    } else if validate::is_suspended(&fetched) {
        let suspensions = build::suspensions(&fetched, now);
        let news = ("KeySuspended", "is refused until its tenant lists this namespace again");
        apply::regrant(&mut fetched, &suspensions, news, context).await?;
    }
    let work = validate::validate(&fetched, now).map(|valid| build::build(&valid, now));
    let done = match work {
        Ok(work) => {
            let applying = apply::apply(&fetched, work, context, now);
            applying.instrument(stage!("apply")).await?
        }
        Err(standing) => apply::Done::refused(standing),
    };
    let telling = status::tell(&fetched, &done, context, now);
    let next = telling.instrument(stage!("status")).await?;
    context.health.metrics.reconciled(KIND, done.is_change);
    let resync = backoff::spread(RESYNC, system::jitter());
    Ok(Action::requeue(next.map_or(resync, |next| next.min(resync))))
}

#[expect(clippy::needless_pass_by_value, reason = "the controller hands them over")]
fn retry(guarded: Arc<Guarded>, error: &KeyError, context: Arc<Context>) -> Action {
    context.health.metrics.failed(KIND, error.reason());
    let delay = context.failures.again(guarded.uid());
    let (name, namespace) = (guarded.name_any(), guarded.namespace().unwrap_or_default());
    tracing::warn!(%error, %namespace, %name, ?delay, "failed to work on a key; it is tried again");
    Action::requeue(delay)
}
