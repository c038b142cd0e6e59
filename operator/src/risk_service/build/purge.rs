//! Forgetting what is older than it is kept, once a day.

use serde_json::json;

use super::PURGE;
use crate::{
    jobs::{Schedule, each_time, once},
    owned::{OwnedKind, OwnedObject, Owner, hash},
    pod::{DATA, Pod, Restart, SecretFile},
    risk_service::fetch::Fetched,
};

/// Longest time for one run, in seconds.
const LONGEST: u32 = 3600;
/// How late a run may still begin, in seconds: before the next one would.
const LATEST_START: u32 = 43_200;

/// What it is called.
pub(super) fn name(fetched: &Fetched) -> String {
    format!("{}-purge", fetched.name())
}

/// Not among the server's pods, which are chosen by their labels.
fn parent(fetched: &Fetched) -> Owner {
    let Owner { reference, namespace, .. } = &fetched.parent;
    Owner::new(reference.clone(), namespace, &fetched.name(), PURGE)
}

/// The labels of its pods.
pub(in crate::risk_service) fn pods(fetched: &Fetched) -> String {
    parent(fetched).pods()
}

pub(super) fn cron_job(fetched: &Fetched) -> OwnedObject {
    let spec = &fetched.object.spec;
    let parent = parent(fetched);
    let database = SecretFile::new("database", &spec.database_secret);
    let pod = Pod {
        image: &spec.image,
        pull_secrets: &spec.image_pull_secrets,
        arguments: vec![
            "purge".into(),
            format!("--data-dir={DATA}"),
            format!("--database-url-file={}", database.path()),
        ],
        secrets: vec![database],
        config_map: None,
        egress: &spec.egress,
        telemetry: &spec.telemetry,
        restart: Restart::Never,
        grace_seconds: 30,
        requests: ["50m", "64Mi"],
    };
    let schedule = Schedule {
        when: &at_night(&parent.namespace, &fetched.name()),
        latest_start: LATEST_START,
        is_suspended: false,
    };
    let content = json!({"spec": each_time(&schedule, &once(&pod, &parent, LONGEST), &parent)});
    OwnedObject::new(&parent, OwnedKind::CronJob, &name(fetched), &[], content)
}

/// At night, each at a minute of its own: many on one machine should not come at once.
fn at_night(namespace: &str, name: &str) -> String {
    let number = u64::from_str_radix(&hash(&[namespace, name]), 16).unwrap_or(0);
    format!("{} {} * * *", number % 60, 1 + number / 60 % 4)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_has_a_minute_of_its_own_at_night() {
        assert_eq!(at_night("ns", "api"), at_night("ns", "api"), "nothing depends on the moment");
        assert_ne!(at_night("ns", "api"), at_night("other", "api"));
        for name in ["a", "b", "c"] {
            let schedule = at_night("ns", name);
            let mut parts = schedule.split(' ');
            let mut number = || parts.next().unwrap().parse::<u32>().unwrap();
            assert!(number() < 60 && (1..=4).contains(&number()), "{schedule}");
        }
    }
}
