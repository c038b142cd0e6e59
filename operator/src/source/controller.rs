//! The controller of a kind of sources: fetch, validate, build, apply, status.

use std::{sync::Arc, time::Duration};

use assay_crds::status::Status as _;
use assay_telemetry::stage;
use assay_tenancy::Name;
use futures_util::{StreamExt, stream};
use k8s_openapi::{
    NamespaceResourceScope,
    api::{
        apps::v1::StatefulSet,
        batch::v1::{CronJob, Job},
        core::v1::{Pod, Service},
        networking::v1::NetworkPolicy,
        policy::v1::PodDisruptionBudget,
    },
    apimachinery::pkg::apis::meta::v1::Condition,
};
use kube::{
    Api, Client, Resource, ResourceExt,
    api::ApiResource,
    core::PartialObjectMeta,
    runtime::{
        Controller,
        controller::{Action, Config},
        reflector::{self, ObjectRef},
        watcher,
    },
};
use tracing::Instrument;

use super::{
    Context, WorkloadSettings,
    apply::{self, AppliedWorkload},
    build, fetch,
    kind::Source,
    ready::{SourceData, readiness},
    state::{self, WorkloadState},
    status::{SUMMARY, WORKING, WORKLOAD},
    task::{IdleReason, PauseReason, Task, WorkloadEnd},
    validate,
};
use crate::{
    backoff,
    conditions::{ConditionState, condition},
    owned::{LiveObjects, Owner, instance_and_component, managed_by_selector},
    pod_diagnostics::{self, SuspectPods, has_problem},
    reason::ConditionReason,
    shared::ReconcileError,
    tracing_spans,
    watched::{WatchedObject, is_deleted, parse_status},
};

/// The name of this controller's kind in metrics.
const KIND: &str = "Workload";
/// The largest number of sources that are reconciled concurrently.
const CONCURRENCY: u16 = 4;
/// The interval between reconciliations while a workload fails, a Job runs, or a chain server is not ready.
const RECHECK: Duration = Duration::from_secs(10);

/// Returns the watched sources of a kind, and a future that reconciles them until the program ends. All sources are
/// reconciled when the sources in force change, or the set of sources that were ever imported.
pub(super) fn start<K: Source>(
    context: &Arc<Context>,
) -> (reflector::Store<WatchedObject>, impl Future<Output = ()> + use<K>) {
    let (client, namespace) = (&context.shared.client, &context.namespace);
    let ours = || watcher::Config::default().labels(&managed_by_selector());
    let inputs = (context.desired.clone(), context.imported.clone());
    let changes = stream::unfold(inputs, async |(mut desired, mut imported)| {
        let changed = tokio::select! {
            changed = desired.changed() => changed,
            changed = imported.changed() => changed,
        };
        changed.ok().map(|()| ((), (desired, imported)))
    });
    let kind = ApiResource::erase::<K>(&());
    let pods: Api<Pod> = Api::namespaced(client.clone(), namespace);
    let of_pod = {
        let kind = kind.clone();
        // Other changes of pods show in the objects that created them.
        move |pod: Pod| {
            let (source, component) = instance_and_component(&pod)?;
            let is_ours = component == K::COMPONENT && has_problem(&pod);
            is_ours.then(|| ObjectRef::new_with(&source, kind.clone()))
        }
    };
    let sources = Api::all_with(client.clone(), &kind);
    let controller = Controller::new_with(sources, watcher::Config::default(), kind)
        .with_config(Config::default().concurrency(CONCURRENCY))
        .owns(metadata::<CronJob>(client, namespace), ours())
        .owns(metadata::<Job>(client, namespace), ours())
        .owns(metadata::<NetworkPolicy>(client, namespace), ours())
        .owns(metadata::<PodDisruptionBudget>(client, namespace), ours())
        .owns(metadata::<Service>(client, namespace), ours())
        .owns(metadata::<StatefulSet>(client, namespace), ours())
        .watches(pods, ours(), of_pod)
        .reconcile_all_on(changes);
    let sources = controller.store();
    let working = controller
        .run(reconcile::<K>, retry::<K>, Arc::clone(context))
        .for_each(|_| std::future::ready(()));
    (sources, working)
}

/// The API for the metadata of the objects of a kind.
fn metadata<K>(client: &Client, namespace: &str) -> Api<PartialObjectMeta<K>>
where
    K: Resource<DynamicType = (), Scope = NamespaceResourceScope>,
{
    Api::namespaced(client.clone(), namespace)
}

/// The result of a reconciliation of a source.
struct Outcome {
    /// The state of the source's workload. `None`: the state of the workload is unknown, and the status keeps the last
    /// known state.
    workload: Option<WorkloadState>,
    has_changed: bool,
    /// True if no watch reports a change of the condition.
    needs_recheck: bool,
}

impl Outcome {
    fn idle(idle: &IdleReason, has_changed: bool) -> Self {
        let workload = WorkloadState { condition: state::idle(idle), replicas: None };
        Self { workload: Some(workload), has_changed, needs_recheck: idle.needs_recheck() }
    }
}

async fn reconcile<K: Source>(
    object: Arc<WatchedObject>,
    context: Arc<Context>,
) -> Result<Action, ReconcileError> {
    context.shared.writer.require_leadership()?;
    let Ok(name) = object.name_any().parse::<Name>() else { return Ok(Action::await_change()) };
    let (key, kind) = ((K::KIND, name.clone()), ApiResource::erase::<K>(&()));
    let reference = object.controller_owner_ref(&kind).unwrap_or_default();
    let installation = context.shared.instance.name();
    let namespace = &context.namespace;
    let owner = Owner::new(reference, installation, namespace, name.as_str(), K::COMPONENT);
    if !context.shared.instance.owns(&*object) {
        // The operator of the other installation runs the workload in its own namespace.
        if !context.foreign().contains(&key) {
            let names = K::object_names(name.as_str());
            let live = LiveObjects::fetch(&context.shared.client, namespace, names).await?;
            apply::end_workload(WorkloadEnd::DeletedAtOnce, &owner, &live, &context).await?;
            context.foreign().insert(key);
        }
        return Ok(Action::await_change());
    }
    context.foreign().remove(&key);
    if is_deleted(&object) {
        // Garbage collection deletes its objects.
        context.failures.reset(object.metadata.uid.as_ref());
        return Ok(Action::await_change());
    }
    // While an object is refused, the source that was in force before stays.
    let Some(spec) = K::desired(&context.desired.borrow(), &name) else {
        summarize::<K>(&object, None, &SourceData::Unread, &context).await?;
        return Ok(Action::requeue(context.shared.resync));
    };
    let data = {
        let imported = context.imported.borrow();
        K::data(&name, &spec, &parse_status(&object), imported.as_ref())
    };
    let working = async {
        let outcome = match &context.settings {
            None => Outcome::idle(&IdleReason::NoSettings, false),
            Some(settings) => work::<K>(&object, &name, spec, owner, settings, &context).await?,
        };
        if let Some(WorkloadState { condition, replicas }) = &outcome.workload {
            let part = (&K::workload_status(*replicas), &[condition][..]);
            let writing = WORKLOAD.write(&object, &kind, part, &context.shared);
            writing.instrument(stage!("status")).await?;
        }
        let workload = outcome.workload.as_ref().map(|workload| &workload.condition);
        summarize::<K>(&object, workload, &data, &context).await?;
        Ok::<_, ReconcileError>(outcome)
    };
    let outcome = tracing_spans::trace_reconciliation(KIND, &*object, Box::pin(working)).await?;
    context.shared.metrics.count_reconciliation(KIND, outcome.has_changed);
    context.failures.reset(object.metadata.uid.as_ref());
    let next = if outcome.needs_recheck { RECHECK } else { context.shared.resync };
    Ok(Action::requeue(backoff::with_jitter(next, assay_system::random_fraction())))
}

/// Writes the condition `Ready`. `working` is the condition of the workload, if it was just found; the object has the others.
async fn summarize<K: Source>(
    object: &WatchedObject,
    working: Option<&ConditionState>,
    data: &SourceData,
    context: &Context,
) -> Result<(), ReconcileError> {
    let (status, now): (K::Status, _) = (parse_status(object), context.shared.clock.now());
    let (before, generation) = (status.conditions(), object.metadata.generation);
    let is_older = |condition: &&Condition| working.is_none_or(|it| it.kind != condition.type_);
    let mut conditions: Vec<Condition> = before.iter().filter(is_older).cloned().collect();
    conditions.extend(working.map(|working| condition(working, before, generation, now)));
    // The publisher has not looked at the newest spec yet.
    if status.observed_generation() != generation {
        return Ok(());
    }
    let Some(readiness) = readiness(&conditions, data, now) else { return Ok(()) };
    let ready = readiness.condition(before, generation, now);
    let (kind, part) = (ApiResource::erase::<K>(&()), (&K::Status::default(), &[ready][..]));
    SUMMARY.write_conditions(object, &kind, part, &context.shared).await?;
    Ok(())
}

async fn work<K: Source>(
    object: &WatchedObject,
    name: &Name,
    spec: K::Spec,
    owner: Owner,
    settings: &WorkloadSettings,
    context: &Context,
) -> Result<Outcome, ReconcileError> {
    let inputs = fetch::fetch::<K>(name, spec, owner, settings, context).await?;
    let source = match validate::validate::<K>(&inputs) {
        Ok(source) => source,
        Err(idle) => {
            let has_changed =
                apply::end_workload(idle.workload_end(), &inputs.owner, &inputs.live, context)
                    .await?;
            return Ok(Outcome::idle(&idle, has_changed));
        }
    };
    let objects = build::build(&source);
    let (applied, has_changed) = match Box::pin(apply::apply(objects, &inputs, context)).await {
        Ok(applied) => applied,
        // The spec of pods has values that only the API server knows to be wrong.
        Err(ReconcileError::Write(error)) if error.refusal().is_some() => {
            let condition = state::refused(error.refusal().unwrap_or_default());
            let workload = Some(WorkloadState { condition, replicas: None });
            return Ok(Outcome { workload, has_changed: false, needs_recheck: true });
        }
        Err(error) => return Err(error),
    };
    let pause = match &source.task {
        Task::Import(_) => None,
        Task::ServeChain(serve) => serve.pause.as_ref(),
    };
    let is_refused = matches!(pause, Some(PauseReason::CredentialsRefused(_)));
    // A StatefulSet that was just replaced has adopted no pods yet.
    let before: K::Status = parse_status(object);
    let is_known = before.conditions().iter().any(|condition| condition.type_ == WORKING);
    if !is_refused && !applied.is_observed() && is_known {
        return Ok(Outcome { workload: None, has_changed, needs_recheck: true });
    }
    if let Task::Import(import) = &source.task
        && import.spec.suspended
    {
        return Ok(Outcome::idle(&IdleReason::Suspended, has_changed));
    }
    let needs_diagnosis = applied.needs_diagnosis();
    let missing = inputs.missing_secret().filter(|_| needs_diagnosis);
    let diagnosis = match &missing {
        Some(missing) => Some(missing.clone()),
        None if needs_diagnosis => {
            let suspects = SuspectPods {
                labels: source.owner.pod_query(),
                creators: applied.creators(),
                must_be_ready: matches!(applied, AppliedWorkload::ChainServers { .. }),
            };
            let (client, namespace) = (&context.shared.client, source.owner.namespace());
            pod_diagnostics::diagnose(client, namespace, &suspects).await?
        }
        None => None,
    };
    let mut condition = applied.condition(pause, diagnosis.as_deref());
    if missing.is_some() && !condition.holds {
        condition.reason = ConditionReason::SecretNotFound;
    }
    let workload = Some(WorkloadState { condition, replicas: applied.replicas() });
    Ok(Outcome { workload, has_changed, needs_recheck: needs_diagnosis || is_refused })
}

#[expect(clippy::needless_pass_by_value, reason = "the controller hands them over")]
fn retry<K: Source>(
    object: Arc<WatchedObject>,
    error: &ReconcileError,
    context: Arc<Context>,
) -> Action {
    context.shared.metrics.count_failure(KIND, ConditionReason::ApiServerUnavailable);
    let delay = context.failures.next_delay(object.uid());
    let (kind, name) = (K::KIND.as_str(), object.name_any());
    tracing::warn!(%error, kind, %name, ?delay, "failed to reconcile a source; retrying");
    Action::requeue(delay)
}
