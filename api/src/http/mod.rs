//! The API on the wire.
//!
//! A request passes [`frame`] (identifier, bounds, problems, log), then for the API itself [`gate`] (key,
//! plan, limits), then its handler in [`routes`].

mod body;
mod frame;
mod gate;
mod leftover;
mod listener;
mod metrics;
pub mod openapi;
mod operations;
pub mod problem;
mod prompt;
mod quiet;
pub mod routes;

use std::{sync::Arc, time::Duration};

use axum::{
    Router,
    extract::{DefaultBodyLimit, State},
    http::header,
    middleware::from_fn_with_state,
    response::{IntoResponse, Response},
    routing::get,
};

pub use listener::{ListenerSettings, serve};
pub use metrics::Metrics;
pub use operations::PREFIXES;
use operations::operations;

use crate::serving::Service;

/// What all handlers share.
#[derive(Debug)]
pub struct App {
    /// What a request needs.
    pub service: Arc<Service>,
    /// What is counted.
    pub metrics: Metrics,
    /// Bounds.
    pub settings: HttpSettings,
}

/// Bounds of a request.
#[derive(Clone, Copy, Debug)]
pub struct HttpSettings {
    /// Longest time until an answer.
    pub request_timeout: Duration,
}

/// The API as callers see it.
pub fn api(app: &Arc<App>) -> Router {
    let mut router = Router::new();
    for prefix in PREFIXES {
        for operation in operations() {
            let guard = from_fn_with_state((Arc::clone(app), operation.gate), gate::pass);
            let path = format!("{prefix}{}", operation.path);
            router = router.route(&path, operation.handler.route_layer(guard));
        }
    }
    let router = router
        .route("/openapi.json", get(openapi::serve))
        .route("/healthz", get(routes::health::healthz))
        .route("/readyz", get(routes::health::readyz));
    framed(router, app)
}

/// What is for whoever runs the program.
pub fn admin(app: &Arc<App>) -> Router {
    let router = Router::new()
        .route("/healthz", get(routes::health::healthz))
        .route("/readyz", get(routes::health::readyz))
        .route("/metrics", get(print_metrics));
    framed(router, app)
}

fn framed(router: Router<Arc<App>>, app: &Arc<App>) -> Router {
    router
        // Bodies are bounded where they are read.
        .layer(DefaultBodyLimit::disable())
        .layer(from_fn_with_state(Arc::clone(app), frame::frame))
        .with_state(Arc::clone(app))
}

async fn print_metrics(State(app): State<Arc<App>>) -> Response {
    let text = app.metrics.print(&app.service);
    let content_type = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    ([(header::CONTENT_TYPE, content_type)], text).into_response()
}
