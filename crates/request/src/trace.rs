//! Trace context of a caller's request: W3C Trace Context, as the OpenTelemetry SDK reads it.

use http::HeaderMap;
use opentelemetry::{
    Context,
    propagation::{Extractor, TextMapPropagator},
    trace::TraceContextExt,
};
use opentelemetry_sdk::propagation::TraceContextPropagator;

/// Longest `tracestate` that is propagated: the length that the standard requires at least.
const MAX_STATE_LENGTH: usize = 512;

/// The context whose span is the caller's. `None` if the header fields name no span, or a malformed span: a new trace
/// begins then.
#[must_use]
pub fn caller_context(headers: &HeaderMap) -> Option<Context> {
    let fields = TraceFields { parent: parent(headers)?, state: &state(headers) };
    let context = TraceContextPropagator::new().extract_with_context(&Context::new(), &fields);
    context.has_active_span().then_some(context)
}

/// The `traceparent` of a request that has exactly one such field. The SDK reads identifiers as numbers of any length;
/// the standard fixes their lengths.
fn parent(headers: &HeaderMap) -> Option<&str> {
    let mut parents = headers.get_all("traceparent").iter();
    let (parent, second) = (parents.next()?, parents.next());
    let text = parent.to_str().ok()?.trim();
    let mut lengths = text.split('-').map(str::len);
    let is_whole = [2, 32, 16, 2].into_iter().all(|length| lengths.next() == Some(length));
    (second.is_none() && is_whole && !text.contains('+')).then_some(text)
}

/// The values of all `tracestate` header fields; empty if the values are too long together.
fn state(headers: &HeaderMap) -> String {
    let states = headers.get_all("tracestate").iter().filter_map(|state| state.to_str().ok());
    let state = states.collect::<Vec<_>>().join(",");
    if state.len() <= MAX_STATE_LENGTH { state } else { String::new() }
}

struct TraceFields<'a> {
    parent: &'a str,
    state: &'a str,
}

impl Extractor for TraceFields<'_> {
    fn get(&self, key: &str) -> Option<&str> {
        match key {
            "traceparent" => Some(self.parent),
            "tracestate" => Some(self.state),
            _ => None,
        }
    }

    fn keys(&self) -> Vec<&str> {
        vec!["traceparent", "tracestate"]
    }
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";
    const SPAN: &str = "b7ad6b7169203331";

    fn trace_of(parents: &[&str]) -> Option<String> {
        let mut headers = HeaderMap::new();
        for parent in parents {
            headers.append("traceparent", HeaderValue::from_str(parent).unwrap());
        }
        caller_context(&headers).map(|caller| caller.span().span_context().trace_id().to_string())
    }

    #[test]
    fn a_request_belongs_to_the_callers_trace() {
        assert_eq!(trace_of(&[&format!("00-{TRACE}-{SPAN}-01")]).unwrap(), TRACE);
        let later = format!("cc-{TRACE}-{SPAN}-01-what-the-future-will-be-like");
        assert_eq!(trace_of(&[&later]).unwrap(), TRACE, "a later version");
    }

    #[test]
    fn a_malformed_parent_begins_a_new_trace() {
        let right = format!("00-{TRACE}-{SPAN}-01");
        let zeros = "0".repeat(32);
        let wrong = [
            String::new(),
            format!("ff-{TRACE}-{SPAN}-01"),
            format!("00-{TRACE}-{SPAN}-01-more"),
            format!("00-{zeros}-{SPAN}-01"),
            format!("00-{TRACE}-0000000000000000-01"),
            format!("00-{}-{SPAN}-01", TRACE.to_uppercase()),
            format!("00-{TRACE}-{SPAN}"),
            format!("00-{TRACE}x-{SPAN}-01"),
            "00-1-1-01".to_owned(),
            format!("00-+{}-{SPAN}-01", &TRACE[1..]),
            format!("00-{TRACE}-{SPAN}-+1"),
        ];
        for wrong in wrong {
            assert_eq!(trace_of(&[&wrong]), None, "{wrong}");
        }
        assert_eq!(trace_of(&[&right, &right]), None, "two of them");
        assert_eq!(trace_of(&[]), None);
    }

    #[test]
    fn a_state_is_propagated_unless_it_is_too_long() {
        let mut headers = HeaderMap::new();
        let parent = format!("00-{TRACE}-{SPAN}-00");
        headers.insert("traceparent", HeaderValue::from_str(&parent).unwrap());
        headers.append("tracestate", HeaderValue::from_static("a=1"));
        headers.append("tracestate", HeaderValue::from_static("b=2"));
        let state = |headers: &HeaderMap| {
            let caller = caller_context(headers).unwrap();
            assert!(!caller.span().span_context().is_sampled());
            caller.span().span_context().trace_state().header()
        };
        assert_eq!(state(&headers), "a=1,b=2");
        let long = format!("c={}", "x".repeat(600));
        headers.append("tracestate", HeaderValue::from_str(&long).unwrap());
        assert_eq!(state(&headers), "");
    }
}
