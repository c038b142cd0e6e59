//! Telemetry to a collector by OTLP over HTTP: traces as they end, metrics every so often.
//!
//! A collector that is slow or away disturbs nothing: it is spoken to from threads of its own, within a
//! time, and what cannot be delivered is dropped.

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

use crate::Now;
use client::Client;

/// How often traces are sent at least.
const TRACE_INTERVAL: Duration = Duration::from_secs(1);
/// Longest time to send what is left when the program ends.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// Why nothing can be sent.
#[derive(Debug, thiserror::Error)]
pub enum CollectorError {
    /// The endpoint is no URL, or cannot be used.
    #[error("failed to prepare sending traces to the collector: {0}")]
    Exporter(#[from] opentelemetry_otlp::ExporterBuildError),
}

/// Where telemetry is sent.
#[derive(Clone, Debug)]
pub struct Collector {
    client: Client,
    metrics: String,
    traces: SdkTracerProvider,
    resource: Resource,
    began: u64,
    now: Now,
}

impl Collector {
    /// A collector at `endpoint` (its base, without `/v1/…`), which knows the program as `service` unless
    /// `OTEL_SERVICE_NAME` says otherwise. What `OTEL_EXPORTER_OTLP_HEADERS` names goes with everything that
    /// is sent: `name=value,name=value`.
    ///
    /// # Errors
    ///
    /// Where the endpoint cannot be used.
    pub fn new(service: &str, endpoint: &str, now: Now) -> Result<Self, CollectorError> {
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
        let began = nanoseconds(now());
        Ok(Self { client, metrics: format!("{base}/v1/metrics"), traces, resource, began, now })
    }

    /// Where spans go.
    #[must_use]
    pub const fn traces(&self) -> &SdkTracerProvider {
        &self.traces
    }

    /// Sends metrics, given as `OpenMetrics` text; what is not delivered is not sent again: figures count
    /// from the start of the program, so that the next ones say it all.
    pub async fn send_metrics(&self, text: String) {
        let this = self.clone();
        let sent = spawn_blocking(move || {
            let families = text::families(&text);
            let message =
                message::request(&families, &this.resource, this.began, nanoseconds((this.now)()));
            this.client.post(&this.metrics, message);
        });
        // A thread that could not be joined sent nothing.
        let _ = sent.await;
    }

    /// Sends metrics every so often, as `print` has them, until it is dropped.
    pub async fn send_regularly(self, every: Duration, print: impl Fn() -> String + Send) {
        let mut ticks = tokio::time::interval(every);
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            self.send_metrics(print()).await;
        }
    }

    /// Sends metrics for the last time: whoever does not take them soon misses the end.
    pub async fn send_last_metrics(&self, text: String) {
        let _ = timeout(LAST_WORDS, self.send_metrics(text)).await;
    }

    /// Sends the traces that are left, for a while.
    pub async fn finish(&self) {
        let traces = self.traces.clone();
        let sent = spawn_blocking(move || traces.shutdown_with_timeout(LAST_WORDS));
        let _ = timeout(LAST_WORDS, sent).await;
    }
}

fn nanoseconds(time: Timestamp) -> u64 {
    u64::try_from(time.as_nanosecond()).unwrap_or_default()
}
