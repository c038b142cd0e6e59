//! Given an operator, when people configure hosts, then its network policies allow these hosts and ports, and no others.

use std::collections::BTreeSet;

use assay_tests::Operator;
use serde_json::Value;

use crate::{
    modes::CLUSTER,
    platform::{Platform, wait_until},
    service::service,
    sources::feed,
};

/// The database at an address, and the cache in another namespace.
const STORES: &str = "
---
apiVersion: v1
kind: Secret
metadata: {name: database, namespace: default}
stringData: {url: 'postgres://assay:secret@10.20.0.5:5433/assay'}
---
apiVersion: v1
kind: Secret
metadata: {name: cache, namespace: default}
stringData: {url: 'redis://cache.stores.svc'}
";
const POLICIES: [&str; 2] = ["api", "intel-own"];

fn operator(platform: &Platform, name: &str, more: &[&str]) -> Operator {
    let flags = ["--image=assay.test/assay:1.0", "--database-secret=database/url"];
    let flags = [&flags, CLUSTER.flags, more].concat();
    let config = platform.cluster.config_of_account("default", CLUSTER.account);
    let operator =
        Operator::start_by(&config, "default", &platform.postgres.url(), name, 6, &flags);
    operator.wait_until_it_works();
    operator
}

/// The connections that a policy allows, except to DNS servers: `PEER PORT`.
fn allowed(platform: &Platform, policy: &str) -> BTreeSet<String> {
    let object = platform.cluster.find(&["networkpolicy", policy]).unwrap_or_default();
    let all = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let mut found = BTreeSet::new();
    for rule in all(&object["spec"]["egress"]) {
        for port in all(&rule["ports"]).iter().filter(|port| port["port"] != 53) {
            assert!(!all(&rule["to"]).is_empty(), "a rule without peers allows all: {rule}");
            for peer in all(&rule["to"]) {
                let namespace = &peer["namespaceSelector"]["matchLabels"];
                let host = peer["ipBlock"]["cidr"]
                    .as_str()
                    .or(namespace["kubernetes.io/metadata.name"].as_str())
                    .map_or_else(|| peer.to_string(), str::to_owned);
                let except = all(&peer["ipBlock"]["except"]).len();
                let except = if except > 0 { " with exceptions" } else { "" };
                found.insert(format!("{host}{except} {}", port["port"]));
            }
        }
    }
    found
}

fn wait_for_connections(platform: &Platform, policy: &str, wanted: &[&str]) {
    let wanted: BTreeSet<String> = wanted.iter().map(|text| (*text).to_owned()).collect();
    wait_until(&format!("the policy `{policy}` allows {wanted:?}"), || {
        let found = allowed(platform, policy);
        found == wanted
    });
}

#[test]
#[ignore = "needs Kubernetes"]
fn network_policies_allow_configured_hosts_alone_and_leave_when_switched_off() {
    let mut platform = Platform::start();
    platform.operator.stop();
    platform.operator = operator(&platform, "open", &[]);
    let cached = service("1.0", "  cacheSecret: {name: cache}");
    let plain = feed("").replace("https://lists.example", "http://mirror.lists.example");
    platform.cluster.apply(&[STORES, &cached, &plain].concat());
    let stores = ["10.20.0.5/32 5433", "stores 6379"];
    wait_for_connections(&platform, "api", &stores);
    let public = ["0.0.0.0/0 with exceptions", "::/0 with exceptions"];
    let ports = [80, 443].map(|port| public.map(|network| format!("{network} {port}")));
    let ports = ports.as_flattened().iter().map(String::as_str);
    let import: Vec<&str> = ports.chain([stores[0]]).collect();
    wait_for_connections(&platform, "intel-own", &import);
    // When there are no public networks, then a list known by its name alone is in the private ones.
    platform.operator.stop();
    let closed = ["--public-egress=false", "--source-networks=10.30.0.0/16"];
    platform.operator = operator(&platform, "closed", &closed);
    let import = ["10.30.0.0/16 80", "10.30.0.0/16 443", stores[0]];
    wait_for_connections(&platform, "intel-own", &import);
    // A Service may stand for hosts in these networks, too.
    wait_for_connections(&platform, "api", &[stores[0], stores[1], "10.30.0.0/16 6379"]);
    // When there are to be no policies, then the operator's are deleted.
    platform.operator.stop();
    platform.operator = operator(&platform, "off", &["--network-policies=false"]);
    wait_until("the policies are gone", || {
        POLICIES.iter().all(|name| !platform.cluster.has(&["networkpolicy", name]))
    });
}
