//! Given an operator with settings for workloads, when people apply sources, then each list has a `CronJob` and each
//! chain has chain servers. `kwok` simulates the pods without images.

use std::collections::BTreeMap;

use assay_tests::Operator;
use serde_json::{Map, Value, json};

use crate::{
    modes::{CLUSTER, Mode},
    platform::{Platform, stable_value, wait_until},
    service::{DATABASE, service},
};

const OURS: &str = "app.kubernetes.io/managed-by=assay-operator";
pub(crate) const FEED: [&str; 2] = ["intelsource", "own"];
pub(crate) const CHAIN: [&str; 2] = ["chainsource", "bitcoin"];
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

/// A source of a chain, and the Secret with the credentials for its node.
pub(crate) fn chain(mode: &str) -> String {
    format!(
        "
---
apiVersion: v1
kind: Secret
metadata:
  name: node
  namespace: default
  labels: {{assay.dev/source-credentials: 'true'}}
  annotations: {{assay.dev/source-hosts: 'node.example:3000'}}
stringData: {{cookie: 'node:hush'}}
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

/// A platform whose operator creates workloads.
pub(crate) fn platform() -> Platform {
    let mut platform = Platform::start();
    platform.operator.stop();
    platform.operator = with_workloads(&platform, "workloads");
    platform.operator.wait_until_it_works();
    platform
}

pub(crate) fn with_workloads(platform: &Platform, name: &str) -> Operator {
    with_workloads_by(platform, &CLUSTER, name)
}

/// An operator that creates workloads, with the rights of a mode.
pub(crate) fn with_workloads_by(platform: &Platform, mode: &Mode, name: &str) -> Operator {
    with_image(platform, mode, name, "1.0")
}

/// An operator that creates workloads of an image, with the rights of a mode.
fn with_image(platform: &Platform, mode: &Mode, name: &str, image: &str) -> Operator {
    let image = format!("--image=assay.test/assay:{image}");
    let flags = [
        &*image,
        "--database-secret=database/url",
        "--chain-token-secret=chains/token",
        "--https-proxy=http://proxy.example:3128",
    ];
    let config = platform.cluster.config_of_account("default", mode.account);
    let flags = [&flags, mode.flags].concat();
    Operator::start_by(&config, "default", &platform.postgres.url(), name, 6, &flags)
}

/// Creates two storage classes, and volumes of the class `class`, in place of those of another test: `grows` can expand
/// volumes, `fixed` cannot.
pub(crate) fn provide_volumes(platform: &Platform, class: &str) {
    let remains = ["delete", "pod,persistentvolumeclaim", "--all", "-n", "default"];
    let _ = platform.cluster.try_kubectl(&remains);
    let _ = platform.cluster.try_kubectl(&["delete", "persistentvolume", "--all"]);
    let classes = [("grows", true), ("fixed", false)].map(|(name, can_grow)| {
        format!(
            "
---
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {{name: {name}}}
provisioner: kubernetes.io/no-provisioner
allowVolumeExpansion: {can_grow}
"
        )
    });
    let volumes = [0, 1, 2].map(|number| {
        format!(
            "
---
apiVersion: v1
kind: PersistentVolume
metadata: {{name: volume-{number}}}
spec:
  capacity: {{storage: 100Gi}}
  accessModes: [ReadWriteOnce]
  storageClassName: {class}
  hostPath: {{path: /volume}}
"
        )
    });
    platform.cluster.apply(&[classes.concat(), volumes.concat()].concat());
}

/// The Deployment with which an earlier release of the operator follows the chain.
pub(crate) fn follower(platform: &Platform) -> String {
    let uid = platform.cluster.field(&CHAIN, ".metadata.uid");
    format!(
        "
---
apiVersion: apps/v1
kind: Deployment
metadata:
  name: chain-bitcoin
  namespace: default
  labels: {{app.kubernetes.io/managed-by: assay-operator}}
  ownerReferences:
    - {{apiVersion: assay.dev/v1alpha1, kind: ChainSource, name: bitcoin, uid: {uid}, controller: true}}
spec:
  replicas: 0
  selector: {{matchLabels: {{app: follower}}}}
  template:
    metadata: {{labels: {{app: follower}}}}
    spec: {{containers: [{{name: assay, image: 'assay.test/assay:1.0'}}]}}
"
    )
}

fn names(platform: &Platform) -> Vec<String> {
    let kinds =
        "cronjobs,jobs,deployments,networkpolicies,services,statefulsets,poddisruptionbudgets";
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
    platform.wait_for_publication(&FEED, "Published");
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
fn a_first_fetch_that_fails_is_told_and_repeated_at_once_for_another_spec() {
    let mut platform = platform();
    platform.operator.stop();
    platform.operator = with_image(&platform, &CLUSTER, "failing", "fails");
    platform.cluster.apply(&[DATABASE, &feed("")].concat());
    // Given a fetch that fails, then both conditions say so with the cause.
    platform.wait_for(&FEED, WORKING, "WorkloadNotReady");
    platform.wait_for_reason(&FEED, "NeverFetched");
    wait_until("the cause is told", || {
        let message = platform.message(&FEED);
        message.contains("and tries again") && message.contains("exit code 1")
    });
    let job = ["job", "intel-own-first"];
    let before = platform.cluster.get(&job);
    assert!(before["spec"]["backoffLimit"].as_i64().unwrap() > 10, "it goes on for hours");
    // When the spec changes, then another fetch begins at once, by the new one.
    let elsewhere = feed("").replace("lists.example", "mirror.example");
    platform.cluster.apply(&elsewhere);
    wait_until("another Job runs", || {
        let after = platform.cluster.find(&job);
        after.is_some_and(|after| {
            after["metadata"]["uid"] != before["metadata"]["uid"]
                && after["spec"].to_string().contains("https://mirror.example/own.csv")
        })
    });
}

#[test]
#[ignore = "needs Kubernetes"]
fn the_status_reports_the_stored_list() {
    let platform = platform();
    platform.cluster.apply(&feed(""));
    platform.wait_for_publication(&FEED, "Published");
    platform.wait_for_reason(&FEED, "NeverFetched");
    let list = "list,entity_id,entity,asset_code,address\n\
                own,1,Somebody,XBT,1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa\n";
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("own.csv");
    std::fs::write(&path, list).unwrap();
    let path = path.display().to_string();
    let ingest = ["ingest", "sanctions", &path, "--format", "csv", "--source", "own"];
    platform.postgres.connect_directory(folder.path());
    let _ = assay_tests::assay(folder.path(), ingest).ok();
    platform.wait_for(&FEED, ".status.entries", "1");
    let status = platform.status(&FEED);
    assert_eq!(status["digest"].as_str().unwrap().len(), 64);
    assert!(status["verifiedAt"].is_string() && status["publishedAt"].is_string());
    platform.wait_for_reason(&FEED, "Fetched");
}

/// The identities of the pods of chain servers.
fn servers(platform: &Platform) -> Vec<String> {
    let labels = "app.kubernetes.io/component=chain";
    let pods = platform.cluster.list("pods", "default", labels);
    let mut uids: Vec<String> =
        pods.iter().map(|pod| pod["metadata"]["uid"].as_str().unwrap().to_owned()).collect();
    uids.sort();
    uids
}

/// A followed chain whose servers have volumes of a size and class.
fn followed(more: &str, size: &str, class: &str) -> String {
    chain(&format!("{FOLLOW}, volume: {{size: {size}, storageClass: {class}}}{more}"))
}

const SERVERS: [&str; 2] = ["statefulset", "chain-bitcoin"];
const CLAIM: [&str; 2] = ["persistentvolumeclaim", "data-chain-bitcoin-0"];
const REQUESTED: &str = ".spec.resources.requests.storage";
const MESSAGE: &str = ".status.conditions[?(@.type==\"Working\")].message";

#[test]
#[ignore = "needs Kubernetes"]
fn a_chain_has_servers_in_the_place_of_its_follower_or_none_if_read_on_demand() {
    // Given a chain that an earlier release follows,
    let mut platform = Platform::start();
    provide_volumes(&platform, "grows");
    platform.cluster.apply(&followed("", "20Gi", "grows"));
    platform.wait_for_publication(&CHAIN, "Published");
    platform.cluster.apply(&follower(&platform));

    // when an operator starts that runs chain servers, then these replace it.
    platform.operator.stop();
    platform.operator = with_workloads(&platform, "workloads");
    platform.wait_for(&CHAIN, WORKING, "ServersReady");
    platform.wait_for(&CHAIN, ".status.servers", "1/1");
    wait_until("the follower is gone", || !platform.cluster.has(&["deployment", "chain-bitcoin"]));
    let stateful_set = platform.cluster.get(&SERVERS)["spec"].clone();
    let pod = &stateful_set["template"]["spec"];
    assert_eq!(arguments(pod)[..3], ["chain", "serve", "btc"]);
    assert!(arguments(pod).contains(&"--cookie=/run/secrets/assay/credentials/value"));
    assert!(arguments(pod).contains(&"--credentials-hosts=node.example:3000"));
    platform.wait_for(&CLAIM, ".status.phase", "Bound");

    let on_demand = format!("{ON_DEMAND}, volume: {{storageClass: grows}}");
    platform.cluster.apply(&chain(&on_demand));
    platform.wait_for(&CHAIN, WORKING, "NothingToRun");
    wait_until("the servers are gone", || names(&platform).is_empty());
    assert!(platform.cluster.has(&CLAIM), "their volume stays");
    platform.wait_for(&CHAIN, ".status.servers", "");
}

/// The field managers of a source's status, with the conditions and other fields of each.
fn managers(platform: &Platform) -> BTreeMap<String, Vec<String>> {
    let object = platform.cluster.find(&CHAIN).unwrap();
    let entries = object["metadata"]["managedFields"].as_array().unwrap().iter();
    let of_status = entries.filter(|entry| entry["subresource"] == "status");
    let owned = of_status.map(|entry| {
        let fields = entry["fieldsV1"]["f:status"].as_object().unwrap();
        let conditions = fields.get("f:conditions").and_then(Value::as_object);
        let names = fields.keys().filter(|name| *name != "f:conditions");
        let mut names: Vec<String> =
            names.chain(conditions.into_iter().flat_map(Map::keys)).cloned().collect();
        names.retain(|name| name != ".");
        names.sort();
        (entry["manager"].as_str().unwrap().to_owned(), names)
    });
    owned.collect()
}

/// Applies a part of the chain's status by a field manager; null removes the part.
fn apply_status(platform: &Platform, manager: &str, status: &Value) {
    let metadata = json!({"name": "bitcoin"});
    let mut object = json!({
        "apiVersion": "assay.dev/v1alpha1", "kind": "ChainSource", "metadata": metadata,
    });
    if !status.is_null() {
        object["status"] = status.clone();
    }
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), object.to_string()).unwrap();
    let (path, manager) = (file.path().display().to_string(), format!("--field-manager={manager}"));
    let apply = ["apply", "--server-side", "--subresource=status", "--force-conflicts", &manager];
    platform.cluster.kubectl(&[&apply[..], &["-f", &path]].concat());
}

#[test]
#[ignore = "needs Kubernetes"]
fn each_part_of_a_status_has_a_field_manager_of_its_own_also_after_an_upgrade() {
    // Given a source whose whole status an earlier release wrote by one manager, also what chain servers said,
    let mut platform = platform();
    provide_volumes(&platform, "grows");
    platform.cluster.apply(&followed("", "20Gi", "grows"));
    platform.wait_for(&CHAIN, WORKING, "ServersReady");
    platform.wait_for(&CHAIN, ".status.servers", "1/1");
    platform.operator.stop();
    let mut whole = platform.status(&CHAIN);
    let agree = json!({
        "type": "BranchesAgree", "status": "True", "reason": "OneBranch", "message": "",
        "lastTransitionTime": "2026-11-22T01:00:00Z",
    });
    whole["conditions"].as_array_mut().unwrap().push(agree.clone());
    whole["tipHeight"] = json!(7);
    apply_status(&platform, "assay-operator", &whole);
    for part in ["workload", "chain", "summary"] {
        let manager = &format!("assay-operator/{part}");
        apply_status(&platform, manager, &Value::Null);
    }
    assert_eq!(managers(&platform).len(), 1, "{:?}", managers(&platform));

    // when an operator starts, and the spec changes,
    platform.operator = with_workloads(&platform, "upgraded");
    let workload = "assay-operator/workload";
    wait_until("it takes over its part", || managers(&platform).contains_key(workload));
    platform.cluster.apply(&followed(", suspended: true", "20Gi", "grows"));
    platform.wait_for(&CHAIN, ".status.observedGeneration", "2");
    platform.wait_for(&CHAIN, WORKING, "FollowingSuspended");
    platform.wait_for_publication(&CHAIN, "Published");
    platform.wait_for_reason(&CHAIN, "FollowingSuspended");

    // then each task owns what it writes, and no more;
    let condition = |name: &str| format!("k:{{\"type\":\"{name}\"}}");
    let own = [
        vec!["f:observedGeneration".to_owned(), condition("Published")],
        vec![condition("Ready")],
        vec![
            "f:readyReplicas".into(),
            "f:replicas".into(),
            "f:servers".into(),
            condition("Working"),
        ],
    ];
    let names = ["assay-operator", "assay-operator/summary", workload].map(str::to_owned);
    assert_eq!(managers(&platform), names.into_iter().zip(own).collect());
    // and when it has nothing to say any more, its part goes, and the others stay.
    apply_status(
        &platform,
        "assay-operator/chain",
        &json!({"tipHeight": 7, "conditions": [agree]}),
    );
    let on_demand = format!("{ON_DEMAND}, volume: {{storageClass: grows}}");
    platform.cluster.apply(&chain(&on_demand));
    platform.wait_for(&CHAIN, WORKING, "NothingToRun");
    platform.wait_for(&CHAIN, ".status.tipHeight", "");
    wait_until("the condition goes", || {
        let kinds = platform.cluster.field(&CHAIN, ".status.conditions[*].type");
        !kinds.contains("BranchesAgree") && kinds.contains("Ready") && kinds.contains("Working")
    });
}

#[test]
#[ignore = "needs Kubernetes"]
fn chain_servers_are_added_grow_answer_while_suspended_and_leave_their_volumes() {
    let platform = platform();
    provide_volumes(&platform, "grows");
    platform.cluster.apply(&followed("", "20Gi", "grows"));
    platform.wait_for(&CHAIN, ".status.servers", "1/1");
    platform.cluster.apply(&followed(", replicas: 2", "20Gi", "grows"));
    platform.wait_for(&CHAIN, ".status.servers", "2/2");
    platform.wait_for(&CHAIN, WORKING, "ServersReady");

    // Volumes grow under servers that go on.
    let before = stable_value(|| servers(&platform));
    assert_eq!(before.len(), 2);
    let old = platform.cluster.field(&SERVERS, ".metadata.uid");
    platform.cluster.apply(&followed(", replicas: 2", "40Gi", "grows"));
    for number in [0, 1] {
        let claim = format!("data-chain-bitcoin-{number}");
        platform.wait_for(&["persistentvolumeclaim", &claim], REQUESTED, "40Gi");
    }
    let size = ".spec.volumeClaimTemplates[0].spec.resources.requests.storage";
    platform.wait_for(&SERVERS, size, "40Gi");
    assert_ne!(platform.cluster.field(&SERVERS, ".metadata.uid"), old, "it was replaced");
    platform.wait_for(&SERVERS, ".status.readyReplicas", "2");
    assert_eq!(stable_value(|| servers(&platform)), before, "no pod was");
    platform.wait_for(&CHAIN, WORKING, "ServersReady");

    platform.cluster.apply(&followed(", replicas: 2, suspended: true", "40Gi", "grows"));
    platform.wait_for(&CHAIN, WORKING, "FollowingSuspended");
    let pod = platform.cluster.get(&SERVERS)["spec"]["template"]["spec"].clone();
    assert!(!arguments(&pod).iter().any(|argument| argument.starts_with("--rpc")), "{pod}");
    platform.wait_for(&CHAIN, ".status.servers", "2/2");

    platform.cluster.kubectl(&["delete", "chainsource", "bitcoin"]);
    wait_until("its objects go with it", || names(&platform).is_empty());
    assert!(platform.cluster.has(&CLAIM), "its volumes stay");
    platform.cluster.apply(&followed("", "20Gi", "grows"));
    platform.wait_for(&CHAIN, WORKING, "ServersReady");
    assert_eq!(
        platform.cluster.field(&CLAIM, REQUESTED),
        "40Gi",
        "it is used again, and never shrinks"
    );
}

#[test]
#[ignore = "needs Kubernetes"]
fn a_volume_that_cannot_grow_and_pods_that_cannot_run_are_reported() {
    let platform = platform();
    provide_volumes(&platform, "fixed");
    platform.cluster.apply(&followed("", "20Gi", "fixed"));
    platform.wait_for(&CHAIN, WORKING, "ServersReady");
    platform.cluster.apply(&followed("", "40Gi", "fixed"));
    platform.wait_for(&CHAIN, WORKING, "VolumeNotResized");
    let said = platform.cluster.field(&CHAIN, MESSAGE);
    let start =
        "1 of 1 chain server ready; PersistentVolumeClaim `data-chain-bitcoin-0` does not grow: ";
    assert!(said.starts_with(start) && said.contains("storageclass"), "{said}");
    platform.wait_for(&CHAIN, ".status.servers", "1/1");

    // No node has such a label.
    let nowhere = ", replicas: 2, pods: {nodeSelector: {disk: none}}";
    platform.cluster.apply(&followed(nowhere, "40Gi", "fixed"));
    wait_until("the pod is named that cannot be placed", || {
        let said = platform.cluster.field(&CHAIN, MESSAGE);
        said.contains("; pod `chain-bitcoin-") && said.contains("nodes are available")
    });
    let invalid = ", pods: {nodeSelector: {'no label': x}}";
    platform.cluster.apply(&followed(invalid, "40Gi", "fixed"));
    platform.wait_for(&CHAIN, WORKING, "Invalid");
}

#[test]
#[ignore = "needs Kubernetes"]
fn an_api_learns_of_chain_servers_once_its_service_names_the_token() {
    let platform = platform();
    let reason = ".status.conditions[?(@.type==\"ChainsConfigured\")].reason";
    let api = ["riskservice", "api"];
    platform.cluster.apply(&[DATABASE, &service("1.0", ""), &chain(FOLLOW)].concat());
    platform.wait_for(&api, reason, "ChainTokenMissing");
    let token = "
---
apiVersion: v1
kind: Secret
metadata: {name: chains, namespace: default}
stringData: {token: secret}
";
    let with_token = service("1.0", "  chainTokenSecret: {name: chains, key: token}");
    platform.cluster.apply(&[token, &with_token].concat());
    platform.wait_for(&api, reason, "ChainServersKnown");
    platform.wait_for_reason(&api, "ServiceReady");
    let settings = platform.cluster.field(&["configmap", "api"], ".data['assay.toml']");
    let line = "chain-servers = \"btc=http://chain-bitcoin.default.svc:8080\"";
    assert!(settings.lines().any(|found| found == line), "{settings}");
    platform.cluster.kubectl(&["delete", "chainsource", "bitcoin"]);
    wait_until("the API no longer asks", || {
        !platform.cluster.field(&["configmap", "api"], ".data['assay.toml']").contains("chain")
    });
}

#[test]
#[ignore = "needs Kubernetes"]
fn an_api_gets_the_key_of_an_explorer_once_its_owner_permits_it() {
    let platform = platform();
    let _ = platform.cluster.try_kubectl(&["delete", "secret", "explorer"]);
    let reason = ".status.conditions[?(@.type==\"ChainsConfigured\")].reason";
    let message = ".status.conditions[?(@.type==\"ChainsConfigured\")].message";
    let api = ["riskservice", "api"];
    let explorer = "
---
apiVersion: assay.dev/v1alpha1
kind: ChainSource
metadata: {name: etherscan-eth}
spec:
  chain: eth
  mode: on_demand
  protocol: etherscan
  endpoint: https://api.etherscan.io/v2/api
  credentialsSecret: {name: explorer, key: key}
";
    platform.cluster.apply(&[DATABASE, &service("1.0", ""), explorer].concat());
    // Without the Secret the API runs, and its service says what to do.
    platform.wait_for(&api, reason, "CredentialsNotAllowed");
    platform.wait_for_reason(&api, "ServiceReady");
    let advice = platform.cluster.field(&api, message);
    for part in ["`explorer`", "api.etherscan.io:443", "assay.dev/source-credentials=true"] {
        assert!(advice.contains(part), "{part}: {advice}");
    }
    platform.cluster.kubectl(&["create", "secret", "generic", "explorer", "--from-literal=key=a"]);
    platform.cluster.kubectl(&["label", "secret", "explorer", "assay.dev/source-credentials=true"]);
    let host = "assay.dev/source-hosts=api.etherscan.io:443";
    platform.cluster.kubectl(&["annotate", "secret", "explorer", host]);
    platform.wait_for(&api, reason, "ChainServersKnown");
    platform.wait_for_reason(&api, "ServiceReady");
    let settings = platform.cluster.field(&["configmap", "api"], ".data['assay.toml']");
    let line = "source-credentials = \"etherscan-eth=/run/secrets/assay/histories-eth/value@api.etherscan.io:443\"";
    assert!(settings.lines().any(|found| found == line), "{settings}");
    let volume = ".spec.template.spec.volumes[?(@.name=='histories-eth')].secret.secretName";
    assert_eq!(platform.cluster.field(&["deployment", "api"], volume), "explorer");
    platform.cluster.kubectl(&["delete", "chainsource", "etherscan-eth"]);
    wait_until("the API has no key of a source that is gone", || {
        let pods = platform.cluster.field(&["deployment", "api"], ".spec.template.spec");
        !pods.contains("explorer")
    });
}

#[test]
#[ignore = "needs Kubernetes"]
fn without_an_image_there_are_no_workloads_and_the_sources_report_it() {
    let platform = Platform::start();
    platform.cluster.apply(&[feed(""), chain(FOLLOW)].concat());
    for source in [FEED, CHAIN] {
        platform.wait_for_publication(&source, "Published");
        platform.wait_for(&source, WORKING, "WorkloadsDisabled");
    }
    wait_until("another test's workloads are gone", || names(&platform).is_empty());
}
