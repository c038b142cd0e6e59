//! The chain servers of a followed chain in a cluster: their volumes and their pods.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{ResourceQuantity, schema::field_rule};

/// The smallest volume.
pub(crate) const SMALLEST_VOLUME: ResourceQuantity = ResourceQuantity::gibibytes(1);
/// The most replicas of a chain.
pub(crate) const MOST_REPLICAS: u8 = 16;
/// The most labels in a node selector, and the most tolerations.
pub(crate) const MOST_ENTRIES: usize = 16;

/// The volume of each chain server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[schemars(extend("x-kubernetes-validations" = [
    field_rule(
        ".size",
        "!isQuantity(self.size) || quantity(self.size).compareTo(quantity('1Gi')) >= 0",
        "must be at least 1Gi",
    ),
    field_rule(
        ".size",
        "!isQuantity(self.size) || !isQuantity(oldSelf.size) \
            || quantity(self.size).compareTo(quantity(oldSelf.size)) >= 0",
        "a volume can grow and never shrink: make another ChainSource for smaller volumes",
    ),
    field_rule(
        ".storageClass",
        "!has(self.storageClass) || self.storageClass.matches('^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$')",
        "use lowercase letters, digits, hyphens and dots, with a letter or digit first and last",
    ),
    field_rule(
        ".storageClass",
        "has(self.storageClass) == has(oldSelf.storageClass) \
            && (!has(self.storageClass) || self.storageClass == oldSelf.storageClass)",
        "cannot be changed: make another ChainSource for another storage class",
    ),
]))]
pub struct VolumeSpec {
    /// Size of each volume, such as `600Gi`: at least `1Gi`. The size can grow if the storage class can expand
    /// volumes, and never shrink. Default `20Gi`.
    pub size: ResourceQuantity,
    /// Name of the `StorageClass` of the volumes. Immutable. Unset: the cluster's default class.
    #[schemars(length(min = 1, max = 253))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub storage_class: Option<String>,
}

impl Default for VolumeSpec {
    fn default() -> Self {
        Self { size: ResourceQuantity::gibibytes(20), storage_class: None }
    }
}

/// The pods of chain servers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
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
}

/// CPU and memory of a pod.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[schemars(extend("x-kubernetes-validations" = [at_least("cpu"), at_least("memory")]))]
pub struct ResourcesSpec {
    /// CPU and memory that the node reserves for the pod. Default: `250m` and `1Gi`, or the limits if these are
    /// smaller.
    pub requests: ResourceQuantities,
    /// Most CPU and memory that the pod may use. Cached pages of the graph count as memory of the pod; the kernel
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

/// A taint of nodes that a pod tolerates.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TolerationSpec {
    /// Key of the taint.
    #[schemars(length(min = 1, max = 317))]
    pub key: String,
    /// Value of the taint. Unset: any value.
    #[schemars(length(min = 1, max = 63))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    /// Effect of the taint. Unset: any effect.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effect: Option<TaintEffect>,
}

/// Effect of a taint on pods that do not tolerate it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum TaintEffect {
    /// The node runs no new pods.
    NoSchedule,
    /// The node runs new pods only if no other node can.
    PreferNoSchedule,
    /// The node runs no pods.
    NoExecute,
}

impl TaintEffect {
    /// The effect's name in Kubernetes.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::NoSchedule => "NoSchedule",
            Self::PreferNoSchedule => "PreferNoSchedule",
            Self::NoExecute => "NoExecute",
        }
    }
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
