//! The workload that imports a list, label set or prices.

use std::collections::BTreeMap;

use k8s_openapi::api::batch::v1::{CronJob, Job, JobSpec};
use kube::ResourceExt;
use serde_json::json;

use super::database_arguments;
use crate::{
    jobs::{CronSchedule, RETRIES, cron_job_spec, job_spec},
    owned::digest,
    pod::PodSettings,
    pod_shape::{self, DefaultRequests},
    source::{names, task::ImportTask, validate::ValidatedSource},
};

/// The CPU and memory that an import requests.
const REQUESTS: DefaultRequests = DefaultRequests::new(100, 256);
/// The longest time for one import with its retries, in seconds, and their number.
const SCHEDULED: (u32, i32) = (3600, RETRIES);
/// The same for the first import: Kubernetes waits up to ten minutes between attempts, so that these go on for three hours, until
/// the schedule takes over.
const FIRST: (u32, i32) = (3 * 3600, 20);
/// The annotation on the first Job with the digest of its spec.
const SPEC: &str = "assay.dev/spec";
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
        spec: Some(cron_job_spec(schedule, job(import, source, SCHEDULED), &source.owner)),
        status: None,
    }
}

/// The Job that imports a new source immediately, until it succeeds.
pub(super) fn first_job(import: &ImportTask, source: &ValidatedSource) -> Job {
    let spec = job(import, source, FIRST);
    let mut metadata = source.owner.metadata(&names::first_job(&source.object_name));
    let spec_digest = digest(&[&json!(spec).to_string()]);
    metadata.annotations = Some(BTreeMap::from([(SPEC.to_owned(), spec_digest)]));
    Job { metadata, spec: Some(spec), status: None }
}

/// Says whether a first Job that has not succeeded imports by another spec than a new one would.
pub(in crate::source) fn is_outdated(live: &Job, wanted: &Job) -> bool {
    let spec = |job: &Job| job.annotations().get(SPEC).cloned();
    let has_succeeded =
        live.status.as_ref().and_then(|status| status.succeeded).is_some_and(|pods| pods > 0);
    !has_succeeded && spec(live) != spec(wanted)
}

fn job(import: &ImportTask, source: &ValidatedSource, limits: (u32, i32)) -> JobSpec {
    let files = import.credentials.iter().map(|credentials| &credentials.file);
    let secrets = [&source.database].into_iter().chain(files).collect();
    let resources = pod_shape::resources(&source.pods.shape.resources, REQUESTS);
    let pod = PodSettings::for_job(&source.pods, arguments(import, source), secrets, resources);
    job_spec(&pod, &source.owner, limits)
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
