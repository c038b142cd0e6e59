//! The servers that URLs name, as host and port.

use std::{fmt, str::FromStr};

use ureq::http::{Uri, uri::Authority};

/// A server: the host and port that a URL names.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ServerName {
    /// A name in lowercase letters, or an address; one of IPv6 is in brackets.
    host: String,
    port: u16,
}

/// A text that is no host and port.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no host and port: write it as lists.example:443")]
pub struct InvalidServer(String);

impl ServerName {
    /// The server of an http or https URL. Without a port, it is that of the scheme. It is read by the parser that
    /// requests are sent by, so that both see the same server. `None`: the text is no such URL, or one of plain text on
    /// the port of https, which would show everybody on the way what is meant to be encrypted.
    #[must_use]
    pub fn of_url(url: &str) -> Option<Self> {
        let uri: Uri = url.split('#').next()?.parse().ok()?;
        let usual = match uri.scheme_str()? {
            "http" => 80,
            "https" => 443,
            _ => return None,
        };
        let host = uri.host().filter(|host| !host.is_empty())?.to_ascii_lowercase();
        let port = uri.port_u16().unwrap_or(usual);
        ((usual, port) != (80, 443)).then_some(Self { host, port })
    }

    /// Reads servers that are separated by commas; an empty text is none.
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
        let authority: Authority = text.parse().map_err(|_| invalid())?;
        let (host, port) = (authority.host(), authority.port_u16());
        if host.is_empty() || text.contains(['@', '*']) {
            return Err(invalid());
        }
        Ok(Self { host: host.to_ascii_lowercase(), port: port.ok_or_else(invalid)? })
    }
}

impl fmt::Display for ServerName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}:{}", self.host, self.port)
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
        ] {
            assert_eq!(ServerName::of_url(url).map(|it| it.to_string()), Some(server.into()));
        }
        for wrong in [
            "http://lists.example:443/x",
            "",
            "node:8332",
            "ftp://node",
            "http://",
            "file:///x",
            "http://a\\@b/",
            "http://a b/",
        ] {
            assert_eq!(ServerName::of_url(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_list_has_hosts_with_their_ports() {
        let list = ServerName::parse_list(" node:8332, Lists.example:443 ,[::1]:80,").unwrap();
        let list: Vec<String> = list.iter().map(ToString::to_string).collect();
        assert_eq!(list, ["node:8332", "lists.example:443", "[::1]:80"]);
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
        ] {
            let error = ServerName::parse_list(&format!("a:1,{wrong}")).unwrap_err().to_string();
            let said = format!("`{wrong}` is no host and port: write it as lists.example:443");
            assert_eq!(error, said);
        }
    }
}
