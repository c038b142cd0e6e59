//! Identifiers of the request in progress: they are on every log line of the request, also of its work on other threads
//! and tasks. Traces consist of stages ([`stage!`](crate::stage!)).

use std::{future::Future, sync::Arc};

use opentelemetry::trace::TraceId;
use tracing::{Instrument, Span};

/// Identifiers of a request for its log lines.
#[derive(Clone, Debug)]
pub struct RequestIdentifiers {
    /// Request id.
    pub request_id: Arc<str>,
    /// Trace that the request belongs to.
    pub trace_id: TraceId,
}

/// Sample of requests, chosen by trace, so that servers with the same ratio choose the same traces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogSample {
    /// Number of the random parts of trace identifiers, of 2^56, whose traces belong to the sample: the first ones.
    chosen: u64,
}

/// Number of values that the random part of a trace identifier has: its last 56 bits (W3C Trace Context, level 2).
const RANDOM_PARTS: u64 = 1 << 56;

impl LogSample {
    /// Sample of all requests.
    pub const ALL: Self = Self { chosen: RANDOM_PARTS };

    /// Creates a sample of a share of all requests; `None` if `ratio` is not from 0 to 1.
    #[must_use]
    pub fn new(ratio: f64) -> Option<Self> {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_precision_loss,
            clippy::cast_sign_loss,
            reason = "the product is from 0 to 2^56, and a part of one in 2^53 does not matter"
        )]
        let chosen = || (ratio * RANDOM_PARTS as f64) as u64;
        (0.0..=1.0).contains(&ratio).then(|| Self { chosen: chosen() })
    }

    /// True if the requests of a trace belong to the sample.
    #[must_use]
    pub fn contains(self, trace: TraceId) -> bool {
        let random = u128::from_be_bytes(trace.to_bytes()) % u128::from(RANDOM_PARTS);
        random < u128::from(self.chosen)
    }
}

tokio::task_local! {
    /// Request that a task handles; `None` for work of the program itself.
    static REQUEST: Option<RequestIdentifiers>;
}

/// Request and stage that work belongs to.
#[derive(Clone, Debug)]
pub struct WorkScope {
    request: Option<RequestIdentifiers>,
    stage: Span,
}

impl WorkScope {
    /// Returns the present request and stage.
    #[must_use]
    pub fn current() -> Self {
        Self { request: current_request(), stage: Span::current() }
    }

    /// Returns the scope of a request, outside of its stages.
    #[must_use]
    pub const fn of_request(request: RequestIdentifiers) -> Self {
        Self { request: Some(request), stage: Span::none() }
    }

    /// Does work whose log lines and outgoing requests belong to this request and stage.
    pub fn run<T>(&self, work: impl FnOnce() -> T) -> T {
        REQUEST.sync_scope(self.request.clone(), || self.stage.in_scope(work))
    }
}

/// Runs `answer` with the identifiers of a request on all its log lines, including those of [`run_on_thread`] and
/// [`run_on_task`].
pub async fn in_request<F: Future>(request: RequestIdentifiers, answer: F) -> F::Output {
    REQUEST.scope(Some(request), answer).await
}

/// Runs blocking work on a thread of its own. Log lines and outgoing requests of the work belong to the present
/// request and stage.
pub fn run_on_thread<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> tokio::task::JoinHandle<T> {
    let scope = WorkScope::current();
    tokio::task::spawn_blocking(move || scope.run(work))
}

/// Runs work as a task of its own, which goes on if the caller is canceled. Log lines and outgoing requests of the
/// work belong to the present request and stage.
pub fn run_on_task<T: Send + 'static>(
    work: impl Future<Output = T> + Send + 'static,
) -> tokio::task::JoinHandle<T> {
    tokio::spawn(REQUEST.scope(current_request(), work.in_current_span()))
}

/// Calls `act` with the request that this task handles, if it handles one.
pub(crate) fn with_current_request(act: impl FnOnce(&RequestIdentifiers)) {
    // Outside of a task there is no request.
    let _ = REQUEST.try_with(|request| request.as_ref().map(act));
}

/// Returns the request that this task handles.
pub(crate) fn current_request() -> Option<RequestIdentifiers> {
    REQUEST.try_with(Clone::clone).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_has_its_share_of_all_traces() {
        let count = |ratio| {
            let sample = LogSample::new(ratio).unwrap();
            // Traces that are spread evenly, with equal first bits.
            let traces = (0..10_000_u128).map(|number| (7 << 56) | ((number << 56) / 10_000));
            traces.filter(|trace| sample.contains(TraceId::from(*trace))).count()
        };
        assert_eq!((count(0.0), count(0.01), count(0.5), count(1.0)), (0, 100, 5_000, 10_000));
        assert!(LogSample::ALL.contains(TraceId::from(u128::MAX)));
        assert_eq!([-0.1, 1.1, f64::NAN].map(LogSample::new), [None; 3]);
    }
}
