//! Given every workload of the operator, then the page on security states what their pods can read and reach.

use std::path::Path;

use assay_tests::security::{DescribedPod, expect_part};
use serde_json::Value;

use crate::{
    platform::stable_value,
    service::{DATABASE, service},
    sources::{chain, feed, platform, provide_volumes},
};

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/security.md");

/// The other Secrets that a `RiskService` can name.
const SECRETS: &str = "
---
apiVersion: v1
kind: Secret
metadata: {name: cache, namespace: default}
stringData: {url: 'redis://cache.example:7000'}
---
apiVersion: v1
kind: Secret
metadata: {name: chains, namespace: default}
stringData: {token: 0123456789abcdef0123456789abcdef}
";

#[test]
#[ignore = "needs Kubernetes"]
fn the_generated_table_of_the_pods_that_the_operator_creates() {
    let platform = platform();
    provide_volumes(&platform, "grows");
    let named = "  cacheSecret: {name: cache}\n  chainTokenSecret: {name: chains, key: token}";
    let followed = chain("mode: follow, protocol: rpc, volume: {storageClass: grows}");
    let page = [DATABASE, SECRETS, &service("1.0", named), &feed(""), &followed];
    platform.cluster.apply(&page.concat());
    platform.wait_for_reason(&["riskservice", "api"], "ServiceReady");
    let working = ".status.conditions[?(@.type==\"Working\")].reason";
    platform.wait_for(&["chainsource", "bitcoin"], working, "ServersReady");
    platform.wait_for(&["intelsource", "own"], working, "WorkloadReady");

    let found = |object: &[&str]| platform.cluster.find(object).unwrap_or_default();
    let rows = || {
        let policies =
            ["api", "intel-own", "chain-bitcoin"].map(|name| found(&["networkpolicy", name]));
        let policies: Vec<&Value> = policies.iter().collect();
        let migrations = platform.cluster.list("jobs", "default", "");
        let migration = migrations.iter().find(|job| {
            job["metadata"]["name"].as_str().is_some_and(|name| name.starts_with("api-migrate-"))
        });
        let [purge, import] = ["api-purge", "intel-own"].map(|name| {
            found(&["cronjob", name])["spec"]["jobTemplate"]["spec"]["template"].clone()
        });
        let server = found(&["deployment", "api"])["spec"]["template"].clone();
        let chain_server = found(&["statefulset", "chain-bitcoin"])["spec"]["template"].clone();
        let pods = [
            ("a server of the API", server),
            ("a migration of its database", migration.unwrap()["spec"]["template"].clone()),
            ("a purge of expired records", purge),
            ("an import of a list", import),
            ("a chain server", chain_server),
        ];
        let rows =
            pods.iter().map(|(name, template)| DescribedPod { name, template }.row(&policies));
        rows.collect::<String>()
    };
    let head = "| pod | API server | Secrets (keys) | incoming connections | outgoing connections |\n\
                |---|---|---|---|---|\n";
    expect_part(Path::new(PAGE), "pods of the operator", &(head.to_owned() + &stable_value(rows)));
}
