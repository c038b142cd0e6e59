//! Location of an input on a server: a URL, in a form to fetch and a form to show.

use std::net::IpAddr;

use ureq::http::Uri;

/// An http or https URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Location {
    text: String,
    uri: Uri,
}

impl Location {
    /// Parses an http or https URL with a host.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        // Fragments are the caller's own (RFC 9110, section 7.1).
        let text = text.split('#').next().unwrap_or_default();
        let uri: Uri = text.parse().ok()?;
        let is_http = matches!(uri.scheme_str(), Some("http" | "https"));
        let has_server = uri.host().is_some_and(|host| !host.is_empty()) && has_valid_port(&uri);
        (is_http && has_server).then(|| Self { text: text.to_owned(), uri })
    }

    /// Returns the URL, which may hold secrets.
    pub(crate) fn as_str(&self) -> &str {
        &self.text
    }

    pub(crate) const fn uri(&self) -> &Uri {
        &self.uri
    }

    pub(crate) fn is_https(&self) -> bool {
        self.uri.scheme_str() == Some("https")
    }

    /// True if scheme, host and port of both URLs are equal.
    pub(crate) fn is_same_origin(&self, other: &Self) -> bool {
        let origin = |location: &Self| {
            let default = if location.is_https() { 443 } else { 80 };
            let host = location.uri.host().map(str::to_ascii_lowercase);
            (location.is_https(), host, location.uri.port_u16().unwrap_or(default))
        };
        origin(self) == origin(other)
    }

    /// Returns the IP address of the host; `None` if the host is a name.
    pub(crate) fn address(&self) -> Option<IpAddr> {
        let host = self.uri.host()?;
        host.trim_start_matches('[').trim_end_matches(']').parse().ok()
    }

    /// Returns host and port, to resolve.
    pub(crate) fn host_and_port(&self) -> Option<(&str, u16)> {
        let default = if self.is_https() { 443 } else { 80 };
        Some((self.uri.host()?, self.uri.port_u16().unwrap_or(default)))
    }

    /// Returns the URL that `reference`, the value of a `Location` field, names relative to this URL (RFC 3986, section
    /// 5).
    pub(crate) fn join(&self, reference: &str) -> Option<Self> {
        let reference = reference.trim();
        let (scheme, authority) = (self.uri.scheme_str()?, self.uri.authority()?);
        if reference.contains("://") {
            return Self::parse(reference);
        }
        if reference.starts_with("//") {
            return Self::parse(&format!("{scheme}:{reference}"));
        }
        let path = match reference.as_bytes().first() {
            Some(b'/') => reference.to_owned(),
            Some(b'?') => format!("{}{reference}", self.uri.path()),
            _ => {
                let (folder, _) = self.uri.path().rsplit_once('/').unwrap_or_default();
                format!("{folder}/{reference}")
            }
        };
        Self::parse(&format!("{scheme}://{authority}{path}"))
    }

    /// Returns the URL without user name, password and query, for messages.
    pub(crate) fn shown(&self) -> String {
        Self::redacted(&self.text)
    }

    /// Returns a text as messages show it: without the user name, password and query of a URL, which may be secret.
    pub(crate) fn redacted(text: &str) -> String {
        let text = text.split(['?', '#']).next().unwrap_or_default();
        let Some((scheme, rest)) = text.split_once("://") else { return text.to_owned() };
        let (authority, path) = match rest.split_once('/') {
            Some((authority, path)) => (authority, Some(path)),
            None => (rest, None),
        };
        let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
        match path {
            Some(path) => format!("{scheme}://{host}/{path}"),
            None => format!("{scheme}://{host}"),
        }
    }
}

/// True if the URL has no port, or one that exists: the parser takes any other for none.
fn has_valid_port(uri: &Uri) -> bool {
    let authority = uri.authority().map_or("", |authority| authority.as_str());
    let server = authority.rsplit_once('@').map_or(authority, |(_, server)| server);
    let after_address = server.rsplit_once(']').map_or(server, |(_, rest)| rest);
    let port = after_address.rsplit_once(':').map_or("", |(_, port)| port);
    port.is_empty() || uri.port_u16().is_some()
}

/// Returns a location of an input without user name, password and query, which may be secret: for logs and messages.
#[must_use]
pub fn redacted(location: &str) -> String {
    if location.contains("://") { Location::redacted(location) } else { location.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_is_shown_without_what_may_be_secret() {
        for (text, shown) in [
            ("https://lists.example/a.csv", "https://lists.example/a.csv"),
            ("https://user:pass@lists.example/a.csv?token=1#x", "https://lists.example/a.csv"),
            ("https://lists.example?token=1", "https://lists.example"),
            ("https://a@b@c.example/@d", "https://c.example/@d"),
            ("folder/a@b?.csv", "folder/a@b?.csv"),
        ] {
            assert_eq!(redacted(text), shown);
        }
    }

    #[test]
    fn a_redirect_is_relative_to_its_url() {
        let from = Location::parse("https://u@lists.example:8443/a/b.csv?x=1#y").unwrap();
        for (reference, target) in [
            ("https://other.example/c", "https://other.example/c"),
            ("//other.example/c", "https://other.example/c"),
            ("/c?d", "https://u@lists.example:8443/c?d"),
            ("c", "https://u@lists.example:8443/a/c"),
            ("?d", "https://u@lists.example:8443/a/b.csv?d"),
        ] {
            assert_eq!(from.join(reference).unwrap().as_str(), target, "{reference}");
        }
        for wrong in [
            "ftp://other.example/",
            "file:///etc/passwd",
            "http://",
            "https:///x",
            "http://a:99999/",
            "http://[::1]:99999/",
        ] {
            assert_eq!(from.join(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn an_origin_is_scheme_host_and_port() {
        let location = |url| Location::parse(url).unwrap();
        let here = location("https://lists.example/a");
        assert!(here.is_same_origin(&location("https://LISTS.example:443/b?c")));
        for other in ["http://lists.example/a", "https://lists.example:8443/", "https://a.example/"]
        {
            assert!(!here.is_same_origin(&location(other)), "{other}");
        }
    }

    #[test]
    fn a_host_may_be_an_address() {
        let address = |url| Location::parse(url).unwrap().address().map(|found| found.to_string());
        assert_eq!(address("http://127.0.0.1:80/"), Some("127.0.0.1".into()));
        assert_eq!(address("http://[::1]:80/"), Some("::1".into()));
        assert_eq!(address("http://lists.example/"), None);
    }
}
