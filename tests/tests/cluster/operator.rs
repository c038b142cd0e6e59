//! Given a platform, when people apply YAML, then the API applies the change, and the objects' status shows it.

use assay_store::{PostgresStore, SqliteStore, Store};
use assay_tests::{Finished, assay};

use crate::{
    pages::{GOLD, key, raised, tenant},
    platform::{Platform, wait_until},
};

/// Asserts that `kubectl` succeeded.
fn ok(finished: Finished) {
    let _ = finished.ok();
}

#[test]
#[ignore = "needs Kubernetes"]
fn a_page_of_yaml_becomes_a_key_that_the_api_takes() {
    let (platform, text) = Platform::with_key(GOLD, "");

    let status = platform.status(&["apikey", "backend"]);
    assert_eq!(status["keyId"], text.split('_').nth(2).unwrap());
    assert_eq!(status["secretName"], "backend");
    let limits = platform.status(&["tenant", "acme"])["effectiveLimits"].clone();
    assert_eq!((&limits[0]["requests"], &limits[0]["from"]), (&1000.into(), &"Plan gold".into()));
    assert_eq!(platform.status(&["plan", "gold"])["tenants"], 1);
    let policy = platform.status(&["riskpolicy", "careful"]);
    let answer = platform.check(&text).json();
    assert_eq!(answer["policy_revision"], policy["revision"], "what is told is what answers");

    platform.cluster.apply(&raised(2000));
    platform.wait_for(&["tenant", "acme"], ".status.effectiveLimits[0].from", "RateLimit more");
    platform.wait_for(&["tenant", "acme"], ".status.effectiveLimits[0].requests", "2000");

    platform.cluster.kubectl(&["delete", "apikey", "backend"]);
    platform.wait_for_answer(&text, 401);
    wait_until("the Secret goes with its owner", || !platform.cluster.has(&["secret", "backend"]));
}

#[test]
#[ignore = "needs Kubernetes"]
fn invalid_objects_are_reported_and_the_last_valid_ones_stay_in_force() {
    let (platform, text) = Platform::with_key(GOLD, "");

    platform.cluster.apply(&[tenant("acme", "silver"), tenant("other", "silver")].concat());
    platform.wait_for_reason(&["tenant", "acme"], "PlanNotFound");
    platform.wait_for_reason(&["tenant", "other"], "PlanNotFound");
    let message = ".status.conditions[?(@.type==\"Stalled\")].message";
    platform.wait_for(&["tenant", "other"], message, "spec.plan: there is no Plan `silver`");
    platform.wait_for_answer(&text, 200);
    let events = ["events", "--for=tenant/other", "--no-headers"];
    wait_until("an event", || {
        platform.cluster.try_kubectl(&events).stdout.contains("PlanNotFound")
    });

    platform.cluster.apply(&[tenant("acme", "gold"), raised(6000)].concat());
    platform.wait_for_reason(&["tenant", "acme"], "Published");
    platform.wait_for_reason(&["ratelimit", "more"], "AboveCeiling");
    platform.cluster.apply(&raised(5000));
    platform.wait_for_reason(&["ratelimit", "more"], "Published");

    ok(platform.cluster.try_kubectl(&["delete", "plan", "gold", "--wait=false"]));
    platform.wait_for_reason(&["plan", "gold"], "InUse");
    platform.wait_for_answer(&text, 200);
    // A plan that is being deleted keeps no tenant from being suspended.
    let suspended = tenant("acme", "gold").replace("plan: gold", "plan: gold, suspended: true");
    platform.cluster.apply(&suspended);
    platform.wait_for_answer(&text, 403);
    platform.wait_for_reason(&["tenant", "acme"], "Published");
    ok(platform.cluster.try_kubectl(&["delete", "ratelimit", "more"]));
    ok(platform.cluster.try_kubectl(&["delete", "tenant", "acme"]));
    wait_until("the plan goes once nothing needs it", || !platform.cluster.has(&["plan", "gold"]));
    platform.wait_for_answer(&text, 401);
    platform.wait_for_reason(&["apikey", "backend"], "TenantNotFound");
}

#[test]
#[ignore = "needs Kubernetes"]
fn what_weakens_answers_or_shares_keys_is_told() {
    let platform = Platform::start();
    let reason = |kind: &str| format!(".status.conditions[?(@.type==\"{kind}\")].reason");
    let policy = "
---
apiVersion: assay.dev/v1alpha1
kind: RiskPolicy
metadata: {name: careful}
spec:
  severities: {sanctions: 0}
  mandatorySources: [{name: nobodys-list}]
";
    platform.cluster.apply(&[GOLD, policy, &tenant("acme", "gold")].concat());
    let careful = ["riskpolicy", "careful"];
    platform.wait_for(&careful, &reason("DefaultsKept"), "DefaultsWeakened");
    platform.wait_for(&careful, &reason("SourcesKnown"), "SourceUnknown");
    platform.wait_for(&["tenant", "acme"], &reason("NamespacesOwn"), "NamespacesExclusive");
    // Another tenant lists the same namespace.
    platform.cluster.apply(&tenant("other", "gold"));
    for name in ["acme", "other"] {
        platform.wait_for(&["tenant", name], &reason("NamespacesOwn"), "NamespaceShared");
    }
    // The list gets a source.
    platform.cluster.apply(
        "
---
apiVersion: assay.dev/v1alpha1
kind: IntelSource
metadata: {name: own}
spec: {location: /lists/own.csv, format: listings-csv, lists: [nobodys-list], schedule: '17 * * * *'}
",
    );
    platform.wait_for(&careful, &reason("SourcesKnown"), "SourcesKnown");
}

#[test]
#[ignore = "needs Kubernetes"]
fn a_name_that_the_store_cannot_hold_is_reported_and_holds_up_no_other() {
    let platform = Platform::start();
    let named = |name: &str| GOLD.replace("name: gold", &format!("name: {name}"));
    let long = "p".repeat(64);
    let tenant = tenant("acme", "gold");
    let key = key("back.end", "acme");
    platform.cluster.apply(&[&named("my.plan"), &named(&long), GOLD, &tenant, &key].concat());
    platform.wait_for_reason(&["tenant", "acme"], "Published");
    for name in ["my.plan", &long] {
        platform.wait_for_reason(&["plan", name], "InvalidName");
        let message = platform.message(&["plan", name]);
        assert!(message.ends_with("with a letter or digit first and last"), "{message}");
        assert!(message.contains(name), "{message}");
        let status = platform.status(&["plan", name]);
        assert_eq!(status["observedGeneration"], 1);
        assert_eq!(status["conditions"][1]["type"], "Stalled");
        let plan = platform.cluster.get(&["plan", name]);
        assert!(plan["metadata"].get("finalizers").is_none(), "it holds no row of the store");
    }
    let events = ["events", "--for=plan/my.plan", "--no-headers"];
    wait_until("an event", || platform.cluster.try_kubectl(&events).stdout.contains("InvalidName"));
    // Secrets may have such names.
    platform.wait_for_reason(&["apikey", "back.end"], "KeyReady");
    assert_eq!(platform.status(&["apikey", "back.end"])["secretName"], "back.end");
    ok(platform.cluster.try_kubectl(&["delete", "plan", "my.plan", "--timeout=60s"]));
}

#[test]
#[ignore = "needs Kubernetes"]
fn sources_are_published_and_errors_beyond_the_schema_are_reported() {
    let platform = Platform::start();
    let source = |schedule: &str, chain: &str| {
        format!(
            "
apiVersion: assay.dev/v1alpha1
kind: IntelSource
metadata: {{name: own}}
spec: {{location: /lists/own.csv, format: listings-csv, schedule: '{schedule}'}}
---
apiVersion: assay.dev/v1alpha1
kind: ChainSource
metadata: {{name: {chain}}}
spec: {{chain: {chain}, mode: follow, protocol: rpc, endpoint: 'http://127.0.0.1:1'}}
"
        )
    };
    platform.cluster.apply(&source("99 * * * *", "xmr"));
    platform.wait_for_reason(&["intelsource", "own"], "Invalid");
    platform.wait_for_reason(&["chainsource", "xmr"], "Invalid");
    platform.cluster.apply(&source("17 * * * *", "btc"));
    platform.wait_for_publication(&["intelsource", "own"], "Published");
    platform.wait_for_publication(&["chainsource", "btc"], "Published");
    let stored =
        "SELECT string_agg(kind, ' ' ORDER BY kind) FROM manifests WHERE name IN ('own', 'btc')";
    assert_eq!(platform.postgres.query(stored), "ChainSource IntelSource");
    platform.cluster.kubectl(&["delete", "intelsource,chainsource", "--all"]);
    wait_until("they go", || platform.postgres.query(stored).is_empty());
}

#[test]
#[ignore = "needs Kubernetes"]
fn a_key_is_in_an_allowed_namespace_and_overlaps_its_successor() {
    let platform = Platform::start();
    platform.cluster.apply(&[GOLD, &tenant("acme", "gold")].concat());
    let elsewhere = key("backend", "acme").replace("namespace: default", "namespace: kube-public");
    platform.cluster.apply(&elsewhere);
    let place = ["apikey", "backend", "-n", "kube-public"];
    platform.wait_for_reason(&place, "NamespaceNotAllowed");

    let secret = ["create", "secret", "generic", "taken", "--from-literal=a=b"];
    let _ = platform.cluster.try_kubectl(&secret);
    platform.cluster.apply(&[key("backend", "acme"), key("taken", "acme")].concat());
    platform.wait_for_reason(&["apikey", "taken"], "SecretNotManaged");
    platform.wait_for_reason(&["apikey", "backend"], "KeyReady");
    let first = platform.key("default", "backend");
    let first_id = first.split('_').nth(2).unwrap().to_owned();

    platform.cluster.kubectl(&["annotate", "apikey", "backend", "assay.dev/rotate=monday"]);
    platform.wait_for(&["apikey", "backend"], ".status.previousKeyId", &first_id);
    let second = platform.key("default", "backend");
    assert_ne!(first, second);
    platform.wait_for_answer(&second, 200);
    assert_eq!(platform.check(&first).status, 200, "the old key is good for the overlap");

    let second_id = second.split('_').nth(2).unwrap();
    platform.cluster.kubectl(&["delete", "secret", "backend"]);
    // Secrets are not watched: a rotation that is requested makes another one at once.
    platform.cluster.kubectl(&[
        "annotate",
        "apikey",
        "backend",
        "assay.dev/rotate=t",
        "--overwrite",
    ]);
    platform.wait_for(&["apikey", "backend"], ".status.previousKeyId", second_id);
    let third = platform.key("default", "backend");
    platform.wait_for_answer(&third, 200);
    assert_eq!(platform.check(&second).status, 200);
    let _ = platform.cluster.try_kubectl(&["delete", "secret", "taken"]);
}

#[test]
#[ignore = "needs Kubernetes"]
fn a_deleted_or_emptied_secret_gets_a_new_key_at_the_next_resync() {
    let mut platform = Platform::start();
    platform.replace_operator(&["--resync-seconds=10"]);
    platform.cluster.apply(&[GOLD, &tenant("acme", "gold"), &key("backend", "acme")].concat());
    platform.wait_for_reason(&["apikey", "backend"], "KeyReady");
    let id = |text: &str| text.split('_').nth(2).unwrap().to_owned();

    let first = platform.key("default", "backend");
    platform.cluster.kubectl(&["delete", "secret", "backend"]);
    platform.wait_for(&["apikey", "backend"], ".status.previousKeyId", &id(&first));
    let second = platform.key("default", "backend");
    platform.wait_for_answer(&second, 200);

    let emptied = r#"{"data": {"api-key": null}}"#;
    platform.cluster.kubectl(&["patch", "secret", "backend", "--type=merge", "-p", emptied]);
    platform.wait_for(&["apikey", "backend"], ".status.previousKeyId", &id(&second));
    platform.wait_for_answer(&platform.key("default", "backend"), 200);
}

#[test]
#[ignore = "needs Kubernetes"]
fn a_key_has_the_rights_of_its_current_object() {
    let (platform, text) = Platform::with_key(GOLD, "");
    let patch = |spec: &str| {
        platform.cluster.kubectl(&["patch", "apikey", "backend", "--type=merge", "-p", spec]);
    };
    // After a scope is removed, requests that need it are refused with the same key.
    patch(r#"{"spec": {"scopes": ["usage"]}}"#);
    platform.wait_for_answer(&text, 403);
    patch(r#"{"spec": {"scopes": ["usage", "check"]}}"#);
    platform.wait_for_answer(&text, 200);
    // After its expiry time is set to a past one, the key is refused.
    patch(r#"{"spec": {"expiresAt": "2020-01-01T00:00:00Z"}}"#);
    platform.wait_for_answer(&text, 401);
    platform.wait_for_reason(&["apikey", "backend"], "Expired");
    assert_eq!(platform.key("default", "backend"), text, "no other one is made");
}

#[test]
#[ignore = "needs Kubernetes"]
fn an_object_of_the_sandbox_becomes_a_key_that_reads_no_data() {
    let platform = Platform::start();
    let of_sandbox =
        key("tests", "acme").replace("tenant: acme", "tenant: acme, environment: sandbox");
    platform.cluster.apply(&[GOLD, &tenant("acme", "gold"), &of_sandbox].concat());
    platform.wait_for_reason(&["apikey", "tests"], "KeyReady");
    let text = platform.key("default", "tests");
    assert!(text.starts_with("assay_sandbox_"), "{text}");
    platform.wait_for_answer(&text, 200);
    assert_eq!(platform.check(&text).json()["environment"], "sandbox");
    let shown = platform.cluster.kubectl(&["get", "apikey", "tests"]);
    assert!(shown.contains("ENVIRONMENT") && shown.contains("sandbox"), "{shown}");
    // The successor has the same environment.
    platform.cluster.kubectl(&["annotate", "apikey", "tests", "assay.dev/rotate=monday"]);
    let id = text.split('_').nth(2).unwrap();
    platform.wait_for(&["apikey", "tests"], ".status.previousKeyId", id);
    assert!(platform.key("default", "tests").starts_with("assay_sandbox_"));
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Kubernetes"]
async fn one_folder_of_manifests_works_alike_locally_and_in_a_cluster() {
    let platform = Platform::start();
    let folder = tempfile::tempdir().unwrap();
    let page = [GOLD, &tenant("acme", "gold"), &raised(2000)].concat();
    std::fs::write(folder.path().join("page.yaml"), &page).unwrap();
    let path = folder.path().display().to_string();
    platform.cluster.kubectl(&["apply", "-f", &path]);
    platform.wait_for_reason(&["ratelimit", "more"], "Published");

    let laptop = tempfile::tempdir().unwrap();
    let _ = assay(laptop.path(), ["apply", "-f", &path]).ok();
    let stores: [Box<dyn Store>; 2] = [
        Box::new(SqliteStore::open(laptop.path()).await.unwrap()),
        Box::new(PostgresStore::open(&*platform.postgres.url()).await.unwrap()),
    ];
    let mut said = Vec::new();
    for store in stores {
        let manifests = store.manifests().await.unwrap().manifests;
        let directory = assay_service::manifests::resolve_stored(manifests).unwrap();
        said.push((directory.tenants, directory.plans, directory.policies));
    }
    assert_eq!(said[0], said[1]);
    assert!(said[0].0.contains_key("acme"));
}
