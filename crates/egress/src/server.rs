//! The servers that URLs name: host, port, and a flag for TLS alone.

use std::{fmt, str::FromStr};

use ureq::http::{Uri, uri::Authority};

/// The port of https. A server on this port is reached over TLS alone.
const TLS_PORT: u16 = 443;

/// A server: the host and port that a URL names, and a flag for TLS alone, which an https URL, `https://host:port` in
/// a list, and port 443 set.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ServerName {
    /// A name in lowercase letters, or an address; an IPv6 address is in brackets.
    host: String,
    port: u16,
    is_tls_only: bool,
}

/// A text that is no host and port.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is no host and port: write it as lists.example:443, or https://lists.example:8443 for TLS alone"
)]
pub struct InvalidServer(String);

impl ServerName {
    /// The server of an http or https URL. The default port is that of the scheme. The HTTP client's parser reads the
    /// URL, so that requests go to the same server. `None`: the text is no http or https URL.
    #[must_use]
    pub fn of_url(url: &str) -> Option<Self> {
        let uri: Uri = url.split('#').next()?.parse().ok()?;
        let (usual, is_tls_only) = match uri.scheme_str()? {
            "http" => (80, false),
            "https" => (TLS_PORT, true),
            _ => return None,
        };
        let host = host(uri.host()?)?;
        Some(Self { host, port: uri.port_u16().unwrap_or(usual), is_tls_only })
    }

    /// True if a URL leads to this server, and over TLS if the server is reached over TLS alone.
    #[must_use]
    pub fn permits(&self, url: &Self) -> bool {
        self.is_same_server(url) && (url.is_tls_only || !self.is_tls_only)
    }

    /// True if both servers have the same host and port.
    #[must_use]
    pub fn is_same_server(&self, other: &Self) -> bool {
        (&self.host, self.port) == (&other.host, other.port)
    }

    /// Reads servers that are separated by commas; an empty text has no server.
    ///
    /// # Errors
    ///
    /// Returns the first text that is no host and port.
    pub fn parse_list(text: &str) -> Result<Vec<Self>, InvalidServer> {
        let entries = text.split(',').map(str::trim).filter(|entry| !entry.is_empty());
        entries.map(str::parse).collect()
    }
}

impl FromStr for ServerName {
    type Err = InvalidServer;

    fn from_str(text: &str) -> Result<Self, InvalidServer> {
        let invalid = || InvalidServer(text.to_owned());
        let (server, is_https) = match text.strip_prefix("https://") {
            Some(server) => (server, true),
            None => (text, false),
        };
        let authority: Authority = server.parse().map_err(|_| invalid())?;
        if server.contains('@') {
            return Err(invalid());
        }
        let host = host(authority.host()).ok_or_else(invalid)?;
        let port = authority.port_u16().ok_or_else(invalid)?;
        Ok(Self { host, port, is_tls_only: is_https || port == TLS_PORT })
    }
}

/// A host in lowercase letters: a name, or an address. `None`: the text has characters that no host has.
fn host(text: &str) -> Option<String> {
    let host = text.to_ascii_lowercase();
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    let is_of_address = |byte: u8| byte.is_ascii_hexdigit() || b":.".contains(&byte);
    let address = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    let is_valid = match address {
        Some(address) => address.bytes().all(is_of_address),
        None => host.bytes().all(is_name),
    };
    (is_valid && !host.is_empty()).then_some(host)
}

impl fmt::Display for ServerName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = if self.is_tls_only && self.port != TLS_PORT { "https://" } else { "" };
        write!(formatter, "{scheme}{}:{}", self.host, self.port)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_names_a_host_and_a_port() {
        for (url, server) in [
            ("http://node:8332", "node:8332"),
            ("https://Lists.Example/own.csv?a=b@c#d", "lists.example:443"),
            ("http://lists.example", "lists.example:80"),
            ("http://user:word@lists.example:81/x", "lists.example:81"),
            ("http://[fd00::1]:3000/api", "[fd00::1]:3000"),
            ("http://allowed.example:80@evil.example/", "evil.example:80"),
            ("http://allowed.example#@evil.example/", "allowed.example:80"),
            ("https://lists.example:8443", "https://lists.example:8443"),
        ] {
            assert_eq!(ServerName::of_url(url).map(|it| it.to_string()), Some(server.into()));
        }
        for wrong in [
            "",
            "node:8332",
            "ftp://node",
            "http://",
            "file:///x",
            "http://a\\@b/",
            "http://a b/",
            "https://x;reboot;:443/",
            "https://$(reboot)/",
            "https://a&b/",
        ] {
            assert_eq!(ServerName::of_url(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_server_of_tls_permits_no_plain_http() {
        let permits = |server: &str, url: &str| {
            server.parse::<ServerName>().unwrap().permits(&ServerName::of_url(url).unwrap())
        };
        for (server, url) in [
            ("node:8332", "http://node:8332"),
            ("node:8332", "https://node:8332"),
            ("lists.example:443", "https://lists.example/own.csv"),
            ("https://lists.example:8443", "https://lists.example:8443"),
        ] {
            assert!(permits(server, url), "{server} {url}");
        }
        for (server, url) in [
            ("lists.example:443", "http://lists.example:443/own.csv"),
            ("https://lists.example:8443", "http://lists.example:8443"),
            ("node:8332", "http://node:8333"),
            ("node:8332", "http://other:8332"),
        ] {
            assert!(!permits(server, url), "{server} {url}");
        }
    }

    #[test]
    fn a_list_has_hosts_with_their_ports() {
        let list = " node:8332, Lists.example:443 ,[::1]:80,https://lists.example:8443";
        let list = ServerName::parse_list(list).unwrap();
        let list: Vec<String> = list.iter().map(ToString::to_string).collect();
        let expected = ["node:8332", "lists.example:443", "[::1]:80", "https://lists.example:8443"];
        assert_eq!(list, expected);
        assert_eq!(ServerName::parse_list(""), Ok(vec![]));
        for wrong in [
            "node",
            "node:",
            "node:0x50",
            "node:70000",
            ":80",
            "a@node:80",
            "http://node:80",
            "*:80",
            "*.example:443",
            "node :80",
            "a;b:80",
            "$(a):80",
        ] {
            let error = ServerName::parse_list(&format!("a:1,{wrong}")).unwrap_err().to_string();
            let said = format!("`{wrong}` is no host and port: write it as lists.example:443, or ");
            assert!(error.starts_with(&said), "{error}");
        }
    }
}
