//! The nodes that run the pods of an object: tolerations, affinity and spread, in the forms of Kubernetes.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::pods::MOST_ENTRIES;

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

/// Nodes and other pods near which a pod runs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct AffinitySpec {
    /// Nodes on which the pod must or should run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node_affinity: Option<NodeAffinity>,
    /// Other pods near which the pod must or should run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pod_affinity: Option<PodAffinity>,
    /// Other pods near which the pod must not or should not run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pod_anti_affinity: Option<PodAffinity>,
}

/// Nodes on which a pod must or should run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct NodeAffinity {
    /// Nodes that may run the pod. Unset: any node.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub required_during_scheduling_ignored_during_execution: Option<NodeSelector>,
    /// Nodes that run the pod rather than others. Default: none.
    #[schemars(length(max = MOST_ENTRIES))]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub preferred_during_scheduling_ignored_during_execution: Vec<PreferredNodes>,
}

/// Nodes that meet one of several terms.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NodeSelector {
    /// Terms of which a node meets at least one.
    #[schemars(length(min = 1, max = MOST_ENTRIES))]
    pub node_selector_terms: Vec<NodeSelectorTerm>,
}

/// Nodes that are preferred.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PreferredNodes {
    /// Weight beside other preferences: 1 to 100.
    #[schemars(range(min = 1, max = 100))]
    pub weight: i32,
    /// Term that the nodes meet.
    pub preference: NodeSelectorTerm,
}

/// Conditions on a node, all of which hold.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct NodeSelectorTerm {
    /// Conditions on the labels of a node.
    #[schemars(length(max = MOST_ENTRIES))]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub match_expressions: Vec<NodeRequirement>,
    /// Conditions on the fields of a node: `metadata.name`.
    #[schemars(length(max = MOST_ENTRIES))]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub match_fields: Vec<NodeRequirement>,
}

/// Condition on a label or field of a node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NodeRequirement {
    /// Key of the label, or name of the field.
    #[schemars(length(min = 1, max = 317))]
    pub key: String,
    /// Comparison with the values.
    pub operator: NodeOperator,
    /// Values that are compared: none for `Exists` and `DoesNotExist`, one number for `Gt` and `Lt`.
    #[schemars(length(max = 64), inner(length(max = 63)))]
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<String>,
}

/// Comparison of a label or field of a node with values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum NodeOperator {
    /// It is one of the values.
    In,
    /// It is none of the values, or absent.
    NotIn,
    /// It is present.
    Exists,
    /// It is absent.
    DoesNotExist,
    /// It is a number above the value.
    Gt,
    /// It is a number below the value.
    Lt,
}

/// Other pods near which a pod runs, or does not run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct PodAffinity {
    /// Pods without which, or with which, a node may not run the pod. Default: none.
    #[schemars(length(max = MOST_ENTRIES))]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub required_during_scheduling_ignored_during_execution: Vec<PodAffinityTerm>,
    /// Pods that make a node better, or worse. Default: none.
    #[schemars(length(max = MOST_ENTRIES))]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub preferred_during_scheduling_ignored_during_execution: Vec<PreferredPods>,
}

/// Pods that are preferred, or avoided.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PreferredPods {
    /// Weight beside other preferences: 1 to 100.
    #[schemars(range(min = 1, max = 100))]
    pub weight: i32,
    /// The pods.
    pub pod_affinity_term: PodAffinityTerm,
}

/// Pods on nodes with the same value of a label.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PodAffinityTerm {
    /// Labels of the pods. Unset: the pods of this object.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label_selector: Option<LabelSelector>,
    /// Namespaces of the pods. Default: the namespace of the pod.
    #[schemars(length(max = MOST_ENTRIES), inner(length(min = 1, max = 63)))]
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub namespaces: Vec<String>,
    /// Label of nodes with equal values, such as `topology.kubernetes.io/zone`.
    #[schemars(length(min = 1, max = 317))]
    pub topology_key: String,
}

/// Spread of pods over the values of a label of nodes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TopologySpreadSpec {
    /// Largest difference between the numbers of pods of two values: 1 to 1000.
    #[schemars(range(min = 1, max = 1000))]
    pub max_skew: i32,
    /// Smallest number of values, with `DoNotSchedule`: 1 to 1000. Unset: 1.
    #[schemars(range(min = 1, max = 1000))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_domains: Option<i32>,
    /// Label of nodes, such as `topology.kubernetes.io/zone`.
    #[schemars(length(min = 1, max = 317))]
    pub topology_key: String,
    /// Scheduling of a pod that would exceed `maxSkew`.
    pub when_unsatisfiable: WhenUnsatisfiable,
    /// Labels of the counted pods. Unset: the pods of this object.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label_selector: Option<LabelSelector>,
}

/// Scheduling of a pod that would exceed the largest difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum WhenUnsatisfiable {
    /// The pod waits.
    DoNotSchedule,
    /// The pod runs on the node with the smallest difference.
    ScheduleAnyway,
}

/// Selection of pods by their labels. All conditions hold.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct LabelSelector {
    /// Labels with their values.
    #[schemars(extend("maxProperties" = MOST_ENTRIES))]
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub match_labels: BTreeMap<String, String>,
    /// Conditions on labels.
    #[schemars(length(max = MOST_ENTRIES))]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub match_expressions: Vec<LabelRequirement>,
}

/// Condition on a label of a pod.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct LabelRequirement {
    /// Key of the label.
    #[schemars(length(min = 1, max = 317))]
    pub key: String,
    /// Comparison with the values.
    pub operator: LabelOperator,
    /// Values that are compared: none for `Exists` and `DoesNotExist`.
    #[schemars(length(max = 64), inner(length(max = 63)))]
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<String>,
}

/// Comparison of a label with values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum LabelOperator {
    /// It is one of the values.
    In,
    /// It is none of the values, or absent.
    NotIn,
    /// It is present.
    Exists,
    /// It is absent.
    DoesNotExist,
}
