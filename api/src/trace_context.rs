//! From the caller's span to ours.

use std::str::FromStr;

use assay_request::trace::CallerSpan;
use opentelemetry::{
    Context,
    trace::{SpanContext, SpanId, TraceContextExt, TraceFlags, TraceId, TraceState},
};

/// The trace that the caller's span belongs to.
#[must_use]
pub const fn trace_of(caller: &CallerSpan) -> TraceId {
    TraceId::from_bytes(caller.trace)
}

/// The context in which spans are children of the caller's.
#[must_use]
pub fn beneath(caller: &CallerSpan) -> Context {
    let flags = if caller.sampled { TraceFlags::SAMPLED } else { TraceFlags::default() };
    let state = TraceState::from_str(&caller.state).unwrap_or_default();
    let span = SpanId::from_bytes(caller.span);
    Context::new().with_remote_span_context(SpanContext::new(
        trace_of(caller),
        span,
        flags,
        true,
        state,
    ))
}
