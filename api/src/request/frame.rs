//! Outermost middleware of every request: request id, bounds on header fields and time, uniform
//! problems, a log line, a trace and metrics. A panic becomes an ordinary problem.

use std::{borrow::Cow, future::Future, panic::AssertUnwindSafe, sync::Arc, time::Instant};

use assay_address::ChainId;
use assay_request::{
    head::{self, X_REQUEST_ID},
    problem::{Code, Problem},
    trace::caller_context,
};
use assay_service::SerializedAssessment;
use assay_telemetry::{
    request::{RequestIdentifiers, WorkScope, in_request},
    stage,
};
use axum::{
    extract::{MatchedPath, Request, State},
    http::{HeaderMap, HeaderValue, Method, header},
    middleware::Next,
    response::Response,
};
use futures_util::FutureExt;
use opentelemetry::trace::{Status, TraceContextExt, TraceId};
use tracing::{Instrument, Span, field::Empty};
use tracing_opentelemetry::OpenTelemetrySpanExt;

use super::{
    answer_records::Handled,
    cors::Cors,
    load::{Class, ShedReason, refused},
    problem::{ProblemResponse, render},
    streamed::hold_until_end,
};
use crate::{App, Audience, OPENAPI, OPENAPI_3_0, metrics::RouteLabel};

/// Largest size of all header fields together, in bytes.
const MAX_HEADERS_BYTES: usize = 16 * 1024;
/// Route label of requests that match no route.
const UNMATCHED: &str = "unmatched";
const KNOWN_METHODS: [Method; 9] = [
    Method::GET,
    Method::HEAD,
    Method::POST,
    Method::PUT,
    Method::DELETE,
    Method::CONNECT,
    Method::OPTIONS,
    Method::TRACE,
    Method::PATCH,
];
/// Value of `Strict-Transport-Security`: the field holds for one year.
const STRICT_TRANSPORT_SECURITY: &str = "max-age=31536000";
/// Value of `Content-Security-Policy` of responses that are no web page.
const CONTENT_SECURITY_POLICY: &str = "default-src 'none'; frame-ancestors 'none'";

/// State of the frame (the outermost middleware) of a router.
#[derive(Clone, Debug)]
pub(crate) struct FrameState {
    pub(crate) app: Arc<App>,
    pub(crate) side: Audience,
    pub(crate) routes: Routes,
}

/// Route patterns of a router, as labels of requests in logs and metrics: a closed set, so that labels
/// cost no memory.
#[derive(Clone, Debug)]
pub(crate) struct Routes(Arc<[&'static str]>);

impl Routes {
    pub(crate) fn new(mut paths: Vec<&'static str>) -> Self {
        paths.sort_unstable();
        Self(paths.into())
    }

    fn pattern_of(&self, request: &Request) -> &'static str {
        let matched = request.extensions().get::<MatchedPath>();
        let index = matched.and_then(|path| self.0.binary_search(&path.as_str()).ok());
        index.and_then(|index| self.0.get(index)).copied().unwrap_or(UNMATCHED)
    }
}

/// Arrival time of the request.
#[derive(Clone, Copy, Debug)]
pub struct ArrivalTime(pub Instant);

/// Path and identifier of the request, for problems within its answer.
#[derive(Clone, Debug)]
pub struct RequestIdentity {
    /// Path for the `instance` of problems.
    pub(crate) path: Arc<str>,
    /// Request id.
    pub(crate) id: Arc<str>,
}

/// Assessment of the address that a request concerns, whose hash the log line shows; an extension of the response of a
/// handler behind the router.
#[derive(Clone, Debug)]
pub(crate) struct LoggedSubject {
    /// Chain of the address.
    pub(crate) chain: ChainId,
    /// The assessment, which names the address.
    pub(crate) assessed: Arc<SerializedAssessment>,
}

/// The outermost middleware.
pub(crate) async fn frame(
    State(FrameState { app, side, routes }): State<FrameState>,
    request: Request,
    next: Next,
) -> Response {
    let route = routes.pattern_of(&request);
    let handle = |mut request: Request, RequestInfo { id, path, arrived, .. }: RequestInfo<'_>| {
        request.extensions_mut().insert(ArrivalTime(arrived));
        let identity = RequestIdentity { path: path.into(), id: id.into() };
        request.extensions_mut().insert(identity);
        async { Handled::from_extensions(next.run(request).await) }
    };
    let route = RouteLabel { pattern: route, answered: None };
    frame_around(&app, side, route, request, handle).await
}

/// Does what the outermost middleware does around the handler `handle` of a route.
pub(crate) async fn frame_around<F: Future<Output = Handled>>(
    app: &Arc<App>,
    side: Audience,
    label: RouteLabel<'_>,
    request: Request,
    handle: impl FnOnce(Request, RequestInfo<'_>) -> F,
) -> Response {
    let route = label.pattern;
    let arrived = Instant::now();
    let in_flight = app.metrics.in_flight();
    let id = request_id(request.headers(), app);
    // Only known methods are recorded, because a collector receives the value.
    let method = request.method().clone();
    let shown = if KNOWN_METHODS.contains(&method) { method.as_str() } else { "_OTHER" };
    let stage = stage!(
        "request",
        otel.kind = "server",
        otel.name = format!("{shown} {route}"),
        http.request.method = shown,
        http.route = route,
        http.response.status_code = Empty,
        assay.request_id = &*id,
    );
    let trace_id = begin_trace(&stage, request.headers());
    let identifiers = RequestIdentifiers { request_id: Arc::clone(&id), trace_id };

    let path = problem_instance(request.uri().path(), route);
    let info = RequestInfo { id: &id, path: &path, route, arrived };
    let answering = answer(app, side, request, handle, info);
    let Handled { response, subject, .. } =
        in_request(identifiers.clone(), answering.instrument(stage.clone())).await;
    let status = response.status();
    let code = response.extensions().get::<Code>().copied();
    app.metrics.request(label, status, code, arrived.elapsed());
    stage.record("http.response.status_code", status.as_u16());
    if let Some(code) = code.filter(|code| code.status().is_server_error()) {
        stage.set_attribute("error.type", code.as_str());
        stage.set_status(Status::error(code.as_str()));
    }
    let scope = WorkScope::of_request(identifiers);
    if status.is_client_error()
        || status.is_server_error()
        || app.settings.log_sample.contains(trace_id)
    {
        scope.run(|| {
            let logged = subject.as_ref().filter(|_| tracing::enabled!(tracing::Level::INFO));
            let hash = logged.map(|LoggedSubject { chain, assessed }| {
                assessed.address_hash(|| app.address_hasher.hash(*chain, &assessed.address))
            });
            tracing::info!(
                method = shown,
                route,
                status = status.as_u16(),
                code = code.map(Code::as_str),
                duration_us = arrived.elapsed().as_micros(),
                address_hash = hash,
                "request"
            );
        });
    }
    hold_until_end(response, (in_flight, stage), || scope)
}

/// Returns the trace of the request: the caller's trace, or a new trace.
fn begin_trace(stage: &Span, headers: &HeaderMap) -> TraceId {
    let caller = caller_context(headers);
    if stage.is_disabled() {
        return caller.map_or_else(
            || assay_system::random_u128().into(),
            |caller| caller.span().span_context().trace_id(),
        );
    }
    if let Some(caller) = caller {
        // This cannot fail: the span has not started yet.
        let _ = stage.set_parent(caller);
    }
    stage.context().span().span_context().trace_id()
}

/// Properties of a request that are known at its arrival.
#[derive(Clone, Copy)]
pub(crate) struct RequestInfo<'a> {
    /// Request id.
    pub(crate) id: &'a str,
    /// Path for the `instance` of problems.
    pub(crate) path: &'a str,
    /// Pattern of the route.
    pub(crate) route: &'static str,
    /// Time of arrival.
    pub(crate) arrived: Instant,
}

/// Returns the response to a request, also after a timeout or a panic.
async fn answer<F: Future<Output = Handled>>(
    app: &Arc<App>,
    side: Audience,
    request: Request,
    handle: impl FnOnce(Request, RequestInfo<'_>) -> F,
    info: RequestInfo<'_>,
) -> Handled {
    let RequestInfo { id, path, route, .. } = info;
    let cors = (side == Audience::Api).then_some(&app.settings.cors);
    let origin = cors.and_then(|cors| cors.origin(request.headers()));

    let mut subject = None;
    let response = if headers_length(request.headers()) > MAX_HEADERS_BYTES {
        let detail = format!("header fields are larger than {MAX_HEADERS_BYTES} bytes together");
        render(&Problem::new(Code::HeadersTooLarge, detail), path, id)
    } else if request.headers().get_all(header::HOST).iter().count() > 1 {
        // A proxy may have routed the request by one of them (RFC 9112, section 3.2).
        let detail = "the request has more than one `Host` field: send one";
        render(&Problem::new(Code::MalformedHttp, detail), path, id)
    } else if let Some(preflight) = Cors::preflight(origin.as_ref(), &request) {
        preflight
    } else if side == Audience::Api
        && is_unauthenticated(route)
        && app.load.acquire_unauthenticated().is_none()
    {
        app.metrics.shed(Class::Unauthenticated);
        render(&refused(ShedReason::Server, None), path, id)
    } else {
        let handled = AssertUnwindSafe(handle(request, info)).catch_unwind();
        match tokio::time::timeout(app.settings.request_timeout, handled).await {
            Ok(Ok(handled)) => {
                subject = handled.subject;
                render_problems(handled.response, path, id)
            }
            Ok(Err(_)) => {
                tracing::error!(route, "a handler panicked");
                let detail = "an unexpected error; report the request id";
                render(&Problem::new(Code::InternalError, detail), path, id)
            }
            Err(_) => {
                let detail = "the response took too long; try again";
                let problem = Problem::new(Code::Unavailable, detail);
                render(&problem.header(header::RETRY_AFTER, "1"), path, id)
            }
        }
    };
    let mut response = with_default_headers(response, id, app.service.is_draining());
    if let Some(cors) = cors {
        cors.set_response_headers(response.headers_mut(), origin);
        if app.settings.tls {
            let value = HeaderValue::from_static(STRICT_TRANSPORT_SECURITY);
            response.headers_mut().insert(header::STRICT_TRANSPORT_SECURITY, value);
        }
    }
    Handled { subject, ..Handled::new(response) }
}

/// Returns the path for the `instance` of problems; the route if the path may contain a key.
fn problem_instance(path: &str, route: &'static str) -> Cow<'static, str> {
    if path == route || head::may_hold_key(path) { route.into() } else { path.to_owned().into() }
}

/// True if a route needs no key and is not a health check.
fn is_unauthenticated(route: &str) -> bool {
    [UNMATCHED, OPENAPI, OPENAPI_3_0].contains(&route) || assay_console::OPEN_PATHS.contains(&route)
}

/// Returns the caller's request id if it is well-formed, otherwise a new one.
fn request_id(headers: &HeaderMap, app: &App) -> Arc<str> {
    let new = || {
        let id = assay_system::new_id(app.service.clock.now()).hyphenated();
        (&*id.encode_lower(&mut [0; 36])).into()
    };
    head::request_id(headers).map_or_else(new, Into::into)
}

fn headers_length(headers: &HeaderMap) -> usize {
    headers.iter().map(|(name, value)| name.as_str().len() + value.len() + 4).sum()
}

/// Renders the problem that a response carries, and refusals by the HTTP framework itself in the same form.
fn render_problems(response: Response, path: &str, id: &str) -> Response {
    let status = response.status();
    if let Some(ProblemResponse(problem)) = response.extensions().get() {
        return with_headers_of(&response, render(problem, path, id));
    }
    // Pages for people describe their errors themselves.
    let is_page = response.headers().get(header::CONTENT_TYPE).is_some_and(is_html);
    if (status.is_client_error() || status.is_server_error()) && !is_page {
        let code = Code::for_status(status);
        let detail = match code {
            Code::NotFound => "`/openapi.json` lists the existing paths".to_owned(),
            Code::MethodNotAllowed => {
                "the `Allow` header field lists the allowed methods".to_owned()
            }
            _ => format!("the request was refused with status {}", status.as_u16()),
        };
        return with_headers_of(&response, render(&Problem::new(code, detail), path, id));
    }
    response
}

/// True if the value of `Content-Type` is that of a page.
fn is_html(media_type: &HeaderValue) -> bool {
    media_type.as_bytes().starts_with(b"text/html")
}

/// Returns `new` with those header fields of `old` that do not describe the body.
fn with_headers_of(old: &Response, mut new: Response) -> Response {
    let about_body = [header::CONTENT_TYPE, header::CONTENT_LENGTH];
    for (name, value) in old.headers() {
        if !about_body.contains(name) && !new.headers().contains_key(name) {
            new.headers_mut().append(name, value.clone());
        }
    }
    new
}

/// Adds the header fields of every response.
fn with_default_headers(mut response: Response, id: &str, is_draining: bool) -> Response {
    let headers = response.headers_mut();
    if let Ok(value) = HeaderValue::from_str(id) {
        headers.insert(X_REQUEST_ID, value);
    }
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    // Pages and their files have values of their own.
    for (name, value) in [
        (header::CACHE_CONTROL, "no-store"),
        (header::CONTENT_SECURITY_POLICY, CONTENT_SECURITY_POLICY),
    ] {
        headers.entry(name).or_insert(HeaderValue::from_static(value));
    }
    headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    if is_draining {
        // The caller sends its next request over another connection.
        headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
    response
}
