//! The objects of a `RiskService`. Pure: the same service gives the same objects.
//!
//! - [`server`]: settings, Deployment, autoscaler
//! - [`network`]: Service, network policy, and the route from outside the cluster
//! - [`migration`]: the Job that migrates the database before the Deployment changes
//! - [`purge`]: the `CronJob` that deletes expired records

mod migration;
mod network;
mod purge;
mod server;

use k8s_openapi::api::{
    apps::v1::Deployment,
    autoscaling::v2::HorizontalPodAutoscaler,
    batch::v1::{CronJob, Job},
    core::v1::{ConfigMap, Service},
    networking::v1::{Ingress, NetworkPolicy},
    policy::v1::PodDisruptionBudget,
};

pub(super) use self::{
    migration::MIGRATED_BY,
    server::{CHAIN_SERVERS, FILE, SOURCE_CREDENTIALS},
};
use super::validate::ValidatedService;
use crate::{owned::HTTPRoute, serving};

/// The component of servers in labels.
pub(crate) const SERVER: &str = "server";
/// The component of the migration.
pub(super) const MIGRATION: &str = "migration";
/// The component of the purge.
pub(super) const PURGE: &str = "purge";
/// The objects of a `RiskService`. Settings, Deployment and purge change only after the migration succeeded.
#[derive(Clone, Debug)]
pub(super) struct ServiceObjects {
    pub(super) service: Service,
    /// `None`: the operator creates no network policies.
    pub(super) network_policy: Option<NetworkPolicy>,
    pub(super) disruption_budget: PodDisruptionBudget,
    pub(super) autoscaler: HorizontalPodAutoscaler,
    /// `None`: neither an `HTTPRoute` nor an Ingress exists.
    pub(super) route: Option<RouteObject>,
    /// The Job that migrates the database.
    pub(super) migration: Job,
    /// The settings of servers, applied before the Deployment, whose pods mount them.
    pub(super) settings: ConfigMap,
    pub(super) deployment: Deployment,
    pub(super) purge: CronJob,
}

/// The object that routes requests from outside the cluster.
#[derive(Clone, Debug)]
pub(super) enum RouteObject {
    HttpRoute(Box<HTTPRoute>),
    Ingress(Box<Ingress>),
}

/// Builds the objects of a service.
pub(super) fn build(service: &ValidatedService) -> ServiceObjects {
    let settings = server::settings_text(service);
    ServiceObjects {
        service: network::service(service),
        network_policy: network::policy(service),
        disruption_budget: serving::disruption_budget(&service.owner, &service.name),
        autoscaler: server::autoscaler(service),
        route: service.exposure.as_ref().map(|exposure| network::route(exposure, service)),
        migration: migration::job(service),
        deployment: server::deployment(service, &settings),
        settings: server::settings(service, settings),
        purge: purge::cron_job(service),
    }
}

#[cfg(test)]
mod tests;
