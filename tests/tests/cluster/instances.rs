//! Given two installations in a cluster, then each has its own objects, keys and database; and a key of a deleted
//! object is refused, even if no operator ran at its deletion.

use std::sync::Arc;

use assay_tests::{Operator, Postgres, Server, migrated_database};

use crate::{
    RIGHTS,
    modes::grant_to,
    pages::{GOLD, key, raised, tenant},
    platform::{ADDRESS, Platform, wait_until},
};

const KEY: [&str; 2] = ["apikey", "backend"];
const REVOKED: &str = "SELECT count(*) FROM api_keys WHERE revoked_at IS NOT NULL";
/// Manifests of the second installation.
const SILVER: &str = "
apiVersion: assay.dev/v1alpha1
kind: Plan
metadata: {name: silver, labels: {assay.dev/instance: second}}
spec:
  displayName: Silver
  apiAccess: true
  limits:
    - {name: daily, requests: 1000, window: 1d, counts: checks}
---
apiVersion: assay.dev/v1alpha1
kind: RiskPolicy
metadata: {name: strict, labels: {assay.dev/instance: second}}
spec: {thresholds: {review: 60}}
";

/// The second installation, in a namespace of its own.
struct SecondInstallation {
    operator: Operator,
    server: Server,
    postgres: Postgres,
}

impl SecondInstallation {
    fn start(platform: &Platform, flags: &[&str]) -> Self {
        let postgres = migrated_database();
        let directory = Arc::new(tempfile::tempdir().unwrap());
        postgres.connect_directory(directory.path());
        let server = Server::start(directory, &[]);
        let flags = [&["--instance=second"], flags].concat();
        let operator = operator_in_second(platform, &postgres, &flags);
        operator.wait_until_it_works();
        Self { operator, server, postgres }
    }

    fn wait_for_answer(&self, key: &str, status: u16) {
        let what = format!("the second API answers {status}: {}", self.operator.log());
        wait_until(&what, || self.answer(key) == status);
    }

    fn answer(&self, key: &str) -> u16 {
        self.server.caller(key).check("btc", ADDRESS).status
    }
}

/// An operator in the namespace `second`.
fn operator_in_second(platform: &Platform, postgres: &Postgres, flags: &[&str]) -> Operator {
    let cluster = &platform.cluster;
    let _ = cluster.try_kubectl(&["create", "namespace", "second"]);
    grant_to(cluster, RIGHTS, ("assay-operator", "second"), "second");
    let _ = cluster.try_kubectl(&["delete", "lease", "assay-operator", "-n", "second"]);
    Operator::start_in(cluster, "second", &postgres.url(), "beside", flags)
}

/// Starts the operator of the first installation again.
fn restart(platform: &mut Platform, flags: &[&str]) {
    platform.operator.kill();
    let (cluster, url) = (&platform.cluster, platform.postgres.url());
    platform.operator = Operator::start_in(cluster, "default", &url, "first", flags);
    platform.operator.wait_until_it_works();
}

/// A manifest with the label of an installation.
fn of_instance(manifest: &str, name: &str) -> String {
    manifest
        .replace("metadata: {", &format!("metadata: {{labels: {{assay.dev/instance: {name}}}, "))
}

fn stored(postgres: &Postgres, name: &str) -> String {
    postgres.query(&format!("SELECT count(*) FROM manifests WHERE name = '{name}'"))
}

#[test]
#[ignore = "needs Kubernetes"]
fn two_installations_share_a_cluster_and_no_object() {
    let platform = Platform::start();
    let second = SecondInstallation::start(&platform, &[]);
    // Objects without a label belong to the installation that was first.
    platform.cluster.apply(&[GOLD, &tenant("acme", "gold"), &key("backend", "acme")].concat());
    let beta = tenant("beta", "silver").replace("policy: careful", "policy: strict");
    let theirs = [of_instance(&beta, "second"), of_instance(&key("theirs", "beta"), "second")];
    platform.cluster.apply(&[SILVER, &theirs.concat()].concat());
    platform.wait_for_reason(&KEY, "KeyReady");
    platform.wait_for_reason(&["apikey", "theirs"], "KeyReady");
    let (ours, theirs) = (platform.key("default", "backend"), platform.key("default", "theirs"));
    platform.wait_for_answer(&ours, 200);
    second.wait_for_answer(&theirs, 200);
    assert_eq!(platform.check(&theirs).status, 401);
    assert_eq!(second.answer(&ours), 401);
    for (name, count) in [("gold", ("1", "0")), ("acme", ("1", "0")), ("silver", ("0", "1"))] {
        let found = (stored(&platform.postgres, name), stored(&second.postgres, name));
        assert_eq!((&*found.0, &*found.1), count, "{name}");
    }
    let records: Vec<(String, String)> = platform
        .cluster
        .list("installations", "", "")
        .iter()
        .map(|record| (record["metadata"]["name"].to_string(), record["spec"].to_string()))
        .collect();
    let spec = |namespace: &str, first: bool| {
        format!("{{\"namespace\":\"{namespace}\",\"ownsUnlabelled\":{first}}}")
    };
    assert!(records.contains(&("\"assay\"".into(), spec("default", true))), "{records:?}");
    assert!(records.contains(&("\"second\"".into(), spec("second", false))), "{records:?}");

    // A reference across installations names the other one.
    platform.cluster.apply(&of_instance(&tenant("lost", "gold"), "second"));
    platform.wait_for_reason(&["tenant", "lost"], "PlanNotFound");
    let words = platform.message(&["tenant", "lost"]);
    assert!(words.contains("Plan `gold` belongs to the first installation"), "{words}");
    platform.cluster.apply(&key("stray", "beta"));
    platform.wait_for_reason(&["apikey", "stray"], "TenantNotFound");
    let words = platform.message(&["apikey", "stray"]);
    assert!(words.contains("Tenant `beta` belongs to the instance `second`"), "{words}");

    // What the operator creates names the installation.
    let secret = ["secret", "theirs"];
    let label = platform.cluster.find(&secret).unwrap()["metadata"]["labels"].take();
    assert_eq!(label["assay.dev/instance"], "second");
}

#[test]
#[ignore = "needs Kubernetes"]
fn an_object_moves_to_the_installation_that_its_label_names() {
    let spare = GOLD.replace("name: gold", "name: spare").replace("name: careful", "name: loose");
    let plans = [GOLD, "---", &spare].concat();
    let (platform, text) = Platform::with_key(&plans, &raised(7));
    let second = SecondInstallation::start(&platform, &[]);

    let label = |object: &[&str]| {
        let words = ["label", "--overwrite"].iter().chain(object);
        let words: Vec<&str> = words.copied().chain(["assay.dev/instance=second"]).collect();
        platform.cluster.kubectl(&words);
    };
    label(&["plan", "spare"]);
    wait_until("the plan moves", || {
        (&*stored(&platform.postgres, "spare"), &*stored(&second.postgres, "spare")) == ("0", "1")
    });
    platform.wait_for_reason(&["plan", "spare"], "Published");
    platform.wait_for(&["plan", "spare"], ".metadata.finalizers[0]", "assay.dev/store");
    // A plan that a tenant needs stays in force where it was.
    label(&["plan", "gold"]);
    wait_until("it is published", || stored(&second.postgres, "gold") == "1");
    assert_eq!(stored(&platform.postgres, "gold"), "1");
    assert_eq!(platform.check(&text).status, 200);

    label(&KEY);
    platform.wait_for_answer(&text, 401);
    assert_eq!(platform.postgres.query(REVOKED), "1");
    for object in [["riskpolicy", "careful"], ["ratelimit", "more"], ["tenant", "acme"]] {
        label(&object);
    }
    platform.wait_for_reason(&KEY, "KeyReady");
    let text = platform.key("default", "backend");
    second.wait_for_answer(&text, 200);
    wait_until("nothing is left of it", || {
        ["gold", "careful", "more"].iter().all(|name| stored(&platform.postgres, name) == "0")
    });
}

#[test]
#[ignore = "needs Kubernetes"]
fn an_installation_that_would_share_is_refused_and_writes_nothing() {
    let platform = Platform::start();
    platform.cluster.apply(&[GOLD, &tenant("acme", "gold")].concat());
    platform.wait_for_reason(&["tenant", "acme"], "Published");
    let other = migrated_database();
    let same_namespace = || {
        let (cluster, url) = (&platform.cluster, other.url());
        Operator::start_in(cluster, "default", &url, "another", &["--instance=another"])
    };
    let cases: [(&str, &dyn Fn() -> Operator); 3] = [
        ("the instance name `assay` belongs to the installation in namespace `default`", &|| {
            operator_in_second(&platform, &other, &[])
        }),
        (
            "the database belongs to the instance `assay`, and this operator is the instance `second`",
            &|| operator_in_second(&platform, &platform.postgres, &["--instance=second"]),
        ),
        ("the namespace `default` belongs to the instance `assay`", &same_namespace),
    ];
    for (words, start) in cases {
        let operator = start();
        wait_until(&format!("{words}: {}", operator.log()), || operator.log().contains(words));
        assert!(operator.log().contains("set `--instance` (the chart's value `instance`)"));
        wait_until("it tries again, with the same result", || {
            operator.log().matches(words).count() > 1
        });
        assert!(!operator.is_ready(), "{}", operator.log());
        assert!(!operator.metrics().contains("assay_operator_writes_total{"), "{words}");
    }
    assert_eq!(stored(&other, "gold"), "0");
    assert_eq!(other.query("SELECT count(*) FROM installation WHERE instance IS NULL"), "1");
}

/// Two releases have separate stores, and one operator does not run when a key is deleted.
#[test]
#[ignore = "needs Kubernetes"]
fn a_key_deleted_while_its_operator_is_down_is_refused_on_its_return() {
    let mut platform = Platform::start();
    let mut second = SecondInstallation::start(&platform, &["--resync-seconds=2"]);
    let beta = tenant("beta", "silver").replace("policy: careful", "policy: strict");
    let theirs = [of_instance(&beta, "second"), of_instance(&key("theirs", "beta"), "second")];
    let ours = [GOLD, &tenant("acme", "gold"), &key("backend", "acme"), &key("kept", "acme")];
    platform.cluster.apply(&[&ours.concat(), "---", SILVER, &theirs.concat()].concat());
    let names = ["backend", "kept", "theirs"];
    let [backend, kept, theirs] = names.map(|name| {
        platform.wait_for_reason(&["apikey", name], "KeyReady");
        platform.key("default", name)
    });
    platform.wait_for_answer(&backend, 200);
    platform.wait_for_answer(&kept, 200);
    second.wait_for_answer(&theirs, 200);
    let folder = tempfile::tempdir().unwrap();
    platform.postgres.connect_directory(folder.path());
    let _ = assay_tests::assay(
        folder.path(),
        ["keys", "create", "--tenant", "acme", "--name", "by hand"],
    )
    .ok();

    // While the other operator runs, the key is refused by the API of its installation.
    second.operator.kill();
    platform.cluster.kubectl(&["delete", "apikey", "backend", "theirs", "--timeout=60s"]);
    platform.wait_for_answer(&backend, 401);
    wait_until("it is revoked", || platform.postgres.query(REVOKED) == "1");
    assert_eq!(platform.check(&theirs).status, 401, "it never was a key of the first one");

    // When its own operator returns, it refuses the key at once, and revokes it when its object stays away.
    let url = second.postgres.url();
    let flags = ["--instance=second", "--resync-seconds=2"];
    second.operator = Operator::start_in(&platform.cluster, "second", &url, "beside", &flags);
    second.wait_for_answer(&theirs, 401);
    wait_until("it is revoked", || second.postgres.query(REVOKED) == "1");
    assert_eq!(platform.check(&kept).status, 200);

    // And so does the first; keys by hand and those whose objects exist are left alone.
    platform.operator.kill();
    platform.cluster.kubectl(&["delete", "apikey", "kept", "--timeout=60s"]);
    platform.cluster.apply(&key("later", "acme"));
    restart(&mut platform, &["--resync-seconds=1"]);
    platform.wait_for_answer(&kept, 401);
    wait_until("it is revoked", || platform.postgres.query(REVOKED) == "2");
    platform.wait_for_reason(&["apikey", "later"], "KeyReady");
    let active = "SELECT string_agg(name, ', ' ORDER BY name) FROM api_keys
                  WHERE revoked_at IS NULL AND expires_at IS NULL";
    assert_eq!(platform.postgres.query(active), "ApiKey default/later, by hand");
}

#[test]
#[ignore = "needs Kubernetes"]
fn a_key_whose_object_is_absent_for_a_while_is_valid_again_with_it() {
    let (mut platform, text) = Platform::with_key(GOLD, "");
    // As in a cluster that is being restored: the Secret is there before the object.
    platform.operator.kill();
    platform.cluster.kubectl(&["delete", "apikey", "backend", "--cascade=orphan"]);
    restart(&mut platform, &[]);
    platform.wait_for_answer(&text, 401);
    assert_eq!(platform.postgres.query(REVOKED), "0", "that could not be undone");
    platform.cluster.apply(&key("backend", "acme"));
    platform.wait_for_reason(&KEY, "KeyReady");
    platform.wait_for_answer(&text, 200);
    assert_eq!(platform.key("default", "backend"), text, "no other key is made");
    assert_eq!(platform.postgres.query("SELECT count(*) FROM api_keys"), "1");
}

#[test]
#[ignore = "needs Kubernetes"]
fn a_tenant_that_is_gone_by_force_is_refused_and_can_come_back() {
    let (mut platform, text) = Platform::with_key(GOLD, &raised(7));
    platform.wait_for_reason(&["ratelimit", "more"], "Published");
    platform.operator.kill();
    for object in ["tenant/acme", "ratelimit/more"] {
        let none = r#"{"metadata":{"finalizers":null}}"#;
        platform.cluster.kubectl(&["patch", object, "--type=merge", "-p", none]);
        platform.cluster.kubectl(&["delete", object]);
    }
    restart(&mut platform, &["--resync-seconds=2"]);
    platform.wait_for_answer(&text, 401);
    platform.wait_for_reason(&KEY, "TenantNotFound");
    assert_eq!(stored(&platform.postgres, "more"), "0");
    platform.cluster.apply(&tenant("acme", "gold"));
    platform.wait_for_answer(&text, 200);
}

#[test]
#[ignore = "needs Kubernetes"]
fn a_namespace_with_keys_can_be_deleted_without_an_operator() {
    let mut platform = Platform::start();
    let leaving = tenant("acme", "gold").replace("[default]", "[default, leaving]");
    let there = key("backend", "acme").replace("namespace: default", "namespace: leaving");
    let create = || platform.cluster.kubectl(&["create", "namespace", "leaving"]);
    create();
    platform.cluster.apply(&[GOLD, &leaving, &there].concat());
    let place = ["apikey", "backend", "-n", "leaving"];
    platform.wait_for_reason(&place, "KeyReady");
    let first = platform.key("leaving", "backend");
    platform.wait_for_answer(&first, 200);

    platform.operator.kill();
    platform.cluster.kubectl(&["delete", "namespace", "leaving", "--timeout=60s"]);
    let create = || platform.cluster.kubectl(&["create", "namespace", "leaving"]);
    create();
    // A new object of the same name is another one: the key of the first one ends with it.
    platform.cluster.apply(&there);
    restart(&mut platform, &[]);
    platform.wait_for_reason(&place, "KeyReady");
    let second = platform.key("leaving", "backend");
    assert_ne!(first, second);
    platform.wait_for_answer(&second, 200);
    platform.wait_for_answer(&first, 401);
    platform.cluster.kubectl(&["delete", "namespace", "leaving", "--timeout=60s"]);
    platform.wait_for_answer(&second, 401);
}

/// State of earlier releases: keys with a finalizer, and no instance name.
#[test]
#[ignore = "needs Kubernetes"]
fn an_upgrade_from_a_release_without_instances_keeps_tenants_and_keys() {
    let (mut platform, text) = Platform::with_key(GOLD, "");
    platform.operator.kill();
    let finalizer = r#"{"metadata":{"finalizers":["assay.dev/store"]}}"#;
    platform.cluster.kubectl(&["patch", "apikey", "backend", "--type=merge", "-p", finalizer]);
    platform.cluster.kubectl(&["delete", "installation", "--all"]);
    let _ = platform.postgres.query("UPDATE installation SET instance = NULL RETURNING id");
    let keys = "SELECT string_agg(id || hash::text, ' ') FROM api_keys";
    let before = platform.postgres.query(keys);

    restart(&mut platform, &[]);
    platform.wait_for(&KEY, ".metadata.finalizers", "");
    platform.wait_for_reason(&KEY, "KeyReady");
    assert_eq!(platform.check(&text).status, 200);
    assert_eq!(platform.postgres.query(keys), before);
    assert_eq!(platform.postgres.query("SELECT instance FROM installation"), "assay");
    platform.wait_for(&["installation", "assay"], ".spec.ownsUnlabelled", "true");
    platform.wait_for(&["installation", "assay"], ".spec.namespace", "default");
}
