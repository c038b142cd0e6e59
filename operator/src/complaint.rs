//! What keeps pods from doing what they are for, in the words of who runs them.

use k8s_openapi::api::core::v1::{ContainerStatus, Pod};
use kube::{
    Api, Client, ResourceExt,
    api::{ListParams, ObjectList},
};

/// Most pods that are looked at.
const MOST_PODS: u32 = 50;
/// Longest complaint, in characters.
const LONGEST: usize = 300;
/// What a container waits for that is nothing to complain of.
const ON_ITS_WAY: [&str; 2] = ["ContainerCreating", "PodInitializing"];

/// What keeps the pods with these labels from doing what they are for; `None` where none complains. It is
/// news and not a reason to do anything: where pods cannot be listed, nothing is known.
pub(crate) async fn of_pods(client: &Client, namespace: &str, labels: &str) -> Option<String> {
    let pods: Api<Pod> = Api::namespaced(client.clone(), namespace);
    let listed = pods.list(&ListParams::default().labels(labels).limit(MOST_PODS)).await;
    let ObjectList { items, .. } =
        listed.inspect_err(|error| tracing::debug!(%error, "failed to list pods")).ok()?;
    of_newest(items)
}

/// The complaint of the newest pod that has one: older ones may be of another image.
fn of_newest(mut pods: Vec<Pod>) -> Option<String> {
    pods.retain(|pod| pod.metadata.deletion_timestamp.is_none());
    pods.sort_by_key(|pod| pod.creation_timestamp().map(|time| time.0));
    pods.iter().rev().find_map(|pod| {
        let complaint = of_pod(pod)?;
        let cut: String = complaint.chars().take(LONGEST).collect();
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

fn of_container(container: &ContainerStatus) -> Option<String> {
    let state = container.state.as_ref()?;
    let before = container.last_state.as_ref().and_then(|state| state.terminated.as_ref());
    let ended = state.terminated.as_ref().or(before);
    let last_words = ended.filter(|ended| ended.exit_code != 0).map(|ended| {
        let line = ended.message.iter().flat_map(|words| words.lines().rev());
        let line = line.map(str::trim).find(|line| !line.is_empty());
        let reason = ended.reason.as_deref().unwrap_or("Error");
        let words = line.map(|line| format!(": {line}")).unwrap_or_default();
        format!("{reason}, exit code {}{words}", ended.exit_code)
    });
    let waiting = state.waiting.as_ref().and_then(|waiting| {
        let reason = waiting.reason.as_deref()?;
        let words = waiting.message.as_deref().map(|words| format!(": {words}"));
        let complains = !ON_ITS_WAY.contains(&reason);
        complains.then(|| format!("{reason}{}", words.unwrap_or_default()))
    });
    // What it said at its end tells more than that it is not started again yet.
    last_words.filter(|_| !container.ready).or(waiting)
}

#[cfg(test)]
#[expect(clippy::needless_pass_by_value, reason = "fixtures read better without borrows")]
mod tests {
    use serde_json::{Value, json};

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
        assert_eq!(said(first), Some("pod `api-1`: ErrImagePull".to_owned()));
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
        assert_eq!(said(container(false, went_well, json!({}))), None);
    }

    #[test]
    fn the_newest_pod_is_heard_and_one_that_leaves_is_not() {
        let waits = |words: &str| {
            let waiting = json!({"waiting": {"reason": "ErrImagePull", "message": words}});
            container(false, waiting, json!({}))
        };
        let older = pod("old", "2026-11-22T01:00:00Z", waits("old"));
        let newer = pod("new", "2026-11-22T02:00:00Z", waits(&"x".repeat(2 * LONGEST)));
        let mut leaves = pod("leaves", "2026-11-22T03:00:00Z", waits("leaves"));
        leaves.metadata.deletion_timestamp = leaves.metadata.creation_timestamp.clone();
        let heard = of_newest(vec![newer, leaves, older]).unwrap();
        assert!(heard.starts_with("pod `new`: ErrImagePull: xxx"), "{heard}");
        assert_eq!(heard.chars().count(), "pod `new`: ".len() + LONGEST);
    }
}
