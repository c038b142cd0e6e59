//! Given an operator that knows what to make workloads of, when people apply sources, then there is a
//! schedule for each list and one follower for each chain. `kwok` plays the pods: it runs no image.

use assay_tests::Operator;
use serde_json::{Value, json};

use crate::{
    platform::{Platform, settled, wait_until},
    service::DATABASE,
};

const OURS: &str = "app.kubernetes.io/managed-by=assay-operator";
const FEED: [&str; 2] = ["intelsource", "own"];
const CHAIN: [&str; 2] = ["chainsource", "bitcoin"];
const WORKING: &str = ".status.conditions[?(@.type==\"Working\")].reason";

pub(crate) fn feed(more: &str) -> String {
    format!(
        "
---
apiVersion: assay.dev/v1alpha1
kind: IntelSource
metadata: {{name: own}}
spec: {{location: 'https://lists.example/own.csv', format: listings-csv, schedule: '0 0 1 1 *'{more}}}
"
    )
}

pub(crate) fn chain(mode: &str) -> String {
    format!(
        "
---
apiVersion: assay.dev/v1alpha1
kind: ChainSource
metadata: {{name: bitcoin}}
spec: {{chain: btc, endpoint: 'http://node.example:3000', {mode}}}
"
    )
}

pub(crate) const FOLLOW: &str =
    "mode: follow, protocol: rpc, credentialsSecret: {name: node, key: cookie}";
pub(crate) const ON_DEMAND: &str = "mode: on_demand, protocol: esplora";

/// A platform whose operator makes workloads.
pub(crate) fn platform() -> Platform {
    let mut platform = Platform::start();
    platform.operator.stop();
    platform.operator = with_workloads(&platform, "workloads");
    platform.operator.wait_until_it_works();
    platform
}

pub(crate) fn with_workloads(platform: &Platform, name: &str) -> Operator {
    let flags = [
        "--image=assay.test/assay:1.0",
        "--database-secret=database/url",
        "--https-proxy=http://proxy.example:3128",
    ];
    Operator::start_in(&platform.cluster, "default", &platform.postgres.url(), name, &flags)
}

fn names(platform: &Platform) -> Vec<String> {
    let kinds = "cronjobs,jobs,deployments,networkpolicies";
    let names = platform.cluster.kubectl(&["get", kinds, "-l", OURS, "-o", "name"]);
    names.lines().map(str::to_owned).collect()
}

fn arguments(pod: &Value) -> Vec<&str> {
    pod["containers"][0]["args"].as_array().unwrap().iter().filter_map(Value::as_str).collect()
}

#[test]
#[ignore = "needs Kubernetes"]
fn a_list_is_fetched_at_once_and_on_its_schedule_by_one_job_at_a_time() {
    let platform = platform();
    platform.cluster.apply(&[DATABASE, &feed("")].concat());
    platform.wait_for_reason(&FEED, "Published");
    platform.wait_for(&FEED, WORKING, "WorkloadReady");
    let job = platform.cluster.get(&["cronjob", "intel-own"])["spec"].clone();
    assert_eq!(job["concurrencyPolicy"], "Forbid");
    let pod = &job["jobTemplate"]["spec"]["template"]["spec"];
    assert_eq!(pod["containers"][0]["image"], "assay.test/assay:1.0");
    assert_eq!(*arguments(pod).last().unwrap(), "https://lists.example/own.csv");
    let proxy = json!([{"name": "HTTPS_PROXY", "value": "http://proxy.example:3128"}]);
    assert_eq!(pod["containers"][0]["env"], proxy);
    let policy = platform.cluster.get(&["networkpolicy", "intel-own"])["spec"].clone();
    let chosen = policy["podSelector"]["matchLabels"].as_object().unwrap().clone();
    let labels = &job["jobTemplate"]["spec"]["template"]["metadata"]["labels"];
    assert!(!chosen.is_empty() && chosen.iter().all(|(name, value)| labels[name] == *value));
    let ports = policy["egress"][1]["ports"].as_array().unwrap().iter();
    let ports: Vec<_> = ports.map(|port| port["port"].as_u64().unwrap()).collect();
    assert_eq!(ports, [443, 3128, 5433], "the list, the proxy, the database");
    assert!(policy.get("ingress").is_none(), "nobody reaches it");
    platform.wait_for(&["job", "intel-own-first"], ".status.succeeded", "1");

    platform.cluster.apply(&feed(", suspended: true"));
    platform.wait_for(&["cronjob", "intel-own"], ".spec.suspend", "true");
    platform.wait_for(&FEED, WORKING, "NothingToRun");
    platform.cluster.kubectl(&["delete", "intelsource", "own"]);
    wait_until("its workloads go with it", || names(&platform).is_empty());
}

#[test]
#[ignore = "needs Kubernetes"]
fn the_status_reports_the_stored_list() {
    let platform = platform();
    platform.cluster.apply(&feed(""));
    platform.wait_for_reason(&FEED, "Published");
    let list = "list,entity_id,entity,asset_code,address\n\
                own,1,Somebody,XBT,1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa\n";
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("own.csv");
    std::fs::write(&path, list).unwrap();
    let path = path.display().to_string();
    let ingest = ["ingest", "sanctions", &path, "--format", "csv", "--source", "own"];
    platform.postgres.used_by(folder.path());
    let _ = assay_tests::assay(folder.path(), ingest).ok();
    platform.wait_for(&FEED, ".status.entries", "1");
    let status = platform.status(&FEED);
    assert_eq!(status["digest"].as_str().unwrap().len(), 64);
    assert!(status["verifiedAt"].is_string() && status["publishedAt"].is_string());
}

#[test]
#[ignore = "needs Kubernetes"]
fn a_chain_has_one_follower_or_none_if_read_on_demand() {
    let mut platform = platform();
    platform.cluster.apply(&chain(FOLLOW));
    platform.wait_for(&CHAIN, WORKING, "WorkloadReady");
    let deployment = platform.cluster.get(&["deployment", "chain-bitcoin"])["spec"].clone();
    assert_eq!(
        (&deployment["replicas"], &deployment["strategy"]["type"]),
        (&json!(1), &json!("Recreate"))
    );
    let pod = &deployment["template"]["spec"];
    assert!(arguments(pod).contains(&"--cookie=/run/secrets/assay/credentials/value"));
    let path = "jsonpath={range .items[*]}{.kind} {.metadata.resourceVersion}\n{end}";
    let versions = |platform: &Platform| {
        platform.cluster.kubectl(&["get", "deployments,chainsources", "-o", path])
    };
    let before = settled(|| versions(&platform));
    platform.operator.stop();
    platform.operator = with_workloads(&platform, "again");
    let looked = "assay_operator_reconciled_total{kind=\"Workload\",outcome=\"unchanged\"}";
    wait_until("it was looked at", || platform.operator.metric(looked) >= 1);
    std::thread::sleep(std::time::Duration::from_secs(2));
    assert_eq!(before, versions(&platform), "{}", platform.operator.metrics());

    platform.cluster.apply(&chain(ON_DEMAND));
    platform.wait_for(&CHAIN, WORKING, "NothingToRun");
    wait_until("the follower is gone", || names(&platform).is_empty());
}

#[test]
#[ignore = "needs Kubernetes"]
fn without_an_image_there_are_no_workloads_and_the_sources_report_it() {
    let platform = Platform::start();
    platform.cluster.apply(&[feed(""), chain(FOLLOW)].concat());
    for source in [FEED, CHAIN] {
        platform.wait_for_reason(&source, "Published");
        platform.wait_for(&source, WORKING, "WorkloadsDisabled");
    }
    wait_until("another test's workloads are gone", || names(&platform).is_empty());
}
