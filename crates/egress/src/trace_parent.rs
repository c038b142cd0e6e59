//! Which trace a request of our own belongs to: `traceparent` and `tracestate` as W3C Trace Context has
//! them. It is a child of the span that is under way on this thread; where there is none, it says nothing.

use opentelemetry::{
    Context,
    trace::{SpanContext, TraceContextExt},
};
use ureq::{
    Body, Error, SendBody,
    http::{HeaderValue, Request, Response},
    middleware::{Middleware, MiddlewareNext},
};

/// Names the span that is under way in every request of an agent.
#[derive(Clone, Copy, Debug)]
pub struct TraceParent;

impl Middleware for TraceParent {
    fn handle(
        &self,
        mut request: Request<SendBody<'_>>,
        next: MiddlewareNext<'_>,
    ) -> Result<Response<Body>, Error> {
        let span = Context::map_current(|context| context.span().span_context().clone());
        if span.is_valid() {
            let state = span.trace_state().header();
            for (name, text) in [("traceparent", parent(&span)), ("tracestate", state)] {
                if let (false, Ok(value)) = (text.is_empty(), HeaderValue::from_str(&text)) {
                    request.headers_mut().insert(name, value);
                }
            }
        }
        next.handle(request)
    }
}

fn parent(span: &SpanContext) -> String {
    let (trace, id) = (span.trace_id(), span.span_id());
    format!("00-{trace}-{id}-{:02x}", span.trace_flags().to_u8())
}
