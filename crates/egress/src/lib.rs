//! The way out: which proxy a request goes by, and whose certificates are believed, as the environment
//! says.
//!
//! `HTTPS_PROXY`, `HTTP_PROXY`, `ALL_PROXY` and `NO_PROXY` mean what they mean to other programs, in
//! either case. A proxy is asked to `CONNECT`, whatever the URL, and what this machine itself answers is
//! never asked of it. `SSL_CERT_FILE` names certificates in PEM that are believed in the place of the
//! web's authorities.

mod trace_parent;

use std::{
    env, fs, io,
    net::IpAddr,
    path::{Path, PathBuf},
};

use ureq::{
    Proxy,
    config::ConfigBuilder,
    tls::{Certificate, PemItem, RootCerts, TlsConfig, parse_pem},
    typestate::AgentScope,
};

pub use trace_parent::TraceParent;

/// Names the certificates that are believed.
const CERTIFICATES: &str = "SSL_CERT_FILE";

/// Why the environment names no way out.
#[derive(Debug, thiserror::Error)]
pub enum EgressError {
    /// A proxy is no URL of one.
    #[error("{0} names no proxy: write it as http://HOST:PORT")]
    Proxy(&'static str),
    /// The certificates cannot be read.
    #[error("failed to read the certificates of {CERTIFICATES} in {path}: {source}")]
    Read {
        /// The file.
        path: PathBuf,
        /// What happened.
        #[source]
        source: io::Error,
    },
    /// The file holds none, or something else.
    #[error("{path}, which {CERTIFICATES} names, holds no certificates in PEM")]
    Certificates {
        /// The file.
        path: PathBuf,
    },
}

/// The way out.
#[derive(Clone, Debug, Default)]
pub struct EgressSettings {
    /// The proxy for `https` URLs.
    https: Option<String>,
    /// The proxy for `http` URLs.
    http: Option<String>,
    /// The proxy for either, where it has none of its own.
    all: Option<String>,
    /// What is reached without one.
    direct: Vec<String>,
    /// The certificates that are believed.
    certificates: Option<PathBuf>,
}

impl EgressSettings {
    /// The way out that the environment names.
    #[must_use]
    pub fn from_environment() -> Self {
        let value = |name: &str| {
            let found = env::var(name).or_else(|_| env::var(name.to_ascii_lowercase()));
            found.ok().filter(|value| !value.trim().is_empty())
        };
        let direct = value("NO_PROXY").unwrap_or_default();
        Self {
            https: value("HTTPS_PROXY"),
            http: value("HTTP_PROXY"),
            all: value("ALL_PROXY"),
            direct: direct.split(',').map(|entry| entry.trim().to_ascii_lowercase()).collect(),
            certificates: env::var_os(CERTIFICATES).filter(|path| !path.is_empty()).map(Into::into),
        }
    }

    /// Whether it can be gone: better said when a program starts than at its first request.
    ///
    /// # Errors
    ///
    /// Where a proxy or the certificates cannot be used.
    pub fn check(&self) -> Result<(), EgressError> {
        let named =
            [("HTTPS_PROXY", &self.https), ("HTTP_PROXY", &self.http), ("ALL_PROXY", &self.all)];
        for (name, proxy) in named {
            if proxy.as_deref().is_some_and(|proxy| Proxy::new(proxy).is_err()) {
                return Err(EgressError::Proxy(name));
            }
        }
        self.certificates.as_deref().map(read).transpose()?;
        Ok(())
    }

    /// An agent that asks `url` goes this way.
    #[must_use]
    pub fn configure(
        &self,
        agent: ConfigBuilder<AgentScope>,
        url: &str,
    ) -> ConfigBuilder<AgentScope> {
        let agent = agent.proxy(self.proxy(url).and_then(|proxy| Proxy::new(proxy).ok()));
        let Some(path) = &self.certificates else { return agent };
        // Where they are gone since they were checked, nobody is believed.
        let roots: RootCerts = read(path).unwrap_or_default().into();
        agent.tls_config(TlsConfig::builder().root_certs(roots).build())
    }

    /// The proxy by which a URL is asked.
    fn proxy(&self, url: &str) -> Option<&str> {
        let (scheme, rest) = url.split_once("://")?;
        let own = if scheme == "https" { &self.https } else { &self.http };
        let proxy = own.as_deref().or(self.all.as_deref())?;
        (!self.is_direct(&host(rest).to_ascii_lowercase())).then_some(proxy)
    }

    /// Whether a host is reached without a proxy.
    fn is_direct(&self, host: &str) -> bool {
        let address: Option<IpAddr> = host.parse().ok();
        let is_own = host == "localhost" || address.is_some_and(|address| address.is_loopback());
        is_own || self.direct.iter().any(|entry| means(entry, host, address))
    }
}

/// The host of what stands behind a URL's scheme.
fn host(rest: &str) -> &str {
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let place = authority.rsplit_once('@').map_or(authority, |(_, place)| place);
    if let Some(inside) = place.strip_prefix('[') {
        return inside.split(']').next().unwrap_or_default();
    }
    place.split(':').next().unwrap_or_default()
}

/// Whether an entry of `NO_PROXY` means a host: everything, a network, an address, or a name and what is
/// below it.
fn means(entry: &str, host: &str, address: Option<IpAddr>) -> bool {
    if entry == "*" {
        return true;
    }
    if let Some(address) = address {
        return match entry.split_once('/') {
            Some((network, length)) => {
                let (network, length) = (network.parse().ok(), length.parse().ok());
                network.zip(length).is_some_and(|(network, length)| holds(network, length, address))
            }
            None => entry.parse() == Ok(address),
        };
    }
    let name = entry.trim_start_matches('*').trim_start_matches('.');
    let below = host.strip_suffix(name).is_some_and(|before| before.ends_with('.'));
    !name.is_empty() && (host == name || below)
}

/// Whether a network holds an address.
fn holds(network: IpAddr, length: u32, address: IpAddr) -> bool {
    let common = match (network, address) {
        (IpAddr::V4(network), IpAddr::V4(address)) => {
            (network.to_bits() ^ address.to_bits()).leading_zeros()
        }
        (IpAddr::V6(network), IpAddr::V6(address)) => {
            (network.to_bits() ^ address.to_bits()).leading_zeros()
        }
        _ => return false,
    };
    common >= length
}

fn read(path: &Path) -> Result<Vec<Certificate<'static>>, EgressError> {
    let failed = |source| EgressError::Read { path: path.to_owned(), source };
    let text = fs::read(path).map_err(failed)?;
    let mut certificates = Vec::new();
    for item in parse_pem(&text) {
        match item {
            Ok(PemItem::Certificate(certificate)) => certificates.push(certificate),
            Ok(_) => {}
            Err(_) => return Err(EgressError::Certificates { path: path.to_owned() }),
        }
    }
    if certificates.is_empty() {
        return Err(EgressError::Certificates { path: path.to_owned() });
    }
    Ok(certificates)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn egress(direct: &str) -> EgressSettings {
        EgressSettings {
            https: Some("http://secure:3128".into()),
            http: Some("http://plain:3128".into()),
            direct: direct.split(',').map(str::to_owned).collect(),
            ..EgressSettings::default()
        }
    }

    #[test]
    fn each_scheme_has_a_proxy_and_both_may_have_one() {
        let named = egress("");
        assert_eq!(named.proxy("https://lists.example/own.csv"), Some("http://secure:3128"));
        assert_eq!(named.proxy("http://node.example:8332"), Some("http://plain:3128"));
        let all = EgressSettings { all: Some("http://all:1".into()), ..EgressSettings::default() };
        assert_eq!(all.proxy("https://lists.example"), Some("http://all:1"));
        assert_eq!(EgressSettings::default().proxy("https://lists.example"), None);
    }

    #[test]
    fn what_is_near_is_reached_without_one() {
        for (direct, url, is_direct) in [
            ("", "http://localhost:8332", true),
            ("", "http://127.0.0.1:8332/wallet", true),
            ("", "http://[::1]:8332", true),
            ("*", "https://lists.example", true),
            ("lists.example", "https://LISTS.example/own.csv", true),
            ("lists.example", "https://eu.lists.example", true),
            (".example", "https://user:pass@lists.example:8443", true),
            ("*.svc,.cluster.local", "http://node.chains.svc:8332", true),
            ("example", "https://notexample", false),
            ("lists.example", "https://example", false),
            ("10.0.0.0/8", "http://10.20.30.40:8332", true),
            ("10.0.0.0/8", "http://11.0.0.1", false),
            ("10.1.2.3", "http://10.1.2.3", true),
            ("fd00::/8", "http://[fd00::1]:80", true),
            ("10.0.0.0/8", "https://lists.example", false),
        ] {
            assert_eq!(egress(direct).proxy(url).is_none(), is_direct, "{direct} {url}");
        }
    }

    #[test]
    fn what_cannot_be_used_says_what_would_be_right() {
        let wrong =
            EgressSettings { http: Some("ftp://proxy".into()), ..EgressSettings::default() };
        let said = wrong.check().unwrap_err().to_string();
        assert_eq!(said, "HTTP_PROXY names no proxy: write it as http://HOST:PORT");
        let file = tempfile::NamedTempFile::new().unwrap();
        let certificates = Some(file.path().to_owned());
        let empty = EgressSettings { certificates, ..EgressSettings::default() };
        let said = empty.check().unwrap_err().to_string();
        assert!(
            said.ends_with("which SSL_CERT_FILE names, holds no certificates in PEM"),
            "{said}"
        );
        assert!(EgressSettings::default().check().is_ok());
    }
}
