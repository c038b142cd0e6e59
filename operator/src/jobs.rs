//! Jobs and schedules: how the operator makes them, and what they say of how they went.

use k8s_openapi::api::batch::v1::{CronJob, Job};
use kube::api::DynamicObject;
use serde_json::{Value, json};

use crate::{owned::Owner, pod::Pod};

/// How often what failed is tried again: a server may be busy.
const RETRIES: u32 = 2;
/// How long a Job that ended is kept, for whoever wants to know why, in seconds.
const KEPT: u32 = 86_400;

/// The `spec` of a Job that runs a pod until it went well; `longest` is the time for all tries, in
/// seconds.
pub(crate) fn once(pod: &Pod<'_>, parent: &Owner, longest: u32) -> Value {
    json!({
        "backoffLimit": RETRIES,
        "activeDeadlineSeconds": longest,
        "ttlSecondsAfterFinished": KEPT,
        "template": {
            "metadata": {"labels": parent.labels},
            "spec": pod.spec(json!({}), json!({})),
        },
    })
}

/// When a Job is to run.
pub(crate) struct Schedule<'a> {
    /// As cron writes it, in UTC.
    pub(crate) when: &'a str,
    /// How late a run may still begin, in seconds.
    pub(crate) latest_start: u32,
    /// Whether it is not to run for now.
    pub(crate) is_suspended: bool,
}

/// The `spec` of a `CronJob` that makes a Job of that `spec` each time, one at a time.
pub(crate) fn each_time(schedule: &Schedule<'_>, job: &Value, parent: &Owner) -> Value {
    json!({
        "schedule": schedule.when,
        "timeZone": "Etc/UTC",
        "concurrencyPolicy": "Forbid",
        "startingDeadlineSeconds": schedule.latest_start,
        "suspend": schedule.is_suspended,
        "successfulJobsHistoryLimit": 1,
        "failedJobsHistoryLimit": 2,
        "jobTemplate": {"metadata": {"labels": parent.labels}, "spec": job},
    })
}

/// Whether a Job gave up.
pub(crate) fn has_failed(job: Option<Job>) -> bool {
    let conditions = job.and_then(|job| job.status?.conditions).unwrap_or_default();
    conditions.iter().any(|condition| condition.type_ == "Failed" && condition.status == "True")
}

/// Whether a Job, or one of a `CronJob`, runs at the moment.
pub(crate) fn is_active(job: &DynamicObject) -> bool {
    match job.data.pointer("/status/active") {
        Some(Value::Number(pods)) => pods.as_u64() > Some(0),
        Some(Value::Array(jobs)) => !jobs.is_empty(),
        _ => false,
    }
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
