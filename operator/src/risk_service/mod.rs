//! `RiskService`: a deployment of the API, made of objects of Kubernetes' own kinds.
//!
//! Running servers are replaced only by servers that work: the migration is a Job that must succeed
//! before the Deployment changes, and a new image replaces the old one pod by pod. This work needs no
//! database, because in a new installation the schema does not exist yet.
//!
//! - [`demand`]: the number of replicas that tenants' limits require
//! - [`names`]: the names of the objects; [`migration`]: the progress of the migration
//! - [`fetch`], [`validate`], [`build`], [`apply`], [`status`]: the steps of a reconciliation;
//!   [`state`]: the conditions of the applied objects

mod apply;
mod build;
mod demand;
mod fetch;
mod migration;
mod names;
mod state;
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
    core::v1::Service,
    networking::v1::{Ingress, NetworkPolicy},
    policy::v1::PodDisruptionBudget,
};
use kube::{
    Client, Resource, ResourceExt,
    core::{DeserializeGuard, PartialObjectMeta},
    runtime::{
        Controller,
        controller::{Action, Config},
        watcher,
    },
};
use tokio::sync::watch;
use tracing::Instrument;

pub(crate) use self::build::SERVER;
use self::{demand::Demand, status::StatusInputs};
use crate::{
    backoff::{self, Failures},
    client::SharedClient,
    health::Health,
    in_force::InForce,
    instance::Instance,
    owned::managed_by_selector,
    reason::Reason,
    scope::WatchScope,
    system, tracing_spans,
    writer::{WriteError, Writer},
};

/// The kind in metrics.
const KIND: &str = "RiskService";
/// The largest number of services that are worked on at once.
const CONCURRENCY: u16 = 4;
/// The interval while a service is not ready: some of what it waits for is not watched.
const RECHECK: Duration = Duration::from_secs(10);

/// A watched object. One that cannot be parsed does not block others.
type Guarded = DeserializeGuard<RiskService>;

/// The context of work on services.
#[derive(Clone, Debug)]
pub struct Context {
    client: SharedClient,
    instance: Instance,
    writer: Writer,
    health: Health,
    /// The demand of tenants. `None` until it is known.
    demand: watch::Receiver<Option<Demand>>,
    failures: Arc<Failures>,
    /// The last written status of each object, by UID, until the watch delivers it.
    written: Arc<Mutex<HashMap<String, RiskServiceStatus>>>,
    /// The namespaces whose services are watched.
    scope: WatchScope,
    /// The interval between reconciliations while nothing changes.
    resync: Duration,
}

/// Why work on a service failed; it is retried.
#[derive(Debug, thiserror::Error)]
pub enum ServiceError {
    /// An object was not written.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// The API server failed.
    #[error("the API server failed: {0}")]
    Server(#[from] kube::Error),
}

impl Context {
    /// A context; it follows the demand of tenants. `chain_servers` is the namespace of chain servers, if the operator
    /// runs any.
    #[must_use]
    #[expect(clippy::too_many_arguments, reason = "each is a part of the program")]
    pub(crate) fn new(
        client: Client,
        instance: Instance,
        writer: Writer,
        health: Health,
        in_force: watch::Receiver<InForce>,
        chain_servers: Option<String>,
        scope: WatchScope,
        resync: Duration,
    ) -> Self {
        let (sender, demand) = watch::channel(None);
        tokio::spawn(follow_demand(in_force, chain_servers, sender));
        let (failures, written) = <(Arc<_>, Arc<_>)>::default();
        Self {
            client: SharedClient(client),
            instance,
            writer,
            health,
            demand,
            failures,
            written,
            scope,
            resync,
        }
    }

    /// Works until the program ends.
    pub async fn run(self) {
        let (client, scope) = (&self.client.0, &self.scope);
        let ours = || watcher::Config::default().labels(&managed_by_selector());
        let changes = stream::unfold(self.demand.clone(), async |mut demand| {
            demand.changed().await.ok()?;
            Some(((), demand))
        });
        Controller::new(scope.services::<Guarded>(client), watcher::Config::default())
            .with_config(Config::default().concurrency(CONCURRENCY))
            .owns(scope.services::<PartialObjectMeta<Service>>(client), ours())
            .owns(scope.services::<PartialObjectMeta<NetworkPolicy>>(client), ours())
            .owns(scope.services::<PartialObjectMeta<Ingress>>(client), ours())
            .owns(scope.services::<PartialObjectMeta<PodDisruptionBudget>>(client), ours())
            .owns(scope.services::<PartialObjectMeta<HorizontalPodAutoscaler>>(client), ours())
            .owns(scope.services::<PartialObjectMeta<Job>>(client), ours())
            .owns(scope.services::<PartialObjectMeta<CronJob>>(client), ours())
            .owns(scope.services::<PartialObjectMeta<Deployment>>(client), ours())
            .reconcile_all_on(changes)
            .run(reconcile, retry, Arc::new(self))
            .for_each(|_| std::future::ready(()))
            .await;
    }

    fn written(&self) -> MutexGuard<'_, HashMap<String, RiskServiceStatus>> {
        self.written.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Updates the demand of tenants when the configuration in force changes it.
async fn follow_demand(
    mut in_force: watch::Receiver<InForce>,
    chain_servers: Option<String>,
    demand: watch::Sender<Option<Demand>>,
) {
    while in_force.changed().await.is_ok() {
        let directory = Arc::clone(&in_force.borrow_and_update().directory);
        let now = Some(Demand::of(&directory, chain_servers.as_deref(), system::now()));
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
        // It is older than the CRD's schema, which refuses such objects.
        context.health.metrics.failed(KIND, Reason::Invalid);
        return Ok(Action::await_change());
    };
    if !context.writer.may_write() {
        return Err(WriteError::NotLeader.into());
    }
    if !context.instance.owns(object) {
        // The operator of the other installation continues with its objects.
        context.written().remove(&object.uid().unwrap_or_default());
        return Ok(Action::await_change());
    }
    let worked = tracing_spans::reconciling(KIND, object, Box::pin(work(object, &context))).await?;
    context.failures.reset(guarded.meta().uid.as_ref());
    Ok(worked)
}

async fn work(object: &RiskService, context: &Context) -> Result<Action, ServiceError> {
    if object.meta().deletion_timestamp.is_some() {
        // Garbage collection deletes its objects.
        context.written().remove(&object.uid().unwrap_or_default());
        return Ok(Action::await_change());
    }
    let inputs = fetch::fetch(object, context).instrument(stage!("fetch")).await?;
    let (status, has_changed) = match validate::validate(&inputs) {
        Ok(service) => {
            let objects = build::build(&service);
            let applying = Box::pin(apply::apply(objects, &service, &inputs.live, context));
            let applied = applying.instrument(stage!("apply")).await?;
            let has_changed = applied.has_changed;
            (StatusInputs::of(&service, applied, context).await?, has_changed)
        }
        Err(ready_state) => (StatusInputs::of_invalid(ready_state, &inputs)?, false),
    };
    let writing = status::write(object, &status, context, system::now());
    writing.instrument(stage!("status")).await?;
    let metrics = &context.health.metrics;
    metrics.reconciled(KIND, has_changed);
    let next = if status.ready_state.is_ready() {
        context.resync
    } else {
        metrics.failed(KIND, status.ready_state.reason());
        RECHECK
    };
    Ok(Action::requeue(backoff::spread(next, system::jitter())))
}

#[expect(clippy::needless_pass_by_value, reason = "the controller hands them over")]
fn retry(guarded: Arc<Guarded>, error: &ServiceError, context: Arc<Context>) -> Action {
    context.health.metrics.failed(KIND, Reason::ApiServerUnavailable);
    let delay = context.failures.next_delay(guarded.uid());
    let (name, namespace) = (guarded.name_any(), guarded.namespace().unwrap_or_default());
    tracing::warn!(%error, %namespace, %name, ?delay, "failed to reconcile a service; retrying");
    Action::requeue(delay)
}
