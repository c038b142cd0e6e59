//! Given an operator that watches a few namespaces, then it reconciles objects there, and reports unwatched namespaces
//! in the status of tenants.

use assay_tests::Operator;
use serde_json::Value;

use crate::{
    modes::NAMESPACES,
    pages::{GOLD, key, tenant},
    platform::Platform,
    service::service,
};

const TENANT: [&str; 2] = ["tenant", "acme"];

#[test]
#[ignore = "needs Kubernetes"]
fn keys_are_issued_in_watched_namespaces_and_a_tenant_is_told_of_the_others() {
    // Given an operator that watches `payments`, and a namespace in which it has no rights,
    let mut platform = Platform::start();
    platform.operator.stop();
    let config = platform.cluster.config_of_account("default", NAMESPACES.account);
    let url = platform.postgres.url();
    let flags = ["--watch-namespaces=payments,without-rights"];
    platform.operator = Operator::start_by(&config, "default", &url, "few", 6, &flags);
    platform.operator.wait_until_it_works();

    // when a tenant lists these and another one, and there is a key in each,
    let listed = |namespaces: &str| tenant("acme", "gold").replace("[default]", namespaces);
    let placed = |page: &str, namespace: &str| {
        page.replace("namespace: default", &format!("namespace: {namespace}"))
    };
    let keys =
        ["default", "payments", "kube-public"].map(|name| placed(&key("backend", "acme"), name));
    let all = listed("[default, payments, kube-public]");
    let api = placed(&service("1.0", ""), "payments");
    platform.cluster.apply(&[GOLD, &all, &keys.concat(), &api].concat());

    // then the watched namespaces have keys that work,
    for namespace in ["default", "payments"] {
        platform.wait_for_reason(&["apikey", "backend", "-n", namespace], "KeyReady");
        platform.wait_for_answer(&platform.key(namespace, "backend"), 200);
    }
    // the tenant is told of the other one and of the mend,
    let condition = |field: &str| format!(".status.conditions[?(@.type==\"KeysWatched\")].{field}");
    platform.wait_for(&TENANT, &condition("reason"), "NamespaceNotWatched");
    let message = platform.cluster.field(&TENANT, &condition("message"));
    assert!(
        message.contains(": kube-public; add them to the chart's operator.namespaces"),
        "{message}"
    );
    platform.wait_for_reason(&TENANT, "Published");
    // and nothing was done there, nor for a RiskService that is not in the operator's namespace.
    for object in
        [["apikey", "backend", "-n", "kube-public"], ["riskservice", "api", "-n", "payments"]]
    {
        assert_eq!(platform.status(&object), Value::Null, "{object:?}");
    }

    platform.cluster.apply(&listed("[default, payments]"));
    platform.wait_for(&TENANT, &condition("reason"), "NamespacesWatched");
    let text = platform.key("payments", "backend");
    platform.cluster.kubectl(&["delete", "apikey", "backend", "-n", "payments", "--timeout=60s"]);
    platform.wait_for_answer(&text, 401);
}
