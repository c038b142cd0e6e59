//! Given the API server's audit log of the operator's requests, then it contains no unnecessary
//! request and no refused one, and every granted right is used.

use std::collections::{BTreeMap, BTreeSet};

use assay_tests::Cluster;
use serde_json::Value;

use crate::{
    modes::{CLUSTER, Mode, NAMESPACES},
    pages::{GOLD, key, raised, tenant},
    platform::{Platform, stable_value, wait_until},
    service::{DATABASE, service},
    sources::{FOLLOW, ON_DEMAND, chain, feed, follower, provide_volumes, with_workloads_by},
};

/// Subresource of rights that the admission plugin for owner references checks within other requests.
const WITHIN_OTHERS: &str = "/finalizers";

/// Definition of the Gateway API's kind `HTTPRoute`, which the cluster otherwise lacks.
const HTTP_ROUTES: &str = "
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: httproutes.gateway.networking.k8s.io
  annotations: {api-approved.kubernetes.io: 'unapproved, for a test'}
spec:
  group: gateway.networking.k8s.io
  names: {kind: HTTPRoute, plural: httproutes, singular: httproute}
  scope: Namespaced
  versions:
    - name: v1
      served: true
      storage: true
      schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
";

/// A `RiskService` with an exposure.
fn exposed_service(way: &str) -> String {
    service("1.0", &format!("  exposure: {{host: risk.example, {way}}}"))
}

/// Requests of a user after an entry of the audit log: the resource with its group, the verb, and the status of the
/// response.
fn requests_of(cluster: &Cluster, user: &str, since: usize) -> Vec<(String, String, u64)> {
    let own = cluster.audit().into_iter().skip(since);
    let own = own.filter(|event| event["user"]["username"] == user);
    own.filter_map(|event| {
        let of = event.get("objectRef")?;
        let part = |name: &str| of[name].as_str().unwrap_or_default();
        let mut resource = format!("{}/{}", part("apiGroup"), part("resource"));
        if !part("subresource").is_empty() {
            resource = format!("{resource}/{}", part("subresource"));
        }
        let verb = event["verb"].as_str()?.to_owned();
        Some((resource, verb, event["responseStatus"]["code"].as_u64()?))
    })
    .collect()
}

/// The rights that were used. An apply of an object that did not exist uses `create`.
fn used_rights(requests: &[(String, String, u64)]) -> BTreeSet<(String, String)> {
    let made = |(resource, verb, status): &(String, String, u64)| {
        (verb == "patch" && *status == 201).then(|| (resource.clone(), "create".to_owned()))
    };
    let named = requests.iter().map(|(resource, verb, _)| (resource.clone(), verb.clone()));
    named.chain(requests.iter().filter_map(made)).collect()
}

/// Waits until the operator writes nothing except its Lease.
fn wait_until_quiet(cluster: &Cluster, user: &str) {
    let _ = stable_value(|| writes(cluster, user, 0));
}

/// Numbers of write requests, except those to the Lease.
fn writes(cluster: &Cluster, user: &str, since: usize) -> BTreeMap<(String, String), usize> {
    let mut writes = BTreeMap::new();
    for (resource, verb, _) in requests_of(cluster, user, since) {
        let is_read = ["get", "list", "watch"].contains(&&*verb);
        if !is_read && resource != "coordination.k8s.io/leases" {
            *writes.entry((resource, verb)).or_default() += 1;
        }
    }
    writes
}

#[test]
#[ignore = "needs Kubernetes"]
fn the_operator_requests_only_objects_that_it_has_rights_for_and_needs() {
    requests_match_rights(&CLUSTER);
}

#[test]
#[ignore = "needs Kubernetes"]
fn the_operator_of_a_few_namespaces_requests_only_objects_that_it_has_rights_for_and_needs() {
    requests_match_rights(&NAMESPACES);
}

/// Asserts that the operator's requests, with the rights of a mode, use exactly these rights.
fn requests_match_rights(mode: &Mode) {
    let account = mode.user();
    let mut platform = Platform::start();
    platform.operator.stop();
    let _ = platform.cluster.try_kubectl(&["delete", "lease,secret", "--all", "-n", "default"]);
    platform.cluster.kubectl(&["delete", "installation", "--all"]);
    let begun = platform.cluster.audit().len();
    provide_volumes(&platform, "grows");
    platform.operator = with_workloads_by(&platform, mode, "first");
    platform.operator.wait_until_it_works();

    // Given one of everything, and every change that the operator has an answer to,
    let page = [GOLD, &tenant("acme", "gold"), &raised(1500), &key("backend", "acme"), DATABASE];
    platform.cluster.apply(&page.concat());
    // As earlier releases left it.
    let held = key("held", "acme");
    let held = held.replace("metadata: {", "metadata: {finalizers: [assay.dev/store], ");
    platform.cluster.apply(&held);
    let followed = format!("{FOLLOW}, volume: {{storageClass: grows}}");
    platform.cluster.apply(&[exposed_service("ingress: {}"), feed(""), chain(&followed)].concat());
    platform.wait_for_reason(&["riskservice", "api"], "ServiceReady");
    platform.wait_for_reason(&["apikey", "backend"], "KeyReady");
    let working = ".status.conditions[?(@.type==\"Working\")].reason";
    platform.wait_for(&["chainsource", "bitcoin"], working, "ServersReady");
    wait_until("the list is fetched and the chain followed", || {
        ["cronjob/intel-own", "statefulset/chain-bitcoin"]
            .iter()
            .all(|name| platform.cluster.has(&[name]))
    });

    // when an operator starts anew and looks at all of it, then nothing is written.
    wait_until_quiet(&platform.cluster, &account);
    platform.operator.stop();
    let restarted = platform.cluster.audit().len();
    platform.operator = with_workloads_by(&platform, mode, "second");
    for kind in ["ApiKey", "RiskService", "Workload"] {
        let looked =
            format!("assay_operator_reconciled_total{{kind=\"{kind}\",outcome=\"unchanged\"}}");
        wait_until("everything is looked at", || platform.operator.metric(&looked) >= 1);
    }
    let written = stable_value(|| writes(&platform.cluster, &account, restarted));
    assert_eq!(written, BTreeMap::new());

    // And when all of it changes and goes,
    let first = platform.key("default", "backend");
    platform.cluster.kubectl(&["annotate", "apikey", "backend", "assay.dev/rotate=monday"]);
    wait_until("there is another key", || platform.key("default", "backend") != first);
    // An error that occurs twice is one event with a count.
    for (plan, reason) in [("lost", "PlanNotFound"), ("gold", "Published")].repeat(2) {
        platform.cluster.apply(&tenant("acme", plan));
        platform.wait_for_reason(&["tenant", "acme"], reason);
    }
    platform.cluster.apply(HTTP_ROUTES);
    let established = ["wait", "--for=condition=Established", "crd", "--all", "--timeout=60s"];
    platform.cluster.kubectl(&established);
    platform.cluster.apply(&exposed_service("httpRoute: {gateway: public}"));
    wait_until("there is a route", || platform.cluster.has(&["httproute", "api"]));
    platform.cluster.apply(&exposed_service("ingress: {}"));
    wait_until("there is none any more", || !platform.cluster.has(&["httproute", "api"]));
    let larger = format!("{FOLLOW}, volume: {{size: 40Gi, storageClass: grows}}");
    platform.cluster.apply(&chain(&larger));
    let size = ".spec.volumeClaimTemplates[0].spec.resources.requests.storage";
    platform.wait_for(&["statefulset", "chain-bitcoin"], size, "40Gi");
    platform.cluster.apply(&follower(&platform));
    platform.cluster.apply(&feed(", credentialsSecret: {name: none, key: token}"));
    wait_until("nothing is fetched with a Secret that is not for sources", || {
        ["cronjob/intel-own", "job/intel-own-first"]
            .iter()
            .all(|name| !platform.cluster.has(&[name]))
    });
    let beside = feed("").replace("https://lists.example/", "lists/");
    let on_demand = larger.replace(FOLLOW, ON_DEMAND);
    platform.cluster.apply(&[beside, chain(&on_demand)].concat());
    wait_until("nothing is fetched or followed", || {
        ["cronjob/intel-own", "statefulset/chain-bitcoin", "deployment/chain-bitcoin"]
            .iter()
            .all(|name| !platform.cluster.has(&[name]))
    });
    let kinds = "apikey,ratelimit,tenant,intelsource,chainsource,riskservice,plan,riskpolicy";
    platform.cluster.kubectl(&["delete", kinds, "--all", "-n", "default"]);
    platform.cluster.kubectl(&["delete", "crd", "httproutes.gateway.networking.k8s.io"]);

    // then nothing was refused for want of a right, and every right was needed.
    let requests = requests_of(&platform.cluster, &account, begun);
    let refused: Vec<_> = requests.iter().filter(|(_, _, status)| *status == 403).collect();
    assert!(refused.is_empty(), "{refused:?}");
    let used = used_rights(&requests);
    let needed: BTreeSet<_> = mode
        .granted()
        .into_iter()
        .filter(|(resource, _)| !resource.ends_with(WITHIN_OTHERS))
        .collect();
    assert_eq!(needed.difference(&used).collect::<Vec<_>>(), Vec::<&(_, _)>::new(), "never used");
    assert_eq!(used.difference(&needed).collect::<Vec<_>>(), Vec::<&(_, _)>::new(), "not granted");
}

#[test]
#[ignore = "needs Kubernetes"]
fn an_unchanged_key_is_not_requested_again() {
    // Given a key that is ready,
    let platform = Platform::start();
    let page = [GOLD, &tenant("acme", "gold"), &key("left-alone", "acme")].concat();
    platform.cluster.apply(&page);
    platform.wait_for_reason(&["apikey", "left-alone"], "KeyReady");
    wait_until_quiet(&platform.cluster, &CLUSTER.user());
    // then what the operator itself wrote about it was not looked into.
    let first = secret_reads(&platform.cluster);
    assert_eq!(first, 1, "as it was new");

    // nor is it when something changes that does not concern it;
    platform.cluster.apply(&raised(1500));
    platform.wait_for(&["tenant", "acme"], ".status.effectiveLimits[0].requests", "1500");
    wait_until_quiet(&platform.cluster, &CLUSTER.user());
    assert_eq!(secret_reads(&platform.cluster), first);

    // it is when somebody touches it, or what its tenant says of its namespace.
    let kubectl = |arguments: &[&str]| drop(platform.cluster.kubectl(arguments));
    let elsewhere = tenant("acme", "gold").replace("[default]", "[kube-system]");
    let touch = || kubectl(&["annotate", "apikey", "left-alone", "note=1"]);
    let exclude = || drop(platform.cluster.apply(&elsewhere));
    let changes: [&dyn Fn(); 2] = [&touch, &exclude];
    for (number, change) in changes.into_iter().enumerate() {
        let before = secret_reads(&platform.cluster);
        change();
        let what = format!("change {number} is looked at");
        wait_until(&what, || secret_reads(&platform.cluster) > before);
    }
    platform.wait_for_reason(&["apikey", "left-alone"], "NamespaceNotAllowed");
}

/// Number of times that the operator read the Secret of the key `left-alone`.
fn secret_reads(cluster: &Cluster) -> usize {
    let is_look = |event: &Value| {
        let of = &event["objectRef"];
        let is_secret = of["resource"] == "secrets" && of["name"] == "left-alone";
        let is_answer = event["stage"] == "ResponseComplete";
        is_secret
            && is_answer
            && event["verb"] == "get"
            && event["user"]["username"] == CLUSTER.user()
    };
    cluster.audit().iter().filter(|event| is_look(event)).count()
}
