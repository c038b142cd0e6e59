//! What Jobs and schedules say of how they went.

use k8s_openapi::api::batch::v1::{CronJob, Job};

/// Whether a Job gave up.
pub(crate) fn has_failed(job: Option<Job>) -> bool {
    let conditions = job.and_then(|job| job.status?.conditions).unwrap_or_default();
    conditions.iter().any(|condition| condition.type_ == "Failed" && condition.status == "True")
}

/// Whether the last run of a `CronJob` went well, goes on, or is still to come.
pub(crate) fn went_well(job: Option<CronJob>) -> bool {
    let Some(status) = job.and_then(|job| job.status) else { return true };
    let runs = status.active.is_some_and(|active| !active.is_empty());
    let is_last = match (&status.last_schedule_time, &status.last_successful_time) {
        (Some(begun), Some(succeeded)) => succeeded.0 >= begun.0,
        (begun, _) => begun.is_none(),
    };
    runs || is_last
}
