//! Which trace a caller wants a request to belong to: `traceparent` and `tracestate` as W3C Trace Context
//! has them.

use http::{HeaderMap, HeaderName};

const TRACEPARENT: HeaderName = HeaderName::from_static("traceparent");
const TRACESTATE: HeaderName = HeaderName::from_static("tracestate");
/// Longest `tracestate` that is taken on, as the standard asks for at least.
const LONGEST_STATE: usize = 512;

/// The span of a caller's that a request belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallerSpan {
    /// The trace; never zeros.
    pub trace: [u8; 16],
    /// The span; never zeros.
    pub span: [u8; 8],
    /// Whether the caller records it.
    pub sampled: bool,
    /// What others wrote along with it; empty where there is nothing, or too much.
    pub state: String,
}

impl CallerSpan {
    /// The span that header fields name; `None` where they name none, or not rightly: then a trace begins
    /// here.
    #[must_use]
    pub fn read(headers: &HeaderMap) -> Option<Self> {
        let mut parents = headers.get_all(TRACEPARENT).iter();
        let (parent, more) = (parents.next()?, parents.next());
        if more.is_some() {
            return None;
        }
        let (trace, span, sampled) = parent_of(parent.to_str().ok()?)?;
        let states: Vec<&str> =
            headers.get_all(TRACESTATE).iter().filter_map(|state| state.to_str().ok()).collect();
        let state = Some(states.join(",")).filter(|state| state.len() <= LONGEST_STATE);
        Some(Self { trace, span, sampled, state: state.unwrap_or_default() })
    }
}

/// `version-trace-parent-flags`, all in lowercase hexadecimal digits; versions to come may say more.
fn parent_of(text: &str) -> Option<([u8; 16], [u8; 8], bool)> {
    let mut parts = text.trim().split('-');
    let version = number::<1>(parts.next()?)?;
    let trace = number(parts.next()?)?;
    let span = number(parts.next()?)?;
    let [flags] = number(parts.next()?)?;
    let known = match version {
        [0xff] => false,
        [0] => parts.next().is_none(),
        _ => true,
    };
    let valid = known && trace != [0; 16] && span != [0; 8];
    valid.then_some((trace, span, flags & 1 == 1))
}

fn number<const LENGTH: usize>(text: &str) -> Option<[u8; LENGTH]> {
    let mut bytes = [0; LENGTH];
    let lowercase = text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    hex::decode_to_slice(text, &mut bytes).ok().filter(|()| lowercase).map(|()| bytes)
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
            headers.append(TRACEPARENT, HeaderValue::from_str(parent).unwrap());
        }
        CallerSpan::read(&headers).map(|caller| hex::encode(caller.trace))
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
        let caller = CallerSpan::read(&headers).unwrap();
        assert_eq!(caller.state, "a=1,b=2");
        assert!(!caller.sampled);
        let long = format!("c={}", "x".repeat(600));
        headers.append(TRACESTATE, HeaderValue::from_str(&long).unwrap());
        assert_eq!(CallerSpan::read(&headers).unwrap().state, "");
    }
}
