//! Requests to an issuer: by TLS or on loopback, without redirections, bounded in time and size.

use std::{net::IpAddr, time::Duration};

use assay_egress::EgressSettings;
use http::{Method, Request, Response, Uri};
use openidconnect::{HttpRequest, HttpResponse};
use ureq::{Agent, Body};

/// Timeout of a request.
const TIMEOUT: Duration = Duration::from_secs(5);
/// Largest response.
const MAX_BYTES: u64 = 1024 * 1024;

/// Reason for which an issuer gave no response.
#[derive(Debug, thiserror::Error)]
pub enum TransportError {
    /// The URL is not safe.
    #[error("{0} is neither https nor on this machine")]
    Unsafe(Uri),
    /// The request failed.
    #[error("{uri}: {source}")]
    Failed {
        /// The URL.
        uri: Uri,
        /// The cause.
        #[source]
        source: Box<ureq::Error>,
    },
}

/// Sends a request.
pub(crate) fn send(request: HttpRequest) -> Result<HttpResponse, TransportError> {
    let uri = request.uri().clone();
    if !is_safe(&uri) {
        return Err(TransportError::Unsafe(uri));
    }
    let config = EgressSettings::from_environment()
        .configure(Agent::config_builder(), &uri.to_string())
        .timeout_global(Some(TIMEOUT))
        .max_redirects(0)
        .http_status_as_error(false)
        .user_agent(concat!("assay/", env!("CARGO_PKG_VERSION")))
        .build();
    let failed = |source| TransportError::Failed { uri, source: Box::new(source) };
    read(&Agent::new_with_config(config), request).map_err(failed)
}

fn read(agent: &Agent, request: HttpRequest) -> Result<HttpResponse, ureq::Error> {
    let response: Response<Body> = if request.method() == Method::GET {
        let (parts, _) = request.into_parts();
        agent.run(Request::from_parts(parts, ()))?
    } else {
        agent.run(request)?
    };
    let (parts, mut body) = response.into_parts();
    let bytes = body.with_config().limit(MAX_BYTES).read_to_vec()?;
    Ok(Response::from_parts(parts, bytes))
}

/// True for `https`, and for `http` on this machine.
pub(crate) fn is_safe(uri: &Uri) -> bool {
    let host = uri.host().unwrap_or_default();
    let address: Option<IpAddr> = host.trim_matches(['[', ']']).parse().ok();
    let is_local = host == "localhost" || address.is_some_and(|address| address.is_loopback());
    match uri.scheme_str() {
        Some("https") => !host.is_empty(),
        Some("http") => is_local,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_issuer_is_asked_by_tls_or_on_this_machine() {
        for right in
            ["https://id.example/a", "http://localhost:9", "http://127.0.0.1", "http://[::1]:1"]
        {
            assert!(is_safe(&right.parse().unwrap()), "{right}");
        }
        for wrong in ["http://id.example", "http://10.0.0.1", "http://localhost.example", "/x"] {
            assert!(!is_safe(&wrong.parse().unwrap()), "{wrong}");
        }
    }
}
