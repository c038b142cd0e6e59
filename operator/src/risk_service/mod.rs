//! `RiskService`: a running API, made of objects that the cluster knows.
//!
//! What serves is never touched before what comes next is ready for it: the migration is a Job that must
//! have gone well before the Deployment changes, and a new image takes the place of the old one pod by
//! pod. It needs no database itself, because a new installation has none yet.
//!
//! - [`demand`]: how many replicas tenants' limits ask for
//! - [`fetch`], [`validate`], [`build`], [`apply`], [`status`]: the pipeline

mod apply;
mod build;
mod demand;
mod fetch;
mod status;
mod validate;

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use assay_crds::{RiskService, status::RiskServiceStatus};
use assay_telemetry::stage;
use futures_util::{StreamExt, stream};
use k8s_openapi::api::{
    apps::v1::Deployment,
    autoscaling::v2::HorizontalPodAutoscaler,
    batch::v1::{CronJob, Job},
    core::v1::{ConfigMap, Service},
    networking::v1::{Ingress, NetworkPolicy},
    policy::v1::PodDisruptionBudget,
};
use kube::{
    Api, Client, Resource, ResourceExt,
    core::{DeserializeGuard, PartialObjectMeta},
    runtime::{
        Controller,
        controller::{Action, Config},
        watcher,
    },
};
use tokio::sync::watch;
use tracing::Instrument;

use self::{
    apply::Applied,
    demand::{Demand, Floor},
    fetch::Fetched,
    status::News,
};
use crate::{
    backoff::{self, Failures},
    client::SharedClient,
    health::Health,
    owned::label_selector,
    pod_diagnostics,
    publish::InForce,
    reason::Reason,
    system, tracing_spans,
    writer::{WriteError, Writer},
};

/// The kind, as metrics name it.
const KIND: &str = "RiskService";
/// Most that are worked on at once.
const CONCURRENCY: u16 = 4;
/// How often one is looked at although nothing seems to have changed.
const RESYNC: Duration = Duration::from_mins(10);
/// How often it is looked whether what a person has to do was done, where nothing tells.
const RECHECK: Duration = Duration::from_secs(10);

/// What is watched: an object that cannot be read holds up no other.
type Guarded = DeserializeGuard<RiskService>;

/// What work on running APIs needs.
#[derive(Clone, Debug)]
pub struct Context {
    client: SharedClient,
    writer: Writer,
    health: Health,
    /// What tenants ask for; `None` until that is known.
    demand: watch::Receiver<Option<Demand>>,
    failures: Arc<Failures>,
    /// What was told of each object, by its identity; the watch brings it back later.
    told: Arc<Mutex<HashMap<String, RiskServiceStatus>>>,
}

/// Why work on a running API failed; it is tried again.
#[derive(Debug, thiserror::Error)]
pub enum ServiceError {
    /// Something was not written.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// The API server failed.
    #[error("the API server failed: {0}")]
    Server(#[from] kube::Error),
}

impl Context {
    /// What work on running APIs needs.
    #[must_use]
    pub fn new(
        client: Client,
        writer: Writer,
        health: Health,
        in_force: watch::Receiver<InForce>,
    ) -> Self {
        let (sender, demand) = watch::channel(None);
        tokio::spawn(follow_demand(in_force, sender));
        let (failures, told) = <(Arc<_>, Arc<_>)>::default();
        Self { client: SharedClient(client), writer, health, demand, failures, told }
    }

    /// Works until the program ends.
    pub async fn run(self) {
        let client = self.client.0.clone();
        let ours = || watcher::Config::default().labels(&label_selector());
        let changes = stream::unfold(self.demand.clone(), async |mut demand| {
            demand.changed().await.ok()?;
            Some(((), demand))
        });
        Controller::new(Api::<Guarded>::all(client.clone()), watcher::Config::default())
            .with_config(Config::default().concurrency(CONCURRENCY))
            .owns(Api::<PartialObjectMeta<ConfigMap>>::all(client.clone()), ours())
            .owns(Api::<PartialObjectMeta<Service>>::all(client.clone()), ours())
            .owns(Api::<PartialObjectMeta<NetworkPolicy>>::all(client.clone()), ours())
            .owns(Api::<PartialObjectMeta<Ingress>>::all(client.clone()), ours())
            .owns(Api::<PartialObjectMeta<PodDisruptionBudget>>::all(client.clone()), ours())
            .owns(Api::<PartialObjectMeta<HorizontalPodAutoscaler>>::all(client.clone()), ours())
            .owns(Api::<PartialObjectMeta<Job>>::all(client.clone()), ours())
            .owns(Api::<PartialObjectMeta<CronJob>>::all(client.clone()), ours())
            .owns(Api::<PartialObjectMeta<Deployment>>::all(client), ours())
            .reconcile_all_on(changes)
            .run(reconcile, retry, Arc::new(self))
            .for_each(|_| std::future::ready(()))
            .await;
    }

    fn told(&self) -> MutexGuard<'_, HashMap<String, RiskServiceStatus>> {
        self.told.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Says what tenants ask for whenever that is something else than before.
async fn follow_demand(
    mut in_force: watch::Receiver<InForce>,
    demand: watch::Sender<Option<Demand>>,
) {
    while in_force.changed().await.is_ok() {
        let now = Some(Demand::of(&in_force.borrow_and_update().directory, system::now()));
        demand.send_if_modified(|known| {
            let is_news = *known != now;
            *known = now;
            is_news
        });
    }
}

/// Fetch, validate, build, apply, status.
async fn reconcile(guarded: Arc<Guarded>, context: Arc<Context>) -> Result<Action, ServiceError> {
    let Ok(object) = &guarded.0 else {
        // The definition refuses such objects; this one is older than the definition.
        context.health.metrics.failed(KIND, Reason::Invalid);
        return Ok(Action::await_change());
    };
    if !context.writer.may_write() {
        return Err(WriteError::NotLeader.into());
    }
    let worked = tracing_spans::reconciling(KIND, object, Box::pin(work(object, &context))).await?;
    context.failures.reset(guarded.meta().uid.as_ref());
    Ok(worked)
}

async fn work(object: &RiskService, context: &Context) -> Result<Action, ServiceError> {
    if object.meta().deletion_timestamp.is_some() {
        // Its objects are its own: they go with it.
        context.told().remove(&object.uid().unwrap_or_default());
        return Ok(Action::await_change());
    }
    let fetched = fetch::fetch(object, context).instrument(stage!("fetch")).await?;
    let (news, is_change) = match validate::validate(&fetched) {
        Ok(valid) => {
            let plan = build::build(&valid);
            let (fewest, floor) = (plan.fewest, plan.floor.clone());
            let applying = apply::apply(&fetched, plan, context).instrument(stage!("apply"));
            let applied = applying.await?;
            let is_change = applied.is_change;
            (news(&fetched, (fewest, floor), applied, context).await?, is_change)
        }
        Err(ready_state) => {
            let deployment = fetched.deployment();
            (News { ready_state, deployment, floor: None, autoscaling: None, purge: None }, false)
        }
    };
    let telling = status::tell(object, &news, context, system::now());
    telling.instrument(stage!("status")).await?;
    let metrics = &context.health.metrics;
    metrics.reconciled(KIND, is_change);
    let next = if news.ready_state.is_ready() {
        RESYNC
    } else {
        metrics.failed(KIND, news.ready_state.reason());
        RECHECK
    };
    Ok(Action::requeue(backoff::spread(next, system::jitter())))
}

/// What is to be told of what was applied. Where something is not well, pods are asked why.
async fn news(
    fetched: &Fetched,
    (fewest, floor): (i32, Option<Floor>),
    applied: Applied,
    context: &Context,
) -> Result<News, ServiceError> {
    let why = async |labels: Option<String>| match labels {
        Some(labels) => {
            pod_diagnostics::of_pods(&context.client.0, &fetched.parent.namespace, &labels).await
        }
        None => Ok(None),
    };
    let ready_state = status::ready_state(&fetched.object.spec.image, fewest, &applied);
    let doubtful = status::doubtful_pods(&ready_state, fetched);
    let ready_state = ready_state.with(why(doubtful).await?.as_deref());
    let mut purge = status::purge(applied.purge);
    if let Some(fact) = purge.as_mut().filter(|fact| !fact.holds) {
        fact.add(why(Some(build::purge_pods(fetched))).await?.as_deref());
    }
    let autoscaling = status::autoscaling(applied.autoscaler.as_ref());
    Ok(News { ready_state, deployment: applied.deployment, floor, autoscaling, purge })
}

#[expect(clippy::needless_pass_by_value, reason = "the controller hands them over")]
fn retry(guarded: Arc<Guarded>, error: &ServiceError, context: Arc<Context>) -> Action {
    context.health.metrics.failed(KIND, Reason::ApiServerUnavailable);
    let delay = context.failures.next_delay(guarded.uid());
    let (name, namespace) = (guarded.name_any(), guarded.namespace().unwrap_or_default());
    tracing::warn!(%error, %namespace, %name, ?delay, "failed to work on a service; it is tried again");
    Action::requeue(delay)
}
