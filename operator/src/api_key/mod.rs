//! `ApiKey`: from the random number to the Secret.
//!
//! The Secret is written first, and its key is stored then: whatever ends the program in between, the
//! next run finds the key in the Secret and stores it. So no key is made twice, and a cluster that was
//! restored from a backup goes on with the keys that its Secrets hold. Whoever may write Secrets in a
//! tenant's namespaces may therefore choose its keys, as whoever may read them has them.

mod apply;
mod build;
mod cache;
mod fetch;
mod status;
mod validate;
mod watches;

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use assay_crds::{ApiKey, status::ApiKeyStatus};
use assay_engine::facts::Environment;
use assay_store::{Store, StoreError};
use assay_telemetry::stage;
use futures_util::StreamExt;
use kube::{
    Client, Resource, ResourceExt,
    runtime::{
        applier,
        controller::{self, Action, Config},
    },
};
use tokio::{sync::watch, time::Instant};
use tracing::Instrument;

use self::{
    cache::{ObservedInputs, ReconcileCache},
    watches::{Guarded, Watched},
};
use crate::{
    backoff::{self, Failures},
    client::SharedClient,
    health::Health,
    publish::InForce,
    reason::Reason,
    system, tracing_spans,
    writer::{WriteError, Writer},
};

/// The kind, as metrics name it.
const KIND: &str = "ApiKey";
/// Most keys that are worked on at once.
const CONCURRENCY: u16 = 16;
/// How often a key is looked at although nothing seems to have changed.
const RESYNC: Duration = Duration::from_mins(15);
/// Asks for a new key at once, whenever its value is another one.
pub const ROTATE: &str = "assay.dev/rotate";

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
            Self::Store(error) if error.is_unique_violation() => Reason::KeyTaken,
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
        let (watched, queue) = watches::queue(&self.client.0, self.in_force.clone());
        let keys = watched.keys.clone();
        let worker = Arc::new(Worker { context: self, watched, cache: ReconcileCache::default() });
        let work = |object, worker| Box::pin(reconcile(object, worker));
        let config = Config::default().concurrency(CONCURRENCY);
        let working = applier(work, retry, Arc::clone(&worker), keys, queue, config);
        let noted = working.for_each(|worked| {
            match worked {
                Err(controller::Error::ObjectNotFound(gone)) => {
                    worker.forget(gone.extra.uid.as_ref());
                }
                Err(controller::Error::QueueError(error)) => {
                    tracing::warn!(%error, kind = KIND, "a watch failed");
                }
                _ => {}
            }
            std::future::ready(())
        });
        noted.await;
    }

    fn told(&self) -> std::sync::MutexGuard<'_, HashMap<String, ApiKeyStatus>> {
        self.told.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets go of what was told of an object where it came back by the watch.
    fn forget_told(&self, object: &ApiKey, identity: &str) {
        let mut told = self.told();
        if told.get(identity).is_some_and(|told| object.status.as_ref() == Some(told)) {
            told.remove(identity);
        }
    }
}

/// What works on keys.
#[derive(Debug)]
struct Worker {
    context: Context,
    watched: Watched,
    cache: ReconcileCache,
}

impl Worker {
    /// Lets go of what is remembered of an object that is gone, or cannot be read any more.
    fn forget(&self, identity: Option<&String>) {
        self.context.failures.reset(identity);
        if let Some(identity) = identity {
            self.cache.forget(identity);
            self.context.told().remove(identity);
        }
    }
}

/// Fetch, validate, build, apply, status.
async fn reconcile(guarded: Arc<Guarded>, worker: Arc<Worker>) -> Result<Action, KeyError> {
    let Worker { context, watched, cache } = &*worker;
    let Ok(object) = &guarded.0 else {
        // The definition refuses such objects; this one is older than the definition.
        context.health.metrics.failed(KIND, Reason::Invalid);
        worker.forget(guarded.meta().uid.as_ref());
        return Ok(Action::await_change());
    };
    if !context.writer.may_write() {
        return Err(KeyError::NotLeader);
    }
    let identity = object.uid().unwrap_or_default();
    context.forget_told(object, &identity);
    let inputs = ObservedInputs::of(object, watched, context);
    if let Some(time) = cache.alone_for(&identity, &inputs, Instant::now()) {
        return Ok(Action::requeue(time));
    }
    cache.forget(&identity);
    match tracing_spans::reconciling(KIND, object, Box::pin(work(object, &inputs, context))).await {
        Ok(outcome) => {
            context.failures.reset(Some(&identity));
            let Some(Outcome { again_after, secret }) = outcome else {
                return Ok(Action::await_change());
            };
            if let Some(secret) = secret {
                cache.note(identity, inputs.afterwards(secret), Instant::now() + again_after);
            }
            Ok(Action::requeue(again_after))
        }
        Err(error) => {
            status::tell_of_failure(object, &error, context, system::now()).await;
            Err(error)
        }
    }
}

/// How a key was cache.
#[derive(Debug)]
struct Outcome {
    /// When it is looked at again although nothing seems to have changed.
    again_after: Duration,
    /// How new its Secret is, where the key in it is as it should be.
    secret: Option<String>,
}

/// Works on a key; gives nothing where it is gone.
async fn work(
    object: &ApiKey,
    inputs: &ObservedInputs,
    context: &Context,
) -> Result<Option<Outcome>, KeyError> {
    let now = system::now();
    let mut fetched = fetch::fetch(object, inputs, context).instrument(stage!("fetch")).await?;
    if object.meta().deletion_timestamp.is_some() {
        apply::revoke(&fetched, context, now).await?;
        context.told().remove(&object.uid().unwrap_or_default());
        return Ok(None);
    }
    if validate::is_in_force(&fetched, now).is_ok() {
        let grant_updates = build::grant_updates(&fetched, now);
        let news = ("KeyChanged", "is good for what the object says now");
        apply::update_grants(&mut fetched, &grant_updates, news, context).await?;
    } else if validate::is_suspended(&fetched) {
        let suspensions = build::suspensions(&fetched, now);
        let news = ("KeySuspended", "is refused until its tenant lists this namespace again");
        apply::update_grants(&mut fetched, &suspensions, news, context).await?;
    }
    let work = validate::validate(&fetched, now).map(|valid| build::build(&valid, now));
    let done = match work {
        Ok(work) => {
            let applying = apply::apply(&fetched, work, context, now);
            applying.instrument(stage!("apply")).await?
        }
        Err(ready_state) => apply::Done::refused(ready_state),
    };
    let telling = status::tell(&fetched, &done, context, now);
    let next = telling.instrument(stage!("status")).await?;
    context.health.metrics.reconciled(KIND, done.is_change);
    let resync = backoff::spread(RESYNC, system::jitter());
    let again_after = next.map_or(resync, |next| next.min(resync));
    Ok(Some(Outcome { again_after, secret: done.secret }))
}

#[expect(clippy::needless_pass_by_value, reason = "the controller hands them over")]
fn retry(guarded: Arc<Guarded>, error: &KeyError, worker: Arc<Worker>) -> Action {
    let context = &worker.context;
    context.health.metrics.failed(KIND, error.reason());
    let delay = context.failures.next_delay(guarded.uid());
    let (name, namespace) = (guarded.name_any(), guarded.namespace().unwrap_or_default());
    tracing::warn!(%error, %namespace, %name, ?delay, "failed to work on a key; it is tried again");
    Action::requeue(delay)
}
