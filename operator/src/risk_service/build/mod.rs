//! What a running API consists of. Pure: the same object gives the same objects.
//!
//! - [`server`]: settings, Deployment, how many replicas there are
//! - [`network`]: who reaches it, and whom it reaches
//! - [`migration`]: the database before the Deployment
//! - [`purge`]: what of the database is forgotten

mod migration;
mod network;
mod purge;
mod server;

use assay_crds::RiskServiceSpec;

pub(super) use self::migration::{Migration, migration, name as migration_name, version};
pub(super) use self::purge::pods as purge_pods;
use super::{
    demand::{Floor, floor},
    fetch::Fetched,
    validate::Valid,
};
use crate::owned::{OwnedKind, OwnedObject};

/// What the objects are for, as labels say it.
pub(super) const SERVER: &str = "server";
/// What the Job before a new image is for.
const MIGRATION: &str = "migration";
/// What the nightly Job is for.
const PURGE: &str = "purge";
/// Where the API listens in a pod, and what that is called.
const API: (&str, u16) = ("http", 8080);
/// Where health and metrics listen.
const ADMIN: (&str, u16) = ("admin", 9090);

/// Everything that is to be there.
#[derive(Debug)]
pub(super) struct Plan {
    /// What is there whatever becomes of the rest.
    pub(super) common: Vec<OwnedObject>,
    /// The migration, which comes before the server.
    pub(super) migration: OwnedObject,
    /// The server: its settings first, because what mounts them would wait for them.
    pub(super) server: Vec<OwnedObject>,
    /// What is not to be there any more.
    pub(super) unwanted: Vec<OwnedKind>,
    /// Fewest replicas that tenants' limits ask for; `None` until that is known.
    pub(super) floor: Option<Floor>,
    /// Fewest replicas that there are to be.
    pub(super) fewest: i32,
}

pub(super) fn build(valid: &Valid<'_>) -> Plan {
    let fetched = valid.fetched;
    let scaling = &fetched.object.spec.scaling;
    let floor = fetched.demand.as_ref().map(|demand| floor(demand, scaling));
    let told = fetched.object.status.as_ref().and_then(|status| status.replica_floor);
    // Until it is known what tenants ask for, what was known before holds.
    let replicas = floor.as_ref().map(|floor| floor.replicas).or(told).unwrap_or(1);
    let fewest = replicas.max(scaling.min_replicas).min(scaling.max_replicas);
    let migration = migration::job(valid);
    let settings = server::settings(fetched);
    let deployment = server::deployment(fetched, &settings, &migration.name);
    let mut common = vec![
        network::service(fetched),
        network::policy(valid),
        server::disruption_budget(fetched),
        server::autoscaler(fetched, fewest),
    ];
    common.extend(network::exposure(fetched));
    let exposed = [OwnedKind::Ingress, OwnedKind::HttpRoute];
    let spec = &fetched.object.spec;
    Plan {
        common,
        migration,
        server: vec![settings, deployment, purge::cron_job(fetched)],
        unwanted: exposed.into_iter().filter(|kind| !wants(*kind, spec)).collect(),
        floor,
        fewest,
    }
}

/// Whether an API is to have such a owned.
pub(super) fn wants(kind: OwnedKind, spec: &RiskServiceSpec) -> bool {
    let exposure = spec.exposure.as_ref();
    match kind {
        OwnedKind::Ingress => exposure.is_some_and(|exposure| exposure.ingress.is_some()),
        OwnedKind::HttpRoute => exposure.is_some_and(|exposure| exposure.http_route.is_some()),
        _ => true,
    }
}

/// Where objects are, or would be.
pub(super) fn places(fetched: &Fetched) -> Vec<(OwnedKind, String)> {
    let kinds = [
        OwnedKind::ConfigMap,
        OwnedKind::Service,
        OwnedKind::NetworkPolicy,
        OwnedKind::PodDisruptionBudget,
        OwnedKind::HorizontalPodAutoscaler,
        OwnedKind::Ingress,
        OwnedKind::HttpRoute,
        OwnedKind::Deployment,
    ];
    let named = kinds.into_iter().map(|kind| (kind, fetched.name()));
    let purge = (OwnedKind::CronJob, purge::name(fetched));
    let migration = migration::name(fetched).map(|name| (OwnedKind::Job, name));
    named.chain([purge]).chain(migration).collect()
}

#[cfg(test)]
mod tests;
