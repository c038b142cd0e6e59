//! Given a platform, when people apply a `RiskService`, then an API runs, and running servers are replaced only by
//! ready ones. `kwok` simulates the pods without images.

use serde_json::{Value, json};

use crate::{
    pages::{GOLD, tenant},
    platform::{Platform, wait_until},
};

const SERVICE: [&str; 2] = ["riskservice", "api"];
const VERSION: &str = ".status.version";
/// Kinds of the objects of a running API, except migrations.
const CHILDREN: &str = "configmap,service,deployment,horizontalpodautoscaler,poddisruptionbudget,\
                        networkpolicy,cronjob";

/// A `RiskService` with an image and further lines in its `spec`.
pub(crate) fn service(image: &str, more: &str) -> String {
    format!(
        "
---
apiVersion: assay.dev/v1alpha1
kind: RiskService
metadata: {{name: api, namespace: default}}
spec:
  image: assay.test/assay:{image}
  databaseSecret: {{name: database}}
{more}
"
    )
}

/// The Secret with the database's URL.
pub(crate) const DATABASE: &str = "
---
apiVersion: v1
kind: Secret
metadata: {name: database, namespace: default}
stringData: {url: 'postgres://assay:secret@db.example:5433/assay'}
";

/// A platform without remains of another test's API.
fn platform() -> Platform {
    let platform = Platform::start();
    let _ = platform.cluster.try_kubectl(&["delete", "secret", "database", "cache"]);
    wait_until("another test's API is gone", || {
        platform.cluster.list(&format!("{CHILDREN},job"), "default", OURS).is_empty()
    });
    platform
}

const OURS: &str = "app.kubernetes.io/managed-by=assay-operator";

/// A platform with an API of version `1.0` that is ready.
fn platform_with_ready_api() -> Platform {
    let platform = platform();
    platform.cluster.apply(&[DATABASE, &service("1.0", "")].concat());
    platform.wait_for_reason(&SERVICE, "ServiceReady");
    platform
}

fn deployment(platform: &Platform) -> Value {
    platform.cluster.get(&["deployment", "api"])
}

fn image(platform: &Platform) -> Value {
    deployment(platform)["spec"]["template"]["spec"]["containers"][0]["image"].clone()
}

#[test]
#[ignore = "needs Kubernetes"]
fn a_failed_purge_is_reported_until_one_succeeds() {
    let platform = platform_with_ready_api();
    let reason = ".status.conditions[?(@.type==\"RetentionKept\")].reason";
    platform.wait_for(&SERVICE, reason, "PurgeSucceeded");
    // A run that began and did not succeed, as the cluster records it; none is due before that day.
    let noted = |succeeded: &str| {
        let status = json!({"status": {
            "lastScheduleTime": "2099-11-22T02:00:00Z", "lastSuccessfulTime": succeeded,
        }});
        let patch = ["--subresource=status", "--type=merge", "-p", &status.to_string()];
        platform.cluster.kubectl(&[&["patch", "cronjob", "api-purge"], &patch[..]].concat());
    };
    noted("2099-11-21T02:00:30Z");
    platform.wait_for(&SERVICE, reason, "PurgeFailed");
    platform.wait_for_reason(&SERVICE, "ServiceReady");
    noted("2099-11-22T02:00:30Z");
    platform.wait_for(&SERVICE, reason, "PurgeSucceeded");
}

#[test]
#[ignore = "needs Kubernetes"]
fn an_api_is_deployed_from_its_resources_and_reports_readiness() {
    let platform = platform();
    platform.cluster.apply(&service("1.0", ""));
    platform.wait_for_reason(&SERVICE, "SecretNotFound");
    platform.cluster.apply(DATABASE);
    platform.wait_for_reason(&SERVICE, "ServiceReady");

    let status = platform.status(&SERVICE);
    assert_eq!((&status["readyReplicas"], &status["version"]), (&json!(2), &json!("1.0")));
    assert_eq!(status["requiredReplicas"], 2);
    assert_eq!(status["observedGeneration"], 1);
    let names = platform.cluster.kubectl(&["get", CHILDREN, "-l", OURS, "-o", "name"]);
    assert_eq!(names.lines().filter(|name| name.ends_with("/api")).count(), 6, "{names}");
    assert!(names.contains("cronjob.batch/api-purge"), "{names}");
    let jobs = platform.cluster.get(&["jobs", "-l", OURS]);
    assert_eq!(jobs["items"].as_array().unwrap().len(), 1);
    assert_eq!(jobs["items"][0]["status"]["succeeded"], 1);
    let pods = ["pods", "-l", "app.kubernetes.io/component=server"];
    assert_eq!(platform.cluster.get(&pods)["items"].as_array().unwrap().len(), 2);

    platform.cluster.kubectl(&["delete", "riskservice", "api"]);
    wait_until("everything goes with it", || {
        let kinds = format!("{CHILDREN},job,pods");
        platform.cluster.list(&kinds, "default", OURS).is_empty()
    });
}

#[test]
#[ignore = "needs Kubernetes"]
fn foreign_changes_are_reverted() {
    let mut platform = platform_with_ready_api();
    platform.replace_operator(&["--resync-seconds=20"]);
    let wrong = r#"{"spec":{"ports":[{"name":"http","port":80,"targetPort":1}]}}"#;
    platform.cluster.kubectl(&["patch", "service", "api", "--type=strategic", "-p", wrong]);
    platform.wait_for(&["service", "api"], ".spec.ports[0].targetPort", "8080");
    let sidecar = json!({"spec": {"template": {"spec": {"containers": [
        {"name": "sidecar", "image": "assay.test/assay:1.0"},
    ]}}}});
    let names = ".spec.template.spec.containers[*].name";
    let patch = ["--type=strategic", "-p", &sidecar.to_string()];
    platform.cluster.kubectl(&[&["patch", "deployment", "api"][..], &patch].concat());
    platform.wait_for(&["deployment", "api"], names, "assay");
    platform.cluster.kubectl(&["delete", "configmap", "api"]);
    wait_until("it is made again at the next resync", || {
        platform.cluster.has(&["configmap", "api"])
    });
}

#[test]
#[ignore = "needs Kubernetes"]
fn another_image_is_migrated_to_first_and_one_that_fails_changes_nothing_that_serves() {
    let platform = platform_with_ready_api();
    platform.cluster.apply(&service("2.0", ""));
    platform.wait_for(&SERVICE, VERSION, "2.0");
    platform.wait_for_reason(&SERVICE, "ServiceReady");
    assert_eq!(image(&platform), "assay.test/assay:2.0");
    let before = deployment(&platform)["metadata"]["generation"].clone();

    platform.cluster.apply(&service("fails", ""));
    platform.wait_for_reason(&SERVICE, "MigrationFailed");
    let ready = platform.message(&SERVICE);
    assert!(ready.ends_with(": Error, exit code 1: no rights"), "{ready}");
    let after = deployment(&platform);
    assert_eq!(after["metadata"]["generation"], before, "the Deployment was left alone");
    assert_eq!(after["status"]["readyReplicas"], 2);
    let status = platform.status(&SERVICE);
    assert_eq!((&status["version"], &status["readyReplicas"]), (&json!("2.0"), &json!(2)));

    platform.cluster.apply(&service("hangs", ""));
    platform.wait_for_reason(&SERVICE, "RollingOut");
    wait_until("the new image was tried", || image(&platform) == "assay.test/assay:hangs");
    let status = platform.status(&SERVICE);
    assert_eq!((&status["version"], &status["readyReplicas"]), (&json!("2.0"), &json!(2)));

    platform.cluster.apply(&service("gone", ""));
    wait_until("it is told what a pod waits for", || {
        platform.message(&SERVICE).ends_with(": ImagePullBackOff: no such image")
    });
    platform.cluster.apply(&service("3.0", ""));
    platform.wait_for(&SERVICE, VERSION, "3.0");
}

#[test]
#[ignore = "needs Kubernetes"]
fn replicas_match_the_limits_of_the_tenants() {
    let platform = platform_with_ready_api();
    let plan = |requests: u32| {
        GOLD.replace(
            "{name: daily, requests: 1000, window: 1d, counts: checks, ceiling: 5000}",
            &format!("{{name: burst, requests: {requests}, window: 1s, counts: requests}}"),
        )
    };
    platform.cluster.apply(&[plan(1600), tenant("acme", "gold")].concat());
    platform.wait_for(&SERVICE, ".status.requiredReplicas", "4");
    platform.wait_for(&["hpa", "api"], ".spec.minReplicas", "4");
    platform.wait_for(&SERVICE, ".status.readyReplicas", "4");
    let words = platform.status(&SERVICE)["requiredReplicasReason"].clone();
    let words = words.as_str().unwrap();
    assert!(
        words.starts_with("highest limit 1600/s (Tenant acme); 10 % of all limits ("),
        "{words}"
    );

    platform.cluster.apply(&plan(60_000));
    let covered = ".status.conditions[?(@.type==\"LimitsCovered\")].reason";
    platform.wait_for(&SERVICE, covered, "TooFewReplicas");
    platform.wait_for(&SERVICE, ".status.requiredReplicas", "10");
    platform.cluster.apply(&plan(10));
    platform.wait_for(&SERVICE, covered, "EnoughReplicas");
    platform.wait_for(&["hpa", "api"], ".spec.minReplicas", "2");
}

#[test]
#[ignore = "needs Kubernetes"]
fn replicas_are_scaled_by_requests_in_flight_if_an_adapter_serves_the_metric() {
    let platform = platform_with_ready_api();
    let autoscaled = ".status.conditions[?(@.type==\"Autoscaled\")].reason";
    // This cluster has no metrics of pods.
    platform.wait_for(&SERVICE, autoscaled, "MetricsUnavailable");
    platform.wait_for_reason(&SERVICE, "ServiceReady");
    platform.cluster.apply(&service("1.0", "  scaling: {requestsInFlight: 40}"));
    let target = ".spec.metrics[?(@.type==\"Pods\")].pods.target.averageValue";
    platform.wait_for(&["hpa", "api"], target, "40");
    platform.cluster.apply(&service("1.0", ""));
    platform.wait_for(&["hpa", "api"], ".spec.metrics[*].type", "Resource");
}

#[test]
#[ignore = "needs Kubernetes"]
fn a_changed_spec_rolls_and_a_way_in_comes_and_goes() {
    let platform = platform_with_ready_api();
    let settings = ".spec.template.metadata.annotations.assay\\.dev/settings";
    let path = format!("jsonpath={{{settings}}}");
    let hash = || platform.cluster.kubectl(&["get", "deployment", "api", "-o", &path]);
    let before = hash();
    let cache = "
---
apiVersion: v1
kind: Secret
metadata: {name: cache, namespace: default}
stringData: {url: 'redis://cache.example:7000'}
";
    let exposed = "  cacheSecret: {name: cache}\n  exposure: {host: risk.example, ingress: {}}";
    platform.cluster.apply(&[cache, &service("1.0", exposed)].concat());
    platform.wait_for(&["ingress", "api"], ".spec.rules[0].host", "risk.example");
    platform.wait_for_reason(&SERVICE, "ServiceReady");
    wait_until("other settings make other pods", || hash() != before);
    platform.wait_for(&["networkpolicy", "api"], ".spec.egress[1].ports[*].port", "5433 7000");

    let route = "  exposure: {host: risk.example, httpRoute: {gateway: public}}";
    platform.cluster.apply(&service("1.0", route));
    platform.wait_for_reason(&SERVICE, "GatewayApiMissing");
    wait_until("the Ingress is gone", || !platform.cluster.has(&["ingress", "api"]));
    platform.cluster.apply(&service("1.0", ""));
    platform.wait_for_reason(&SERVICE, "ServiceReady");
}
