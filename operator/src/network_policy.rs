//! The rules of network policies.

use std::{
    collections::{BTreeMap, BTreeSet},
    net::IpAddr,
};

use k8s_openapi::{
    api::networking::v1::{
        IPBlock, NetworkPolicyEgressRule, NetworkPolicyIngressRule, NetworkPolicyPeer,
        NetworkPolicyPort, NetworkPolicySpec,
    },
    apimachinery::pkg::{apis::meta::v1::LabelSelector, util::intstr::IntOrString},
};

use crate::destinations::{Destination, Hosts};

const DNS: u16 = 53;
/// The label of a namespace with its name.
const NAMESPACE: &str = "kubernetes.io/metadata.name";
/// All addresses, and those that are not public.
const PUBLIC: [(&str, &[&str]); 2] = [
    (
        "0.0.0.0/0",
        &[
            "0.0.0.0/8",
            "10.0.0.0/8",
            "100.64.0.0/10",
            "127.0.0.0/8",
            "169.254.0.0/16",
            "172.16.0.0/12",
            "192.168.0.0/16",
        ],
    ),
    ("::/0", &["::1/128", "fc00::/7", "fe80::/10"]),
];

/// The networks in which pods may reach hosts of which only the name is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct EgressNetworks {
    /// True for public addresses.
    pub(crate) public: bool,
    /// Private networks, as CIDR.
    pub(crate) private: Vec<String>,
}

impl EgressNetworks {
    fn peers(&self) -> Vec<NetworkPolicyPeer> {
        let public = PUBLIC.iter().filter(|_| self.public).map(|(all, except)| IPBlock {
            cidr: (*all).to_owned(),
            except: Some(except.iter().map(|network| (*network).to_owned()).collect()),
        });
        public.map(block).chain(self.private()).collect()
    }

    fn private(&self) -> impl Iterator<Item = NetworkPolicyPeer> {
        self.private.iter().map(|network| block(IPBlock { cidr: network.clone(), except: None }))
    }
}

/// A policy for the selected pods: connections to them are allowed by the rules `ingress` only, and connections
/// from them to DNS servers, to `destinations`, and by the rules `egress`.
///
/// A policy selects addresses, not names, and the addresses of a host may change: of a host whose name alone is known,
/// the policy allows the port in `networks`.
pub(crate) fn spec(
    pods: LabelSelector,
    ingress: Vec<NetworkPolicyIngressRule>,
    (destinations, networks): (&BTreeSet<Destination>, &EgressNetworks),
    egress: Vec<NetworkPolicyEgressRule>,
) -> NetworkPolicySpec {
    let dns = NetworkPolicyEgressRule {
        to: Some(vec![any_namespace(LabelSelector::default())]),
        ports: Some(vec![port("UDP", DNS), port("TCP", DNS)]),
    };
    let mut ports_by_hosts: BTreeMap<&Hosts, Vec<NetworkPolicyPort>> = BTreeMap::new();
    for Destination { hosts, port: number } in destinations {
        ports_by_hosts.entry(hosts).or_default().push(port("TCP", *number));
    }
    let allowed = ports_by_hosts.into_iter().filter_map(|(hosts, ports)| {
        let peers = peers(hosts, networks);
        // A rule without peers would allow all.
        (!peers.is_empty())
            .then_some(NetworkPolicyEgressRule { ports: Some(ports), to: Some(peers) })
    });
    NetworkPolicySpec {
        pod_selector: Some(pods),
        policy_types: Some(vec!["Ingress".to_owned(), "Egress".to_owned()]),
        ingress: (!ingress.is_empty()).then_some(ingress),
        egress: Some([dns].into_iter().chain(allowed).chain(egress).collect()),
    }
}

fn peers(hosts: &Hosts, networks: &EgressNetworks) -> Vec<NetworkPolicyPeer> {
    match hosts {
        Hosts::Address(address) => {
            let length = if matches!(address, IpAddr::V4(_)) { 32 } else { 128 };
            vec![block(IPBlock { cidr: format!("{address}/{length}"), except: None })]
        }
        // A Service may stand for hosts outside of the cluster, or for pods with the addresses of their nodes.
        Hosts::Pods(None) => {
            let own = same_namespace(LabelSelector::default());
            [own].into_iter().chain(networks.private()).collect()
        }
        Hosts::Pods(Some(namespace)) => {
            let labels = BTreeMap::from([(NAMESPACE.to_owned(), namespace.clone())]);
            let selector = LabelSelector { match_labels: Some(labels), match_expressions: None };
            let others = NetworkPolicyPeer {
                namespace_selector: Some(selector),
                ..NetworkPolicyPeer::default()
            };
            [others].into_iter().chain(networks.private()).collect()
        }
        Hosts::Networks => networks.peers(),
    }
}

fn block(block: IPBlock) -> NetworkPolicyPeer {
    NetworkPolicyPeer { ip_block: Some(block), ..NetworkPolicyPeer::default() }
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

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::destinations;

    fn rules(urls: &[&str], networks: &EgressNetworks) -> Value {
        let destinations = urls.iter().flat_map(|url| destinations::of_url(url)).collect();
        let spec = spec(LabelSelector::default(), vec![], (&destinations, networks), vec![]);
        let mut rules = json!(spec.egress);
        assert_eq!(rules.as_array_mut().unwrap().remove(0)["ports"][0]["port"], DNS);
        rules
    }

    #[test]
    fn addresses_and_pods_are_allowed_on_their_ports_alone() {
        let none = EgressNetworks { public: false, private: vec![] };
        let urls = ["http://10.20.0.5:8332", "http://[2001:db8::1]", "postgres://pg.stores.svc/x"];
        let tcp = |number: u16| json!([{"protocol": "TCP", "port": number}]);
        assert_eq!(
            rules(&urls, &none),
            json!([
                {"to": [{"ipBlock": {"cidr": "10.20.0.5/32"}}], "ports": tcp(8332)},
                {"to": [{"ipBlock": {"cidr": "2001:db8::1/128"}}], "ports": tcp(80)},
                {
                    "to": [{"namespaceSelector": {"matchLabels": {NAMESPACE: "stores"}}}],
                    "ports": tcp(5432),
                },
            ])
        );
        assert_eq!(rules(&["redis://cache"], &none)[0]["to"], json!([{"podSelector": {}}]));
    }

    #[test]
    fn a_name_is_allowed_in_the_networks_alone() {
        let urls = ["https://lists.corp.example/x", "postgres://db.corp.example/assay"];
        let none = EgressNetworks { public: false, private: vec![] };
        assert_eq!(rules(&urls, &none), json!([]), "no rule allows all");
        let private = EgressNetworks { public: false, private: vec!["10.20.0.0/16".into()] };
        let ports = json!([{"protocol": "TCP", "port": 443}, {"protocol": "TCP", "port": 5432}]);
        let own = json!({"ipBlock": {"cidr": "10.20.0.0/16"}});
        assert_eq!(rules(&urls, &private), json!([{"to": [own], "ports": ports}]));
        let all = rules(&urls, &EgressNetworks { public: true, ..private });
        let public = &all[0]["to"][0]["ipBlock"];
        assert_eq!(public["cidr"], "0.0.0.0/0");
        let except = public["except"].as_array().unwrap();
        for network in ["10.0.0.0/8", "169.254.0.0/16", "192.168.0.0/16"] {
            assert!(except.contains(&network.into()), "{network}");
        }
        assert_eq!((&all[0]["to"][1]["ipBlock"]["cidr"], &all[0]["to"][2]), (&json!("::/0"), &own));
    }
}
