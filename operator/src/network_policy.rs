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

/// A policy for the selected pods: connections to them are allowed on the ports `ingress` only, and
/// connections from them to DNS servers and to any host on the ports `egress`.
///
/// Hosts are not restricted: a policy selects addresses, not names, and the addresses of a host may
/// change.
pub(crate) fn spec(
    pods: LabelSelector,
    ingress: &[u16],
    egress: BTreeSet<u16>,
) -> NetworkPolicySpec {
    let dns = NetworkPolicyEgressRule {
        to: Some(vec![NetworkPolicyPeer {
            namespace_selector: Some(LabelSelector::default()),
            ..NetworkPolicyPeer::default()
        }]),
        ports: Some(vec![port("UDP", DNS), port("TCP", DNS)]),
    };
    let egress = egress.into_iter().map(|number| port("TCP", number)).collect();
    let ingress = (!ingress.is_empty()).then(|| {
        let ports = ingress.iter().map(|number| port("TCP", *number)).collect();
        vec![NetworkPolicyIngressRule { ports: Some(ports), from: None }]
    });
    NetworkPolicySpec {
        pod_selector: Some(pods),
        policy_types: Some(vec!["Ingress".to_owned(), "Egress".to_owned()]),
        ingress,
        egress: Some(vec![dns, NetworkPolicyEgressRule { ports: Some(egress), to: None }]),
    }
}

fn port(protocol: &str, number: u16) -> NetworkPolicyPort {
    NetworkPolicyPort {
        protocol: Some(protocol.to_owned()),
        port: Some(IntOrString::Int(number.into())),
        end_port: None,
    }
}
