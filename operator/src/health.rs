//! Health and metrics over HTTP.

use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use axum::{Router, extract::State, http::StatusCode, routing::get};
use tokio::net::TcpListener;

use crate::metrics::Metrics;

/// What the probes ask for.
#[derive(Clone, Debug, Default)]
pub struct Health {
    ready: Arc<AtomicBool>,
    /// What is counted.
    pub metrics: Metrics,
}

impl Health {
    /// Says whether the operator can work: as leader or as one that waits.
    pub fn is_ready(&self, ready: bool) {
        self.ready.store(ready, Ordering::Relaxed);
    }
}

/// Serves until the program ends.
///
/// # Errors
///
/// Where the listener fails.
pub async fn serve(listener: TcpListener, health: Health) -> io::Result<()> {
    let router = Router::new()
        .route("/livez", get(async || StatusCode::OK))
        .route("/readyz", get(ready))
        .route("/metrics", get(async |State(health): State<Health>| health.metrics.text()))
        .with_state(health);
    axum::serve(listener, router).await
}

async fn ready(State(health): State<Health>) -> StatusCode {
    if health.ready.load(Ordering::Relaxed) {
        StatusCode::OK
    } else {
        StatusCode::SERVICE_UNAVAILABLE
    }
}
