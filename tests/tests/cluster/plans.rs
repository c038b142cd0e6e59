//! Given the policy about plans, when people delete a plan that tenants are on, then the API server refuses it.

use assay_tests::Cluster;

use crate::{
    pages::{GOLD, tenant},
    platform::{Platform, wait_until},
};

const POLICY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../operator/admission-plans.yaml");
const PLAN: [&str; 2] = ["plan", "gold"];

/// The policy in force, until it is dropped: other tests delete plans in use.
struct Policy<'a>(&'a Cluster);

impl<'a> Policy<'a> {
    fn apply(cluster: &'a Cluster) -> Self {
        cluster.kubectl(&["apply", "-f", POLICY]);
        Self(cluster)
    }
}

impl Drop for Policy<'_> {
    fn drop(&mut self) {
        let _ = self.0.try_kubectl(&["delete", "-f", POLICY]);
    }
}

#[test]
#[ignore = "needs Kubernetes"]
fn a_plan_in_use_is_not_deleted() {
    // Given a plan with a tenant,
    let platform = Platform::start();
    let _policy = Policy::apply(&platform.cluster);
    platform.cluster.apply(&[GOLD, &tenant("acme", "gold")].concat());
    platform.wait_for(&PLAN, ".status.tenants", "1");
    // when somebody deletes it, then the API server says why not,
    let delete = |more: &[&str]| {
        platform.cluster.try_kubectl(&[&["delete", "plan", "gold", "--wait=false"], more].concat())
    };
    wait_until("the policy is in force", || {
        delete(&["--dry-run=server"]).stderr.contains("tenants are on the plan: name another plan")
    });
    let refused = delete(&[]);
    assert_ne!(refused.code, 0, "{}", refused.stdout);
    assert!(refused.stderr.contains("try again in a few seconds"), "{}", refused.stderr);
    assert_eq!(platform.cluster.field(&PLAN, ".metadata.deletionTimestamp"), "");
    // deletes one of another installation, whose own policy is about it,
    let plan = GOLD.split("---").next().unwrap_or_default();
    let labels = "{name: other, labels: {assay.dev/instance: second}}";
    platform.cluster.apply(&plan.replace("{name: gold}", labels));
    let (other, status) = (["plan", "other"], "{\"status\": {\"tenants\": 1}}");
    let patch = ["patch", "--subresource=status", "--type=merge", "-p", status];
    platform.cluster.kubectl(&[&patch[..], &other].concat());
    platform.cluster.kubectl(&["delete", "plan", "other"]);
    // and deletes the first once no tenant is on it.
    platform.cluster.kubectl(&["delete", "tenant", "acme"]);
    platform.wait_for(&PLAN, ".status.tenants", "0");
    let deleted = delete(&[]);
    assert_eq!(deleted.code, 0, "{}", deleted.stderr);
    wait_until("the plan is gone", || !platform.cluster.has(&PLAN));
}
