//! The ports in URLs, to which network policies allow pods to connect.

use std::collections::BTreeSet;

use assay_crds::TelemetrySpec;

/// The ports of a URL's hosts; the scheme's default port for a host without a port. URLs of Sentinels also give the
/// default port of Redis servers.
pub(crate) fn url_ports(url: &str) -> BTreeSet<u16> {
    let Some((scheme, rest)) = url.trim().split_once("://") else { return BTreeSet::new() };
    let defaults: &[u16] = match scheme {
        "http" => &[80],
        "https" => &[443],
        "postgres" | "postgresql" => &[5432],
        "redis+sentinel" | "rediss+sentinel" => &[26379, 6379],
        _ if scheme.starts_with("redis") => &[6379],
        _ => &[],
    };
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let hosts = authority.rsplit_once('@').map_or(authority, |(_, hosts)| hosts);
    let mut ports = BTreeSet::new();
    for host in hosts.split(',') {
        // The colons of an IPv6 address are in brackets.
        let named = host.rsplit_once(':').filter(|(_, port)| !port.contains(']'));
        match named.and_then(|(_, port)| port.parse::<u16>().ok()) {
            Some(port) => ports.extend([port]),
            None => ports.extend(defaults.first()),
        }
    }
    ports.extend(defaults.iter().skip(1));
    ports
}

/// The port of the telemetry collector.
pub(crate) fn collector_ports(telemetry: &TelemetrySpec) -> BTreeSet<u16> {
    telemetry.otlp_endpoint.as_deref().map(url_ports).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_is_the_urls_or_the_default_of_its_scheme() {
        for (url, ports) in [
            ("postgres://me:p%40ss@db.example/assay?sslmode=require", vec![5432]),
            ("postgres://me:secret@one,two:5433/assay", vec![5432, 5433]),
            ("redis://cache:7000/1", vec![7000]),
            ("rediss+cluster://one,two:7001", vec![6379, 7001]),
            ("redis+sentinel://one:26380/master", vec![6379, 26380]),
            ("https://esplora.example/api", vec![443]),
            ("http://[::1]:3000/api", vec![3000]),
            ("http://[::1]/api", vec![80]),
            ("no url", vec![]),
        ] {
            assert_eq!(url_ports(url), ports.into_iter().collect(), "{url}");
        }
    }
}
