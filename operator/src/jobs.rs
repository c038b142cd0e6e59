//! Jobs and `CronJobs`: their specs, and the results of their runs.

use k8s_openapi::api::batch::v1::{CronJob, CronJobSpec, Job, JobSpec, JobTemplateSpec};

use crate::{owned::Owner, pod::PodSettings};

/// The number of retries of a failed run that another one follows on a schedule, or that a person must look at.
pub(crate) const RETRIES: i32 = 2;
/// The time for which a finished Job is kept for diagnosis, in seconds.
const KEPT_SECONDS: i32 = 86_400;

/// The spec of a Job that runs a pod until it succeeds, for at most `deadline_seconds` with all `retries`.
pub(crate) fn job_spec(
    pod: &PodSettings<'_>,
    owner: &Owner,
    (deadline_seconds, retries): (u32, i32),
) -> JobSpec {
    JobSpec {
        backoff_limit: Some(retries),
        active_deadline_seconds: Some(deadline_seconds.into()),
        ttl_seconds_after_finished: Some(KEPT_SECONDS),
        template: pod.template(owner),
        ..JobSpec::default()
    }
}

/// The schedule of a `CronJob`.
#[derive(Clone, Debug)]
pub(crate) struct CronSchedule {
    /// A cron expression, in UTC.
    pub(crate) cron: String,
    /// The longest delay with which a run may still start, in seconds.
    pub(crate) starting_deadline_seconds: i64,
    /// True if runs are suspended.
    pub(crate) is_suspended: bool,
}

/// The spec of a `CronJob` that creates a Job on a schedule, one Job at a time.
pub(crate) fn cron_job_spec(schedule: CronSchedule, job: JobSpec, owner: &Owner) -> CronJobSpec {
    CronJobSpec {
        schedule: schedule.cron,
        time_zone: Some("Etc/UTC".to_owned()),
        concurrency_policy: Some("Forbid".to_owned()),
        starting_deadline_seconds: Some(schedule.starting_deadline_seconds),
        suspend: Some(schedule.is_suspended),
        successful_jobs_history_limit: Some(1),
        failed_jobs_history_limit: Some(2),
        job_template: JobTemplateSpec {
            metadata: Some(owner.template_metadata()),
            spec: Some(job),
        },
    }
}

/// Says whether a Job failed with all its retries.
pub(crate) fn has_failed(job: &Job) -> bool {
    let conditions = job.status.iter().flat_map(|status| status.conditions.iter().flatten());
    conditions.into_iter().any(|known| known.type_ == "Failed" && known.status == "True")
}

/// The number of failed attempts of a Job that has not succeeded.
pub(crate) fn failed_attempts(job: &Job) -> i32 {
    let Some(status) = &job.status else { return 0 };
    if status.succeeded.unwrap_or(0) > 0 { 0 } else { status.failed.unwrap_or(0) }
}

/// Says whether a Job neither succeeded nor failed yet. Its pods may not exist.
pub(crate) fn is_unfinished(job: &Job) -> bool {
    let Some(status) = &job.status else { return true };
    let conditions = status.conditions.iter().flatten();
    let mut ends = conditions.filter(|known| ["Complete", "Failed"].contains(&&*known.type_));
    status.succeeded.unwrap_or(0) == 0 && ends.all(|end| end.status != "True")
}

/// Says whether a Job of a `CronJob` runs at the moment.
pub(crate) fn has_running_job(cron_job: &CronJob) -> bool {
    let active = cron_job.status.as_ref().and_then(|status| status.active.as_ref());
    active.is_some_and(|jobs| !jobs.is_empty())
}

/// Says whether the last run of a `CronJob` succeeded, is still running, or is still to come.
pub(crate) fn last_run_succeeded(cron_job: &CronJob) -> bool {
    let Some(status) = &cron_job.status else { return true };
    let has_succeeded = match (&status.last_schedule_time, &status.last_successful_time) {
        (Some(started), Some(succeeded)) => succeeded.0 >= started.0,
        (started, _) => started.is_none(),
    };
    has_running_job(cron_job) || has_succeeded
}
