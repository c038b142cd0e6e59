//! Forgetting what is older than it is kept, once a day.

use serde_json::json;

use crate::{
    child::{Child, ChildKind, Parent, hash},
    pod::{DATA, Pod, Restart, SecretFile},
    risk_service::fetch::Fetched,
};

/// Longest time for one run, in seconds.
const LONGEST: u32 = 3600;
/// How late a run may still begin, in seconds: before the next one would.
const LATEST_START: u32 = 43_200;
/// How long a Job that ended is kept, for whoever wants to know why, in seconds.
const KEPT: u32 = 86_400;

/// What it is called.
pub(super) fn name(fetched: &Fetched) -> String {
    format!("{}-purge", fetched.name())
}

pub(super) fn cron_job(fetched: &Fetched) -> Child {
    let spec = &fetched.object.spec;
    // Not among the server's pods, which are chosen by their labels.
    let Parent { reference, namespace, .. } = &fetched.parent;
    let parent = Parent::new(reference.clone(), namespace, &fetched.name(), "purge");
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
        restart: Restart::Never,
        grace_seconds: 30,
        requests: ["50m", "64Mi"],
    };
    let job = json!({
        "backoffLimit": 2,
        "activeDeadlineSeconds": LONGEST,
        "ttlSecondsAfterFinished": KEPT,
        "template": {
            "metadata": {"labels": parent.labels},
            "spec": pod.spec(json!({}), json!({})),
        },
    });
    let content = json!({"spec": {
        "schedule": schedule(namespace, &fetched.name()),
        "timeZone": "Etc/UTC",
        "concurrencyPolicy": "Forbid",
        "startingDeadlineSeconds": LATEST_START,
        "successfulJobsHistoryLimit": 1,
        "failedJobsHistoryLimit": 2,
        "jobTemplate": {"metadata": {"labels": parent.labels}, "spec": job},
    }});
    Child::new(&parent, ChildKind::CronJob, &name(fetched), &[], content)
}

/// At night, each at a minute of its own: many on one machine should not come at once.
fn schedule(namespace: &str, name: &str) -> String {
    let number = u64::from_str_radix(&hash(&[namespace, name]), 16).unwrap_or(0);
    format!("{} {} * * *", number % 60, 1 + number / 60 % 4)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_has_a_minute_of_its_own_at_night() {
        assert_eq!(schedule("ns", "api"), schedule("ns", "api"), "nothing depends on the moment");
        assert_ne!(schedule("ns", "api"), schedule("other", "api"));
        for name in ["a", "b", "c"] {
            let schedule = schedule("ns", name);
            let mut parts = schedule.split(' ');
            let mut number = || parts.next().unwrap().parse::<u32>().unwrap();
            assert!(number() < 60 && (1..=4).contains(&number()), "{schedule}");
        }
    }
}
