//! Spans around reconciliations and publications.

use std::fmt::Display;

use assay_telemetry::stage;
use kube::ResourceExt;
use tracing::{Instrument, Span, field::Empty};

/// Runs a reconciliation in a span that records a failure.
pub(crate) async fn trace_reconciliation<T, E: Display>(
    kind: &'static str,
    object: &impl ResourceExt,
    work: impl Future<Output = Result<T, E>>,
) -> Result<T, E> {
    let stage = stage!(
        "reconcile",
        kind,
        namespace = object.namespace(),
        name = object.name_any(),
        otel.status_code = Empty,
        otel.status_description = Empty,
    );
    run_in_span(stage, work).await
}

/// Runs a publication in a span that records a failure.
pub(crate) async fn trace_publication<T, E: Display>(
    work: impl Future<Output = Result<T, E>>,
) -> Result<T, E> {
    let stage = stage!("publish", otel.status_code = Empty, otel.status_description = Empty);
    run_in_span(stage, work).await
}

async fn run_in_span<T, E: Display>(
    stage: Span,
    work: impl Future<Output = Result<T, E>>,
) -> Result<T, E> {
    let done = work.instrument(stage.clone()).await;
    if let Err(error) = &done {
        stage.record("otel.status_code", "ERROR");
        stage.record("otel.status_description", error.to_string());
    }
    done
}
