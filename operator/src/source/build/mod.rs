//! The objects of a source. Pure: the same source gives the same objects.

pub(super) mod chain_servers;
pub(super) mod importer;

use k8s_openapi::api::{
    apps::v1::StatefulSet,
    batch::v1::{CronJob, Job},
    core::v1::Service,
    networking::v1::NetworkPolicy,
    policy::v1::PodDisruptionBudget,
};

use super::{
    credentials,
    task::{PauseReason, Task},
    validate::ValidatedSource,
};
use crate::{
    network_policy,
    owned::{operator_pods, pods_of},
    pod::DATA,
    risk_service::SERVER,
    serving::{self, ADMIN, API},
};

/// The objects of a source.
#[derive(Clone, Debug)]
pub(super) struct SourceObjects {
    /// The network policy of the source's pods, applied before the pods run. `None`: the operator creates none.
    pub(super) network_policy: Option<NetworkPolicy>,
    /// The objects that run the source's pods.
    pub(super) workload: Workload,
}

/// The objects that run the pods of a source.
#[derive(Clone, Debug)]
pub(super) enum Workload {
    /// The workload that imports a list or label set.
    Importer {
        /// The `CronJob` that imports on the schedule.
        cron_job: Box<CronJob>,
        /// The Job that imports a new source immediately.
        first_job: Option<Box<Job>>,
    },
    /// Chain servers, which follow a chain and answer questions about its graph.
    ChainServers {
        /// The Service, whose name resolves to all ready servers.
        service: Box<Service>,
        /// The disruption budget, which bounds evictions.
        disruption_budget: Box<PodDisruptionBudget>,
        /// The `StatefulSet` that runs the servers.
        stateful_set: Box<StatefulSet>,
        /// The volume that pods must no longer mount, if any.
        forbidden_volume: Option<&'static str>,
    },
}

/// Builds the objects of a source.
pub(super) fn build(source: &ValidatedSource) -> SourceObjects {
    let workload = match &source.task {
        Task::Import(import) => Workload::Importer {
            cron_job: Box::new(importer::cron_job(import, source)),
            first_job: import.has_first_job.then(|| Box::new(importer::first_job(import, source))),
        },
        Task::ServeChain(serve) => Workload::ChainServers {
            service: Box::new(chain_servers::service(source)),
            disruption_budget: Box::new(serving::disruption_budget(
                &source.owner,
                &source.object_name,
            )),
            stateful_set: Box::new(chain_servers::stateful_set(serve, source)),
            forbidden_volume: match serve.pause {
                Some(PauseReason::CredentialsRefused(_)) => Some(credentials::VOLUME),
                Some(PauseReason::Suspended) | None => None,
            },
        },
    };
    SourceObjects { network_policy: network_policy(source), workload }
}

/// The network policy. No connections to importers are allowed; to chain servers, only those of API servers, the
/// operator and other servers of the chain.
fn network_policy(source: &ValidatedSource) -> Option<NetworkPolicy> {
    let owner = &source.owner;
    let egress_to = (&source.destinations, source.networks.as_ref()?);
    let spec = match &source.task {
        Task::Import(_) => network_policy::spec(owner.selector(), vec![], egress_to, vec![]),
        Task::ServeChain(_) => {
            let own = || network_policy::same_namespace(owner.selector());
            let callers = vec![
                network_policy::any_namespace(pods_of(SERVER)),
                network_policy::same_namespace(operator_pods()),
                own(),
            ];
            let ingress = vec![
                network_policy::ingress_from(callers, API.1),
                network_policy::ingress_from_anywhere(&[ADMIN.1]),
            ];
            let egress = vec![network_policy::egress_to(vec![own()], API.1)];
            network_policy::spec(owner.selector(), ingress, egress_to, egress)
        }
    };
    Some(NetworkPolicy { metadata: owner.metadata(&source.object_name), spec: Some(spec) })
}

/// The arguments of the `assay` program that name the database.
fn database_arguments(source: &ValidatedSource) -> [String; 2] {
    [format!("--data-dir={DATA}"), format!("--database-url-file={}", source.database.path())]
}

#[cfg(test)]
mod tests;
