//! The parts of pods that users shape: `spec.pods` of a `RiskService`, `ChainSource` or `IntelSource`.
//!
//! The types of `spec.pods` have the forms of Kubernetes, so that most parts are taken over as they are. They have none
//! that would weaken the security of the pods, and validation refuses names of the operator's own parts.

use std::collections::BTreeMap;

use assay_tenancy::{
    ResourceQuantity,
    manifest::{PodsSpec, ResourcesSpec, TolerationSpec},
};
use k8s_openapi::{
    api::core::v1::{
        Affinity, PodAffinityTerm, PodSpec, ResourceRequirements, Toleration,
        TopologySpreadConstraint, Volume, WeightedPodAffinityTerm,
    },
    apimachinery::pkg::{
        api::resource,
        apis::meta::v1::{LabelSelector, ObjectMeta},
    },
};
use serde::{Serialize, de::DeserializeOwned};

use crate::egress::SECRET_MODE;

/// The CPU and memory that a pod requests where the spec names none.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DefaultRequests {
    /// The CPU.
    pub(crate) cpu: ResourceQuantity,
    /// The memory.
    pub(crate) memory: ResourceQuantity,
}

impl DefaultRequests {
    /// Requests of thousandths of a CPU and of mebibytes of memory.
    pub(crate) const fn new(millicpu: u32, mebibytes: u32) -> Self {
        Self {
            cpu: ResourceQuantity::thousandths(millicpu),
            memory: ResourceQuantity::mebibytes(mebibytes),
        }
    }
}

/// Adds the parts of `spec.pods` to a pod of an owner with that selector.
pub(crate) fn shape(
    pods: &PodsSpec,
    selector: &LabelSelector,
    metadata: &mut ObjectMeta,
    pod: &mut PodSpec,
) {
    let labels = metadata.labels.get_or_insert_default();
    for (name, value) in &pods.labels {
        labels.entry(name.clone()).or_insert_with(|| value.clone());
    }
    let annotations = pods.annotations.iter().map(|(name, text)| (name.clone(), text.clone()));
    if !pods.annotations.is_empty() {
        metadata.annotations.get_or_insert_default().extend(annotations);
    }
    pod.node_selector = (!pods.node_selector.is_empty()).then(|| pods.node_selector.clone());
    let tolerations = pods.tolerations.iter().map(toleration);
    pod.tolerations = (!pods.tolerations.is_empty()).then(|| tolerations.collect());
    pod.affinity = pods.affinity.as_ref().and_then(converted).map(|mut affinity: Affinity| {
        if let Some(near) = &mut affinity.pod_affinity {
            let required = near.required_during_scheduling_ignored_during_execution.as_mut();
            let preferred = near.preferred_during_scheduling_ignored_during_execution.as_mut();
            select_own(required, preferred, selector);
        }
        if let Some(far) = &mut affinity.pod_anti_affinity {
            let required = far.required_during_scheduling_ignored_during_execution.as_mut();
            let preferred = far.preferred_during_scheduling_ignored_during_execution.as_mut();
            select_own(required, preferred, selector);
        }
        affinity
    });
    pod.priority_class_name.clone_from(&pods.priority_class_name);
    let mut volumes: Vec<Volume> = pods.volumes.iter().filter_map(converted).collect();
    for secret in volumes.iter_mut().filter_map(|volume| volume.secret.as_mut()) {
        secret.default_mode = Some(SECRET_MODE);
    }
    pod.volumes.get_or_insert_default().extend(volumes);
    for container in &mut pod.containers {
        container.env.get_or_insert_default().extend(pods.env.iter().filter_map(converted));
        if !pods.env_from.is_empty() {
            container.env_from = Some(pods.env_from.iter().filter_map(converted).collect());
        }
        let mounts = pods.volume_mounts.iter().filter_map(converted);
        container.volume_mounts.get_or_insert_default().extend(mounts);
    }
}

/// The spread of servers that the spec asks for, else `usual`.
pub(crate) fn spread(
    pods: &PodsSpec,
    selector: &LabelSelector,
    usual: Vec<TopologySpreadConstraint>,
) -> Vec<TopologySpreadConstraint> {
    if pods.topology_spread_constraints.is_empty() {
        return usual;
    }
    let constraints = pods.topology_spread_constraints.iter().filter_map(converted);
    let own = |mut constraint: TopologySpreadConstraint| {
        constraint.label_selector.get_or_insert_with(|| selector.clone());
        constraint
    };
    constraints.map(own).collect()
}

/// The CPU and memory of a pod. Default requests do not exceed the limits in the spec.
pub(crate) fn resources(spec: &ResourcesSpec, usual: DefaultRequests) -> ResourceRequirements {
    let ResourcesSpec { requests, limits } = spec;
    let request = |requested: Option<ResourceQuantity>,
                   limit: Option<ResourceQuantity>,
                   usual: ResourceQuantity| {
        let within = limit.filter(|limit| usual.covers(*limit)).unwrap_or(usual);
        Some(requested.unwrap_or(within))
    };
    let limits_by_name = [("cpu", limits.cpu), ("memory", limits.memory)];
    ResourceRequirements {
        requests: Some(quantities([
            ("cpu", request(requests.cpu, limits.cpu, usual.cpu)),
            ("memory", request(requests.memory, limits.memory, usual.memory)),
        ])),
        limits: Some(quantities(limits_by_name)).filter(|limits| !limits.is_empty()),
        claims: None,
    }
}

/// Quantities by the names of their resources, without those that are unset.
pub(crate) fn quantities<const N: usize>(
    named: [(&str, Option<ResourceQuantity>); N],
) -> BTreeMap<String, resource::Quantity> {
    let known = named.into_iter().filter_map(|(name, quantity)| Some((name, quantity?)));
    known
        .map(|(name, quantity)| (name.to_owned(), resource::Quantity(quantity.to_string())))
        .collect()
}

/// Gives terms about other pods that name none the owner's.
fn select_own<'a>(
    required: Option<&'a mut Vec<PodAffinityTerm>>,
    preferred: Option<&'a mut Vec<WeightedPodAffinityTerm>>,
    selector: &LabelSelector,
) {
    let preferred = preferred.into_iter().flatten().map(|weighted| &mut weighted.pod_affinity_term);
    for term in required.into_iter().flatten().chain(preferred) {
        term.label_selector.get_or_insert_with(|| selector.clone());
    }
}

fn toleration(spec: &TolerationSpec) -> Toleration {
    let TolerationSpec { key, value, effect } = spec;
    Toleration {
        key: Some(key.clone()),
        operator: Some(if value.is_some() { "Equal" } else { "Exists" }.to_owned()),
        value: value.clone(),
        effect: effect.map(|effect| effect.as_str().to_owned()),
        toleration_seconds: None,
    }
}

/// A part in the type of the API server's, whose form it has.
fn converted<Part: Serialize, Wanted: DeserializeOwned>(part: &Part) -> Option<Wanted> {
    serde_json::from_value(serde_json::to_value(part).ok()?).ok()
}
