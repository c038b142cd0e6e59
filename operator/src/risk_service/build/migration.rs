//! The Job that migrates the database schema, which must succeed before servers get another image or database.

use k8s_openapi::api::batch::v1::Job;

use super::MIGRATION;
use crate::{
    jobs::{RETRIES, job_spec},
    pod::{DATA, PodSettings, requests},
    risk_service::validate::ValidatedService,
};

/// The annotation on a Deployment with the name of the migration Job that succeeded before it. The annotation outlives
/// the Job, so that the migration does not run again.
pub(in crate::risk_service) const MIGRATED_BY: &str = "assay.dev/migrated-by";
/// The time for which each attempt waits for an unreachable database.
const WAIT: &str = "2m";
/// The longest time for a migration with its retries, in seconds.
const DEADLINE_SECONDS: u32 = 3600;

/// The migration Job for the image and the database.
pub(super) fn job(service: &ValidatedService) -> Job {
    // The server's selector must not match its pods.
    let owner = service.owner.with_component(MIGRATION);
    let arguments = vec![
        "migrate".into(),
        format!("--data-dir={DATA}"),
        format!("--database-url-file={}", service.database.path()),
        format!("--wait={WAIT}"),
    ];
    let (secrets, resources) = (vec![&service.database], requests("50m", "64Mi"));
    let pod = PodSettings::for_job(&service.pods, arguments, secrets, resources);
    Job {
        metadata: owner.metadata(&service.migration),
        spec: Some(job_spec(&pod, &owner, (DEADLINE_SECONDS, RETRIES))),
        status: None,
    }
}
