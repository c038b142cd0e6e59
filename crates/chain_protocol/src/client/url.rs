//! The URLs of chain servers.

use http::Uri;

/// A URL of a chain's servers. The host may have several addresses, one for each server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerUrl {
    /// Host name or address.
    pub host: String,
    /// Port.
    pub port: u16,
    /// True for `https`.
    pub is_tls: bool,
}

impl ServerUrl {
    /// Parses `http://HOST:PORT` or `https://HOST:PORT`; `None` for any other text.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let uri: Uri = text.parse().ok()?;
        let is_tls = match uri.scheme_str()? {
            "http" => false,
            "https" => true,
            _ => return None,
        };
        let authority = uri.authority()?;
        let is_plain = matches!(uri.path(), "" | "/") && uri.query().is_none();
        if !is_plain || authority.as_str().contains('@') {
            return None;
        }
        let host = authority.host().trim_start_matches('[').trim_end_matches(']').to_owned();
        Some(Self { host, port: authority.port_u16()?, is_tls })
    }

    pub(super) fn with_path(&self, path: &str) -> String {
        let scheme = if self.is_tls { "https" } else { "http" };
        let Self { host, port, .. } = self;
        let host = if host.contains(':') { format!("[{host}]") } else { host.clone() };
        format!("{scheme}://{host}:{port}{path}")
    }
}
