//! The objects of a source. Pure: the same source gives the same objects.

mod follower;
mod importer;

use k8s_openapi::api::{
    apps::v1::Deployment,
    batch::v1::{CronJob, Job},
    networking::v1::NetworkPolicy,
};

use super::{task::Task, validate::ValidatedSource};
use crate::{network_policy, pod::DATA};

/// The objects of a source.
#[derive(Clone, Debug)]
pub(super) struct SourceObjects {
    /// Restricts the network of its pods. It comes first, so that no pod runs without it.
    pub(super) network_policy: NetworkPolicy,
    /// Runs its pods.
    pub(super) workload: Workload,
}

/// The objects that run the pods of a source.
#[derive(Clone, Debug)]
pub(super) enum Workload {
    /// Imports on a schedule.
    Importer {
        /// Imports on the schedule.
        cron_job: Box<CronJob>,
        /// Imports at once what was never imported.
        first_job: Option<Box<Job>>,
    },
    /// Follows a chain.
    Follower(Box<Deployment>),
}

/// Builds the objects of a source.
pub(super) fn build(source: &ValidatedSource) -> SourceObjects {
    let ValidatedSource { object_name, owner, egress_ports, task, pods: _, database: _ } = source;
    let spec = network_policy::spec(owner.selector(), &[], egress_ports.clone());
    let workload = match task {
        Task::Import(import) => Workload::Importer {
            cron_job: Box::new(importer::cron_job(import, source)),
            first_job: import.has_first_job.then(|| Box::new(importer::first_job(import, source))),
        },
        Task::Follow(follow) => Workload::Follower(Box::new(follower::deployment(follow, source))),
    };
    SourceObjects {
        network_policy: NetworkPolicy { metadata: owner.metadata(object_name), spec: Some(spec) },
        workload,
    }
}

/// The arguments of the `assay` program about its database.
fn database_arguments(source: &ValidatedSource) -> [String; 2] {
    [format!("--data-dir={DATA}"), format!("--database-url-file={}", source.database.path())]
}

#[cfg(test)]
mod tests;
