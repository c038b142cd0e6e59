//! Writes the objects of a source.

use assay_tenancy::ResourceQuantity;
use k8s_openapi::api::{
    apps::v1::StatefulSet,
    batch::v1::{CronJob, Job},
    core::v1::{PersistentVolumeClaim, Pod, PodSpec},
};
use kube::{
    Api,
    api::{DeleteParams, ListParams},
};
use serde_json::json;

use super::{
    Context,
    build::{SourceObjects, Workload, chain_servers::STORAGE, importer::is_outdated},
    fetch::Inputs,
    task::WorkloadEnd,
    volumes,
};
use crate::{
    jobs::{failed_attempts, has_failed},
    owned::{LiveObjects, ObjectApplier, OwnedKind, Owner},
    shared::ReconcileError,
    writer::WriteError,
};

/// The objects that run a source's pods, after they were applied.
#[derive(Debug)]
pub(super) enum AppliedWorkload {
    /// The workload that imports a list or label set.
    Importer {
        /// The `CronJob` that imports on the schedule.
        cron_job: Box<CronJob>,
        /// The Job that imports a new source immediately.
        first_job: Option<Box<Job>>,
    },
    /// Chain servers, which follow a chain and answer questions about its graph.
    ChainServers {
        /// The `StatefulSet` that runs the servers.
        stateful_set: Box<StatefulSet>,
        /// The reason why a volume did not get its size.
        resize_failure: Option<String>,
    },
}

/// Applies the objects of a source, and returns true if anything was written.
pub(super) async fn apply<S>(
    objects: SourceObjects,
    inputs: &Inputs<'_, S>,
    context: &Context,
) -> Result<(AppliedWorkload, bool), ReconcileError> {
    let Inputs { owner, live, claims, .. } = inputs;
    let SourceObjects { network_policy, workload } = objects;
    let mut applier = ObjectApplier::new(&context.shared, owner, live);
    match &network_policy {
        Some(policy) => drop(applier.apply(policy).await?),
        None => applier.delete(OwnedKind::NetworkPolicy, DeleteParams::background()).await?,
    }
    let result = match workload {
        Workload::Importer { cron_job, first_job } => AppliedWorkload::Importer {
            cron_job: Box::new(applier.apply(&*cron_job).await?),
            first_job: match (first_job, live.owned::<Job>(owner)?) {
                // It would go on for hours, and import what the source was.
                (None, Some(live)) if is_retried(&live) || is_suspended(&cron_job) => {
                    applier.delete(OwnedKind::Job, DeleteParams::background()).await?;
                    None
                }
                (None, _) => None,
                // A Job cannot be changed. Once it is gone, its watch brings the next reconciliation.
                (Some(job), Some(live)) if is_outdated(&live, &job) => {
                    applier.delete(OwnedKind::Job, DeleteParams::background()).await?;
                    None
                }
                (Some(_), Some(live)) => Some(Box::new(live)),
                (Some(job), None) => Some(Box::new(applier.apply(&*job).await?)),
            },
        },
        Workload::ChainServers { service, disruption_budget, stateful_set, forbidden_volume } => {
            // The follower of an earlier release has the labels of the servers, and is none.
            applier.delete(OwnedKind::Deployment, DeleteParams::background()).await?;
            applier.apply(&*service).await?;
            applier.apply(&*disruption_budget).await?;
            let resize_failure = match volumes::template_size(&stateful_set) {
                Some(size) => resize_claims(claims, size, owner, context).await?,
                None => None,
            };
            let must_end = match forbidden_volume {
                Some(volume) => has_pods_with(volume, owner, live, context).await?,
                None => false,
            };
            let stateful_set =
                apply_stateful_set(&stateful_set, must_end, owner, live, &mut applier).await?;
            AppliedWorkload::ChainServers { stateful_set: Box::new(stateful_set), resize_failure }
        }
    };
    Ok((result, applier.has_changed()))
}

/// Says whether a first import failed and is tried again.
fn is_retried(job: &Job) -> bool {
    failed_attempts(job) > 0 && !has_failed(job)
}

fn is_suspended(cron_job: &CronJob) -> bool {
    cron_job.spec.as_ref().and_then(|spec| spec.suspend) == Some(true)
}

/// Requests the size of the spec for smaller claims, and returns the cause if a claim does not grow.
async fn resize_claims(
    claims: &[PersistentVolumeClaim],
    size: ResourceQuantity,
    owner: &Owner,
    context: &Context,
) -> Result<Option<String>, WriteError> {
    let api: Api<PersistentVolumeClaim> =
        Api::namespaced(context.shared.client.clone(), owner.namespace());
    let mut failure = volumes::resize_failure(claims);
    for name in volumes::undersized_claims(claims, size) {
        let requests = json!({STORAGE: size});
        let fields = json!({"spec": {"resources": {"requests": requests}}});
        match context.shared.writer.merge("volume_claim", &api, &name, &fields).await {
            Ok(_) => {}
            // Its storage class cannot expand volumes, or it is not bound yet.
            Err(error) => match error.refusal() {
                Some(why) => failure = Some(volumes::resize_failure_message(&name, why)),
                None => return Err(error),
            },
        }
    }
    Ok(failure)
}

/// Says whether existing or new pods of chain servers mount a volume.
async fn has_pods_with(
    volume: &str,
    owner: &Owner,
    live: &LiveObjects,
    context: &Context,
) -> Result<bool, ReconcileError> {
    let has_volume = |pod: &PodSpec| {
        pod.volumes.as_ref().is_some_and(|volumes| volumes.iter().any(|it| it.name == volume))
    };
    let stateful_set = live.owned::<StatefulSet>(owner)?;
    let template = stateful_set.and_then(|set| set.spec?.template.spec);
    if template.as_ref().is_some_and(has_volume) {
        return Ok(true);
    }
    // A rollout may have ended before each pod was replaced.
    let pods: Api<Pod> = Api::namespaced(context.shared.client.clone(), owner.namespace());
    let pods = pods.list(&ListParams::default().labels(&owner.pod_query())).await?.items;
    let mut staying = pods.iter().filter(|pod| pod.metadata.deletion_timestamp.is_none());
    Ok(staying.any(|pod| pod.spec.as_ref().is_some_and(has_volume)))
}

/// Applies the `StatefulSet`, or deletes it with its pods if these must end immediately. The size in a volume template
/// is immutable: for another size, the `StatefulSet` is deleted without its pods, and a new `StatefulSet` adopts the
/// pods.
async fn apply_stateful_set(
    stateful_set: &StatefulSet,
    must_end: bool,
    owner: &Owner,
    live: &LiveObjects,
    applier: &mut ObjectApplier<'_>,
) -> Result<StatefulSet, WriteError> {
    let Some(before) = live.owned::<StatefulSet>(owner)? else {
        return applier.apply(stateful_set).await;
    };
    if before.metadata.deletion_timestamp.is_some() {
        return Ok(before);
    }
    if must_end {
        applier.delete(OwnedKind::StatefulSet, DeleteParams::background()).await?;
        return Ok(before);
    }
    if volumes::template_size(&before) != volumes::template_size(stateful_set) {
        applier.delete(OwnedKind::StatefulSet, DeleteParams::orphan()).await?;
        return Ok(before);
    }
    applier.apply(stateful_set).await
}

/// Deletes the workload of a source that must not run, and returns true if there was any. The volumes of chain servers
/// stay.
pub(super) async fn end_workload(
    end: WorkloadEnd,
    owner: &Owner,
    live: &LiveObjects,
    context: &Context,
) -> Result<bool, ReconcileError> {
    let is_retried = live.owned::<Job>(owner)?.is_some_and(|job| is_retried(&job));
    let first_job: &[OwnedKind] = match end {
        WorkloadEnd::Kept => return Ok(false),
        WorkloadEnd::Deleted if !is_retried => &[],
        WorkloadEnd::Deleted | WorkloadEnd::DeletedAtOnce => &[OwnedKind::Job],
    };
    let mut applier = ObjectApplier::new(&context.shared, owner, live);
    // The network policy goes last, so that no pod runs without it.
    let workload = [
        OwnedKind::CronJob,
        OwnedKind::StatefulSet,
        OwnedKind::PodDisruptionBudget,
        OwnedKind::Service,
        OwnedKind::Deployment,
        OwnedKind::NetworkPolicy,
    ];
    for kind in first_job.iter().chain(&workload) {
        applier.delete(*kind, DeleteParams::background()).await?;
    }
    Ok(applier.has_changed())
}
