//! Which trace a request belongs to: `traceparent` and `tracestate` as W3C Trace Context has them.

use std::str::FromStr;

use axum::http::{HeaderMap, HeaderName};
use opentelemetry::{
    Context,
    trace::{SpanContext, SpanId, TraceContextExt, TraceFlags, TraceId, TraceState},
};

const TRACEPARENT: HeaderName = HeaderName::from_static("traceparent");
const TRACESTATE: HeaderName = HeaderName::from_static("tracestate");
/// Longest `tracestate` that is taken on, as the standard asks for at least.
const LONGEST_STATE: usize = 512;

/// The span of the caller's that a request belongs to; `None` where it names none, or not rightly: then
/// a trace begins here.
#[must_use]
pub fn of_caller(headers: &HeaderMap) -> Option<SpanContext> {
    let mut parents = headers.get_all(TRACEPARENT).iter();
    let (parent, more) = (parents.next()?, parents.next());
    if more.is_some() {
        return None;
    }
    let (trace, span, flags) = read(parent.to_str().ok()?)?;
    let states: Vec<&str> =
        headers.get_all(TRACESTATE).iter().filter_map(|state| state.to_str().ok()).collect();
    let state = Some(states.join(",")).filter(|state| state.len() <= LONGEST_STATE);
    let state = state.and_then(|state| TraceState::from_str(&state).ok()).unwrap_or_default();
    Some(SpanContext::new(trace, span, flags, true, state))
}

/// The context in which spans are children of the caller's.
#[must_use]
pub fn beneath(caller: SpanContext) -> Context {
    Context::new().with_remote_span_context(caller)
}

/// `version-trace-parent-flags`, all in lowercase hexadecimal digits; versions to come may say more.
fn read(text: &str) -> Option<(TraceId, SpanId, TraceFlags)> {
    let mut parts = text.trim().split('-');
    let version = number::<1>(parts.next()?)?;
    let trace = TraceId::from_bytes(number(parts.next()?)?);
    let span = SpanId::from_bytes(number(parts.next()?)?);
    let [flags] = number(parts.next()?)?;
    let known = match version {
        [0xff] => false,
        [0] => parts.next().is_none(),
        _ => true,
    };
    let valid = known && trace != TraceId::INVALID && span != SpanId::INVALID;
    valid.then_some((trace, span, TraceFlags::new(flags) & TraceFlags::SAMPLED))
}

fn number<const LENGTH: usize>(text: &str) -> Option<[u8; LENGTH]> {
    let mut bytes = [0; LENGTH];
    let lowercase = text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    hex::decode_to_slice(text, &mut bytes).ok().filter(|()| lowercase).map(|()| bytes)
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";
    const SPAN: &str = "b7ad6b7169203331";

    fn trace_of(parents: &[&str]) -> Option<String> {
        let mut headers = HeaderMap::new();
        for parent in parents {
            headers.append(TRACEPARENT, HeaderValue::from_str(parent).unwrap());
        }
        of_caller(&headers).map(|context| context.trace_id().to_string())
    }

    #[test]
    fn the_callers_trace_is_taken_on() {
        assert_eq!(trace_of(&[&format!("00-{TRACE}-{SPAN}-01")]).unwrap(), TRACE);
        let later = format!("cc-{TRACE}-{SPAN}-01-what-the-future-will-be-like");
        assert_eq!(trace_of(&[&later]).unwrap(), TRACE, "a version to come");
    }

    #[test]
    fn what_is_not_right_begins_a_new_trace() {
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
        ];
        for wrong in wrong {
            assert_eq!(trace_of(&[&wrong]), None, "{wrong}");
        }
        assert_eq!(trace_of(&[&right, &right]), None, "two of them");
        assert_eq!(trace_of(&[]), None);
    }

    #[test]
    fn a_state_comes_along_unless_it_is_too_long() {
        let mut headers = HeaderMap::new();
        let parent = format!("00-{TRACE}-{SPAN}-00");
        headers.insert(TRACEPARENT, HeaderValue::from_str(&parent).unwrap());
        headers.append(TRACESTATE, HeaderValue::from_static("a=1"));
        headers.append(TRACESTATE, HeaderValue::from_static("b=2"));
        let context = of_caller(&headers).unwrap();
        assert_eq!(context.trace_state().header(), "a=1,b=2");
        assert!(!context.is_sampled());
        let long = format!("c={}", "x".repeat(600));
        headers.append(TRACESTATE, HeaderValue::from_str(&long).unwrap());
        assert_eq!(of_caller(&headers).unwrap().trace_state().header(), "");
    }
}
