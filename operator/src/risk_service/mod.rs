//! Controller of `RiskService`: deploys the API as objects of Kubernetes' own kinds.
//!
//! Running servers are replaced only by working servers: the migration Job must succeed before the Deployment changes,
//! and a new image replaces the old image pod by pod. The controller needs no database, because in a new installation
//! the schema does not exist yet.
//!
//! - [`demand`]: the demand on servers and the number of replicas that it requires
//! - [`names`]: the names of the objects; [`migration`]: the progress of the migration; [`histories`]: the credentials
//!   of sources that servers read on demand
//! - [`fetch`], [`validate`], [`build`], [`apply`], [`status`]: the steps of a reconciliation;
//!   [`state`]: the conditions of the applied objects

mod apply;
mod build;
mod demand;
mod fetch;
mod histories;
mod migration;
mod names;
mod state;
mod status;
mod validate;

use std::{sync::Arc, time::Duration};

use assay_crds::{RiskService, status::RiskServiceStatus};
use assay_telemetry::stage;
use futures_util::{StreamExt, stream};
use k8s_openapi::api::{
    apps::v1::Deployment,
    autoscaling::v2::HorizontalPodAutoscaler,
    batch::v1::{CronJob, Job},
    core::v1::{Pod, Service},
    networking::v1::{Ingress, NetworkPolicy},
    policy::v1::PodDisruptionBudget,
};
use kube::{
    Resource, ResourceExt,
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

pub(crate) use self::build::SERVER;
use self::{
    build::{MIGRATION, PURGE},
    demand::ServerDemand,
    status::StatusInputs,
};
use crate::{
    backoff::{self, Failures},
    owned::{instance_and_component, managed_by_selector},
    pod_diagnostics::has_problem,
    reason::ConditionReason,
    shared::{ReconcileError, SharedContext},
    tracing_spans,
    written::WrittenStatuses,
};

/// The name of this controller's kind in metrics.
const KIND: &str = "RiskService";
/// The largest number of services that are reconciled concurrently.
const CONCURRENCY: u16 = 4;
/// The interval between reconciliations while a service is not ready. Some objects that the reconciliation waits for
/// are not watched.
const RECHECK: Duration = Duration::from_secs(10);

/// A watched `RiskService`. An object that cannot be parsed does not block other objects.
type WatchedRiskService = DeserializeGuard<RiskService>;

/// The context of reconciliations of services.
#[derive(Debug)]
struct Context {
    shared: SharedContext,
    /// The demand on servers. `None` until the demand is known.
    demand: watch::Receiver<Option<ServerDemand>>,
    failures: Failures,
    written: WrittenStatuses<RiskServiceStatus>,
}

/// Reconciles services until the program ends. `chain_servers` is the namespace of chain servers, if the operator runs
/// any.
pub(crate) async fn run(shared: SharedContext, chain_servers: Option<String>) {
    let (sender, demand) = watch::channel(None);
    tokio::spawn(follow_demand(shared.clone(), chain_servers, sender));
    let (client, scope) = (shared.client.clone(), shared.scope.clone());
    let (client, scope) = (&client, &scope);
    let ours = || watcher::Config::default().labels(&managed_by_selector());
    let changes = stream::unfold(demand.clone(), async |mut demand| {
        demand.changed().await.ok()?;
        Some(((), demand))
    });
    let (failures, written) = Default::default();
    let context = Context { shared, demand, failures, written };
    Controller::new(scope.services::<WatchedRiskService>(client), watcher::Config::default())
        .with_config(Config::default().concurrency(CONCURRENCY))
        .owns(scope.services::<PartialObjectMeta<Service>>(client), ours())
        .owns(scope.services::<PartialObjectMeta<NetworkPolicy>>(client), ours())
        .owns(scope.services::<PartialObjectMeta<Ingress>>(client), ours())
        .owns(scope.services::<PartialObjectMeta<PodDisruptionBudget>>(client), ours())
        .owns(scope.services::<PartialObjectMeta<HorizontalPodAutoscaler>>(client), ours())
        .owns(scope.services::<PartialObjectMeta<Job>>(client), ours())
        .owns(scope.services::<PartialObjectMeta<CronJob>>(client), ours())
        .owns(scope.services::<PartialObjectMeta<Deployment>>(client), ours())
        .watches(scope.services::<Pod>(client), ours(), service_of_failing_pod)
        .reconcile_all_on(changes)
        .run(reconcile, retry, Arc::new(context))
        .for_each(|_| std::future::ready(()))
        .await;
}

/// The service of a pod that reports a problem. Other changes of pods show in the objects that created them.
#[expect(clippy::needless_pass_by_value, reason = "the watch hands them over")]
fn service_of_failing_pod(pod: Pod) -> Option<ObjectRef<WatchedRiskService>> {
    let (instance, component) = instance_and_component(&pod)?;
    let is_ours = [SERVER, MIGRATION, PURGE].contains(&&*component) && has_problem(&pod);
    is_ours.then(|| ObjectRef::new(&instance).within(&pod.namespace().unwrap_or_default()))
}

/// Updates the demand on servers when the configuration in force changes.
async fn follow_demand(
    SharedContext { mut in_force, clock, .. }: SharedContext,
    chain_servers: Option<String>,
    demand: watch::Sender<Option<ServerDemand>>,
) {
    while in_force.changed().await.is_ok() {
        let directory = Arc::clone(&in_force.borrow_and_update().directory);
        let now =
            Some(ServerDemand::from_directory(&directory, chain_servers.as_deref(), clock.now()));
        demand.send_if_modified(|known| {
            let is_news = *known != now;
            *known = now;
            is_news
        });
    }
}

/// Reconciles a service: fetch, validate, build, apply, status.
async fn reconcile(
    guarded: Arc<WatchedRiskService>,
    context: Arc<Context>,
) -> Result<Action, ReconcileError> {
    let Ok(object) = &guarded.0 else {
        // It is older than the CRD's schema, which refuses such objects.
        context.shared.metrics.count_failure(KIND, ConditionReason::Invalid);
        return Ok(Action::await_change());
    };
    context.shared.writer.require_leadership()?;
    if !context.shared.instance.owns(object) {
        // The operator of the other installation continues with its objects.
        context.written.forget(object.meta().uid.as_ref());
        return Ok(Action::await_change());
    }
    let worked =
        tracing_spans::trace_reconciliation(KIND, object, Box::pin(work(object, &context))).await?;
    context.failures.reset(guarded.meta().uid.as_ref());
    Ok(worked)
}

async fn work(object: &RiskService, context: &Context) -> Result<Action, ReconcileError> {
    if object.meta().deletion_timestamp.is_some() {
        // Garbage collection deletes its objects.
        context.written.forget(object.meta().uid.as_ref());
        return Ok(Action::await_change());
    }
    let inputs = fetch::fetch(object, context).instrument(stage!("fetch")).await?;
    let (status, has_changed) = match validate::validate(&inputs) {
        Ok(service) => {
            let objects = build::build(&service);
            let applying = Box::pin(apply::apply(&objects, &service, &inputs.live, context));
            match applying.instrument(stage!("apply")).await {
                Ok(applied) => {
                    let has_changed = applied.has_changed;
                    (StatusInputs::collect(&service, applied, context).await?, has_changed)
                }
                // Only the API server knows some values of `spec.pods` to be wrong, or has a policy against them.
                Err(ReconcileError::Write(error)) if error.refusal().is_some() => {
                    let ready_state = state::refused(error.refusal().unwrap_or_default());
                    (StatusInputs::of_invalid_service(ready_state, &inputs)?, false)
                }
                Err(error) => return Err(error),
            }
        }
        Err(ready_state) => (StatusInputs::of_invalid_service(ready_state, &inputs)?, false),
    };
    let writing = status::write(object, &status, context, context.shared.clock.now());
    writing.instrument(stage!("status")).await?;
    let metrics = &context.shared.metrics;
    metrics.count_reconciliation(KIND, has_changed);
    let next = if !status.ready_state.is_ready() {
        metrics.count_failure(KIND, status.ready_state.reason());
        RECHECK
    } else if histories::refusal(&inputs).is_some() {
        // The operator is not told of changed Secrets.
        RECHECK
    } else {
        context.shared.resync
    };
    Ok(Action::requeue(backoff::with_jitter(next, assay_system::random_fraction())))
}

#[expect(clippy::needless_pass_by_value, reason = "the controller hands them over")]
fn retry(
    guarded: Arc<WatchedRiskService>,
    error: &ReconcileError,
    context: Arc<Context>,
) -> Action {
    context.shared.metrics.count_failure(KIND, ConditionReason::ApiServerUnavailable);
    let delay = context.failures.next_delay(guarded.uid());
    let (name, namespace) = (guarded.name_any(), guarded.namespace().unwrap_or_default());
    tracing::warn!(%error, %namespace, %name, ?delay, "failed to reconcile a service; retrying");
    Action::requeue(delay)
}
