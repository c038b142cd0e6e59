//! The API on the wire.
//!
//! A request passes [`frame`] (identifier, bounds, problems, log), then for the API itself [`gate`] (key,
//! plan, limits), then its handler in [`routes`].

mod connection;
mod metrics;
pub mod openapi;
mod operations;
mod request;
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

use assay_service::Service;

pub use self::{
    connection::{
        Timeouts,
        listener::{ListenerSettings, serve},
        tls::{Tls, TlsError, TlsFiles},
    },
    metrics::{Dependency, LimiterOutcome, Metrics},
    request::{
        address_hash::{AddressHashKeyError, AddressHasher},
        cors::Cors,
        load::{Class, Load},
    },
};
use self::{
    operations::operations,
    request::{
        frame::{self, FrameState, Routes},
        gate,
    },
};

/// What all handlers share.
#[derive(Debug)]
pub struct App {
    /// What a request needs.
    pub service: Arc<Service>,
    /// What is counted.
    pub metrics: Metrics,
    /// How many requests are under way.
    pub load: Load,
    /// How addresses appear in logs.
    pub address_hasher: AddressHasher,
    /// Bounds, and what is told to whom.
    pub settings: HttpSettings,
}

/// Bounds of a request, and what is told to whom.
#[derive(Clone, Debug)]
pub struct HttpSettings {
    /// Longest time until an answer.
    pub request_timeout: Duration,
    /// Longest time in which the body of a check must arrive.
    pub body_timeout: Duration,
    /// Longest time for the next row of a bulk request to arrive.
    pub row_timeout: Duration,
    /// Pages in browsers that may call.
    pub cors: Cors,
    /// Whether limits are shown as `X-RateLimit-*` too.
    pub legacy_rate_limit_headers: bool,
    /// Whether callers reach the API by TLS, and should keep to it.
    pub tls: bool,
}

/// The API as callers see it.
pub fn api(app: &Arc<App>) -> Router {
    let mut router = Router::new()
        .route(OPENAPI, get(openapi::serve))
        .route(HEALTH, get(routes::health::healthz))
        .route(READY, get(routes::health::readyz));
    let mut paths = vec![OPENAPI, HEALTH, READY];
    for operation in operations() {
        for path in operation.paths {
            let guard = from_fn_with_state((Arc::clone(app), operation.gate), gate::pass);
            router = router.route(path, operation.handler.clone().route_layer(guard));
            paths.push(path);
        }
    }
    with_frame(router, app, Side::Api, paths)
}

/// What is for whoever runs the program.
pub fn admin(app: &Arc<App>) -> Router {
    let router = Router::new()
        .route(HEALTH, get(routes::health::healthz))
        .route(READY, get(routes::health::readyz))
        .route(METRICS, get(print_metrics));
    with_frame(router, app, Side::Admin, vec![HEALTH, READY, METRICS])
}

const OPENAPI: &str = "/openapi.json";
/// Paths that are answered whatever the load.
const HEALTH: &str = "/healthz";
const READY: &str = "/readyz";
const METRICS: &str = "/metrics";

/// Who is on the other side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    /// Callers.
    Api,
    /// Whoever runs the program.
    Admin,
}

fn with_frame(
    router: Router<Arc<App>>,
    app: &Arc<App>,
    side: Side,
    paths: Vec<&'static str>,
) -> Router {
    let frame = FrameState { app: Arc::clone(app), side, routes: Routes::new(paths) };
    router
        // Bodies are bounded where they are read.
        .layer(DefaultBodyLimit::disable())
        .layer(from_fn_with_state(frame, frame::frame))
        .with_state(Arc::clone(app))
}

async fn print_metrics(State(app): State<Arc<App>>) -> Response {
    let text = app.metrics.print(&app.service);
    let content_type = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    ([(header::CONTENT_TYPE, content_type)], text).into_response()
}
