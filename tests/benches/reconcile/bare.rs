//! A client that repeats the operator's writes and does nothing else.

use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};

use assay_tests::Cluster;
use futures_util::{StreamExt, stream};
use k8s_openapi::api::core::v1::{Event, Secret};
use kube::{
    Api, Client,
    api::{Patch, PatchParams, PostParams},
};
use serde_json::{Value, json};

use super::{
    AT_ONCE,
    objects::{BARE, api, name},
};

const OPERATOR: &str = "system:serviceaccount:default:assay-operator";
const MANAGER: &str = "bare";

/// Number of writes by resource and subresource.
pub(super) type Writes = BTreeMap<String, u32>;

/// The operator's writes on tenants and keys since an entry of the API server's audit log.
pub(super) fn writes(cluster: &Cluster, since: usize) -> Writes {
    let mut writes = Writes::new();
    for event in cluster.audit().into_iter().skip(since) {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let is_write = ["create", "update", "patch", "delete"].contains(&&*text(&event["verb"]));
        let of = &event["objectRef"];
        let mut resource = text(&of["resource"]);
        if event["user"]["username"] != OPERATOR || !is_write || resource == "leases" {
            continue;
        }
        if let Some(part) = of["subresource"].as_str() {
            resource = format!("{resource}/{part}");
        }
        *writes.entry(resource).or_default() += 1;
    }
    writes
}

/// Formats the numbers of writes for the terminal.
pub(super) fn summary(writes: &Writes) -> String {
    let parts: Vec<String> = writes.iter().map(|(what, count)| format!("{count} {what}")).collect();
    parts.join(", ")
}

/// Repeats the operator's writes on the same number of objects, and returns the duration.
pub(super) async fn write(
    client: &Client,
    writes: &Writes,
    count: u32,
    statuses: &BTreeMap<&str, Vec<Value>>,
) -> Duration {
    // All about one object, one after the other; objects beside one another.
    let mut work: Vec<Vec<(&str, u32)>> = vec![Vec::new(); usize::try_from(count).unwrap_or(0)];
    for (what, times) in writes {
        let places = (0..count).cycle().zip(0..*times);
        for (number, round) in places {
            work[usize::try_from(number).unwrap_or(0)].push((what, round / count));
        }
    }
    let begun = Instant::now();
    let writing = work.iter().zip(0..).map(|(work, number)| async move {
        for (what, round) in work {
            once(client, what, number, *round, statuses).await;
        }
    });
    stream::iter(writing).buffer_unordered(AT_ONCE).collect::<()>().await;
    begun.elapsed()
}

async fn once(
    client: &Client,
    what: &str,
    number: u32,
    round: u32,
    statuses: &BTreeMap<&str, Vec<Value>>,
) {
    let name = name(number);
    let apply = PatchParams::apply(MANAGER).force();
    let (resource, part) = what.split_once('/').unwrap_or((what, ""));
    let kind = match resource {
        "tenants" => "Tenant",
        "apikeys" => "ApiKey",
        "secrets" => return secret(client, &name, round).await,
        "events" => return event(client, &name).await,
        // A plan and a policy are two objects among thousands.
        _ => return,
    };
    let mut body = json!({"apiVersion": format!("{BARE}/v1alpha1"), "kind": kind,
        "metadata": {"name": name}});
    let api = api(client, BARE, kind);
    let written = if part == "status" {
        let place = usize::try_from(number).unwrap_or(0);
        body["status"] = statuses[kind][place].clone();
        // Another text each time: what changes nothing is not written.
        body["status"]["conditions"][0]["message"] = json!(format!("as written in round {round}"));
        api.patch_status(&name, &apply, &Patch::Apply(&body)).await
    } else {
        body["metadata"]["finalizers"] = json!([format!("{BARE}/round-{round}")]);
        api.patch(&name, &apply, &Patch::Apply(&body)).await
    };
    written.expect("the write is taken");
}

async fn secret(client: &Client, name: &str, round: u32) {
    let name = format!("bare-{name}");
    let body = json!({"apiVersion": "v1", "kind": "Secret", "type": "Opaque",
        "metadata": {"name": name, "labels": {"app.kubernetes.io/managed-by": MANAGER}},
        "stringData": {"api-key": format!("{round:0>80}"), "key-id": name}});
    let secrets: Api<Secret> = Api::namespaced(client.clone(), "default");
    let apply = PatchParams::apply(MANAGER).force();
    secrets.patch(&name, &apply, &Patch::Apply(&body)).await.expect("the secret is taken");
}

async fn event(client: &Client, name: &str) {
    let body = json!({"metadata": {"generateName": format!("{name}."), "namespace": "default"},
        "involvedObject": {"apiVersion": format!("{BARE}/v1alpha1"), "kind": "ApiKey",
                           "name": name, "namespace": "default"},
        "reason": "Ready", "message": "as the operator tells of it", "type": "Normal"});
    let events: Api<Event> = Api::namespaced(client.clone(), "default");
    let event: Event = serde_json::from_value(body).expect("an event");
    events.create(&PostParams::default(), &event).await.expect("the event is taken");
}
