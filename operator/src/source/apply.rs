//! The writes of a source's objects.

use k8s_openapi::api::batch::v1::Job;

use super::{
    Context, SourceError,
    build::{SourceObjects, Workload},
    validate::ValidatedSource,
};
use crate::owned::{Applier, LiveObjects, OwnedKind, Owner};

/// The objects of a source as the API server has them.
#[derive(Debug)]
pub(super) struct Applied {
    workload: Workload,
    has_changed: bool,
}

impl Applied {
    /// The objects that run the source's pods.
    pub(super) const fn workload(&self) -> &Workload {
        &self.workload
    }

    /// Says whether anything was written.
    pub(super) const fn has_changed(&self) -> bool {
        self.has_changed
    }
}

/// Applies the objects of a source.
pub(super) async fn apply(
    objects: SourceObjects,
    source: &ValidatedSource,
    live: &LiveObjects,
    context: &Context,
) -> Result<Applied, SourceError> {
    let SourceObjects { network_policy, workload } = objects;
    let mut applier = Applier::new(&context.client.0, &context.writer, &source.owner, live);
    applier.apply(&network_policy).await?;
    let workload = match workload {
        Workload::Importer { cron_job, first_job } => Workload::Importer {
            cron_job: Box::new(applier.apply(&*cron_job).await?),
            first_job: match (first_job, live.owned::<Job>(&source.owner)?) {
                (None, _) => None,
                // A Job cannot be changed, and runs once.
                (Some(_), Some(live)) => Some(Box::new(live)),
                (Some(job), None) => Some(Box::new(applier.apply(&*job).await?)),
            },
        },
        Workload::Follower(deployment) => {
            Workload::Follower(Box::new(applier.apply(&*deployment).await?))
        }
    };
    Ok(Applied { workload, has_changed: applier.has_changed() })
}

/// Deletes the objects of a source, and returns whether there were any. Running Jobs may finish.
pub(super) async fn delete(
    owner: &Owner,
    live: &LiveObjects,
    context: &Context,
) -> Result<bool, SourceError> {
    let mut applier = Applier::new(&context.client.0, &context.writer, owner, live);
    for kind in [OwnedKind::NetworkPolicy, OwnedKind::CronJob, OwnedKind::Deployment] {
        applier.delete(kind).await?;
    }
    Ok(applier.has_changed())
}
