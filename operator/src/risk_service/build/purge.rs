//! The `CronJob` that deletes expired records once a day.

use k8s_openapi::api::batch::v1::CronJob;

use super::PURGE;
use crate::{
    jobs::{CronSchedule, RETRIES, cron_job_spec, job_spec},
    owned::digest,
    pod::{DATA, PodSettings, requests},
    risk_service::{names, validate::ValidatedService},
};

/// The longest time for one run with its retries, in seconds.
const DEADLINE_SECONDS: u32 = 3600;
/// The longest delay with which a run may still start, in seconds: less than the interval of a day.
const STARTING_DEADLINE_SECONDS: i64 = 43_200;

/// The `CronJob` of the purge.
pub(super) fn cron_job(service: &ValidatedService) -> CronJob {
    // The server's selector must not match its pods.
    let owner = service.owner.with_component(PURGE);
    let arguments = vec![
        "purge".into(),
        format!("--data-dir={DATA}"),
        format!("--database-url-file={}", service.database.path()),
    ];
    let (secrets, resources) = (vec![&service.database], requests("50m", "64Mi"));
    let pod = PodSettings::for_job(&service.pods, arguments, secrets, resources);
    let schedule = CronSchedule {
        cron: nightly_cron(owner.namespace(), &service.name),
        starting_deadline_seconds: STARTING_DEADLINE_SECONDS,
        is_suspended: false,
    };
    let job = job_spec(&pod, &owner, (DEADLINE_SECONDS, RETRIES));
    CronJob {
        metadata: owner.metadata(&names::purge(&service.name)),
        spec: Some(cron_job_spec(schedule, job, &owner)),
        status: None,
    }
}

/// A cron expression for a minute between 01:00 and 05:00, different for each service, so that services with one
/// database do not start at the same time.
fn nightly_cron(namespace: &str, name: &str) -> String {
    let number = u64::from_str_radix(&digest(&[namespace, name]), 16).unwrap_or(0);
    format!("{} {} * * *", number % 60, 1 + number / 60 % 4)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_service_has_a_minute_of_its_own_at_night() {
        assert_eq!(
            nightly_cron("ns", "api"),
            nightly_cron("ns", "api"),
            "it does not depend on the time"
        );
        assert_ne!(nightly_cron("ns", "api"), nightly_cron("other", "api"));
        for name in ["a", "b", "c"] {
            let schedule = nightly_cron("ns", name);
            let mut parts = schedule.split(' ');
            let mut number = || parts.next().unwrap().parse::<u32>().unwrap();
            assert!(number() < 60 && (1..=4).contains(&number()), "{schedule}");
        }
    }
}
