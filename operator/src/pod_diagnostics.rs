//! What keeps pods from doing what they are for, in the words of who runs them.

use k8s_openapi::api::core::v1::{ContainerStatus, Pod};
use kube::{Api, Client, ResourceExt, api::ListParams};
use serde_json::Value;

/// Longest diagnosis, in characters.
const LONGEST: usize = 300;
/// What a container waits for that is nothing to complain of.
const ON_ITS_WAY: [&str; 2] = ["ContainerCreating", "PodInitializing"];
/// By which the cluster marks the pods of a Job.
pub(crate) const JOB_NAME: &str = "batch.kubernetes.io/job-name";
/// By which it tells apart the pods of a Deployment's versions, and those of Jobs.
const VERSIONS: [&str; 2] = ["pod-template-hash", JOB_NAME];

/// What keeps the pods with these labels from doing what they are for; `None` where none complains, or
/// where nobody may list them: it is news and not a reason to do anything.
///
/// # Errors
///
/// Where the API server fails.
pub(crate) async fn of_pods(
    client: &Client,
    namespace: &str,
    labels: &str,
) -> Result<Option<String>, kube::Error> {
    let pods: Api<Pod> = Api::namespaced(client.clone(), namespace);
    match pods.list(&ListParams::default().labels(labels)).await {
        Ok(listed) => Ok(of_newest(listed.items)),
        Err(kube::Error::Api(status)) if status.code == 403 => Ok(None),
        Err(error) => Err(error),
    }
}

/// The diagnosis of the newest pod that has one, of those of the newest version or Job.
fn of_newest(mut pods: Vec<Pod>) -> Option<String> {
    pods.retain(|pod| pod.metadata.deletion_timestamp.is_none());
    pods.sort_by_key(|pod| pod.creation_timestamp().map(|time| time.0));
    let version = |pod: &Pod| VERSIONS.map(|label| pod.labels().get(label).cloned());
    let newest = version(pods.last()?);
    pods.iter().rev().filter(|pod| version(pod) == newest).find_map(|pod| {
        let cut: String = of_pod(pod)?.chars().take(LONGEST).collect();
        Some(format!("pod `{}`: {cut}", pod.name_any()))
    })
}

fn of_pod(pod: &Pod) -> Option<String> {
    let status = pod.status.as_ref()?;
    let mut containers = status.container_statuses.iter().flatten();
    let nowhere_to_run = || {
        let mut conditions = status.conditions.iter().flatten();
        let unscheduled =
            conditions.find(|known| known.type_ == "PodScheduled" && known.status == "False")?;
        unscheduled.message.clone()
    };
    containers.find_map(of_container).or_else(nowhere_to_run)
}

/// What is told stays the same while it comes and goes: a container that ends again and again is told by
/// how it ended, and an image that cannot be pulled by why.
fn of_container(container: &ContainerStatus) -> Option<String> {
    if container.ready {
        return None;
    }
    let state = container.state.as_ref()?;
    let failed = state.terminated.as_ref().filter(|ended| ended.exit_code != 0);
    let before = container.last_state.as_ref().and_then(|state| state.terminated.as_ref());
    if let Some(ended) = failed.or(before) {
        let reason = ended.reason.as_deref().unwrap_or("Error");
        let words = ended.message.as_deref().and_then(last_words);
        let words = words.map(|words| format!(": {words}")).unwrap_or_default();
        return Some(format!("{reason}, exit code {}{words}", ended.exit_code));
    }
    let waiting = state.waiting.as_ref()?;
    let reason = waiting.reason.as_deref().filter(|reason| !ON_ITS_WAY.contains(reason))?;
    let message = waiting.message.as_deref().unwrap_or_default();
    Some(match (reason, message.rsplit("ErrImagePull: ").next().unwrap_or_default()) {
        ("ErrImagePull" | "ImagePullBackOff", "") => "ImagePullBackOff".to_owned(),
        ("ErrImagePull" | "ImagePullBackOff", why) => format!("ImagePullBackOff: {why}"),
        (reason, "") => reason.to_owned(),
        (reason, message) => format!("{reason}: {message}"),
    })
}

/// What matters of the end of a log: the last line that says that something failed, or else the last one.
fn last_words(log: &str) -> Option<String> {
    let lines = || log.lines().rev().map(str::trim).filter(|line| !line.is_empty());
    let is_failure = |line: &&str| line.starts_with("error:") || line.contains("panicked at");
    let line = lines().find(is_failure).or_else(|| lines().next())?;
    // Lines of a server are objects; when they were written changes each time.
    let Ok(Value::Object(fields)) = serde_json::from_str(line) else {
        return Some(line.to_owned());
    };
    let said = ["message", "error"].map(|name| fields.get(name).and_then(Value::as_str));
    let said: Vec<&str> = said.into_iter().flatten().collect();
    (!said.is_empty()).then(|| said.join(": "))
}

#[cfg(test)]
#[expect(clippy::needless_pass_by_value, reason = "fixtures read better without borrows")]
mod tests {
    use serde_json::json;

    use super::*;

    fn pod(name: &str, made_at: &str, status: Value) -> Pod {
        let metadata = json!({"name": name, "creationTimestamp": made_at});
        let pod = json!({"metadata": metadata, "status": status});
        serde_json::from_value(pod).unwrap()
    }

    fn container(ready: bool, state: Value, last: Value) -> Value {
        json!({"containerStatuses": [{
            "name": "assay", "image": "assay", "imageID": "", "restartCount": 0,
            "ready": ready, "state": state, "lastState": last,
        }]})
    }

    fn said(status: Value) -> Option<String> {
        of_newest(vec![pod("api-1", "2026-11-22T01:00:00Z", status)])
    }

    #[test]
    fn a_pod_says_what_it_waits_for_where_that_is_a_complaint() {
        let waiting = |reason: &str| {
            let waiting = json!({"waiting": {"reason": reason, "message": "no such image"}});
            said(container(false, waiting, json!({})))
        };
        let wanted = "pod `api-1`: ImagePullBackOff: no such image".to_owned();
        assert_eq!(waiting("ImagePullBackOff"), Some(wanted));
        assert_eq!(waiting("ContainerCreating"), None);
        assert_eq!(said(json!({})), None);
        let mut first = container(false, json!({"waiting": {"reason": "ErrImagePull"}}), json!({}));
        first["containerStatuses"][0].as_object_mut().unwrap().remove("lastState");
        assert_eq!(said(first), Some("pod `api-1`: ImagePullBackOff".to_owned()));
        let waits = |reason: &str, message: &str| {
            said(container(
                false,
                json!({"waiting": {"reason": reason, "message": message}}),
                json!({}),
            ))
        };
        assert_eq!(
            waits("ErrImagePull", "not found"),
            waits("ImagePullBackOff", "Back-off pulling image \"x\": ErrImagePull: not found"),
            "it is the same each time"
        );
        let nowhere = json!({"conditions": [
            {"type": "PodScheduled", "status": "False", "message": "0/3 nodes are available"},
        ]});
        assert_eq!(said(nowhere), Some("pod `api-1`: 0/3 nodes are available".to_owned()));
    }

    #[test]
    fn a_container_that_ended_has_the_last_word() {
        let ended = json!({"terminated": {
            "exitCode": 1, "reason": "Error", "message": "begins\nfailed to open the store\n\n",
        }});
        let wanted = "pod `api-1`: Error, exit code 1: failed to open the store".to_owned();
        assert_eq!(said(container(false, ended.clone(), json!({}))), Some(wanted.clone()));
        let waits = json!({"waiting": {"reason": "CrashLoopBackOff", "message": "back-off 40s"}});
        assert_eq!(said(container(false, waits, ended.clone())), Some(wanted));
        let runs = json!({"running": {}});
        assert_eq!(said(container(true, runs, ended)), None, "it came up after all");
        let went_well = json!({"terminated": {"exitCode": 0, "reason": "Completed"}});
        assert_eq!(said(container(false, went_well.clone(), json!({}))), None);
        let again = Some("pod `api-1`: Completed, exit code 0".to_owned());
        for state in ["running", "terminated", "waiting"] {
            let state = match state {
                "terminated" => went_well.clone(),
                "waiting" => json!({"waiting": {"reason": "CrashLoopBackOff", "message": "10s"}}),
                _ => json!({"running": {}}),
            };
            assert_eq!(said(container(false, state, went_well.clone())), again);
        }
    }

    #[test]
    fn of_a_log_what_failed_is_heard() {
        for (log, words) in [
            (
                "reads\nerror: no such flag\n\nFor more information, try '--help'.",
                "error: no such flag",
            ),
            (
                "thread 'main' panicked at src/x.rs:1:2:\nboom\nnote: run with",
                "thread 'main' panicked at src/x.rs:1:2:",
            ),
            (r#"{"timestamp":"1","message":"stopped","error":"no rights"}"#, "stopped: no rights"),
            ("begins\nstops\n", "stops"),
        ] {
            assert_eq!(last_words(log).as_deref(), Some(words));
        }
        assert_eq!(last_words("\n"), None);
    }

    #[test]
    fn the_newest_version_is_heard_and_who_leaves_is_not() {
        let waits = |words: &str| {
            let waiting = json!({"waiting": {"reason": "ErrImagePull", "message": words}});
            container(false, waiting, json!({}))
        };
        let older = pod("old", "2026-11-22T01:00:00Z", waits("old"));
        let newer = pod("new", "2026-11-22T02:00:00Z", waits(&"x".repeat(2 * LONGEST)));
        let mut leaves = pod("leaves", "2026-11-22T03:00:00Z", waits("leaves"));
        leaves.metadata.deletion_timestamp = leaves.metadata.creation_timestamp.clone();
        let heard = of_newest(vec![newer, leaves, older]).unwrap();
        assert!(heard.starts_with("pod `new`: ImagePullBackOff: xxx"), "{heard}");
        assert_eq!(heard.chars().count(), "pod `new`: ".len() + LONGEST);

        let of = |version: &str, name: &str, made_at: &str, status: Value| {
            let mut pod = pod(name, made_at, status);
            pod.labels_mut().insert(VERSIONS[0].into(), version.into());
            pod
        };
        let failed = of("1", "bad", "2026-11-22T01:00:00Z", waits("gone"));
        let starts = of("2", "good", "2026-11-22T02:00:00Z", json!({}));
        assert_eq!(of_newest(vec![failed, starts]), None, "what failed is not this version");
    }
}
