//! The pods of an object in a cluster: resources, nodes, environment and volumes. One type for the servers of the API,
//! imports and chain servers.
//!
//! The parts have the names and forms of Kubernetes. There is none for networks, processes or folders of the node,
//! privileges, users or tokens: pods keep to the pod security standard `restricted`.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    pod_labels::{RESERVED_LABEL, RESERVED_LABELS},
    pod_nodes::{AffinitySpec, TolerationSpec, TopologySpreadSpec},
    pod_volumes::{EnvironmentSource, EnvironmentVariable, PodVolume, PodVolumeMount},
};
use crate::{ResourceQuantity, schema::field_rule};

/// The most entries of each list and map of a pod.
pub(crate) const MOST_ENTRIES: usize = 16;
/// The beginnings of annotations that the operator writes, or that switch security profiles off.
pub(crate) const RESERVED_ANNOTATIONS: &[&str] = &[
    "assay.dev/",
    "container.apparmor.security.beta.kubernetes.io/",
    "seccomp.security.alpha.kubernetes.io/",
];
/// The rule about the names of annotations.
pub(crate) const RESERVED_ANNOTATION: &str =
    "annotations of `assay.dev/`, and those that switch security profiles off, are not allowed";

/// The pods of an object in a cluster. Changed pods are replaced as by another image; finished Jobs stay as they are.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[schemars(extend("x-kubernetes-validations" = [
    field_rule(".labels", &free_names("labels", RESERVED_LABELS), RESERVED_LABEL),
    field_rule(
        ".annotations",
        &free_names("annotations", RESERVED_ANNOTATIONS),
        RESERVED_ANNOTATION,
    ),
]))]
pub struct PodsSpec {
    /// CPU and memory of each pod.
    pub resources: ResourcesSpec,
    /// Labels of the nodes that may run the pods. Default: any node.
    #[schemars(extend("maxProperties" = MOST_ENTRIES))]
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub node_selector: BTreeMap<String, String>,
    /// Taints of nodes that the pods tolerate. Default: none.
    #[schemars(length(max = MOST_ENTRIES))]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tolerations: Vec<TolerationSpec>,
    /// Nodes and other pods near which the pods must or should run, or must or should not. Unset: any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub affinity: Option<AffinitySpec>,
    /// Spread of servers over nodes or zones. Default: over zones and nodes, as far as
    /// possible. Jobs are not spread.
    #[schemars(length(max = MOST_ENTRIES))]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub topology_spread_constraints: Vec<TopologySpreadSpec>,
    /// Name of the `PriorityClass` of the pods. Unset: the cluster's default class.
    #[schemars(length(min = 1, max = 253))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub priority_class_name: Option<String>,
    /// Labels of the pods, besides those of the operator. The installation must permit their names
    /// (`operator.allowedPodLabels` of the chart), because Services and policies of other applications could select the
    /// pods by them. Default: none.
    #[schemars(extend("maxProperties" = MOST_ENTRIES))]
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    /// Annotations of the pods. Default: none.
    #[schemars(extend("maxProperties" = MOST_ENTRIES))]
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub annotations: BTreeMap<String, String>,
    /// Environment variables of the container, besides those of the operator, which come first. Default: none.
    #[schemars(length(max = MOST_ENTRIES))]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub env: Vec<EnvironmentVariable>,
    /// `ConfigMaps` and Secrets whose keys are environment variables of the container. Default: none.
    #[schemars(length(max = MOST_ENTRIES))]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub env_from: Vec<EnvironmentSource>,
    /// Volumes of the pods, besides those of the operator. Default: none.
    #[schemars(length(max = MOST_ENTRIES))]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub volumes: Vec<PodVolume>,
    /// Folders of the container at which `volumes` are mounted. Default: none.
    #[schemars(length(max = MOST_ENTRIES))]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub volume_mounts: Vec<PodVolumeMount>,
}

impl PodsSpec {
    /// True if the pods are as the operator creates them.
    #[must_use]
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// CPU and memory of a pod.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[schemars(extend("x-kubernetes-validations" = [at_least("cpu"), at_least("memory")]))]
pub struct ResourcesSpec {
    /// CPU and memory that the node reserves for the pod. Default: `250m` and `1Gi` for a chain server, `250m` and
    /// `512Mi` for a server of the API, `100m` and `256Mi` for an import; or the limits if these are smaller.
    pub requests: ResourceQuantities,
    /// Most CPU and memory that the pod may use. Cached pages of a graph count as memory of the pod; the kernel
    /// reclaims them when memory is short. Default: no limits.
    pub limits: ResourceQuantities,
}

impl ResourcesSpec {
    /// True if each limit is at least as large as its request.
    pub(crate) fn is_consistent(&self) -> bool {
        let holds = |limit: Option<ResourceQuantity>, request: Option<ResourceQuantity>| match (
            limit, request,
        ) {
            (Some(limit), Some(request)) => limit.covers(request),
            _ => true,
        };
        holds(self.limits.cpu, self.requests.cpu) && holds(self.limits.memory, self.requests.memory)
    }
}

/// A quantity of CPU and a quantity of memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct ResourceQuantities {
    /// CPU, such as `500m` or `2`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu: Option<ResourceQuantity>,
    /// Memory, such as `8Gi`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory: Option<ResourceQuantity>,
}

/// The rule that no name in a map is reserved.
fn free_names(map: &str, reserved: &[&str]) -> String {
    let free = reserved.iter().map(|start| format!("!name.startsWith('{start}')"));
    let free = free.collect::<Vec<_>>().join(" && ");
    format!("!has(self.{map}) || self.{map}.all(name, {free})")
}

/// The rule that a limit covers the request.
fn at_least(resource: &str) -> serde_json::Value {
    let [limit, request] = ["limits", "requests"].map(|part| format!("self.{part}.{resource}"));
    let holds = format!(
        "!has({limit}) || !has({request}) || !isQuantity({limit}) || !isQuantity({request}) \
         || quantity({limit}).compareTo(quantity({request})) >= 0"
    );
    field_rule(&format!(".limits.{resource}"), &holds, "must not be smaller than the request")
}
