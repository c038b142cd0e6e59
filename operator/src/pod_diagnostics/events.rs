//! Events about pods that were not created, and about volumes of pods that were not mounted: only an event reports these.

use jiff::Timestamp;
use k8s_openapi::api::{core::v1::Pod, events::v1::Event};
use kube::{Api, Client, ResourceExt, api::ListParams};

use super::cut;

/// The reason of events about a pod that was not created.
const FAILED_CREATE: &str = "FailedCreate";
/// The reason of events about a volume that was not mounted.
const FAILED_MOUNT: &str = "FailedMount";

/// Describes why a pod has not mounted a volume, such as a Secret that does not exist.
pub(super) async fn failed_mount(
    client: &Client,
    namespace: &str,
    pod: &Pod,
) -> Result<Option<String>, kube::Error> {
    let name = pod.name_any();
    let events = list(client, namespace, &name, FAILED_MOUNT).await?;
    let newest = newest_note(&events, pod.creation_timestamp().map(|time| time.0));
    Ok(newest.map(|note| {
        let note = cut(note);
        format!("pod `{name}` does not get a volume; create the Secret, ConfigMap or key that it lacks: {note}")
    }))
}

/// Describes why an object creates no pods since its `newest` pod.
pub(super) async fn failed_create(
    client: &Client,
    namespace: &str,
    creator: &str,
    newest: Option<Timestamp>,
) -> Result<Option<String>, kube::Error> {
    let events = list(client, namespace, creator, FAILED_CREATE).await?;
    Ok(newest_note(&events, newest).map(|note| refused_pod(creator, note)))
}

/// Describes why Kubernetes creates no pod of an object, with advice. `note` is the API server's message.
pub(crate) fn refused_pod(creator: &str, note: &str) -> String {
    let advice = if note.contains("exceeded quota") {
        "; raise the ResourceQuota of the namespace, or request less"
    } else {
        ""
    };
    format!("Kubernetes creates no pod of `{creator}`{advice}: {}", cut(note))
}

/// The events with a reason about an object of that name. Without the right to list events, none.
async fn list(
    client: &Client,
    namespace: &str,
    name: &str,
    reason: &str,
) -> Result<Vec<Event>, kube::Error> {
    let events: Api<Event> = Api::namespaced(client.clone(), namespace);
    let fields = format!("regarding.name={name},reason={reason}");
    match events.list(&ListParams::default().fields(&fields)).await {
        Ok(listed) => Ok(listed.items),
        Err(kube::Error::Api(status)) if status.code == 403 => Ok(vec![]),
        Err(error) => Err(error),
    }
}

/// The note of the newest event that was observed at a time or later.
fn newest_note(events: &[Event], since: Option<Timestamp>) -> Option<&str> {
    let newest = events.iter().max_by_key(|event| observed_at(event))?;
    let is_earlier = observed_at(newest) < since;
    newest.note.as_deref().filter(|_| !is_earlier)
}

/// The last time at which an event was observed. Older recorders write other fields than newer ones.
fn observed_at(event: &Event) -> Option<Timestamp> {
    let of_series = event.series.as_ref().map(|series| series.last_observed_time.0);
    let deprecated = event.deprecated_last_timestamp.as_ref().map(|time| time.0);
    of_series.or(deprecated).or(event.event_time.as_ref().map(|time| time.0))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn event(note: &str, times: &serde_json::Value) -> Event {
        let mut event = json!({"metadata": {"name": "x"}, "note": note});
        event.as_object_mut().unwrap().extend(times.as_object().unwrap().clone());
        serde_json::from_value(event).unwrap()
    }

    #[test]
    fn the_newest_event_counts_unless_a_pod_was_created_since() {
        let events = [
            event("second", &json!({"deprecatedLastTimestamp": "2026-11-22T02:00:00Z"})),
            event("first", &json!({"eventTime": "2026-11-22T01:00:00.000000Z"})),
            event(
                "third",
                &json!({
                    "eventTime": "2026-11-22T01:00:00.000000Z",
                    "series": {"count": 7, "lastObservedTime": "2026-11-22T03:00:00.000000Z"},
                }),
            ),
        ];
        assert_eq!(newest_note(&events, None), Some("third"));
        assert_eq!(newest_note(&events[..2], None), Some("second"));
        let created = |time: &str| Some(time.parse().unwrap());
        assert_eq!(newest_note(&events, created("2026-11-22T03:00:00Z")), Some("third"));
        assert_eq!(newest_note(&events, created("2026-11-22T03:00:01Z")), None);
        assert_eq!(newest_note(&[], None), None);
    }

    #[test]
    fn a_used_up_quota_is_told_with_what_to_do() {
        let note = "pods \"x-0\" is forbidden: exceeded quota: few, requested: pods=1";
        assert_eq!(
            refused_pod("x", note),
            format!(
                "Kubernetes creates no pod of `x`; raise the ResourceQuota of the namespace, or request less: {note}"
            )
        );
        assert_eq!(refused_pod("x", "no"), "Kubernetes creates no pod of `x`: no");
    }
}
