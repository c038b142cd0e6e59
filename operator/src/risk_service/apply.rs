//! Writes a service's objects, in an order that keeps the service available.

use k8s_openapi::api::{
    apps::v1::Deployment,
    autoscaling::v2::HorizontalPodAutoscaler,
    batch::v1::{CronJob, Job},
};
use kube::api::DeleteParams;

use super::{
    Context,
    build::{RouteObject, ServiceObjects},
    migration::Migration,
    validate::ValidatedService,
};
use crate::{
    owned::{LiveObjects, ObjectApplier, OwnedKind},
    shared::ReconcileError,
};

/// The objects of a service after they were applied.
#[derive(Debug)]
pub(super) struct AppliedService {
    /// The progress of the migration.
    pub(super) migration: Migration,
    /// The Deployment, if it exists.
    pub(super) deployment: Option<Deployment>,
    /// The purge, if it exists.
    pub(super) purge: Option<CronJob>,
    /// The autoscaler.
    pub(super) autoscaler: HorizontalPodAutoscaler,
    /// True if the cluster lacks the Gateway API, which the spec needs.
    pub(super) lacks_gateway_api: bool,
    /// True if any object was written.
    pub(super) has_changed: bool,
}

/// Applies the objects of a service, and deletes those that its spec no longer needs.
pub(super) async fn apply(
    objects: &ServiceObjects,
    validated: &ValidatedService,
    live: &LiveObjects,
    context: &Context,
) -> Result<AppliedService, ReconcileError> {
    let owner = &validated.owner;
    let mut applier = ObjectApplier::new(&context.shared, owner, live);
    applier.apply(&objects.service).await?;
    match &objects.network_policy {
        Some(policy) => drop(applier.apply(policy).await?),
        None => applier.delete(OwnedKind::NetworkPolicy, DeleteParams::background()).await?,
    }
    applier.apply(&objects.disruption_budget).await?;
    let autoscaler = applier.apply(&objects.autoscaler).await?;
    let mut lacks_gateway_api = false;
    match &objects.route {
        Some(RouteObject::HttpRoute(route)) => match applier.apply(&**route).await {
            Err(error) if error.is_not_found() => lacks_gateway_api = true,
            result => drop(result?),
        },
        Some(RouteObject::Ingress(ingress)) => drop(applier.apply(&**ingress).await?),
        None => {}
    }
    if !matches!(objects.route, Some(RouteObject::Ingress(_))) {
        applier.delete(OwnedKind::Ingress, DeleteParams::background()).await?;
    }
    if !matches!(objects.route, Some(RouteObject::HttpRoute(_))) {
        applier.delete(OwnedKind::HttpRoute, DeleteParams::background()).await?;
    }
    let mut deployment = live.owned::<Deployment>(owner)?;
    let mut purge = live.owned::<CronJob>(owner)?;
    let job = live.owned::<Job>(owner)?;
    let mut migration = Migration::find(&validated.migration, deployment.as_ref(), job.as_ref());
    if migration == Migration::Pending {
        applier.apply(&objects.migration).await?;
        migration = Migration::Running;
    }
    // Until the database is migrated, running servers stay unchanged.
    if migration == Migration::Succeeded {
        applier.apply(&objects.settings).await?;
        deployment = Some(applier.apply(&objects.deployment).await?);
        purge = Some(applier.apply(&objects.purge).await?);
    }
    let has_changed = applier.has_changed();
    Ok(AppliedService { migration, deployment, purge, autoscaler, lacks_gateway_api, has_changed })
}
