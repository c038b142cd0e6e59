//! The two modes of the operator's rights: in the whole cluster, or in a few namespaces. Each mode has an account in
//! `default`, restricted by the policies of `operator/admission.yaml`.

use std::{collections::BTreeSet, fs};

use assay_tests::Cluster;
use serde_json::{Value, json};

use crate::RIGHTS;

/// Rights of the operator that watches a few namespaces: in its own namespace, and in each watched one.
const NAMESPACED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../operator/rights-namespaced.yaml");
const TENANT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../operator/rights-tenant.yaml");
/// Admission policies about the operator's requests.
const ADMISSION: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../operator/admission.yaml");

/// A mode in which the operator has its rights.
pub(crate) struct Mode {
    /// The account, in `default`.
    pub(crate) account: &'static str,
    /// The files with its rights.
    pub(crate) files: &'static [&'static str],
    /// The flags of the operator.
    pub(crate) flags: &'static [&'static str],
}

/// The mode with rights in all namespaces.
pub(crate) const CLUSTER: Mode = Mode { account: "assay-operator", files: &[RIGHTS], flags: &[] };

/// The mode with rights in `default`, the operator's namespace, and in `payments`, a tenant's.
pub(crate) const NAMESPACES: Mode = Mode {
    account: "scoped-operator",
    files: &[NAMESPACED, TENANT],
    flags: &["--watch-namespaces=payments"],
};

impl Mode {
    /// The account's name as the API server knows it.
    pub(crate) fn user(&self) -> String {
        format!("system:serviceaccount:default:{}", self.account)
    }

    /// The rights that the account is to have: resources with their groups, and verbs.
    pub(crate) fn granted(&self) -> BTreeSet<(String, String)> {
        let texts = |rule: &Value, name: &str| -> Vec<String> {
            serde_json::from_value(rule[name].clone()).unwrap()
        };
        let documents = self.files.iter().flat_map(|file| documents(file, self.account));
        let mut granted = BTreeSet::new();
        for document in documents {
            for rule in document["rules"].as_array().into_iter().flatten() {
                for group in texts(rule, "apiGroups") {
                    for resource in texts(rule, "resources") {
                        for verb in texts(rule, "verbs") {
                            granted.insert((format!("{group}/{resource}"), verb));
                        }
                    }
                }
            }
        }
        granted
    }
}

/// The documents of a file, with the names of an account, whose pods may have the label `team`.
fn documents(file: &str, account: &str) -> Vec<Value> {
    let text = fs::read_to_string(file).unwrap();
    let text = text
        .replace("name: assay-operator", &format!("name: {account}"))
        .replace("policyName: assay-operator", &format!("policyName: {account}"))
        .replace("NAMESPACE:assay-operator", &format!("default:{account}"))
        .replace("expression: '[]'", "expression: '[\"team\"]'");
    serde_saphyr::from_multiple(&text).unwrap()
}

/// Gives an account of `default` the rights of a file in a namespace.
pub(crate) fn grant(cluster: &Cluster, file: &str, account: &str, namespace: &str) {
    grant_to(cluster, file, (account, "default"), namespace);
}

/// Gives an account of the namespace `home` the rights of a file in a namespace.
pub(crate) fn grant_to(
    cluster: &Cluster,
    file: &str,
    (account, home): (&str, &str),
    namespace: &str,
) {
    for mut document in documents(file, account) {
        let kind = document["kind"].as_str().unwrap().to_owned();
        if kind != "ClusterRole" {
            document["metadata"]["namespace"] = namespace.into();
        }
        cluster.apply(&document.to_string());
        if kind.ends_with("Role") {
            let subject = json!({"kind": "ServiceAccount", "name": account, "namespace": home});
            let name = document["metadata"]["name"].clone();
            let mut metadata = document["metadata"].clone();
            metadata["name"] = format!("{}-{home}", name.as_str().unwrap()).into();
            let role = json!({"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": name});
            let binding = json!({
                "apiVersion": "rbac.authorization.k8s.io/v1", "kind": format!("{kind}Binding"),
                "metadata": metadata, "roleRef": role, "subjects": [subject],
            });
            cluster.apply(&binding.to_string());
        }
    }
}

/// Applies the policies to both accounts, and grants the rights in a few namespaces.
pub(crate) fn prepare(cluster: &Cluster) {
    cluster.kubectl(&["create", "namespace", "payments"]);
    grant(cluster, NAMESPACED, NAMESPACES.account, "default");
    for namespace in ["default", "payments"] {
        grant(cluster, TENANT, NAMESPACES.account, namespace);
    }
    for mode in [CLUSTER, NAMESPACES] {
        for document in documents(ADMISSION, mode.account) {
            cluster.apply(&document.to_string());
        }
    }
}
