//! Posting to the collector. Whether it can be reached is logged when that changes, not every time.

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

/// Longest time for one message.
const TIME: Duration = Duration::from_secs(5);
/// Most bytes of an answer.
const LARGEST_ANSWER: u64 = 64 << 10;

/// A client of the collector. It waits on the thread that calls it: never one that serves requests.
#[derive(Clone, Debug)]
pub(super) struct Client {
    agent: Agent,
    headers: HeaderMap,
    reached: Arc<AtomicBool>,
}

impl Client {
    /// A client of a collector at `endpoint`.
    pub(super) fn new(endpoint: &str, headers: &str) -> Self {
        let agent = EgressSettings::from_environment()
            .configure(Agent::config_builder(), endpoint)
            .http_status_as_error(false)
            .timeout_global(Some(TIME))
            .build()
            .into();
        Self { agent, headers: read_headers(headers), reached: Arc::new(AtomicBool::new(true)) }
    }

    /// Posts a message; what became of it is in the log.
    pub(super) fn post(&self, url: &str, message: Vec<u8>) {
        let request = Request::post(url)
            .header(header::CONTENT_TYPE, "application/x-protobuf")
            .body(Bytes::from(message));
        if let Ok(request) = request {
            // Told by `send`.
            let _ = self.send(request);
        }
    }

    fn send(&self, mut request: Request<Bytes>) -> Result<Response<Bytes>, ureq::Error> {
        for (name, value) in &self.headers {
            request.headers_mut().insert(name, value.clone());
        }
        let answered = self.try_send(request);
        match &answered {
            Ok(answer) if answer.status().is_success() => self.tell(None),
            Ok(answer) => self.tell(Some(format!("status {}", answer.status().as_u16()))),
            Err(error) => self.tell(Some(error.to_string())),
        }
        answered
    }

    fn try_send(&self, request: Request<Bytes>) -> Result<Response<Bytes>, ureq::Error> {
        let mut answer = self.agent.run(request.map(|body| body.to_vec()))?;
        let body = answer.body_mut().with_config().limit(LARGEST_ANSWER).read_to_vec()?;
        let (parts, _) = answer.into_parts();
        Ok(Response::from_parts(parts, body.into()))
    }

    fn tell(&self, error: Option<String>) {
        let before = self.reached.swap(error.is_none(), Ordering::Relaxed);
        match error {
            Some(error) if before => {
                tracing::warn!(error, "failed to send telemetry; what cannot be sent is dropped");
            }
            None if !before => tracing::info!("telemetry is sent again"),
            _ => {}
        }
    }
}

#[async_trait]
impl HttpClient for Client {
    /// Called by a thread of the exporter's own.
    async fn send_bytes(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        Ok(self.send(request)?)
    }
}

/// `name=value,name=value`; what is no header field is left out.
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
    fn header_fields_are_read_as_far_as_they_are_some() {
        let headers = read_headers("authorization=Basic YTpi, x-team = risk ,nothing,b ad=1");
        assert_eq!(headers.len(), 2);
        assert_eq!(headers["authorization"], "Basic YTpi");
        assert_eq!(headers["x-team"], "risk");
        assert!(!format!("{headers:?}").contains("YTpi"), "never shown");
    }
}
