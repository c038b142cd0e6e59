//! Export to a collector by OTLP over HTTP: traces as they end, metrics periodically.
//!
//! A slow or unreachable collector has no effect on requests: export runs on threads of its own, within
//! a timeout, and undeliverable data is dropped.

mod client;
mod message;
mod text;

use std::{env, time::Duration};

use jiff::Timestamp;
use opentelemetry_otlp::{SpanExporter, WithExportConfig, WithHttpConfig};
use opentelemetry_sdk::{
    Resource,
    trace::{BatchConfigBuilder, BatchSpanProcessor, SdkTracerProvider},
};
use tokio::{task::spawn_blocking, time::timeout};

use crate::TimeSource;
use client::Client;

/// Longest time between two batches of traces.
const TRACE_INTERVAL: Duration = Duration::from_secs(1);
/// Longest time to send the remaining data when the program ends.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(2);

/// Reason why no collector can be used.
#[derive(Debug, thiserror::Error)]
pub enum CollectorError {
    /// The endpoint is not a URL, or cannot be used.
    #[error("failed to set up the export of traces to the collector: {0}")]
    Exporter(#[from] opentelemetry_otlp::ExporterBuildError),
}

/// A collector of telemetry.
#[derive(Clone, Debug)]
pub struct Collector {
    client: Client,
    metrics: String,
    traces: SdkTracerProvider,
    resource: Resource,
    started: u64,
    now: TimeSource,
}

impl Collector {
    /// Creates an exporter to the collector at `endpoint` (its base URL, without `/v1/…`). The
    /// program's service name is `OTEL_SERVICE_NAME`, by default `service`. The header fields in
    /// `OTEL_EXPORTER_OTLP_HEADERS` (`name=value,name=value`) are sent with every request.
    ///
    /// # Errors
    ///
    /// Returns an error if the endpoint cannot be used.
    pub fn new(service: &str, endpoint: &str, now: TimeSource) -> Result<Self, CollectorError> {
        let base = endpoint.trim_end_matches('/');
        let headers = env::var("OTEL_EXPORTER_OTLP_HEADERS").unwrap_or_default();
        let client = Client::new(base, &headers);
        let exporter = SpanExporter::builder()
            .with_http()
            .with_http_client(client.clone())
            .with_endpoint(format!("{base}/v1/traces"))
            .build()?;
        let resource = Resource::builder()
            .with_service_name(env::var("OTEL_SERVICE_NAME").unwrap_or_else(|_| service.to_owned()))
            .with_attribute(opentelemetry::KeyValue::new(
                "service.version",
                env!("CARGO_PKG_VERSION"),
            ))
            .build();
        let batches = BatchConfigBuilder::default().with_scheduled_delay(TRACE_INTERVAL).build();
        let processor = BatchSpanProcessor::builder(exporter).with_batch_config(batches).build();
        let traces = SdkTracerProvider::builder()
            .with_span_processor(processor)
            .with_resource(resource.clone())
            .build();
        let started = nanoseconds(now());
        Ok(Self { client, metrics: format!("{base}/v1/metrics"), traces, resource, started, now })
    }

    /// Returns the provider that exports spans.
    #[must_use]
    pub const fn traces(&self) -> &SdkTracerProvider {
        &self.traces
    }

    /// Sends metrics, given as `OpenMetrics` text. Undelivered metrics are not sent again: values are cumulative since
    /// the start of the program, so that the next message includes the undelivered changes.
    pub async fn send_metrics(&self, text: String) {
        let this = self.clone();
        let sent = spawn_blocking(move || {
            let families = text::families(&text);
            let message = message::request(
                &families,
                &this.resource,
                this.started,
                nanoseconds((this.now)()),
            );
            this.client.post(&this.metrics, message);
        });
        // An error means that the thread panicked and nothing was sent.
        let _ = sent.await;
    }

    /// Sends the metrics that `print` returns periodically, until the future is dropped.
    pub async fn send_regularly(self, every: Duration, print: impl Fn() -> String + Send) {
        let mut ticks = tokio::time::interval(every);
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            self.send_metrics(print()).await;
        }
    }

    /// Sends metrics for the last time, for at most two seconds.
    pub async fn send_last_metrics(&self, text: String) {
        let _ = timeout(FLUSH_TIMEOUT, self.send_metrics(text)).await;
    }

    /// Sends the remaining traces, for at most two seconds.
    pub async fn finish(&self) {
        let traces = self.traces.clone();
        let sent = spawn_blocking(move || traces.shutdown_with_timeout(FLUSH_TIMEOUT));
        let _ = timeout(FLUSH_TIMEOUT, sent).await;
    }
}

fn nanoseconds(time: Timestamp) -> u64 {
    u64::try_from(time.as_nanosecond()).unwrap_or_default()
}
