//! `assay get`, `describe` and `delete`: what they print is what `assay apply` takes, and nothing that is in use is deleted.

use std::fs;

use assay_tests::{Server, assay, tenant};
use serde_json::Value;

use crate::support::wait_until;

#[test]
fn printed_manifests_are_applied_unchanged() {
    // Given an installation with a tenant...
    let directory = tempfile::tempdir().unwrap();
    let run = |arguments: &[&str]| assay(directory.path(), arguments);
    fs::write(directory.path().join("acme.yaml"), tenant("acme", "business")).unwrap();
    let _ = run(&["apply", "-f", "acme.yaml"]).ok();
    // ...then all of it is printed in each form, one kind or one manifest of it as well...
    let names = run(&["get", "-o", "name"]).ok().stdout;
    for name in ["Plan business", "RiskPolicy default", "Tenant acme", "IntelSource ofac-sdn"] {
        assert!(names.lines().any(|line| line == name), "{names}");
    }
    let of_kind = run(&["get", "plans", "-o", "name"]).ok().stdout;
    assert!(of_kind.lines().all(|line| line.starts_with("Plan ")), "{of_kind}");
    let json: Value = run(&["get", "tenant", "acme", "-o", "json"]).ok().json();
    assert_eq!(json[0]["metadata"]["name"], "acme", "{json}");
    let table = run(&["get"]).ok().stdout;
    assert!(table.contains("USED BY") && table.contains("valid"), "{table}");
    // ...and applied again, it changes nothing.
    fs::write(directory.path().join("all.yaml"), run(&["get", "-o", "yaml"]).ok().stdout).unwrap();
    let applied = run(&["apply", "-f", "all.yaml"]).ok().stdout;
    assert!(applied.lines().count() >= 4, "{applied}");
    assert!(applied.lines().all(|line| line.ends_with(" unchanged")), "{applied}");
    let described = run(&["describe", "plan", "business"]).ok().stdout;
    assert!(described.contains("used by:\n  Tenant acme"), "{described}");
    // What is not there is told, with what is.
    let unknown = run(&["get", "tenant", "acne"]);
    assert_eq!(unknown.code, 3, "{unknown:?}");
    assert!(unknown.stderr.contains("there are acme"), "{}", unknown.stderr);
    let unknown = run(&["get", "plants"]);
    assert!(unknown.code == 2 && unknown.stderr.contains("one of Plan"), "{unknown:?}");
}

#[test]
fn a_plan_in_use_stays_and_a_deleted_tenant_is_refused_until_it_comes_back() {
    // Given a server with a tenant...
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("acme.yaml"), tenant("acme", "business")).unwrap();
    let _ = assay(directory.path(), ["apply", "-f", "acme.yaml"]).ok();
    let key = assay(directory.path(), ["keys", "create", "--tenant", "acme"]).ok().stdout;
    let server = Server::start(std::sync::Arc::new(directory), &[]);
    let caller = server.caller(key.trim());
    let status = || caller.get("/api/v1/sources").status;
    assert_eq!(status(), 200);
    // ...then its plan is not deleted...
    let refused = server.assay(&["delete", "plan", "business"]);
    assert_eq!(refused.code, 4, "{refused:?}");
    assert!(refused.stderr.contains("Tenant acme refer to it"), "{}", refused.stderr);
    // ...and the tenant loses access when it is, until it is applied again.
    let deleted = server.assay(&["delete", "tenants", "acme"]).ok().stdout;
    assert_eq!(deleted, "Tenant acme deleted\n");
    wait_until("its key is refused", || [401, 403].contains(&status()));
    let _ = server.assay(&["apply", "-f", "acme.yaml"]).ok();
    wait_until("its key is accepted", || status() == 200);
    assert!(!server.assay(&["get", "-o", "name"]).ok().stdout.contains("FormerTenant"));
    let _ = server.assay(&["delete", "tenant", "acme"]).ok();
    let _ = server.assay(&["delete", "plan", "business"]).ok();
}
