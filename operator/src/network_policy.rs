//! The rules of network policies.

use std::collections::BTreeSet;

use k8s_openapi::{
    api::networking::v1::{
        NetworkPolicyEgressRule, NetworkPolicyIngressRule, NetworkPolicyPeer, NetworkPolicyPort,
        NetworkPolicySpec,
    },
    apimachinery::pkg::{apis::meta::v1::LabelSelector, util::intstr::IntOrString},
};

const DNS: u16 = 53;

/// A policy for the selected pods: connections to them are allowed by the rules `ingress` only, and connections
/// from them to DNS servers, to any host on the ports `egress_ports`, and by the rules `egress`.
///
/// Hosts outside the cluster are not restricted: a policy selects addresses, not names, and the addresses of a host
/// may change.
pub(crate) fn spec(
    pods: LabelSelector,
    ingress: Vec<NetworkPolicyIngressRule>,
    egress_ports: BTreeSet<u16>,
    egress: Vec<NetworkPolicyEgressRule>,
) -> NetworkPolicySpec {
    let dns = NetworkPolicyEgressRule {
        to: Some(vec![any_namespace(LabelSelector::default())]),
        ports: Some(vec![port("UDP", DNS), port("TCP", DNS)]),
    };
    let ports = egress_ports.into_iter().map(|number| port("TCP", number)).collect();
    let anywhere = NetworkPolicyEgressRule { ports: Some(ports), to: None };
    NetworkPolicySpec {
        pod_selector: Some(pods),
        policy_types: Some(vec!["Ingress".to_owned(), "Egress".to_owned()]),
        ingress: (!ingress.is_empty()).then_some(ingress),
        egress: Some([dns, anywhere].into_iter().chain(egress).collect()),
    }
}

/// A rule that allows connections from anywhere to ports.
pub(crate) fn ingress_from_anywhere(ports: &[u16]) -> NetworkPolicyIngressRule {
    let ports = ports.iter().map(|number| port("TCP", *number)).collect();
    NetworkPolicyIngressRule { ports: Some(ports), from: None }
}

/// A rule that allows connections from some pods to a port.
pub(crate) fn ingress_from(peers: Vec<NetworkPolicyPeer>, number: u16) -> NetworkPolicyIngressRule {
    NetworkPolicyIngressRule { ports: Some(vec![port("TCP", number)]), from: Some(peers) }
}

/// A rule that allows connections to a port of some pods.
pub(crate) fn egress_to(peers: Vec<NetworkPolicyPeer>, number: u16) -> NetworkPolicyEgressRule {
    NetworkPolicyEgressRule { ports: Some(vec![port("TCP", number)]), to: Some(peers) }
}

/// A peer: the selected pods of every namespace.
pub(crate) fn any_namespace(pods: LabelSelector) -> NetworkPolicyPeer {
    let pod_selector = (pods != LabelSelector::default()).then_some(pods);
    NetworkPolicyPeer {
        namespace_selector: Some(LabelSelector::default()),
        pod_selector,
        ip_block: None,
    }
}

/// A peer: the selected pods of the policy's namespace.
pub(crate) fn same_namespace(pods: LabelSelector) -> NetworkPolicyPeer {
    NetworkPolicyPeer { pod_selector: Some(pods), ..NetworkPolicyPeer::default() }
}

fn port(protocol: &str, number: u16) -> NetworkPolicyPort {
    NetworkPolicyPort {
        protocol: Some(protocol.to_owned()),
        port: Some(IntOrString::Int(number.into())),
        end_port: None,
    }
}
