//! A telemetry collector for tests, which receives traces and metrics by OTLP and stores them.

use std::{
    net::SocketAddr,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use axum::{Router, body::Bytes, extract::State, routing::post};
use opentelemetry_proto::tonic::{
    collector::{metrics::v1::ExportMetricsServiceRequest, trace::v1::ExportTraceServiceRequest},
    metrics::v1::{Metric, metric::Data, number_data_point::Value},
    trace::v1::Span,
};
use prost::Message;
use tokio::runtime::Runtime;

/// Data that was received.
#[derive(Debug, Default)]
struct ReceivedData {
    spans: Vec<Span>,
    metrics: Vec<Metric>,
    services: Vec<String>,
    bytes: Vec<u8>,
}

type Shared = Arc<Mutex<ReceivedData>>;

/// A collector on a free port.
#[derive(Debug)]
pub struct Collector {
    /// Address at which the collector listens.
    pub address: SocketAddr,
    received: Shared,
    _runtime: Runtime,
}

impl Collector {
    /// Starts the collector.
    ///
    /// # Panics
    ///
    /// Panics if the collector does not start.
    #[must_use]
    pub fn start() -> Self {
        let runtime = Runtime::new().expect("a runtime");
        let received = Shared::default();
        let router = Router::new()
            .route("/v1/traces", post(receive_traces))
            .route("/v1/metrics", post(receive_metrics))
            .with_state(Arc::clone(&received));
        let listener = runtime.block_on(tokio::net::TcpListener::bind("127.0.0.1:0"));
        let listener = listener.expect("a free port");
        let address = listener.local_addr().expect("its address");
        runtime.spawn(async move { axum::serve(listener, router).await });
        Self { address, received, _runtime: runtime }
    }

    /// Endpoint for all signals.
    #[must_use]
    pub fn endpoint(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The spans of a trace.
    #[must_use]
    pub fn spans(&self, trace: &str) -> Vec<Span> {
        let mut spans = self.all_spans();
        spans.retain(|span| hex::encode(&span.trace_id) == trace);
        spans
    }

    /// The spans of every trace.
    #[must_use]
    pub fn all_spans(&self) -> Vec<Span> {
        self.received().spans.clone()
    }

    /// The newest state of a metric.
    #[must_use]
    pub fn metric(&self, name: &str) -> Option<Metric> {
        let received = self.received();
        received.metrics.iter().rev().find(|metric| metric.name == name).cloned()
    }

    /// The newest value of a counter or gauge, summed over its points.
    ///
    /// # Panics
    ///
    /// Panics if the metric is neither a counter nor a gauge.
    #[must_use]
    pub fn figure(&self, name: &str) -> Option<f64> {
        let points = match self.metric(name)?.data? {
            Data::Sum(sum) => sum.data_points,
            Data::Gauge(gauge) => gauge.data_points,
            other => panic!("{name}: {other:?}"),
        };
        let figures = points.iter().filter_map(|point| match point.value? {
            Value::AsDouble(value) => Some(value),
            Value::AsInt(_) => None,
        });
        Some(figures.sum())
    }

    /// All received requests, as bytes.
    #[must_use]
    pub fn bytes(&self) -> Vec<u8> {
        self.received().bytes.clone()
    }

    fn received(&self) -> MutexGuard<'_, ReceivedData> {
        self.received.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The names of the services that sent data.
    #[must_use]
    pub fn services(&self) -> Vec<String> {
        self.received().services.clone()
    }
}

async fn receive_traces(State(received): State<Shared>, body: Bytes) {
    let request = ExportTraceServiceRequest::decode(body.clone()).expect("a message of OTLP");
    let mut received = received.lock().unwrap_or_else(PoisonError::into_inner);
    received.bytes.extend_from_slice(&body);
    for resource in request.resource_spans {
        let attributes = resource.resource.unwrap_or_default().attributes;
        let name = attributes.into_iter().find(|attribute| attribute.key == "service.name");
        received.services.extend(name.map(|name| format!("{:?}", name.value)));
        received.spans.extend(resource.scope_spans.into_iter().flat_map(|scope| scope.spans));
    }
}

async fn receive_metrics(State(received): State<Shared>, body: Bytes) {
    let request = ExportMetricsServiceRequest::decode(body.clone()).expect("a message of OTLP");
    let mut received = received.lock().unwrap_or_else(PoisonError::into_inner);
    received.bytes.extend_from_slice(&body);
    let scopes = request.resource_metrics.into_iter().flat_map(|resource| resource.scope_metrics);
    received.metrics.extend(scopes.flat_map(|scope| scope.metrics));
}
