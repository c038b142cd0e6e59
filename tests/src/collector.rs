//! A collector of our own: takes traces and metrics in by OTLP and keeps them.

use std::{
    net::SocketAddr,
    sync::{Arc, Mutex},
};

use axum::{Router, body::Bytes, extract::State, routing::post};
use opentelemetry_proto::tonic::{
    collector::{metrics::v1::ExportMetricsServiceRequest, trace::v1::ExportTraceServiceRequest},
    metrics::v1::{Metric, metric::Data, number_data_point::Value},
    trace::v1::Span,
};
use prost::Message;
use tokio::runtime::Runtime;

/// What came in.
#[derive(Debug, Default)]
struct Taken {
    spans: Vec<Span>,
    metrics: Vec<Metric>,
    services: Vec<String>,
    bytes: Vec<u8>,
}

type Shared = Arc<Mutex<Taken>>;

/// A collector on a free port.
pub(crate) struct Collector {
    pub(crate) address: SocketAddr,
    taken: Shared,
    _runtime: Runtime,
}

impl Collector {
    pub(crate) fn start() -> Self {
        let runtime = Runtime::new().unwrap();
        let taken = Shared::default();
        let router = Router::new()
            .route("/v1/traces", post(take_traces))
            .route("/v1/metrics", post(take_metrics))
            .with_state(Arc::clone(&taken));
        let listener = runtime.block_on(tokio::net::TcpListener::bind("127.0.0.1:0")).unwrap();
        let address = listener.local_addr().unwrap();
        runtime.spawn(async move { axum::serve(listener, router).await });
        Self { address, taken, _runtime: runtime }
    }

    pub(crate) fn endpoint(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The spans of a trace.
    pub(crate) fn spans(&self, trace: &str) -> Vec<Span> {
        let taken = self.taken.lock().unwrap();
        let of_trace = |span: &&Span| hex::encode(&span.trace_id) == trace;
        taken.spans.iter().filter(of_trace).cloned().collect()
    }

    pub(crate) fn span_count(&self) -> usize {
        self.taken.lock().unwrap().spans.len()
    }

    /// The newest state of a metric.
    pub(crate) fn metric(&self, name: &str) -> Option<Metric> {
        let taken = self.taken.lock().unwrap();
        taken.metrics.iter().rev().find(|metric| metric.name == name).cloned()
    }

    /// The newest figure of a counter or gauge, all its points together.
    pub(crate) fn figure(&self, name: &str) -> Option<f64> {
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

    /// Everything that came in, as bytes.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        self.taken.lock().unwrap().bytes.clone()
    }

    /// The names of the services that sent it.
    pub(crate) fn services(&self) -> Vec<String> {
        self.taken.lock().unwrap().services.clone()
    }
}

async fn take_traces(State(taken): State<Shared>, body: Bytes) {
    let request = ExportTraceServiceRequest::decode(body.clone()).unwrap();
    let mut taken = taken.lock().unwrap();
    taken.bytes.extend_from_slice(&body);
    for resource in request.resource_spans {
        let attributes = resource.resource.unwrap_or_default().attributes;
        let name = attributes.into_iter().find(|attribute| attribute.key == "service.name");
        taken.services.extend(name.map(|name| format!("{:?}", name.value)));
        taken.spans.extend(resource.scope_spans.into_iter().flat_map(|scope| scope.spans));
    }
}

async fn take_metrics(State(taken): State<Shared>, body: Bytes) {
    let request = ExportMetricsServiceRequest::decode(body.clone()).unwrap();
    let mut taken = taken.lock().unwrap();
    taken.bytes.extend_from_slice(&body);
    let scopes = request.resource_metrics.into_iter().flat_map(|resource| resource.scope_metrics);
    taken.metrics.extend(scopes.flat_map(|scope| scope.metrics));
}
