//! The objects of the benchmark: tenants and keys, and the same number of objects of unwatched kinds.

use std::fs;

use assay_tests::Cluster;
use futures_util::{StreamExt, stream};
use kube::{
    Api, Client, Config,
    api::{ApiResource, DynamicObject, ListParams, PostParams},
    config::{KubeConfigOptions, Kubeconfig},
    core::GroupVersionKind,
};
use serde_json::{Value, json};

use super::AT_ONCE;

/// The API group of Assay.
pub(super) const OURS: &str = "assay.dev";
/// The API group of copies of these kinds that no program watches.
pub(super) const BARE: &str = "bare.test";
/// The two kinds that the benchmark creates.
pub(super) const KINDS: [&str; 2] = ["Tenant", "ApiKey"];
/// The account of the bare client and of the reflector.
pub(super) const ACCOUNT: &str = "bare";

const DEFINITIONS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../crds/manifests");
const RIGHTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../operator/rights.yaml");
/// Plan that the tenants and keys use.
const PLAN: &str = "
apiVersion: assay.dev/v1alpha1
kind: Plan
metadata: {name: gold}
spec:
  displayName: Gold
  apiAccess: true
  limits: [{name: daily, requests: 1000, window: 1d, counts: checks}]
---
apiVersion: assay.dev/v1alpha1
kind: RiskPolicy
metadata: {name: careful}
spec: {thresholds: {review: 55}}
";

/// Defines the kinds in both groups, and grants rights to the accounts.
pub(super) fn define(cluster: &Cluster) {
    cluster.kubectl(&["apply", "--server-side", "-f", DEFINITIONS]);
    for file in ["tenants", "apikeys"] {
        let text = fs::read_to_string(format!("{DEFINITIONS}/{file}.yaml")).expect("a definition");
        cluster.apply(&text.replace(OURS, BARE));
    }
    cluster.kubectl(&["wait", "--for=condition=Established", "crd", "--all", "--timeout=60s"]);
    cluster.kubectl(&["apply", "-n", "default", "-f", RIGHTS]);
    cluster.kubectl(&["create", "serviceaccount", ACCOUNT, "-n", "default"]);
    for (name, kind, role) in [
        ("assay-operator", "clusterrolebinding", "--clusterrole=assay-operator"),
        ("assay-operator", "rolebinding", "--role=assay-operator"),
        (ACCOUNT, "clusterrolebinding", "--clusterrole=cluster-admin"),
    ] {
        let account = format!("--serviceaccount=default:{name}");
        cluster.kubectl(&["create", kind, name, role, &account]);
    }
    cluster.apply(PLAN);
}

/// A client of a kubeconfig.
pub(super) async fn client(kubeconfig: &str) -> Client {
    let config = Kubeconfig::from_yaml(kubeconfig).expect("a kubeconfig");
    let options = KubeConfigOptions::default();
    let config = Config::from_custom_kubeconfig(config, &options).await.expect("a configuration");
    Client::try_from(config).expect("a client")
}

/// Objects of a kind in a group.
pub(super) fn api(client: &Client, group: &str, kind: &str) -> Api<DynamicObject> {
    let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, "v1alpha1", kind));
    if kind == "ApiKey" {
        Api::namespaced_with(client.clone(), "default", &resource)
    } else {
        Api::all_with(client.clone(), &resource)
    }
}

/// Name of the object with a number.
pub(super) fn name(number: u32) -> String {
    format!("customer-{number:05}")
}

/// Creates `count` objects of both kinds in both groups.
pub(super) async fn create(client: &Client, count: u32) {
    for (group, kind) in [OURS, BARE].into_iter().flat_map(|group| KINDS.map(|kind| (group, kind)))
    {
        let api = &api(client, group, kind);
        let making = (0..count).map(|number| async move {
            let object = serde_json::from_value(object(group, kind, &name(number)));
            let made = api.create(&PostParams::default(), &object.expect("an object")).await;
            made.expect("the object is taken");
        });
        stream::iter(making).buffer_unordered(AT_ONCE).collect::<()>().await;
    }
}

fn object(group: &str, kind: &str, name: &str) -> Value {
    let spec = match kind {
        "ApiKey" => json!({"tenant": name}),
        _ => json!({"displayName": name, "plan": "gold", "policy": "careful",
                    "namespaces": ["default"]}),
    };
    json!({"apiVersion": format!("{group}/v1alpha1"), "kind": kind, "metadata": {"name": name},
           "spec": spec})
}

/// The statuses of all objects of a kind in Assay's group, each of which must be ready.
pub(super) async fn statuses(client: &Client, kind: &str) -> Vec<Value> {
    let all = api(client, OURS, kind).list(&ListParams::default()).await.expect("a list");
    let mut statuses = Vec::with_capacity(all.items.len());
    for object in all {
        let status = object.data["status"].clone();
        let conditions = status["conditions"].as_array().expect("conditions");
        let ready = conditions.iter().find(|condition| condition["type"] == "Ready");
        assert_eq!(ready.expect("a condition")["status"], "True", "{status}");
        statuses.push(status);
    }
    statuses
}
