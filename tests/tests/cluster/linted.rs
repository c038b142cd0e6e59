//! Given an operator, when it has created all its objects, then checkov finds only accepted findings. The API server
//! validates the objects strictly: unknown fields are refused.

use std::{collections::BTreeSet, fs};

use assay_tests::Linters;
use serde_json::{Value, json};

use crate::{
    platform::wait_until,
    service::{DATABASE, service},
    sources::{FOLLOW, chain, feed, platform},
};

const KINDS: &str = "configmaps,services,deployments,statefulsets,horizontalpodautoscalers,\
                     ingresses,poddisruptionbudgets,networkpolicies,cronjobs,jobs";
/// Workloads, by name without the hash of a migration.
const ALL: &[&str] =
    &["api", "api-migrate", "api-purge", "chain-bitcoin", "intel-own", "intel-own-first"];

/// Accepted findings of checkov: the rule, the objects, and the reason.
const ARGUED: &[(&str, &[&str], &str)] = &[
    (
        "CKV_K8S_11",
        ALL,
        "a limit of CPU slows down what could go on; requests of CPU keep the others' share",
    ),
    (
        "CKV_K8S_13",
        ALL,
        "memory grows with lists, labels and chains: a limit that is right today kills tomorrow",
    ),
    (
        "CKV_K8S_43",
        ALL,
        "whoever applies a RiskService names the image, by its digest if they like",
    ),
    (
        "CKV_K8S_15",
        ALL,
        "tags of releases do not move; a registry that is away must not keep a pod from starting",
    ),
];

#[test]
#[ignore = "needs Kubernetes, manifest linters"]
fn findings_of_checkov_in_objects_of_the_operator_are_the_documented_ones() {
    let (linters, platform) = (Linters::find(), platform());
    let more = "  exposure: {host: risk.example, ingress: {className: nginx, tlsSecret: cert}}
  egress: {httpsProxy: 'http://proxy.example:3128', caBundle: {configMap: authorities}}
  telemetry: {otlpEndpoint: 'http://collector.otel:4318'}";
    let pages = [DATABASE, &service("1.0", more), &feed(""), &chain(FOLLOW)].concat();
    platform.cluster.apply(&pages);
    let made = || -> Vec<Value> {
        let listed =
            platform.cluster.get(&[KINDS, "-l", "app.kubernetes.io/managed-by=assay-operator"]);
        listed["items"].as_array().unwrap().clone()
    };
    let short = |name: &str| match name.strip_prefix("api-migrate-") {
        Some(_) => "api-migrate".to_owned(),
        None => name.to_owned(),
    };
    wait_until("everything is made", || {
        let names: BTreeSet<String> = made()
            .iter()
            .map(|object| short(object["metadata"]["name"].as_str().unwrap()))
            .collect();
        ALL.iter().all(|name| names.contains(*name))
    });

    let objects = made().into_iter().map(|mut object| {
        object.as_object_mut().unwrap().remove("status");
        object["metadata"]["managedFields"] = json!(null);
        // The namespace of these tests is replaced by the usual one.
        object["metadata"]["namespace"] = json!("assay");
        object.to_string()
    });
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("objects.yaml");
    fs::write(&file, objects.collect::<Vec<_>>().join("\n---\n")).unwrap();
    // A resource is called by its kind, its namespace and its name.
    let found: BTreeSet<(String, String)> = linters
        .checkov(&file)
        .into_iter()
        .map(|(rule, object)| (rule, short(object.rsplit('.').next().unwrap())))
        .collect();
    let argued: BTreeSet<(String, String)> = ARGUED
        .iter()
        .flat_map(|(rule, objects, _)| {
            objects.iter().map(|name| (rule.to_string(), name.to_string()))
        })
        .collect();
    assert_eq!(found, argued);
}
