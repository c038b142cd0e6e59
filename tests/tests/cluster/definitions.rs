//! The definitions, as people meet them with `kubectl`.

use crate::cluster;

#[test]
#[ignore = "needs Kubernetes"]
fn kubectl_knows_the_kinds_and_explains_them() {
    let cluster = cluster();
    let kinds =
        cluster.kubectl(&["api-resources", "--categories=assay", "--no-headers", "-o", "name"]);
    let mut kinds: Vec<&str> = kinds.lines().collect();
    kinds.sort_unstable();
    let all = [
        "apikeys.assay.dev",
        "chainsources.assay.dev",
        "intelsources.assay.dev",
        "plans.assay.dev",
        "ratelimits.assay.dev",
        "riskpolicies.assay.dev",
        "riskservices.assay.dev",
        "tenants.assay.dev",
    ];
    assert_eq!(kinds, all);
    for (path, words) in [
        ("plan.spec.limits.ceiling", "The highest number that a rate limit may raise it to"),
        ("ratelimit.spec.target.tenant", "One tenant."),
        ("apikey.spec.rotation.overlap", "How long the old key stays good beside the new one."),
        ("riskpolicy.spec.amounts", "What absolute amounts mean"),
        ("tenant.status.effectiveLimits.from", "Where the number comes from"),
    ] {
        let text = cluster.kubectl(&["explain", path]);
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(text.contains(words), "{path}: {text}");
    }
}

#[test]
#[ignore = "needs Kubernetes"]
fn defaults_are_filled_in_and_columns_shown() {
    let cluster = cluster();
    let yaml = "apiVersion: assay.dev/v1alpha1\nkind: Plan\nmetadata: {name: columns}\n\
                spec: {displayName: Columns, apiAccess: true, limits: [{name: daily, \
                requests: 5, window: 1d, counts: checks}]}\n";
    cluster.apply(yaml);
    let plan = cluster.get(&["plan", "columns"]);
    let spec = &plan["spec"];
    assert_eq!(spec["cacheLifetime"], "5m");
    assert_eq!(spec["retention"]["usage"], "400d");
    assert_eq!((&spec["maxScreenRows"], &spec["fallbackShare"]), (&100_000.into(), &10.into()));
    assert_eq!(spec["limits"][0]["per"], "tenant");
    let table = cluster.kubectl(&["get", "plan", "columns"]);
    let titles: Vec<&str> = table.lines().next().unwrap().split_whitespace().collect();
    assert_eq!(titles, ["NAME", "READY", "REASON", "API", "TENANTS", "AGE"]);
    cluster.apply(yaml);
    let again = cluster.get(&["plan", "columns"]);
    assert_eq!(again["metadata"]["resourceVersion"], plan["metadata"]["resourceVersion"]);
    cluster.kubectl(&["delete", "plan", "columns"]);
}

#[test]
#[ignore = "needs Kubernetes"]
fn the_manifests_that_come_with_assay_are_good_in_a_cluster() {
    let cluster = cluster();
    let crates = concat!(env!("CARGO_MANIFEST_DIR"), "/../crates");
    let folders = ["service", "sample"].map(|name| format!("--filename={crates}/{name}/manifests"));
    let [built_in, sample] = &folders;
    let applied =
        cluster.kubectl(&["apply", "--dry-run=server", "--validate=strict", built_in, sample]);
    assert!(applied.lines().count() >= 7, "{applied}");
}
