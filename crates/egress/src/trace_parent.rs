//! The trace context of outgoing requests: `traceparent` and `tracestate` of W3C Trace Context, as the
//! OpenTelemetry SDK writes them.

use opentelemetry::{
    Context,
    propagation::{Injector, TextMapPropagator},
};
use opentelemetry_sdk::propagation::TraceContextPropagator;
use ureq::{
    Body, Error, SendBody,
    http::{HeaderMap, HeaderName, HeaderValue, Request, Response},
    middleware::{Middleware, MiddlewareNext},
};

/// Middleware that makes the requests of an agent children of the current span of the thread. Without a
/// span, requests carry no trace context.
#[derive(Clone, Copy, Debug)]
pub struct TraceParent;

impl Middleware for TraceParent {
    fn handle(
        &self,
        mut request: Request<SendBody<'_>>,
        next: MiddlewareNext<'_>,
    ) -> Result<Response<Body>, Error> {
        let mut headers = Headers(request.headers_mut());
        TraceContextPropagator::new().inject_context(&Context::current(), &mut headers);
        next.handle(request)
    }
}

struct Headers<'a>(&'a mut HeaderMap);

impl Injector for Headers<'_> {
    /// Sets a field, unless it is empty, as `tracestate` is in a trace of our own.
    fn set(&mut self, key: &str, value: String) {
        let name = HeaderName::from_bytes(key.as_bytes());
        let value = HeaderValue::try_from(value).ok().filter(|value| !value.is_empty());
        if let (Ok(name), Some(value)) = (name, value) {
            self.0.insert(name, value);
        }
    }
}
