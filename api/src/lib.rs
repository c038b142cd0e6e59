//! HTTP API: routing, authentication, rate limiting and responses.
//!
//! A request passes [`frame`] (request id, bounds, problems, log line), for the API itself [`gate`]
//! (key, plan, limits), then its handler in [`routes`]. [`connection`] accepts sockets and serves HTTP
//! on them.

pub mod chain_server;
mod connection;
mod console;
mod contract;
mod deprecation;
mod direct;
mod docs;
mod metrics;
pub mod openapi;
mod operations;
mod request;
mod response;
pub mod routes;
mod server_metrics;

use std::{sync::Arc, time::Duration};

use axum::{
    Router,
    extract::{DefaultBodyLimit, Request, State},
    http::header,
    middleware::{from_fn_with_state, map_request},
    response::{IntoResponse, Response},
    routing::get,
};

use assay_console::{CallerAddress, Console};
use assay_service::Service;
use assay_telemetry::request::LogSample;

use self::{
    connection::table::ConnectionMark,
    deprecation::Deprecation,
    operations::operations,
    request::{
        frame::{self, FrameState, Routes},
        gate, idempotency,
    },
};
pub use self::{
    connection::{
        Timeouts,
        listener::{ListenerSettings, TrustedProxies, serve},
        table::ConnectionBounds,
        tls::{Tls, TlsError, TlsFiles},
    },
    console::ConsoleChecks,
    direct::ApiEndpoint,
    metrics::{Dependency, LimiterOutcome, Metrics},
    request::{
        address_hash::{AddressHashKeyError, AddressHasher},
        cors::Cors,
        load::{Class, Load, ShedReason, TenantBounds},
    },
};

/// State that all handlers share.
#[derive(Debug)]
pub struct App {
    /// The application.
    pub service: Arc<Service>,
    /// Metrics.
    pub metrics: Metrics,
    /// Number and capacity of requests in flight.
    pub load: Load,
    /// Keyed hash of addresses in logs.
    pub address_hasher: AddressHasher,
    /// Settings of requests and responses.
    pub settings: HttpSettings,
}

/// Settings of requests and responses.
#[derive(Clone, Debug)]
pub struct HttpSettings {
    /// Longest time from a request's arrival to its response.
    pub request_timeout: Duration,
    /// Longest time for the body of a check to arrive.
    pub body_timeout: Duration,
    /// Longest time for the next row of a bulk request to arrive.
    pub row_timeout: Duration,
    /// Origins of web pages that may call the API.
    pub cors: Cors,
    /// True if responses carry `X-RateLimit-*` header fields too.
    pub legacy_rate_limit_headers: bool,
    /// True if callers reach the API by TLS: responses then carry `Strict-Transport-Security`.
    pub tls: bool,
    /// Sample of the requests without a problem that have a log line.
    pub log_sample: LogSample,
}

/// Returns the endpoint of the API for callers, with the console for people if there is one. Readiness is on the admin port
/// only, because its answer discloses degradations.
pub fn api(app: &Arc<App>, console: Option<&Arc<Console>>) -> ApiEndpoint {
    let mut router = Router::new()
        .route(OPENAPI, get(openapi::serve))
        .route(OPENAPI_3_0, get(openapi::serve_3_0))
        .route(WELCOME, get(docs::welcome))
        .route(DOCS, get(docs::viewer))
        .route(DOCS_FILE, get(docs::asset))
        .route(HEALTH, get(routes::health::healthz));
    let mut paths = vec![OPENAPI, OPENAPI_3_0, WELCOME, DOCS, DOCS_FILE, HEALTH];
    for operation in operations() {
        for path in operation.paths {
            let mut handler = operation.endpoint.router.clone();
            if let Some(keyed) = operation.keyed {
                let once = from_fn_with_state((Arc::clone(app), keyed), idempotency::answer_once);
                handler = handler.route_layer(once);
            }
            let guard = from_fn_with_state((Arc::clone(app), operation.gate), gate::pass);
            handler = handler.route_layer(guard);
            if let Some(deprecation) = Deprecation::of(operation.id) {
                handler = deprecation.with_notice(handler);
            }
            router = router.route(path, handler);
            paths.push(path);
        }
    }
    if let Some(console) = console {
        let pages = assay_console::router(console).layer(map_request(with_caller_address));
        router = router.nest(assay_console::MOUNT, pages);
        paths.extend(assay_console::PATHS);
    }
    ApiEndpoint::with_direct_checks(with_frame(router, app, Audience::Api, paths), app)
}

/// Adds the address of the caller to a request for the console.
async fn with_caller_address(mut request: Request) -> Request {
    let mark = request.extensions().get::<ConnectionMark>();
    if let Some(address) = mark.and_then(ConnectionMark::peer) {
        request.extensions_mut().insert(CallerAddress(address));
    }
    request
}

/// Returns the router of the admin port: health and metrics.
pub fn admin(app: &Arc<App>) -> Router {
    let router = Router::new()
        .route(HEALTH, get(routes::health::healthz))
        .route(READY, get(routes::health::readyz))
        .route(METRICS, get(print_metrics));
    with_frame(router, app, Audience::Admin, vec![HEALTH, READY, METRICS])
}

const WELCOME: &str = "/";
const DOCS: &str = "/docs";
const DOCS_FILE: &str = "/docs/{file}";
const OPENAPI: &str = "/openapi.json";
const OPENAPI_3_0: &str = "/openapi-3.0.json";
/// Paths that are exempt from load shedding.
const HEALTH: &str = "/healthz";
const READY: &str = "/readyz";
const METRICS: &str = "/metrics";

/// Audience of a router.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Audience {
    /// Callers of the API.
    Api,
    /// Operators of the program.
    Admin,
}

fn with_frame(
    router: Router<Arc<App>>,
    app: &Arc<App>,
    side: Audience,
    paths: Vec<&'static str>,
) -> Router {
    let frame = FrameState { app: Arc::clone(app), side, routes: Routes::new(paths) };
    router
        // Handlers bound bodies when they read them.
        .layer(DefaultBodyLimit::disable())
        .layer(from_fn_with_state(frame, frame::frame))
        .with_state(Arc::clone(app))
}

async fn print_metrics(State(app): State<Arc<App>>) -> Response {
    let text = app.metrics.print(&app.service);
    let content_type = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    ([(header::CONTENT_TYPE, content_type)], text).into_response()
}
