//! `Installation`: the record of an installation of Assay in the cluster.

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// An installation of Assay in the cluster, under its instance name. The operator creates the record at its first
/// start; objects belong to the installation that their label `assay.dev/instance` names.
#[derive(CustomResource, Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "assay.dev",
    version = "v1alpha1",
    kind = "Installation",
    plural = "installations",
    shortname = "inst",
    category = "assay",
    doc = "An installation of Assay in the cluster, under its instance name. The operator creates it at its first start; objects belong to the installation that their label `assay.dev/instance` names.",
    derive = "PartialEq",
    printcolumn(name = "Namespace", type_ = "string", json_path = ".spec.namespace"),
    printcolumn(name = "Unlabelled", type_ = "boolean", json_path = ".spec.ownsUnlabelled")
)]
#[serde(rename_all = "camelCase")]
pub struct InstallationSpec {
    /// Namespace of the installation's operator. An operator in another namespace does not take over the instance name.
    #[schemars(length(min = 1, max = 63))]
    pub namespace: String,
    /// True if objects without the label `assay.dev/instance` belong to this installation: the oldest installation of
    /// the cluster.
    pub owns_unlabelled: bool,
}
