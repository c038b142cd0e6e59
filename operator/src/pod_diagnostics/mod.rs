//! Causes of pods that do not exist, do not start or fail, as controllers, the scheduler and the kubelet report them, with
//! advice.

mod events;

use k8s_openapi::api::core::v1::{ContainerStatus, Pod};
use kube::{Api, Client, ResourceExt, api::ListParams};
use serde_json::Value;

pub(crate) use self::events::refused_pod;

/// The longest diagnosis, in characters.
const MAX_CHARACTERS: usize = 300;
/// The waiting reasons of a container that is starting normally.
const NORMAL_WAITS: [&str; 2] = ["ContainerCreating", "PodInitializing"];
/// The label of a pod with the name of its Job.
pub(crate) const JOB_NAME: &str = "batch.kubernetes.io/job-name";
/// The labels that differ between the pods of a Deployment's revisions, and between those of Jobs.
const REVISION_LABELS: [&str; 2] = ["pod-template-hash", JOB_NAME];

/// The pods of a workload that may not exist, start or work.
#[derive(Clone, Debug, Default)]
pub(crate) struct SuspectPods {
    /// The label selector of the pods.
    pub(crate) labels: String,
    /// The names of the objects that create the pods and report a refusal by an event alone: Jobs and a `StatefulSet`.
    pub(crate) creators: Vec<String>,
    /// True if a pod that is not ready is named, although it reports no problem.
    pub(crate) must_be_ready: bool,
}

/// Describes why pods do not exist, do not start or fail. `None` if nothing reports a problem, or if the operator may
/// not list pods and events.
///
/// # Errors
///
/// Returns an error if the API server fails.
pub(crate) async fn diagnose(
    client: &Client,
    namespace: &str,
    suspects: &SuspectPods,
) -> Result<Option<String>, kube::Error> {
    let pods = list(client, namespace, &suspects.labels).await?;
    if let Some(diagnosis) = newest_diagnosis(&pods) {
        return Ok(Some(diagnosis));
    }
    if let Some(pod) = newest_unready_pod(&pods)
        && let Some(diagnosis) = events::failed_mount(client, namespace, pod).await?
    {
        return Ok(Some(diagnosis));
    }
    let newest = pods.last().and_then(Pod::creation_timestamp).map(|time| time.0);
    for creator in &suspects.creators {
        if let Some(diagnosis) = events::failed_create(client, namespace, creator, newest).await? {
            return Ok(Some(diagnosis));
        }
    }
    let unready = newest_unready_pod(&pods).filter(|_| suspects.must_be_ready);
    Ok(unready.map(|pod| format!("pod `{}` is not ready yet", pod.name_any())))
}

/// Says whether a pod reports a problem.
pub(crate) fn has_problem(pod: &Pod) -> bool {
    pod.metadata.deletion_timestamp.is_none() && pod_diagnosis(pod).is_some()
}

/// The selected pods that are not being deleted, the oldest first.
async fn list(client: &Client, namespace: &str, labels: &str) -> Result<Vec<Pod>, kube::Error> {
    let pods: Api<Pod> = Api::namespaced(client.clone(), namespace);
    match pods.list(&ListParams::default().labels(labels)).await {
        Ok(listed) => Ok(exclude_terminating(listed.items)),
        Err(kube::Error::Api(status)) if status.code == 403 => Ok(vec![]),
        Err(error) => Err(error),
    }
}

fn exclude_terminating(mut pods: Vec<Pod>) -> Vec<Pod> {
    pods.retain(|pod| pod.metadata.deletion_timestamp.is_none());
    pods.sort_by_key(|pod| pod.creation_timestamp().map(|time| time.0));
    pods
}

fn newest_unready_pod(pods: &[Pod]) -> Option<&Pod> {
    let is_ready = |pod: &&Pod| {
        let conditions = pod.status.as_ref().and_then(|status| status.conditions.as_ref());
        let mut conditions = conditions.into_iter().flatten();
        conditions.any(|known| known.type_ == "Ready" && known.status == "True")
    };
    pods.iter().rev().find(|pod| !is_ready(pod))
}

/// The diagnosis of the newest pod with a problem, among the pods of the newest revision or Job.
fn newest_diagnosis(pods: &[Pod]) -> Option<String> {
    let version = |pod: &Pod| REVISION_LABELS.map(|label| pod.labels().get(label).cloned());
    let newest = version(pods.last()?);
    pods.iter().rev().filter(|pod| version(pod) == newest).find_map(|pod| {
        let PodProblem { advice, text } = pod_diagnosis(pod)?;
        Some(format!("pod `{}`{advice}: {}", pod.name_any(), cut(&text)))
    })
}

/// The beginning of a text, as long as a diagnosis may be.
fn cut(text: &str) -> String {
    text.chars().take(MAX_CHARACTERS).collect()
}

/// The problem of a pod.
#[derive(Clone, Debug, PartialEq, Eq)]
struct PodProblem {
    /// The cause with what to do, as the rest of a sentence about the pod; empty if the text says all.
    advice: &'static str,
    /// The text of the component that reports the problem.
    text: String,
}

fn pod_diagnosis(pod: &Pod) -> Option<PodProblem> {
    let status = pod.status.as_ref()?;
    let mut containers = status.container_statuses.iter().flatten();
    let unschedulable = || {
        let mut conditions = status.conditions.iter().flatten();
        let unscheduled =
            conditions.find(|known| known.type_ == "PodScheduled" && known.status == "False")?;
        let text = unscheduled.message.clone()?;
        let advice =
            " fits no node; add nodes, or change its requests, node selector or tolerations";
        Some(PodProblem { advice, text })
    };
    containers.find_map(container_diagnosis).or_else(unschedulable)
}

/// The diagnosis of a container, equal for all attempts: a container that keeps failing is described by how it ended,
/// and an image that cannot be pulled by the cause.
fn container_diagnosis(container: &ContainerStatus) -> Option<PodProblem> {
    if container.ready {
        return None;
    }
    let state = container.state.as_ref()?;
    let failed = state.terminated.as_ref().filter(|ended| ended.exit_code != 0);
    let before = container.last_state.as_ref().and_then(|state| state.terminated.as_ref());
    if let Some(ended) = failed.or(before) {
        let reason = ended.reason.as_deref().unwrap_or("Error");
        let words = ended.message.as_deref().and_then(last_failure);
        let words = words.map(|words| format!(": {words}")).unwrap_or_default();
        let text = format!("{reason}, exit code {}{words}", ended.exit_code);
        return Some(PodProblem { advice: "", text });
    }
    let waiting = state.waiting.as_ref()?;
    let reason = waiting.reason.as_deref().filter(|reason| !NORMAL_WAITS.contains(reason))?;
    let message = waiting.message.as_deref().unwrap_or_default();
    let advice = match reason {
        "ErrImagePull" | "ImagePullBackOff" | "ErrImageNeverPull" | "InvalidImageName" => {
            " does not get its image; correct its name, or the Secrets for pulling it"
        }
        "CreateContainerConfigError" => " lacks a Secret, a ConfigMap or a key in it; create it",
        _ => "",
    };
    let text = match (reason, message.rsplit("ErrImagePull: ").next().unwrap_or_default()) {
        ("ErrImagePull" | "ImagePullBackOff", "") => "ImagePullBackOff".to_owned(),
        ("ErrImagePull" | "ImagePullBackOff", why) => format!("ImagePullBackOff: {why}"),
        (reason, "") => reason.to_owned(),
        (reason, message) => format!("{reason}: {message}"),
    };
    Some(PodProblem { advice, text })
}

/// The relevant line of a log: the last line that reports a failure, or else the last line.
fn last_failure(log: &str) -> Option<String> {
    let lines = || log.lines().rev().map(str::trim).filter(|line| !line.is_empty());
    let is_failure = |line: &&str| line.starts_with("error:") || line.contains("panicked at");
    let line = lines().find(is_failure).or_else(|| lines().next())?;
    // A server's line is a JSON object; its timestamp differs at each attempt.
    let Ok(Value::Object(fields)) = serde_json::from_str(line) else {
        return Some(line.to_owned());
    };
    let texts = ["message", "error"].map(|name| fields.get(name).and_then(Value::as_str));
    let texts: Vec<&str> = texts.into_iter().flatten().collect();
    (!texts.is_empty()).then(|| texts.join(": "))
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

    fn diagnosis_of(status: Value) -> Option<String> {
        newest_diagnosis(&[pod("api-1", "2026-11-22T01:00:00Z", status)])
    }

    #[test]
    fn a_pod_that_cannot_start_is_diagnosed() {
        let waiting = |reason: &str| {
            let waiting = json!({"waiting": {"reason": reason, "message": "no such image"}});
            diagnosis_of(container(false, waiting, json!({})))
        };
        let image =
            "pod `api-1` does not get its image; correct its name, or the Secrets for pulling it: ";
        let wanted = format!("{image}ImagePullBackOff: no such image");
        assert_eq!(waiting("ImagePullBackOff"), Some(wanted));
        let wanted = "pod `api-1` lacks a Secret, a ConfigMap or a key in it; create it: \
                      CreateContainerConfigError: no such image";
        assert_eq!(waiting("CreateContainerConfigError").as_deref(), Some(wanted));
        assert_eq!(waiting("ContainerCreating"), None);
        assert_eq!(diagnosis_of(json!({})), None);
        let mut first = container(false, json!({"waiting": {"reason": "ErrImagePull"}}), json!({}));
        first["containerStatuses"][0].as_object_mut().unwrap().remove("lastState");
        assert_eq!(diagnosis_of(first), Some(format!("{image}ImagePullBackOff")));
        let waits = |reason: &str, message: &str| {
            diagnosis_of(container(
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
        let wanted = "pod `api-1` fits no node; add nodes, or change its requests, node selector or \
                      tolerations: 0/3 nodes are available";
        assert_eq!(diagnosis_of(nowhere).as_deref(), Some(wanted));
    }

    #[test]
    fn a_pod_that_is_not_ready_is_named() {
        let ready = json!({"conditions": [{"type": "Ready", "status": "True"}]});
        let runs = container(false, json!({"running": {}}), json!({}));
        let pods = exclude_terminating(vec![
            pod("chain-0", "2026-11-22T02:00:00Z", ready.clone()),
            pod("chain-1", "2026-11-22T01:00:00Z", runs),
        ]);
        assert_eq!((newest_diagnosis(&pods), newest_unready_pod(&pods[1..])), (None, None));
        assert_eq!(
            newest_unready_pod(&pods).map(ResourceExt::name_any).as_deref(),
            Some("chain-1")
        );
    }

    #[test]
    fn a_container_that_failed_is_diagnosed_by_its_exit() {
        let ended = json!({"terminated": {
            "exitCode": 1, "reason": "Error", "message": "begins\nfailed to open the store\n\n",
        }});
        let wanted = "pod `api-1`: Error, exit code 1: failed to open the store".to_owned();
        assert_eq!(diagnosis_of(container(false, ended.clone(), json!({}))), Some(wanted.clone()));
        let waits = json!({"waiting": {"reason": "CrashLoopBackOff", "message": "back-off 40s"}});
        assert_eq!(diagnosis_of(container(false, waits, ended.clone())), Some(wanted));
        let runs = json!({"running": {}});
        assert_eq!(diagnosis_of(container(true, runs, ended)), None, "it became ready after all");
        let went_well = json!({"terminated": {"exitCode": 0, "reason": "Completed"}});
        assert_eq!(diagnosis_of(container(false, went_well.clone(), json!({}))), None);
        let again = Some("pod `api-1`: Completed, exit code 0".to_owned());
        for state in ["running", "terminated", "waiting"] {
            let state = match state {
                "terminated" => went_well.clone(),
                "waiting" => json!({"waiting": {"reason": "CrashLoopBackOff", "message": "10s"}}),
                _ => json!({"running": {}}),
            };
            assert_eq!(diagnosis_of(container(false, state, went_well.clone())), again);
        }
    }

    #[test]
    fn the_line_of_the_failure_is_kept_of_a_log() {
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
            assert_eq!(last_failure(log).as_deref(), Some(words));
        }
        assert_eq!(last_failure("\n"), None);
    }

    #[test]
    fn only_pods_of_the_newest_revision_that_stay_are_diagnosed() {
        let waits = |words: &str| {
            let waiting = json!({"waiting": {"reason": "ErrImagePull", "message": words}});
            container(false, waiting, json!({}))
        };
        let older = pod("old", "2026-11-22T01:00:00Z", waits("old"));
        let newer = pod("new", "2026-11-22T02:00:00Z", waits(&"x".repeat(2 * MAX_CHARACTERS)));
        let mut leaves = pod("leaves", "2026-11-22T03:00:00Z", waits("leaves"));
        leaves.metadata.deletion_timestamp = leaves.metadata.creation_timestamp.clone();
        let diagnosis = newest_diagnosis(&exclude_terminating(vec![newer, leaves, older])).unwrap();
        let (start, text) = diagnosis.split_once(": ").unwrap();
        assert!(start.starts_with("pod `new` does not get its image"), "{diagnosis}");
        assert!(text.starts_with("ImagePullBackOff: xxx"), "{diagnosis}");
        assert_eq!(text.chars().count(), MAX_CHARACTERS);

        let of = |version: &str, name: &str, made_at: &str, status: Value| {
            let mut pod = pod(name, made_at, status);
            pod.labels_mut().insert(REVISION_LABELS[0].into(), version.into());
            pod
        };
        let failed = of("1", "bad", "2026-11-22T01:00:00Z", waits("gone"));
        let starts = of("2", "good", "2026-11-22T02:00:00Z", json!({}));
        assert_eq!(
            newest_diagnosis(&[failed, starts]),
            None,
            "the pod that failed is of an older revision"
        );
    }
}
