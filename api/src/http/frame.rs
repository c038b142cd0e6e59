//! What surrounds every request: an identifier, a bound on header fields and time, problems printed in
//! one shape, a log line and metrics. A panic becomes an ordinary problem.

use std::{panic::AssertUnwindSafe, sync::Arc, time::Instant};

use axum::{
    extract::{MatchedPath, Request, State},
    http::{HeaderMap, HeaderName, HeaderValue, header},
    middleware::Next,
    response::Response,
};
use futures_util::FutureExt;

use super::{
    App,
    leftover::taking_leftovers,
    problem::{Code, Problem},
};
use crate::system;

/// Names a request in answers and logs.
pub(super) const X_REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// Bytes of all header fields together.
const LARGEST_HEADERS: usize = 16 * 1024;
/// Longest identifier that a caller may give a request.
const LONGEST_REQUEST_ID: usize = 128;

/// When the request arrived.
#[derive(Clone, Copy, Debug)]
pub struct Arrived(pub Instant);

/// The outermost middleware.
pub async fn frame(State(app): State<Arc<App>>, mut request: Request, next: Next) -> Response {
    let arrived = Instant::now();
    let id = request_id(request.headers(), &app);
    let path = request.uri().path().to_owned();
    let method = request.method().clone();
    let route: Arc<str> = request
        .extensions()
        .get::<MatchedPath>()
        .map_or_else(|| "unmatched".into(), |path| path.as_str().into());
    request.extensions_mut().insert(Arrived(arrived));
    let request = taking_leftovers(request);

    let response = if headers_length(request.headers()) > LARGEST_HEADERS {
        let detail = format!("header fields are larger than {LARGEST_HEADERS} bytes together");
        Problem::new(Code::HeadersTooLarge, detail).print(&path, &id)
    } else {
        let handled = AssertUnwindSafe(next.run(request)).catch_unwind();
        match tokio::time::timeout(app.settings.request_timeout, handled).await {
            Ok(Ok(response)) => printed(response, &path, &id),
            Ok(Err(_)) => {
                tracing::error!(request_id = &*id, route = &*route, "a handler panicked");
                let detail = "an unexpected error; please report the request id";
                Problem::new(Code::InternalError, detail).print(&path, &id)
            }
            Err(_) => {
                let detail = "the answer took too long";
                Problem::new(Code::Unavailable, detail)
                    .header(header::RETRY_AFTER, "1")
                    .print(&path, &id)
            }
        }
    };
    let response = dressed(response, &id, app.service.is_draining());
    app.metrics.request(&route, response.status(), arrived.elapsed());
    tracing::info!(
        request_id = &*id,
        method = method.as_str(),
        route = &*route,
        status = response.status().as_u16(),
        duration_us = arrived.elapsed().as_micros(),
        "request"
    );
    response
}

/// The caller's identifier where it is a plain one, else a new one.
fn request_id(headers: &HeaderMap, app: &App) -> Arc<str> {
    let given = headers.get(X_REQUEST_ID).and_then(|value| value.to_str().ok()).filter(|given| {
        (1..=LONGEST_REQUEST_ID).contains(&given.len())
            && given.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.:".contains(&byte))
    });
    given.map_or_else(|| system::new_id(app.service.clock.now()).to_string().into(), Into::into)
}

fn headers_length(headers: &HeaderMap) -> usize {
    headers.iter().map(|(name, value)| name.as_str().len() + value.len() + 4).sum()
}

/// The response, with a problem printed for this request where it carries one, and with refusals of the
/// framework itself in the same shape.
fn printed(response: Response, path: &str, id: &str) -> Response {
    let status = response.status();
    if let Some(problem) = response.extensions().get::<Problem>() {
        let problem = problem.clone();
        return keeping_headers(&response, problem.print(path, id));
    }
    if status.is_client_error() || status.is_server_error() {
        let code = Code::for_status(status);
        let detail = match code {
            Code::NotFound => "`/openapi.json` lists what is there".to_owned(),
            Code::MethodNotAllowed => "the `Allow` field lists what is allowed".to_owned(),
            _ => format!("the request was refused with status {}", status.as_u16()),
        };
        return keeping_headers(&response, Problem::new(code, detail).print(path, id));
    }
    response
}

/// `new` with the header fields of `old` that say more than what the body is.
fn keeping_headers(old: &Response, mut new: Response) -> Response {
    let about_body = [header::CONTENT_TYPE, header::CONTENT_LENGTH];
    for (name, value) in old.headers() {
        if !about_body.contains(name) && !new.headers().contains_key(name) {
            new.headers_mut().append(name, value.clone());
        }
    }
    new
}

/// Header fields of every response.
fn dressed(mut response: Response, id: &str, is_draining: bool) -> Response {
    let headers = response.headers_mut();
    if let Ok(value) = HeaderValue::from_str(id) {
        headers.insert(X_REQUEST_ID, value);
    }
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    if is_draining {
        // The caller's next request goes to another connection.
        headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
    response
}
