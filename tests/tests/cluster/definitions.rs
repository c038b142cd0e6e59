//! The custom resource definitions in the output of `kubectl`.

use assay_tests::Cluster;

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
        "installations.assay.dev",
        "intelsources.assay.dev",
        "plans.assay.dev",
        "ratelimits.assay.dev",
        "riskpolicies.assay.dev",
        "riskservices.assay.dev",
        "tenants.assay.dev",
    ];
    assert_eq!(kinds, all);
    for path in [
        "plan.spec.limits.ceiling",
        "ratelimit.spec.target.tenant",
        "apikey.spec.rotation.overlap",
        "riskpolicy.spec.amounts",
        "tenant.status.effectiveLimits.from",
    ] {
        let words = described(&cluster, path);
        assert!(words.len() > 10, "{path}: {words}");
        let text = cluster.kubectl(&["explain", path]);
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(text.contains(&words), "{path}: {text}");
    }
}

/// The description of a field in its definition, without line breaks: the path is `KIND.FIELD.FIELD`.
fn described(cluster: &Cluster, path: &str) -> String {
    let (kind, fields) = path.split_once('.').unwrap();
    let name = format!(
        "{}.assay.dev",
        if kind == "riskpolicy" { "riskpolicies".into() } else { format!("{kind}s") }
    );
    let definition = cluster.get(&["crd", &name]);
    let mut schema = &definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"];
    for field in fields.split('.') {
        schema = if schema["type"] == "array" { &schema["items"] } else { schema };
        schema = &schema["properties"][field];
    }
    let text = schema["description"].as_str().unwrap();
    text.split_whitespace().collect::<Vec<_>>().join(" ")
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
fn the_manifests_of_assay_are_valid_in_a_cluster() {
    let cluster = cluster();
    let crates = concat!(env!("CARGO_MANIFEST_DIR"), "/../crates");
    let folders = ["service", "sample"].map(|name| format!("--filename={crates}/{name}/manifests"));
    let [built_in, sample] = &folders;
    let applied =
        cluster.kubectl(&["apply", "--dry-run=server", "--validate=strict", built_in, sample]);
    assert!(applied.lines().count() >= 7, "{applied}");
}
