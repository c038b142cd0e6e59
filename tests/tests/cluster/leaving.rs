//! Given a tenant with a key, when the tenant is deleted or no longer lists a namespace, then the key is refused
//! immediately; and an accidental deletion can be undone.

use assay_tests::assay;

use crate::{
    pages::{GOLD, tenant},
    platform::{Platform, wait_until},
};

const KEY: [&str; 2] = ["apikey", "backend"];

/// Number of usage records of `acme`.
fn usage(platform: &Platform) -> String {
    platform.postgres.query("SELECT count(*) FROM usage WHERE tenant = 'acme'")
}

/// A platform with a tenant, and the tenant's key, which was used.
fn platform_with_used_key(plan: &str) -> (Platform, String) {
    let (platform, text) = Platform::with_key(plan, "");
    wait_until("its use is recorded", || usage(&platform) != "0");
    (platform, text)
}

fn delete_tenant(platform: &Platform) {
    platform.cluster.kubectl(&["delete", "tenant", "acme", "--timeout=60s"]);
}

#[test]
#[ignore = "needs Kubernetes"]
fn a_deleted_tenant_can_come_back_with_its_keys_while_its_usage_is_kept() {
    let (platform, text) = platform_with_used_key(GOLD);
    let recorded = usage(&platform);
    delete_tenant(&platform);
    platform.wait_for_answer(&text, 401);
    platform.wait_for_reason(&KEY, "TenantNotFound");
    let words = platform.status(&KEY)["conditions"][0]["message"].as_str().unwrap().to_owned();
    assert!(words.contains("recreate it before"), "{words}");
    // The retention of the deleted plan is known without the plan.
    platform.cluster.kubectl(&["delete", "plan", "gold", "--timeout=60s"]);
    let folder = tempfile::tempdir().unwrap();
    platform.postgres.connect_directory(folder.path());
    let _ = assay(folder.path(), ["purge"]).ok();
    assert_eq!(usage(&platform), recorded);

    platform.cluster.apply(&[GOLD, &tenant("acme", "gold")].concat());
    platform.wait_for_reason(&KEY, "KeyReady");
    platform.wait_for_answer(&text, 200);
    assert_eq!(platform.key("default", "backend"), text, "no other key is made");
    assert_eq!(platform.postgres.query("SELECT count(*) FROM api_keys"), "1");
    let left = "SELECT count(*) FROM manifests WHERE kind = 'FormerTenant'";
    assert_eq!(platform.postgres.query(left), "0", "it is here, and nothing says otherwise");
}

#[test]
#[ignore = "needs Kubernetes"]
fn a_tenant_created_again_after_its_data_was_removed_is_a_new_one() {
    let forgetful =
        GOLD.replace("apiAccess: true", "apiAccess: true\n  retention: {checks: 0s, usage: 0s}");
    let (platform, first) = platform_with_used_key(&forgetful);
    delete_tenant(&platform);
    platform.wait_for_answer(&first, 401);
    let good = "SELECT count(*) FROM api_keys WHERE revoked_at IS NULL";
    wait_until("its keys are revoked", || platform.postgres.query(good) == "0");
    // What it was charged last is in the database, not on its way there.
    let pending = r#"assay_records_pending{record="usage"}"#;
    wait_until("its charges are written", || platform.server.metric::<u64>(pending) == 0);
    let folder = tempfile::tempdir().unwrap();
    platform.postgres.connect_directory(folder.path());
    let purged = assay(folder.path(), ["purge"]).ok().stdout;
    assert!(purged.contains("acme: deleted"), "{purged}");
    assert_eq!(usage(&platform), "0");

    platform.cluster.apply(&tenant("acme", "gold"));
    platform.wait_for_reason(&KEY, "KeyReady");
    let second = platform.key("default", "backend");
    assert_ne!(first, second);
    platform.wait_for_answer(&second, 200);
    assert_eq!(platform.check(&first).status, 401);
}

#[test]
#[ignore = "needs Kubernetes"]
fn a_namespace_removed_from_a_tenant_suspends_its_keys_until_it_returns() {
    let (platform, text) = platform_with_used_key(GOLD);
    platform.cluster.apply(&tenant("acme", "gold").replace("[default]", "[elsewhere]"));
    platform.wait_for_answer(&text, 401);
    platform.wait_for_reason(&KEY, "NamespaceNotAllowed");
    let conditions = platform.status(&KEY)["conditions"].clone();
    let words = conditions[0]["message"].as_str().unwrap();
    assert!(words.contains("add the namespace to `spec.namespaces`"), "{words}");
    assert_eq!(conditions[1]["type"], "Stalled");
    let revoked = "SELECT count(*) FROM api_keys WHERE revoked_at IS NOT NULL";
    assert_eq!(platform.postgres.query(revoked), "0", "that could not be taken back");

    platform.cluster.apply(&tenant("acme", "gold"));
    platform.wait_for_reason(&KEY, "KeyReady");
    platform.wait_for_answer(&text, 200);
    assert_eq!(platform.key("default", "backend"), text, "no other key is made");
    assert_eq!(platform.status(&KEY)["keyId"], text.split('_').nth(2).unwrap());
}
