//! HTTP client of the collector. The client logs changes of the collector's reachability, not every failure.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use assay_egress::EgressSettings;
use async_trait::async_trait;
use opentelemetry_http::{Bytes, HttpClient, HttpError, Request, Response};
use ureq::{
    Agent,
    http::{HeaderMap, HeaderName, HeaderValue, header},
};

/// Longest time for one request.
const TIMEOUT: Duration = Duration::from_secs(5);
/// Largest response in bytes.
const MAX_RESPONSE_BYTES: u64 = 64 << 10;

/// HTTP client of the collector. The client blocks the calling thread, which must not serve requests.
#[derive(Clone, Debug)]
pub(super) struct Client {
    agent: Agent,
    headers: HeaderMap,
    reached: Arc<AtomicBool>,
}

impl Client {
    /// Creates a client of the collector at `endpoint`.
    pub(super) fn new(endpoint: &str, headers: &str) -> Self {
        let agent = EgressSettings::from_environment()
            .configure(Agent::config_builder(), endpoint)
            .http_status_as_error(false)
            .timeout_global(Some(TIMEOUT))
            .build()
            .into();
        Self { agent, headers: read_headers(headers), reached: Arc::new(AtomicBool::new(true)) }
    }

    /// Posts a message; a failure is logged.
    pub(super) fn post(&self, url: &str, message: Vec<u8>) {
        let request = Request::post(url)
            .header(header::CONTENT_TYPE, "application/x-protobuf")
            .body(Bytes::from(message));
        if let Ok(request) = request {
            // `send` logs the outcome.
            let _ = self.send(request);
        }
    }

    fn send(&self, mut request: Request<Bytes>) -> Result<Response<Bytes>, ureq::Error> {
        for (name, value) in &self.headers {
            request.headers_mut().insert(name, value.clone());
        }
        let answered = self.try_send(request);
        match &answered {
            Ok(answer) if answer.status().is_success() => self.log_outcome(None),
            Ok(answer) => self.log_outcome(Some(format!("status {}", answer.status().as_u16()))),
            Err(error) => self.log_outcome(Some(error.to_string())),
        }
        answered
    }

    fn try_send(&self, request: Request<Bytes>) -> Result<Response<Bytes>, ureq::Error> {
        let mut answer = self.agent.run(request.map(|body| body.to_vec()))?;
        let body = answer.body_mut().with_config().limit(MAX_RESPONSE_BYTES).read_to_vec()?;
        let (parts, _) = answer.into_parts();
        Ok(Response::from_parts(parts, body.into()))
    }

    fn log_outcome(&self, error: Option<String>) {
        let before = self.reached.swap(error.is_none(), Ordering::Relaxed);
        match error {
            Some(error) if before => {
                tracing::warn!(error, "failed to send telemetry; undeliverable data is dropped");
            }
            None if !before => tracing::info!("the collector accepts telemetry again"),
            _ => {}
        }
    }
}

#[async_trait]
impl HttpClient for Client {
    /// Sends a request. The exporter calls this function on a thread of its own.
    async fn send_bytes(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        Ok(self.send(request)?)
    }
}

/// Parses `name=value,name=value`; malformed fields are skipped.
fn read_headers(text: &str) -> HeaderMap {
    let pairs = text.split(',').filter_map(|pair| pair.split_once('='));
    pairs
        .filter_map(|(name, value)| {
            let name = name.trim().parse::<HeaderName>().ok()?;
            let mut value = HeaderValue::from_str(value.trim()).ok()?;
            value.set_sensitive(true);
            Some((name, value))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn malformed_header_fields_are_skipped() {
        let headers = read_headers("authorization=Basic YTpi, x-team = risk ,nothing,b ad=1");
        assert_eq!(headers.len(), 2);
        assert_eq!(headers["authorization"], "Basic YTpi");
        assert_eq!(headers["x-team"], "risk");
        assert!(!format!("{headers:?}").contains("YTpi"), "never shown");
    }
}
