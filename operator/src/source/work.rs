//! Making the workloads of sources: fetch, validate, build, apply; what came of it is made known.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Debug,
    sync::Arc,
    time::Duration,
};

use assay_crds::{ChainSource, IntelSource, SecretKey};
use assay_tenancy::{
    Name,
    manifest::{ChainMode, ChainSourceSpec, IntelSourceSpec, Kind},
};
use futures_util::{StreamExt, stream};
use k8s_openapi::api::{
    apps::v1::Deployment,
    batch::v1::{CronJob, Job},
    core::v1::Secret,
    networking::v1::NetworkPolicy,
};
use kube::{
    Api, Resource, ResourceExt,
    api::DynamicObject,
    core::PartialObjectMeta,
    runtime::{
        Controller,
        controller::{Action, Config},
        watcher,
    },
};

use tokio::sync::watch;

use super::{Context, DesiredSources, Observed, Workloads, build};
use crate::{
    backoff,
    conditions::ConditionState,
    jobs::{has_failed, is_active, went_well},
    owned::{OwnedKind, OwnedObject, Owner, label_selector},
    pod_diagnostics, ports,
    reason::Reason,
    system, tracing_spans,
    writer::WriteError,
};

/// Whether what does the work of a source is there and does well.
pub(super) const WORKING: &str = "Working";
/// Most sources that are worked on at once.
const CONCURRENCY: u16 = 4;
/// How often a source is looked at although nothing seems to have changed.
const RESYNC: Duration = Duration::from_mins(10);
/// How often its pods are asked while it does not do well.
const RECHECK: Duration = Duration::from_secs(10);

/// Why work on a source failed; it is tried again.
#[derive(Debug, thiserror::Error)]
pub(super) enum SourceError {
    /// Something was not written.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// The API server failed.
    #[error("the API server failed: {0}")]
    Server(#[from] kube::Error),
}

/// A kind of sources. Of its objects only their identity is watched: what they say is in force or not.
pub(super) trait Source:
    Resource<DynamicType = ()> + Clone + Debug + Send + Sync + 'static
{
    /// The kind.
    const KIND: Kind;
    /// What its workloads are for, as labels and names say it.
    const COMPONENT: &'static str;
    /// What an object says.
    type Spec: Send + Sync;

    /// What the source of that name says; `None` where it is not in force.
    fn desired(desired: &DesiredSources, name: &Name) -> Option<Self::Spec>;

    /// What is to be there for it.
    fn plan(
        name: &Name,
        spec: &Self::Spec,
        known: &Observed,
        workloads: &Workloads,
        parent: &Owner,
    ) -> Plan;

    /// Where its workloads are, or would be.
    fn places(name: &str) -> Vec<(OwnedKind, String)>;
}

/// What is to be there for a source.
#[derive(Debug)]
pub(super) enum Plan {
    /// Nothing, and why.
    Nothing(Reason, &'static str),
    /// Something that runs.
    Workloads {
        /// What is applied.
        objects: Vec<OwnedObject>,
        /// The URL that it reaches.
        url: String,
        /// Whether it only waits.
        is_suspended: bool,
    },
}

const NO_WORKLOADS: &str = "the operator was started without --image and --database-secret; a server \
                            with `--feeds on` does the work";
const IN_A_FILE: &str = "a file is on one machine only: a server that has it fetches it, with \
                         `--feeds on`, or `assay ingest` does";
const ON_DEMAND: &str = "histories are fetched by whoever is asked for them";

impl Source for IntelSource {
    const KIND: Kind = Kind::IntelSource;
    const COMPONENT: &'static str = "intel";
    type Spec = IntelSourceSpec;

    fn desired(desired: &DesiredSources, name: &Name) -> Option<Self::Spec> {
        desired.feeds.get(name).cloned()
    }

    fn plan(
        name: &Name,
        spec: &Self::Spec,
        known: &Observed,
        workloads: &Workloads,
        parent: &Owner,
    ) -> Plan {
        if !spec.location.contains("://") {
            return Plan::Nothing(Reason::NothingToRun, IN_A_FILE);
        }
        let is_new = known.feeds.as_ref().is_some_and(|feeds| !feeds.contains_key(name.as_str()));
        let mut objects = vec![build::cron_job(name.as_str(), spec, workloads, parent)];
        if is_new && !spec.suspended {
            objects.push(build::first_job(name.as_str(), spec, workloads, parent));
        }
        Plan::Workloads { objects, url: spec.location.clone(), is_suspended: spec.suspended }
    }

    fn places(name: &str) -> Vec<(OwnedKind, String)> {
        let name = build::name(Self::COMPONENT, name);
        vec![
            (OwnedKind::Job, format!("{name}-first")),
            (OwnedKind::NetworkPolicy, name.clone()),
            (OwnedKind::CronJob, name),
        ]
    }
}

impl Source for ChainSource {
    const KIND: Kind = Kind::ChainSource;
    const COMPONENT: &'static str = "chain";
    type Spec = ChainSourceSpec;

    fn desired(desired: &DesiredSources, name: &Name) -> Option<Self::Spec> {
        desired.chains.get(name).cloned()
    }

    fn plan(
        name: &Name,
        spec: &Self::Spec,
        _: &Observed,
        workloads: &Workloads,
        parent: &Owner,
    ) -> Plan {
        if spec.mode == ChainMode::OnDemand {
            return Plan::Nothing(Reason::NothingToRun, ON_DEMAND);
        }
        let objects = vec![build::follower(name.as_str(), spec, workloads, parent)];
        Plan::Workloads { objects, url: spec.endpoint.clone(), is_suspended: spec.suspended }
    }

    fn places(name: &str) -> Vec<(OwnedKind, String)> {
        let name = build::name(Self::COMPONENT, name);
        vec![(OwnedKind::NetworkPolicy, name.clone()), (OwnedKind::Deployment, name)]
    }
}

/// Works on sources of a kind until the program ends.
pub(super) async fn run<K: Source>(context: Arc<Context>) {
    let client = context.client.0.clone();
    let ours = || watcher::Config::default().labels(&label_selector());
    let changes = stream::unfold(Signals::new(&context), Signals::next);
    let namespace = &context.namespace;
    let objects = Api::<PartialObjectMeta<K>>::all(client.clone());
    Controller::new(objects, watcher::Config::default())
        .with_config(Config::default().concurrency(CONCURRENCY))
        .owns(Api::<PartialObjectMeta<CronJob>>::namespaced(client.clone(), namespace), ours())
        .owns(Api::<PartialObjectMeta<Job>>::namespaced(client.clone(), namespace), ours())
        .owns(
            Api::<PartialObjectMeta<NetworkPolicy>>::namespaced(client.clone(), namespace),
            ours(),
        )
        .owns(Api::<PartialObjectMeta<Deployment>>::namespaced(client, namespace), ours())
        .reconcile_all_on(changes)
        .run(reconcile::<K>, retry::<K>, context)
        .for_each(|_| std::future::ready(()))
        .await;
}

/// Tells when what is in force changed, or which lists were ever fetched.
struct Signals {
    desired: watch::Receiver<DesiredSources>,
    known: watch::Receiver<Observed>,
    fetched: Option<BTreeSet<String>>,
}

impl Signals {
    fn new(context: &Context) -> Self {
        let (desired, known) = (context.desired.clone(), context.known.subscribe());
        Self { desired, known, fetched: None }
    }

    async fn next(mut self) -> Option<((), Self)> {
        loop {
            tokio::select! {
                changed = self.desired.changed() => {
                    changed.ok()?;
                    return Some(((), self));
                }
                changed = self.known.changed() => changed.ok()?,
            }
            let fetched = fetched(&self.known.borrow_and_update());
            if fetched != self.fetched {
                self.fetched = fetched;
                return Some(((), self));
            }
        }
    }
}

/// Which lists were ever fetched.
fn fetched(known: &Observed) -> Option<BTreeSet<String>> {
    known.feeds.as_ref().map(|feeds| feeds.keys().cloned().collect())
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
    if object.meta().deletion_timestamp.is_some() {
        // Its workloads are its own: they go with it.
        context.known.send_if_modified(|known| known.workloads.remove(&key).is_some());
        context.failures.reset(object.meta().uid.as_ref());
        return Ok(Action::await_change());
    }
    let reference = object.controller_owner_ref(&()).unwrap_or_default();
    let parent = Owner::new(reference, &context.namespace, name.as_str(), K::COMPONENT);
    // Until what it says is right, what was made before stays.
    let Some(spec) = K::desired(&context.desired.borrow(), &name) else {
        return Ok(Action::requeue(RESYNC));
    };
    let Worked { fact, is_change, is_open } = match &context.workloads {
        None => Worked::nothing(Reason::NoWorkloads, NO_WORKLOADS.to_owned(), false),
        Some(workloads) => {
            let plan = K::plan(&name, &spec, &context.known.borrow(), workloads, &parent);
            let working = async {
                let plan = guarded::<K>(plan, &name, workloads, &parent, &context).await?;
                work(plan, K::places(name.as_str()), &parent, &context).await
            };
            tracing_spans::reconciling(WORKLOAD, &*object, Box::pin(working)).await?
        }
    };
    context.known.send_if_modified(|known| {
        let before = known.workloads.insert(key, fact.clone());
        before.as_ref() != Some(&fact)
    });
    context.health.metrics.reconciled(WORKLOAD, is_change);
    context.failures.reset(object.meta().uid.as_ref());
    let next = if is_open { RECHECK } else { RESYNC };
    Ok(Action::requeue(backoff::spread(next, system::jitter())))
}

/// The same with a policy of the network before the workloads.
async fn guarded<K: Source>(
    mut plan: Plan,
    name: &Name,
    workloads: &Workloads,
    parent: &Owner,
    context: &Context,
) -> Result<Plan, SourceError> {
    if let Plan::Workloads { objects, url, .. } = &mut plan {
        let database = database_ports(&workloads.database_secret, context).await?;
        let name = build::name(K::COMPONENT, name.as_str());
        objects.insert(0, build::policy(&name, url, &database, workloads, parent));
    }
    Ok(plan)
}

/// The ports of the database, as its Secret names them; the usual one while there is none.
async fn database_ports(key: &SecretKey, context: &Context) -> Result<BTreeSet<u16>, SourceError> {
    let secrets: Api<Secret> = Api::namespaced(context.client.0.clone(), &context.namespace);
    let held = secrets.get_opt(key.name.as_str()).await?;
    let url = held.as_ref().and_then(|secret| secret.data.as_ref()?.get(&key.key));
    let url = url.map(|url| String::from_utf8_lossy(&url.0).into_owned());
    Ok(ports::of_url(url.as_deref().unwrap_or("postgres://database")))
}

/// What the work is called in metrics, beside that of publishing.
const WORKLOAD: &str = "Workload";

/// What came of work on a source.
struct Worked {
    /// How its workload does.
    fact: ConditionState,
    /// Whether anything was written.
    is_change: bool,
    /// Whether something began that may come to nothing without a word from the cluster.
    is_open: bool,
}

impl Worked {
    /// Nothing runs.
    fn nothing(reason: Reason, why: String, is_change: bool) -> Self {
        Self { fact: fact(false, reason, why), is_change, is_open: false }
    }
}

/// Makes what is desired and takes away what is not.
async fn work(
    plan: Plan,
    places: Vec<(OwnedKind, String)>,
    parent: &Owner,
    context: &Context,
) -> Result<Worked, SourceError> {
    let (client, namespace) = (&context.client.0, &context.namespace);
    let mut live: BTreeMap<OwnedKind, DynamicObject> = BTreeMap::new();
    for (kind, name) in places {
        live.extend(kind.get(client, namespace, &name).await?.map(|live| (kind, live)));
    }
    let (objects, is_suspended) = match plan {
        Plan::Workloads { objects, is_suspended, .. } => (objects, is_suspended),
        Plan::Nothing(reason, why) => {
            // A Job ends by itself.
            let ours =
                live.iter().filter(|(kind, live)| **kind != OwnedKind::Job && parent.owns(live));
            let mut is_change = false;
            for (kind, live) in ours {
                let api = kind.api(client, namespace);
                context.writer.delete(kind.written(), &api, live).await?;
                is_change = true;
            }
            return Ok(Worked::nothing(reason, why.to_owned(), is_change));
        }
    };
    let taken = objects.iter().find_map(|owned| {
        let other = live.get(&owned.kind).filter(|live| !parent.owns(live))?;
        Some((owned.kind.resource().kind, other.name_any()))
    });
    if let Some((kind, name)) = taken {
        let message = format!(
            "a {kind} `{name}` is in `{namespace}` that the operator did not make for it: delete that"
        );
        return Ok(Worked::nothing(Reason::NameTaken, message, false));
    }
    let mut is_change = false;
    let mut applied = Vec::new();
    for owned in &objects {
        let before = live.get(&owned.kind);
        if let (OwnedKind::Job, Some(job)) = (owned.kind, before) {
            // A Job cannot be changed, and runs once.
            applied.push((owned.kind, job.clone()));
            continue;
        }
        let (object, was_written) = owned.apply(client, &context.writer, namespace, before).await?;
        is_change |= was_written;
        applied.push((owned.kind, object));
    }
    if is_suspended {
        let why = "it is suspended".to_owned();
        return Ok(Worked::nothing(Reason::NothingToRun, why, is_change));
    }
    let fact = ready_state(&applied);
    if fact.holds && !is_under_way(&applied) {
        return Ok(Worked { fact, is_change, is_open: false });
    }
    let pod_diagnostics = pod_diagnostics::of_pods(client, namespace, &parent.pods()).await?;
    Ok(Worked { fact: doubted(fact, pod_diagnostics.as_deref()), is_change, is_open: true })
}

fn fact(holds: bool, reason: Reason, message: String) -> ConditionState {
    ConditionState { kind: WORKING, holds, reason, message }
}

/// How workloads do.
fn ready_state(applied: &[(OwnedKind, DynamicObject)]) -> ConditionState {
    let mut workloads = applied.iter().filter(|(kind, _)| *kind != OwnedKind::NetworkPolicy);
    for (kind, object) in workloads.clone() {
        let (name, called) = (object.name_any(), kind.resource().kind);
        let does_well = match kind {
            OwnedKind::Job => !has_failed(object.clone().try_parse().ok()),
            OwnedKind::CronJob => went_well(object.clone().try_parse().ok()),
            _ => answers(object.clone().try_parse().ok()),
        };
        if !does_well {
            let message = format!("{called} `{name}` does not do well yet");
            return fact(false, Reason::WorkloadNotReady, message);
        }
    }
    let made = workloads.next().map(|(kind, object)| (kind.resource().kind, object.name_any()));
    let (called, name) = made.unwrap_or_default();
    fact(true, Reason::WorkloadReady, format!("{called} `{name}` does the work"))
}

/// Whether a Job runs at the moment.
fn is_under_way(applied: &[(OwnedKind, DynamicObject)]) -> bool {
    applied.iter().any(|(kind, object)| match kind {
        OwnedKind::Job | OwnedKind::CronJob => is_active(object),
        _ => false,
    })
}

/// The same fact, where pods complain of something: a Job that cannot begin seems to run.
fn doubted(mut fact: ConditionState, pod_diagnostics: Option<&str>) -> ConditionState {
    if pod_diagnostics.is_some() && fact.holds {
        let message = "what does the work began, and does not do well".to_owned();
        fact = self::fact(false, Reason::WorkloadNotReady, message);
    }
    fact.add(pod_diagnostics);
    fact
}

/// Whether the pod of a Deployment runs.
fn answers(deployment: Option<Deployment>) -> bool {
    let status = deployment.and_then(|deployment| deployment.status);
    status.is_some_and(|status| status.available_replicas.unwrap_or(0) > 0)
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
    tracing::warn!(%error, kind, %name, ?delay, "failed to work on a source; it is tried again");
    Action::requeue(delay)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[expect(clippy::needless_pass_by_value, reason = "it reads better without borrows")]
    fn reason(kind: OwnedKind, status: Value) -> Reason {
        let object = json!({"metadata": {"name": "x"}, "status": status});
        ready_state(&[(kind, serde_json::from_value(object).unwrap())]).reason
    }

    #[test]
    fn a_schedule_does_well_while_its_last_run_did() {
        let [earlier, later] = ["2026-11-22T01:00:00Z", "2026-11-22T02:00:00Z"];
        let run =
            |begun, succeeded| json!({"lastScheduleTime": begun, "lastSuccessfulTime": succeeded});
        assert_eq!(reason(OwnedKind::CronJob, json!({})), Reason::WorkloadReady);
        assert_eq!(reason(OwnedKind::CronJob, run(earlier, later)), Reason::WorkloadReady);
        assert_eq!(reason(OwnedKind::CronJob, run(later, earlier)), Reason::WorkloadNotReady);
        let mut goes_on = run(later, earlier);
        goes_on["active"] = json!([{"name": "x-1"}]);
        assert_eq!(reason(OwnedKind::CronJob, goes_on), Reason::WorkloadReady);
        let failed = json!({"conditions": [{"type": "Failed", "status": "True"}]});
        assert_eq!(reason(OwnedKind::Job, failed), Reason::WorkloadNotReady);
    }

    #[test]
    fn a_follower_does_well_while_its_pod_runs() {
        let status = |available: i32| json!({"availableReplicas": available});
        assert_eq!(reason(OwnedKind::Deployment, status(1)), Reason::WorkloadReady);
        assert_eq!(reason(OwnedKind::Deployment, status(0)), Reason::WorkloadNotReady);
    }
}
