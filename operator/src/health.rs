//! Probes and metrics over HTTP.

use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use axum::{Router, extract::State, http::StatusCode, routing::get};
use tokio::net::TcpListener;

use crate::metrics::OperatorMetrics;

/// The readiness and the metrics of the operator.
#[derive(Clone, Debug, Default)]
pub struct OperatorHealth {
    ready: Arc<AtomicBool>,
    /// The metrics.
    pub metrics: OperatorMetrics,
}

impl OperatorHealth {
    /// Sets the readiness: true once the operator could open the store, as leader or as standby.
    pub fn set_ready(&self, ready: bool) {
        self.ready.store(ready, Ordering::Relaxed);
    }
}

/// Serves `/livez`, `/readyz` and `/metrics` until the program ends.
///
/// # Errors
///
/// Returns an error if the listener fails.
pub async fn serve(listener: TcpListener, health: OperatorHealth) -> io::Result<()> {
    let router = Router::new()
        .route("/livez", get(async || StatusCode::OK))
        .route("/readyz", get(ready))
        .route("/metrics", get(async |State(health): State<OperatorHealth>| health.metrics.text()))
        .with_state(health);
    axum::serve(listener, router).await
}

async fn ready(State(health): State<OperatorHealth>) -> StatusCode {
    if health.ready.load(Ordering::Relaxed) {
        StatusCode::OK
    } else {
        StatusCode::SERVICE_UNAVAILABLE
    }
}
