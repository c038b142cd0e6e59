//! The destinations in URLs, to which network policies allow pods to connect.

use std::{
    collections::BTreeSet,
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
};

use assay_crds::TelemetrySpec;
use assay_database::postgres;

/// The longest name of a namespace, in characters.
const LONGEST_NAMESPACE: usize = 63;

/// The hosts and the port of a connection.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Destination {
    /// The hosts.
    pub(crate) hosts: Hosts,
    /// The port, which is also that of the pods behind a Service.
    pub(crate) port: u16,
}

/// The hosts of a destination, as far as a network policy can select them.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Hosts {
    /// An IP address.
    Address(IpAddr),
    /// The pods of a namespace; `None` for that of the policy.
    Pods(Option<String>),
    /// A host of which only the name is known: the networks that the policies allow.
    Networks,
}

/// The destinations in a URL, with the scheme's default port for a host without a port. Servers of Redis that are found
/// through a URL of Sentinels or of a cluster may be at other addresses.
pub(crate) fn of_url(url: &str) -> BTreeSet<Destination> {
    let Some((scheme, rest)) = url.trim().split_once("://") else { return BTreeSet::new() };
    let defaults: &[u16] = match scheme {
        "http" => &[80],
        "https" => &[443],
        "postgres" | "postgresql" => return of_database(url.trim()),
        "redis+sentinel" | "rediss+sentinel" => &[26379, 6379],
        _ if scheme.starts_with("redis") => &[6379],
        _ => &[],
    };
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let named = authority.rsplit_once('@').map_or(authority, |(_, hosts)| hosts);
    let mut destinations = BTreeSet::new();
    for host in named.split(',') {
        // The colons of an IPv6 address are in brackets.
        let with_port = host.rsplit_once(':').filter(|(_, port)| !port.contains(']'));
        let (host, port) = match with_port.map(|(host, port)| (host, port.parse::<u16>().ok())) {
            Some((host, Some(port))) => (host, Some(port)),
            Some((host, None)) => (host, defaults.first().copied()),
            None => (host, defaults.first().copied()),
        };
        let ports: BTreeSet<u16> =
            port.into_iter().chain(defaults.iter().skip(1).copied()).collect();
        let mut hosts = hosts(host);
        let finds_others = scheme.ends_with("+sentinel") || scheme.ends_with("+cluster");
        if finds_others && hosts.iter().any(|hosts| !matches!(hosts, Hosts::Pods(_))) {
            hosts.push(Hosts::Networks);
        }
        let pairs = hosts.iter().flat_map(|hosts| ports.iter().map(move |port| (hosts, *port)));
        destinations.extend(pairs.map(|(hosts, port)| Destination { hosts: hosts.clone(), port }));
    }
    destinations
}

/// The servers of a database. A URL that the driver refuses names none: its programs connect to nothing.
fn of_database(url: &str) -> BTreeSet<Destination> {
    let servers = postgres::addresses(url).unwrap_or_default().into_iter();
    let destinations = servers.flat_map(|(host, port)| {
        hosts(&host).into_iter().map(move |hosts| Destination { hosts, port })
    });
    destinations.collect()
}

/// The destination of the telemetry collector.
pub(crate) fn of_collector(telemetry: &TelemetrySpec) -> BTreeSet<Destination> {
    telemetry.otlp_endpoint.as_deref().map(of_url).unwrap_or_default()
}

/// The hosts that a name or an address in a URL may mean. Addresses of the pod itself and of its link give none.
fn hosts(host: &str) -> Vec<Hosts> {
    if let Ok(address) = host.trim_matches(['[', ']']).parse::<IpAddr>() {
        let address = address.to_canonical();
        return if is_reachable(address) { vec![Hosts::Address(address)] } else { vec![] };
    }
    let name = host.trim_end_matches('.').to_ascii_lowercase();
    let labels: Vec<&str> = name.split('.').collect();
    let service = labels.iter().rposition(|label| *label == "svc").filter(|index| *index >= 2);
    let pods =
        |namespace: &str| is_namespace(namespace).then(|| Hosts::Pods(Some(namespace.to_owned())));
    match (&*labels, service) {
        ([""], _) => vec![],
        ([_], _) => vec![Hosts::Pods(None)],
        ([_, namespace], _) => pods(namespace).into_iter().chain([Hosts::Networks]).collect(),
        (all, Some(service)) => {
            let namespace = service.checked_sub(1).and_then(|index| all.get(index));
            let domain = all.get(service + 1..).unwrap_or_default();
            // A cluster may have another domain, and a host elsewhere such a name.
            let is_certain = domain.is_empty() || domain == ["cluster", "local"];
            let networks = (!is_certain).then_some(Hosts::Networks);
            namespace.and_then(|namespace| pods(namespace)).into_iter().chain(networks).collect()
        }
        _ => vec![Hosts::Networks],
    }
}

/// Addresses of metadata services of clouds that are no addresses of the link: of AWS, Alibaba Cloud and Azure, as they publish
/// them.
const METADATA: [IpAddr; 3] = [
    IpAddr::V6(Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254)),
    IpAddr::V4(Ipv4Addr::new(100, 100, 100, 200)),
    IpAddr::V4(Ipv4Addr::new(168, 63, 129, 16)),
];

/// Says whether pods may connect to an address that a URL names: not to metadata services of clouds.
fn is_reachable(address: IpAddr) -> bool {
    let is_link_local = match address {
        IpAddr::V4(address) => address.is_link_local(),
        IpAddr::V6(address) => address.is_unicast_link_local(),
    };
    !(METADATA.contains(&address)
        || is_link_local
        || address.is_loopback()
        || address.is_unspecified()
        || address.is_multicast())
}

fn is_namespace(text: &str) -> bool {
    let is_inner = |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit();
    (1..=LONGEST_NAMESPACE).contains(&text.len())
        && text.chars().all(|letter| is_inner(letter) || letter == '-')
        && text.starts_with(is_inner)
        && text.ends_with(is_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(url: &str) -> Vec<String> {
        let destinations = of_url(url).into_iter();
        let words = destinations.map(|Destination { hosts, port }| match hosts {
            Hosts::Address(address) => format!("{address} {port}"),
            Hosts::Pods(None) => format!("own {port}"),
            Hosts::Pods(Some(namespace)) => format!("{namespace}/ {port}"),
            Hosts::Networks => format!("networks {port}"),
        });
        words.collect()
    }

    #[test]
    fn a_port_is_the_urls_or_the_default_of_its_scheme() {
        for (url, wanted) in [
            ("postgres://me:p%40ss@db.corp.example/assay?sslmode=require", &["networks 5432"][..]),
            ("postgres://me:secret@one,two:5433/assay", &["own 5432", "own 5433"]),
            ("redis://cache:7000/1", &["own 7000"]),
            ("rediss+cluster://one,two:7001", &["own 6379", "own 7001"]),
            ("redis+sentinel://one:26380/master", &["own 6379", "own 26380"]),
            ("https://esplora.corp.example/api", &["networks 443"]),
            ("http://[2001:db8::1]:3000/api", &["2001:db8::1 3000"]),
            ("http://[2001:db8::1]/api", &["2001:db8::1 80"]),
            ("postgres:///assay?user=u&host=10.1.2.3", &["10.1.2.3 5432"]),
            ("postgres://u@a/x?port=6432", &["own 6432"]),
            ("postgres://u@a/x?host=fd01::1&port=6432", &["fd01::1 6432"]),
            ("postgres://u@a/x?host=/run/postgresql", &[]),
            ("no url", &[]),
        ] {
            assert_eq!(told(url), wanted, "{url}");
        }
    }

    #[test]
    fn a_host_is_an_address_pods_or_known_by_its_name_alone() {
        for (host, wanted) in [
            ("10.20.0.5", &["10.20.0.5 80"][..]),
            ("[::ffff:10.20.0.5]", &["10.20.0.5 80"]),
            ("pg", &["own 80"]),
            ("pg-rw.Stores", &["stores/ 80", "networks 80"]),
            ("pg-rw.stores.svc", &["stores/ 80"]),
            ("pg-0.pg.stores.svc.cluster.local.", &["stores/ 80"]),
            ("pg.stores.svc.corp.example", &["stores/ 80", "networks 80"]),
            ("svc.corp.example", &["networks 80"]),
            ("a._b", &["networks 80"]),
            ("169.254.169.254", &[]),
            ("168.63.129.16", &[]),
            ("[fd00:ec2::254]", &[]),
            ("127.0.0.1", &[]),
            ("[fe80::1]", &[]),
            ("0.0.0.0", &[]),
            ("", &[]),
        ] {
            assert_eq!(told(&format!("http://{host}/")), wanted, "{host}");
        }
    }

    #[test]
    fn servers_of_redis_that_others_name_are_in_the_networks() {
        assert_eq!(told("redis+cluster://10.0.0.1"), ["10.0.0.1 6379", "networks 6379"]);
        assert_eq!(
            told("redis+sentinel://10.0.0.1/one"),
            ["10.0.0.1 6379", "10.0.0.1 26379", "networks 6379", "networks 26379"]
        );
    }
}
