//! The span around a request: puts the identifiers of the request on every log line, also of work on
//! other threads and tasks. Traces consist of stages ([`stage!`](crate::stage!)).

use tracing::{Instrument, Span};

tokio::task_local! {
    /// Span for log lines of the request that a task handles.
    static REQUEST: Span;
}

/// Runs `answer` with all its log lines in `span`, including those of [`run_on_thread`] and [`run_on_task`].
pub async fn in_request_span<F: Future>(span: Span, answer: F) -> F::Output {
    REQUEST.scope(span.clone(), answer.instrument(span)).await
}

/// Runs blocking work on a thread of its own. Log lines and outgoing requests of the work belong to the present
/// request and stage.
pub fn run_on_thread<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> tokio::task::JoinHandle<T> {
    let (lines, stage) = (request_span(), Span::current());
    tokio::task::spawn_blocking(move || lines.in_scope(|| stage.in_scope(work)))
}

/// Runs work as a task of its own, which goes on if the caller is canceled. Log lines and outgoing requests of the
/// work belong to the present request and stage.
pub fn run_on_task<T: Send + 'static>(
    work: impl Future<Output = T> + Send + 'static,
) -> tokio::task::JoinHandle<T> {
    tokio::spawn(in_request_span(request_span(), work.in_current_span()))
}

/// Returns the span for log lines of the request that this task handles.
fn request_span() -> Span {
    REQUEST.try_with(Span::clone).unwrap_or_else(|_| Span::none())
}
