//! Given the operator's account, then it has exactly the rights of `operator/rights.yaml`.

use crate::{
    cluster,
    modes::{CLUSTER, NAMESPACES},
};

/// True if the operator's account has a right.
fn has_right(cluster: &assay_tests::Cluster, question: &[&str]) -> bool {
    let account = "--as=system:serviceaccount:default:assay-operator";
    let all: Vec<&str> = ["auth", "can-i", account].iter().chain(question).copied().collect();
    cluster.try_kubectl(&all).stdout.trim() == "yes"
}

/// The modes differ only in the namespaces.
#[test]
fn both_modes_grant_the_same_verbs() {
    let (cluster, namespaces) = (CLUSTER.granted(), NAMESPACES.granted());
    let only: Vec<_> = cluster.symmetric_difference(&namespaces).collect();
    assert!(
        only.is_empty(),
        "add to operator/rights-namespaced.yaml or rights-tenant.yaml: {only:?}"
    );
}

#[test]
#[ignore = "needs Kubernetes"]
fn the_operator_may_do_no_more_than_its_work_needs() {
    let cluster = cluster();
    for needed in [
        &["patch", "deployments.apps", "-n", "elsewhere"][..],
        &["create", "jobs.batch", "-n", "elsewhere"],
        &["delete", "ingresses.networking.k8s.io", "-n", "elsewhere"],
        &["patch", "riskservices.assay.dev", "--subresource=status"],
        &["patch", "statefulsets.apps", "-n", "default"],
        &["patch", "persistentvolumeclaims", "-n", "default"],
    ] {
        assert!(has_right(&cluster, needed), "{needed:?}");
    }
    for refused in [
        &["*", "*"][..],
        &["delete", "deployments.apps", "-n", "elsewhere"],
        &["patch", "statefulsets.apps", "-n", "elsewhere"],
        &["patch", "persistentvolumeclaims", "-n", "elsewhere"],
        &["delete", "persistentvolumeclaims"],
        &["delete", "secrets"],
        &["list", "secrets"],
        &["list", "secrets", "-n", "default"],
        &["watch", "secrets", "-n", "default"],
        &["list", "configmaps", "-n", "default"],
        &["delete", "services", "-n", "elsewhere"],
        &["patch", "riskservices.assay.dev"],
        &["delete", "tenants.assay.dev"],
        &["create", "pods"],
        &["create", "pods", "--subresource=exec"],
        &["get", "pods", "--subresource=log"],
        &["create", "clusterrolebindings.rbac.authorization.k8s.io"],
        &["create", "rolebindings.rbac.authorization.k8s.io"],
        &["impersonate", "users"],
        &["create", "serviceaccounts", "--subresource=token"],
        &["get", "nodes"],
    ] {
        assert!(!has_right(&cluster, refused), "{refused:?}");
    }
    let rights = std::fs::read_to_string(crate::RIGHTS).unwrap();
    assert!(!rights.contains('*'), "no wildcards");
}
