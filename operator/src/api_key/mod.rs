//! Controller of `ApiKey`: issues, rotates and revokes keys of tenants, and keeps them in Secrets.
//!
//! The Secret is written first, and its key is stored afterwards: if the program ends between the two writes, the next
//! reconciliation finds the key in the Secret and stores it. No key is issued twice, and a cluster that was restored
//! from a backup keeps the keys in its Secrets. Therefore a user who may write Secrets in a tenant's namespaces can
//! choose the tenant's keys, as a user who may read Secrets can use the tenant's keys.
//!
//! `ApiKey` objects have no finalizer, so that namespaces can be deleted while no operator runs. Comparing the store
//! with the cluster finds the keys of deleted objects.
//!
//! - [`watches`]: triggers of reconciliations; [`cache`]: reconciliations that can be skipped
//! - [`gone`]: keys of deleted objects; [`deleted`]: the objects whose deletion a watch reported
//! - [`context`]: the context; [`secret`], [`records`], [`tenant`]: the Secret, the store's records,
//!   the tenant
//! - [`fetch`], [`validate`], [`build`], [`apply`], [`status`]: the steps of a reconciliation

mod apply;
mod build;
mod cache;
mod context;
mod deleted;
mod fetch;
mod gone;
mod records;
mod secret;
mod status;
mod tenant;
mod validate;
mod watches;

use std::{sync::Arc, time::Duration};

use assay_crds::ApiKey;
use assay_engine::facts::Environment;
use assay_store::Store;
use assay_telemetry::stage;
use futures_util::{StreamExt, future::join_all};
use kube::{
    Api, Resource, ResourceExt,
    runtime::{
        applier,
        controller::{self, Action, Config},
        watcher,
    },
};
use tokio::time::Instant;
use tracing::Instrument;

pub(crate) use self::records::tenants_of_issued_keys;
use self::{
    cache::ObservedInputs,
    context::{CONCURRENCY, Context, KeyError},
    watches::{KeyWatch, WatchedApiKey},
};
use crate::{backoff, reason::ConditionReason, shared::SharedContext, tracing_spans};

/// The name of this controller's kind in metrics.
const KIND: &str = "ApiKey";

/// Reconciles `ApiKey` objects until the program ends.
pub(crate) async fn run(
    mut shared: SharedContext,
    store: Arc<dyn Store>,
    environment: Environment,
) {
    // Before the first publication no tenant is in force, and all keys would be refused.
    if shared.in_force.changed().await.is_err() {
        return;
    }
    let watched = shared.scope.keys(&shared.client);
    let context = Arc::new(Context::new(shared, store, environment));
    // A namespace that cannot be read does not hold up the others.
    join_all(watched.into_iter().map(|api| work_on(api, Arc::clone(&context)))).await;
}

/// Reconciles the `ApiKey` objects of one watch.
async fn work_on(api: Api<WatchedApiKey>, context: Arc<Context>) {
    let SharedContext { instance, in_force, .. } = context.shared.clone();
    let (watched, queue) = watches::queue(api, instance, in_force, context.deleted.clone());
    let keys = watched.keys.clone();
    let watched = Arc::new(watched);
    let work = |object, context| Box::pin(reconcile(object, context));
    let config = Config::default().concurrency(CONCURRENCY);
    let results = applier(work, retry, Arc::clone(&context), keys, queue, config);
    let failures = results.filter_map(|result| std::future::ready(result.err()));
    let handled = failures.for_each_concurrent(usize::from(CONCURRENCY), |failure| {
        handle_failure(failure, Arc::clone(&watched), Arc::clone(&context))
    });
    tokio::join!(handled, gone::compare_regularly(Arc::clone(&watched), Arc::clone(&context)));
}

async fn handle_failure(
    failure: controller::Error<KeyError, watcher::Error>,
    watched: Arc<KeyWatch>,
    context: Arc<Context>,
) {
    match failure {
        controller::Error::ObjectNotFound(gone) => {
            context.forget(gone.extra.uid.as_ref());
            let namespace = gone.namespace.as_deref().unwrap_or_default();
            let name = records::name_of(namespace, &gone.name);
            gone::revoke_deleted(&name, &watched, &context).await;
        }
        controller::Error::QueueError(error) => {
            tracing::warn!(%error, kind = KIND, "a watch failed; retrying");
        }
        _ => {}
    }
}

async fn reconcile(guarded: Arc<WatchedApiKey>, context: Arc<Context>) -> Result<Action, KeyError> {
    let Context { shared, cache, deleted, slots, .. } = &*context;
    let Ok(object) = &guarded.0 else {
        // It is older than the CRD's schema, which refuses such objects.
        context.shared.metrics.count_failure(KIND, ConditionReason::Invalid);
        context.forget(guarded.meta().uid.as_ref());
        return Ok(Action::await_change());
    };
    context.shared.writer.require_leadership()?;
    let identity = object.uid().unwrap_or_default();
    context.written.forget_delivered(object);
    let name = records::name(object);
    if deleted.contains(&name) {
        // An earlier object of this name was deleted, and no work on it runs any more.
        cache.remove(&identity);
        gone::revoke(&name, None, &context).await?;
        deleted.remove(&name);
    }
    let observed = ObservedInputs::observe(object, &shared.in_force.borrow());
    if let Some(time) = cache.valid_for(&identity, &observed, Instant::now()) {
        return Ok(Action::requeue(time));
    }
    cache.remove(&identity);
    // It is never closed.
    let _slot = slots.acquire().await;
    let working = Box::pin(work(object, &observed, &context));
    match tracing_spans::trace_reconciliation(KIND, object, working).await {
        Ok(outcome) => {
            context.failures.reset(Some(&identity));
            let Some(Outcome { next, is_active }) = outcome else {
                return Ok(Action::await_change());
            };
            if is_active {
                cache.insert(identity, observed.without_finalizer(), Instant::now() + next);
            }
            Ok(Action::requeue(next))
        }
        Err(error) => {
            status::report_failure(object, &error, &context, shared.clock.now()).await;
            Err(error)
        }
    }
}

/// The result of a reconciliation of an `ApiKey`.
#[derive(Debug)]
struct Outcome {
    /// The time until the next reconciliation if no input changes.
    next: Duration,
    /// True if the key in the object's Secret is active.
    is_active: bool,
}

/// Reconciles an object: fetch, validate, build, apply, status. `None` for a deleted object.
async fn work(
    object: &ApiKey,
    observed: &ObservedInputs,
    context: &Context,
) -> Result<Option<Outcome>, KeyError> {
    let now = context.shared.clock.now();
    let inputs = fetch::fetch(object, observed, context).instrument(stage!("fetch")).await?;
    if object.meta().deletion_timestamp.is_some() {
        apply::revoke(&inputs, context, now).await?;
        apply::remove_finalizer(object, context).await?;
        context.written.forget(object.meta().uid.as_ref());
        return Ok(None);
    }
    apply::remove_finalizer(object, context).await?;
    let validated = validate::validate(&inputs, now);
    let plan = build::build(validated, now, key_numbers);
    let applying = apply::apply(plan, &inputs, context);
    let applied = applying.instrument(stage!("apply")).await?;
    let writing = status::write(&inputs, &applied, context, now);
    let next = writing.instrument(stage!("status")).await?;
    context.shared.metrics.count_reconciliation(KIND, applied.has_changed);
    let resync = backoff::with_jitter(context.shared.resync, assay_system::random_fraction());
    let next = next.map_or(resync, |next| next.min(resync));
    Ok(Some(Outcome { next, is_active: applied.current.is_some() }))
}

/// Random numbers for a new key: its id and its secret.
fn key_numbers() -> (u64, [u128; 2]) {
    (assay_system::random_u64(), [(); 2].map(|()| assay_system::random_u128()))
}

#[expect(clippy::needless_pass_by_value, reason = "the controller hands them over")]
fn retry(guarded: Arc<WatchedApiKey>, error: &KeyError, context: Arc<Context>) -> Action {
    context.shared.metrics.count_failure(KIND, error.reason());
    let delay = context.failures.next_delay(guarded.uid());
    let (name, namespace) = (guarded.name_any(), guarded.namespace().unwrap_or_default());
    tracing::warn!(%error, %namespace, %name, ?delay, "failed to reconcile a key; retrying");
    Action::requeue(delay)
}
