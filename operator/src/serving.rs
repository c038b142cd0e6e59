//! Parts of pods whose program answers HTTP requests: the API, and chain servers.

use k8s_openapi::{
    api::{
        core::v1::{
            ContainerPort, HTTPGetAction, PodSpec, Probe, ServicePort, TopologySpreadConstraint,
        },
        policy::v1::{PodDisruptionBudget, PodDisruptionBudgetSpec},
    },
    apimachinery::pkg::{apis::meta::v1::LabelSelector, util::intstr::IntOrString},
};

use crate::owned::Owner;

/// The name and number of the port for requests.
pub(crate) const API: (&str, u16) = ("http", 8080);
/// The name and number of the port for health and metrics.
pub(crate) const ADMIN: (&str, u16) = ("admin", 9090);
/// The time for which a server still accepts connections after SIGTERM, in seconds. Load balancers remove the server
/// meanwhile.
pub(crate) const DRAIN_SECONDS: u32 = 5;
/// The longest time for requests in flight, in seconds.
pub(crate) const GRACE_SECONDS: u32 = 30;
/// The longest time for the last writes of records, in seconds.
const FLUSH_SECONDS: u32 = 15;
/// The longest time from SIGTERM to the exit of a server, in seconds. Servers drain on SIGTERM, without a `preStop`
/// hook.
pub(crate) const TERMINATION_SECONDS: u32 = DRAIN_SECONDS + GRACE_SECONDS + FLUSH_SECONDS;
/// The startup probe, which allows time to load lists and labels: attempts, and seconds between attempts.
pub(crate) const STARTUP: (i32, i32) = (150, 2);

/// Adds ports and probes to the containers of a pod. The liveness probe checks that the program runs; the readiness
/// probe checks that it can answer requests.
pub(crate) fn add_ports_and_probes(pod: &mut PodSpec) {
    for container in &mut pod.containers {
        container.ports = Some([API, ADMIN].map(container_port).into());
        container.startup_probe = Some(probe("/healthz", STARTUP.1, STARTUP.0));
        container.readiness_probe = Some(probe("/readyz", 2, 2));
        container.liveness_probe = Some(probe("/healthz", 10, 6));
    }
}

fn container_port((name, number): (&str, u16)) -> ContainerPort {
    ContainerPort {
        name: Some(name.to_owned()),
        container_port: number.into(),
        protocol: Some("TCP".to_owned()),
        ..ContainerPort::default()
    }
}

fn probe(path: &str, period_seconds: i32, failures: i32) -> Probe {
    Probe {
        http_get: Some(HTTPGetAction {
            path: Some(path.to_owned()),
            port: IntOrString::String(ADMIN.0.to_owned()),
            ..HTTPGetAction::default()
        }),
        period_seconds: Some(period_seconds),
        timeout_seconds: Some(2),
        failure_threshold: Some(failures),
        ..Probe::default()
    }
}

/// A port of a Service, in front of a pod's port.
pub(crate) fn service_port((name, target): (&str, u16), number: u16) -> ServicePort {
    ServicePort {
        name: Some(name.to_owned()),
        port: number.into(),
        target_port: Some(IntOrString::Int(target.into())),
        protocol: Some("TCP".to_owned()),
        ..ServicePort::default()
    }
}

/// The rules that spread the selected pods over zones and nodes. `revision` is the label that differs between the pods
/// of a Deployment's revisions.
pub(crate) fn spread(
    pods: &LabelSelector,
    revision: Option<&str>,
) -> Vec<TopologySpreadConstraint> {
    let keys = ["topology.kubernetes.io/zone", "kubernetes.io/hostname"];
    let constraint = |key: &str| TopologySpreadConstraint {
        max_skew: 1,
        topology_key: key.to_owned(),
        when_unsatisfiable: "ScheduleAnyway".to_owned(),
        label_selector: Some(pods.clone()),
        match_label_keys: revision.map(|label| vec![label.to_owned()]),
        ..TopologySpreadConstraint::default()
    };
    keys.map(constraint).into()
}

/// A disruption budget that allows the eviction of one pod of an owner at a time.
pub(crate) fn disruption_budget(owner: &Owner, name: &str) -> PodDisruptionBudget {
    let spec = PodDisruptionBudgetSpec {
        max_unavailable: Some(IntOrString::Int(1)),
        selector: Some(owner.selector()),
        // A pod that is not ready must not keep a node from being drained.
        unhealthy_pod_eviction_policy: Some("AlwaysAllow".to_owned()),
        ..PodDisruptionBudgetSpec::default()
    };
    PodDisruptionBudget { metadata: owner.metadata(name), spec: Some(spec), status: None }
}
