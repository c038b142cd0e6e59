//! The controller of a kind of sources: fetch, validate, build, apply, report.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use assay_tenancy::Name;
use futures_util::{StreamExt, stream};
use k8s_openapi::api::{
    apps::v1::StatefulSet,
    batch::v1::{CronJob, Job},
    core::v1::Service,
    networking::v1::NetworkPolicy,
    policy::v1::PodDisruptionBudget,
};
use kube::{
    Api, Resource, ResourceExt,
    core::PartialObjectMeta,
    runtime::{
        Controller,
        controller::{Action, Config},
        watcher,
    },
};
use tokio::sync::watch;

use super::{
    Context, DesiredSources, Observed, SourceError, WorkloadSettings,
    apply::{self, Applied},
    build, fetch,
    kind::Source,
    observed::WorkloadState,
    state,
    task::{Idle, Pause, Task, WorkloadEnd},
    validate,
};
use crate::{
    backoff,
    owned::{LiveObjects, Owner, managed_by_selector},
    pod_diagnostics,
    reason::Reason,
    system, tracing_spans,
    writer::WriteError,
};

/// The kind of this work in metrics, beside that of publishing.
const WORKLOAD: &str = "Workload";
/// The largest number of sources that are worked on at once.
const CONCURRENCY: u16 = 4;
/// The interval while a workload does not work, or a Job runs, or a chain server is not ready.
const RECHECK: Duration = Duration::from_secs(10);

/// Works on the sources of a kind until the program ends.
pub(super) async fn run<K: Source>(context: Arc<Context>) {
    let client = context.client.0.clone();
    let namespace = &context.namespace;
    let ours = || watcher::Config::default().labels(&managed_by_selector());
    let changes = stream::unfold(Triggers::new(&context), Triggers::next);
    let policies = Api::<PartialObjectMeta<NetworkPolicy>>::namespaced(client.clone(), namespace);
    let budgets =
        Api::<PartialObjectMeta<PodDisruptionBudget>>::namespaced(client.clone(), namespace);
    Controller::new(Api::<PartialObjectMeta<K>>::all(client.clone()), watcher::Config::default())
        .with_config(Config::default().concurrency(CONCURRENCY))
        .owns(Api::<PartialObjectMeta<CronJob>>::namespaced(client.clone(), namespace), ours())
        .owns(Api::<PartialObjectMeta<Job>>::namespaced(client.clone(), namespace), ours())
        .owns(policies, ours())
        .owns(budgets, ours())
        .owns(Api::<PartialObjectMeta<Service>>::namespaced(client.clone(), namespace), ours())
        .owns(Api::<PartialObjectMeta<StatefulSet>>::namespaced(client, namespace), ours())
        .reconcile_all_on(changes)
        .run(reconcile::<K>, retry::<K>, context)
        .for_each(|_| std::future::ready(()))
        .await;
}

/// Triggers the reconciliation of all sources when the sources in force change, or the set of
/// sources that were ever imported.
struct Triggers {
    desired: watch::Receiver<DesiredSources>,
    observed: watch::Receiver<Observed>,
    imported: Option<BTreeSet<String>>,
}

impl Triggers {
    fn new(context: &Context) -> Self {
        let (desired, observed) = (context.desired.clone(), context.observed.subscribe());
        Self { desired, observed, imported: None }
    }

    async fn next(mut self) -> Option<((), Self)> {
        loop {
            tokio::select! {
                changed = self.desired.changed() => {
                    changed.ok()?;
                    return Some(((), self));
                }
                changed = self.observed.changed() => changed.ok()?,
            }
            let imported = self.observed.borrow_and_update().imported();
            if imported != self.imported {
                self.imported = imported;
                return Some(((), self));
            }
        }
    }
}

/// The result of work on a source.
struct Outcome {
    workload: WorkloadState,
    has_changed: bool,
    /// True if a change of the condition may cause no event of a watch.
    needs_recheck: bool,
}

impl Outcome {
    fn idle(idle: &Idle, has_changed: bool) -> Self {
        let workload = WorkloadState { condition: state::idle(idle), replicas: None };
        Self { workload, has_changed, needs_recheck: idle.needs_recheck() }
    }
}

async fn reconcile<K: Source>(
    object: Arc<PartialObjectMeta<K>>,
    context: Arc<Context>,
) -> Result<Action, SourceError> {
    if !context.writer.may_write() {
        return Err(WriteError::NotLeader.into());
    }
    let Ok(name) = object.name_any().parse::<Name>() else { return Ok(Action::await_change()) };
    let key = (K::KIND, name.clone());
    let reference = object.controller_owner_ref(&()).unwrap_or_default();
    let installation = context.instance.name();
    let namespace = &context.namespace;
    let owner = Owner::new(reference, installation, namespace, name.as_str(), K::COMPONENT);
    if !context.instance.owns(&*object) {
        // The operator of the other installation runs the workload in its own namespace.
        if !context.foreign().contains(&key) {
            context.observed.send_if_modified(|observed| observed.workloads.remove(&key).is_some());
            let names = K::object_names(name.as_str());
            let live = LiveObjects::fetch(&context.client.0, namespace, names).await?;
            apply::end(WorkloadEnd::DeletedAtOnce, &owner, &live, &context).await?;
            context.foreign().insert(key);
        }
        return Ok(Action::await_change());
    }
    context.foreign().remove(&key);
    if object.metadata.deletion_timestamp.is_some() {
        // Garbage collection deletes its objects.
        context.observed.send_if_modified(|observed| observed.workloads.remove(&key).is_some());
        context.failures.reset(object.metadata.uid.as_ref());
        return Ok(Action::await_change());
    }
    // While an object is refused, the source that was in force before stays.
    let Some(spec) = K::desired(&context.desired.borrow(), &name) else {
        return Ok(Action::requeue(context.resync));
    };
    let outcome = match &context.settings {
        None => Outcome::idle(&Idle::NoSettings, false),
        Some(settings) => {
            let working = work::<K>(&name, spec, owner, settings, &context);
            tracing_spans::reconciling(WORKLOAD, &*object, Box::pin(working)).await?
        }
    };
    let Outcome { workload, has_changed, needs_recheck } = outcome;
    context.observed.send_if_modified(|observed| {
        let before = observed.workloads.insert(key, workload.clone());
        before.as_ref() != Some(&workload)
    });
    context.health.metrics.reconciled(WORKLOAD, has_changed);
    context.failures.reset(object.metadata.uid.as_ref());
    let next = if needs_recheck { RECHECK } else { context.resync };
    Ok(Action::requeue(backoff::spread(next, system::jitter())))
}

async fn work<K: Source>(
    name: &Name,
    spec: K::Spec,
    owner: Owner,
    settings: &WorkloadSettings,
    context: &Context,
) -> Result<Outcome, SourceError> {
    let inputs = fetch::fetch::<K>(name, spec, owner, settings, context).await?;
    let source = match validate::validate::<K>(&inputs) {
        Ok(source) => source,
        Err(idle) => {
            let has_changed = apply::end(idle.end(), &inputs.owner, &inputs.live, context).await?;
            return Ok(Outcome::idle(&idle, has_changed));
        }
    };
    let objects = build::build(&source);
    let (applied, has_changed) = match Box::pin(apply::apply(objects, &inputs, context)).await {
        Ok(applied) => applied,
        // The spec of pods has values that only the API server knows to be wrong.
        Err(SourceError::Write(error)) if error.refusal().is_some() => {
            let condition = state::refused(error.refusal().unwrap_or_default());
            let workload = WorkloadState { condition, replicas: None };
            return Ok(Outcome { workload, has_changed: false, needs_recheck: true });
        }
        Err(error) => return Err(error),
    };
    let pause = match &source.task {
        Task::Import(_) => None,
        Task::ServeChain(serve) => serve.pause.as_ref(),
    };
    let is_refused = matches!(pause, Some(Pause::CredentialsRefused(_)));
    // A StatefulSet that was just replaced has adopted no pods yet.
    let key = (K::KIND, name.clone());
    if !is_refused
        && !applied.is_observed()
        && let Some(workload) = context.observed.borrow().workloads.get(&key).cloned()
    {
        return Ok(Outcome { workload, has_changed, needs_recheck: true });
    }
    if let Task::Import(import) = &source.task
        && import.is_suspended
    {
        return Ok(Outcome::idle(&Idle::Suspended, has_changed));
    }
    let needs_diagnosis = applied.needs_diagnosis();
    let diagnosis = if needs_diagnosis {
        let (client, namespace) = (&context.client.0, source.owner.namespace());
        let pods = source.owner.pod_query();
        match &applied {
            Applied::Importer { .. } => pod_diagnostics::of_pods(client, namespace, &pods).await?,
            Applied::ChainServers { .. } => {
                pod_diagnostics::of_pods_not_ready(client, namespace, &pods).await?
            }
        }
    } else {
        None
    };
    let workload = WorkloadState {
        condition: applied.condition(pause, diagnosis.as_deref()),
        replicas: applied.replicas(),
    };
    Ok(Outcome { workload, has_changed, needs_recheck: needs_diagnosis || is_refused })
}

#[expect(clippy::needless_pass_by_value, reason = "the controller hands them over")]
fn retry<K: Source>(
    object: Arc<PartialObjectMeta<K>>,
    error: &SourceError,
    context: Arc<Context>,
) -> Action {
    context.health.metrics.failed(WORKLOAD, Reason::ApiServerUnavailable);
    let delay = context.failures.next_delay(object.uid());
    let (kind, name) = (K::KIND.as_str(), object.name_any());
    tracing::warn!(%error, kind, %name, ?delay, "failed to reconcile a source; retrying");
    Action::requeue(delay)
}
