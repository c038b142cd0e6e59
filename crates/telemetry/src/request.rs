//! The span around a request: it puts the identifiers of the request on every log line, also of work on other
//! threads and tasks. Traces consist of stages ([`stage!`](crate::stage!)).

use tracing::{Instrument, Span};

tokio::task_local! {
    /// The span for log lines of the request that a task answers.
    static REQUEST: Span;
}

/// Answers a request: what is logged meanwhile, and by [`on_thread`], is in `span`.
pub async fn answering<F: Future>(span: Span, answer: F) -> F::Output {
    REQUEST.scope(span.clone(), answer.instrument(span)).await
}

/// Runs what waits on a thread of its own. What is logged there, and what other servers are asked, belongs
/// to what is under way here.
pub fn on_thread<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> tokio::task::JoinHandle<T> {
    let (lines, stage) = (of_request(), Span::current());
    tokio::task::spawn_blocking(move || lines.in_scope(|| stage.in_scope(work)))
}

/// Runs what goes on whether it is waited for or not, as a task of its own that belongs to what is under
/// way here.
pub fn on_task<T: Send + 'static>(
    work: impl Future<Output = T> + Send + 'static,
) -> tokio::task::JoinHandle<T> {
    tokio::spawn(answering(of_request(), work.in_current_span()))
}

/// The span for log lines of the request that this task answers.
fn of_request() -> Span {
    REQUEST.try_with(Span::clone).unwrap_or_else(|_| Span::none())
}
