//! HTTP egress: the proxy that a request takes, the CA bundle that its server is verified against, and the
//! trace that it belongs to.
//!
//! The environment decides, as for other programs: `HTTPS_PROXY`, `HTTP_PROXY`, `ALL_PROXY` and
//! `NO_PROXY` in either letter case, and `SSL_CERT_FILE` for a CA bundle in PEM that replaces the
//! system roots. A proxy is used by `CONNECT` for every URL scheme; loopback addresses are never
//! reached through it.
//!
//! Locations come from manifests, whose authors must not gain access to data of others through them: [`Networks`]
//! bounds the addresses that a location may lead to, [`AllowedSourcePaths`] the files that a manifest may name, and
//! [`CredentialsFile`] the servers that are sent credentials.

mod allowed_source_paths;
mod credentials;
mod networks;
mod server;
mod trace_parent;

use std::{
    env, fmt, fs, io,
    path::{Path, PathBuf},
    sync::Arc,
};

use hyper_util::client::proxy::matcher::Matcher;
use ureq::{
    Proxy,
    config::ConfigBuilder,
    http::Uri,
    tls::{Certificate, PemItem, RootCerts, TlsConfig, parse_pem},
    typestate::AgentScope,
};

pub use allowed_source_paths::{AllowedSourcePaths, ForbiddenFileError};
pub use credentials::{
    CredentialsError, CredentialsFile, InvalidNamedCredentials, NamedCredentials, basic,
};
pub use networks::{InvalidNetwork, Networks};
pub use server::{InvalidServer, ServerName};
pub use trace_parent::TraceParent;

/// Environment variable with the path of the CA bundle.
const CA_BUNDLE: &str = "SSL_CERT_FILE";
/// Hosts that are never reached through a proxy.
const LOOPBACK: &str = "localhost,127.0.0.0/8,::1";

/// Reason why the environment's proxies or CA bundle cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum EgressError {
    /// The value of a variable is not a proxy URL.
    #[error("{0} is not a proxy URL: write it as http://HOST:PORT")]
    Proxy(&'static str),
    /// The CA bundle cannot be read.
    #[error("failed to read the CA bundle {path}, named by {CA_BUNDLE}: {source}")]
    Read {
        /// The file.
        path: PathBuf,
        /// The cause.
        #[source]
        source: io::Error,
    },
    /// The CA bundle contains no certificate, or is not PEM.
    #[error("{path}, named by {CA_BUNDLE}, contains no certificate in PEM form")]
    NoCertificates {
        /// The file.
        path: PathBuf,
    },
}

/// Proxies and CA bundle for requests to other servers.
#[derive(Clone, Default)]
pub struct EgressSettings {
    /// The proxy for `https` URLs.
    https: Option<String>,
    /// The proxy for `http` URLs.
    http: Option<String>,
    /// The proxy for URLs whose scheme has no proxy of its own.
    all: Option<String>,
    /// Matches the hosts that are reached through a proxy, if there is one.
    proxied: Option<Arc<Matcher>>,
    /// The CA bundle that replaces the system roots.
    ca_bundle: Option<PathBuf>,
}

impl EgressSettings {
    /// The settings that the environment names.
    #[must_use]
    pub fn from_environment() -> Self {
        let value = |name: &str| {
            let found = env::var(name).or_else(|_| env::var(name.to_ascii_lowercase()));
            found.ok().filter(|value| !value.trim().is_empty())
        };
        Self {
            https: value("HTTPS_PROXY"),
            http: value("HTTP_PROXY"),
            all: value("ALL_PROXY"),
            proxied: hosts_except(&value("NO_PROXY").unwrap_or_default()),
            ca_bundle: env::var_os(CA_BUNDLE).filter(|path| !path.is_empty()).map(Into::into),
        }
    }

    /// Checks that the proxies are URLs and that the CA bundle can be read. Programs call this when they
    /// start, so that a mistake is not first seen in a failing request.
    ///
    /// # Errors
    ///
    /// Returns an error if a proxy or the CA bundle cannot be used.
    pub fn check(&self) -> Result<(), EgressError> {
        let named =
            [("HTTPS_PROXY", &self.https), ("HTTP_PROXY", &self.http), ("ALL_PROXY", &self.all)];
        for (name, proxy) in named {
            if proxy.as_deref().is_some_and(|proxy| Proxy::new(proxy).is_err()) {
                return Err(EgressError::Proxy(name));
            }
        }
        self.ca_bundle.as_deref().map(read).transpose()?;
        Ok(())
    }

    /// Configures an agent for requests to the server of `url`.
    #[must_use]
    pub fn configure(
        &self,
        agent: ConfigBuilder<AgentScope>,
        url: &str,
    ) -> ConfigBuilder<AgentScope> {
        let agent = agent.proxy(self.proxy(url).and_then(|proxy| Proxy::new(proxy).ok()));
        let Some(path) = &self.ca_bundle else { return agent };
        // A bundle that has disappeared since `check` leaves no root: every server is refused.
        let roots: RootCerts = read(path).unwrap_or_default().into();
        agent.tls_config(TlsConfig::builder().root_certs(roots).build())
    }

    /// True if the server of a URL is reached through a proxy.
    #[must_use]
    pub fn is_proxied(&self, url: &str) -> bool {
        self.proxy(url).is_some()
    }

    /// The proxy for a URL.
    fn proxy(&self, url: &str) -> Option<&str> {
        let url: Uri = url.parse().ok()?;
        let own = if url.scheme_str() == Some("https") { &self.https } else { &self.http };
        let proxy = own.as_deref().or(self.all.as_deref())?;
        self.proxied.as_ref()?.intercept(&url).map(|_| proxy)
    }
}

impl fmt::Debug for EgressSettings {
    /// Omits the proxies, whose URLs may hold passwords.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("EgressSettings")
            .field("ca_bundle", &self.ca_bundle)
            .finish_non_exhaustive()
    }
}

/// A matcher of all hosts but those of a `NO_PROXY` list; `None` if the list excludes every host.
fn hosts_except(no_proxy: &str) -> Option<Arc<Matcher>> {
    let entries: Vec<&str> = no_proxy.split(',').map(str::trim).collect();
    if entries.contains(&"*") {
        return None;
    }
    // `*.example` is written as `.example` too; the matcher knows only the latter.
    let entries = entries.iter().map(|entry| entry.strip_prefix('*').unwrap_or(entry));
    let all: Vec<&str> = entries.chain([LOOPBACK]).collect();
    // The matcher decides on hosts only: which proxy is used depends on the URL's scheme.
    Some(Arc::new(Matcher::builder().all("http://proxy.invalid").no(all.join(",")).build()))
}

fn read(path: &Path) -> Result<Vec<Certificate<'static>>, EgressError> {
    let failed = |source| EgressError::Read { path: path.to_owned(), source };
    let text = fs::read(path).map_err(failed)?;
    let mut certificates = Vec::new();
    for item in parse_pem(&text) {
        match item {
            Ok(PemItem::Certificate(certificate)) => certificates.push(certificate),
            Ok(_) => {}
            Err(_) => return Err(EgressError::NoCertificates { path: path.to_owned() }),
        }
    }
    if certificates.is_empty() {
        return Err(EgressError::NoCertificates { path: path.to_owned() });
    }
    Ok(certificates)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn egress(no_proxy: &str) -> EgressSettings {
        EgressSettings {
            https: Some("http://secure:3128".into()),
            http: Some("http://plain:3128".into()),
            proxied: hosts_except(no_proxy),
            ..EgressSettings::default()
        }
    }

    #[test]
    fn each_scheme_has_a_proxy_and_both_may_have_one() {
        let named = egress("");
        assert_eq!(named.proxy("https://lists.example/own.csv"), Some("http://secure:3128"));
        assert_eq!(named.proxy("http://node.example:8332"), Some("http://plain:3128"));
        let all = EgressSettings {
            all: Some("http://all:1".into()),
            proxied: hosts_except(""),
            ..EgressSettings::default()
        };
        assert_eq!(all.proxy("https://lists.example"), Some("http://all:1"));
        assert_eq!(EgressSettings::default().proxy("https://lists.example"), None);
    }

    #[test]
    fn loopback_addresses_and_the_hosts_of_no_proxy_are_reached_directly() {
        for (no_proxy, url, is_direct) in [
            ("", "http://localhost:8332", true),
            ("", "http://127.0.0.1:8332/wallet", true),
            ("", "http://[::1]:8332", true),
            ("*", "https://lists.example", true),
            ("*", "http://10.20.30.40:8332", true),
            (" lists.example , .svc", "http://node.chains.svc", true),
            ("", "http://10.20.30.40:8332", false),
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
            assert_eq!(egress(no_proxy).proxy(url).is_none(), is_direct, "{no_proxy} {url}");
        }
    }

    #[test]
    fn a_proxy_or_ca_bundle_that_cannot_be_used_is_refused_with_the_right_form() {
        let wrong =
            EgressSettings { http: Some("ftp://proxy".into()), ..EgressSettings::default() };
        let said = wrong.check().unwrap_err().to_string();
        assert_eq!(said, "HTTP_PROXY is not a proxy URL: write it as http://HOST:PORT");
        let file = tempfile::NamedTempFile::new().unwrap();
        let ca_bundle = Some(file.path().to_owned());
        let empty = EgressSettings { ca_bundle, ..EgressSettings::default() };
        let said = empty.check().unwrap_err().to_string();
        assert!(
            said.ends_with("named by SSL_CERT_FILE, contains no certificate in PEM form"),
            "{said}"
        );
        assert!(EgressSettings::default().check().is_ok());
    }
}
