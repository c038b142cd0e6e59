//! The workload that imports a list, label set or prices.

use k8s_openapi::api::batch::v1::{CronJob, Job, JobSpec};

use super::database_arguments;
use crate::{
    jobs::{CronSchedule, cron_job_spec, job_spec},
    pod::{PodSettings, requests},
    source::{names, task::ImportTask, validate::ValidatedSource},
};

/// The longest time for one import with its retries, in seconds.
const DEADLINE_SECONDS: u32 = 3600;
/// The longest delay with which an import may still start, in seconds.
const STARTING_DEADLINE_SECONDS: i64 = 1800;

/// The `CronJob` that imports on the schedule, one import at a time.
pub(super) fn cron_job(import: &ImportTask, source: &ValidatedSource) -> CronJob {
    let schedule = CronSchedule {
        cron: import.spec.schedule.clone(),
        starting_deadline_seconds: STARTING_DEADLINE_SECONDS,
        is_suspended: import.spec.suspended,
    };
    CronJob {
        metadata: source.owner.metadata(&source.object_name),
        spec: Some(cron_job_spec(schedule, job(import, source), &source.owner)),
        status: None,
    }
}

/// The Job that imports a new source immediately and once.
pub(super) fn first_job(import: &ImportTask, source: &ValidatedSource) -> Job {
    Job {
        metadata: source.owner.metadata(&names::first_job(&source.object_name)),
        spec: Some(job(import, source)),
        status: None,
    }
}

fn job(import: &ImportTask, source: &ValidatedSource) -> JobSpec {
    let files = import.credentials.iter().map(|credentials| &credentials.file);
    let secrets = [&source.database].into_iter().chain(files).collect();
    let resources = requests("100m", "256Mi");
    let pod = PodSettings::for_job(&source.pods, arguments(import, source), secrets, resources);
    job_spec(&pod, &source.owner, DEADLINE_SECONDS)
}

fn arguments(import: &ImportTask, source: &ValidatedSource) -> Vec<String> {
    let ImportTask { spec, credentials, .. } = import;
    let mut arguments = vec![
        "ingest".to_owned(),
        spec.format.kind().subcommand().to_owned(),
        format!("--format={}", spec.format),
        format!("--source={}", import.source),
    ];
    // The digest of a file that is accepted although it is implausible.
    let accepted = spec.accept_digest.iter();
    arguments.extend(accepted.map(|digest| format!("--accept-digest={digest}")));
    if let Some(credentials) = credentials {
        arguments.push(format!("--credentials-file={}", credentials.file.path()));
        arguments.push(format!("--credentials-hosts={}", credentials.server));
    }
    arguments.extend(database_arguments(source));
    // No argument after this is parsed as a flag.
    arguments.extend(["--".to_owned(), spec.location.clone()]);
    arguments
}
