//! What the program tells about itself: log lines, and where a collector is named, traces and metrics.
//!
//! - [`lines`]: log lines as JSON
//! - [`trace_context`]: which trace a request belongs to (W3C)
//! - [`subject`]: addresses as a keyed hash, the only form in which they are told
//! - [`otlp`]: to a collector
//!
//! Two kinds of spans never mix. The span around a request is for log lines: it puts the identifiers on
//! every one of them. Stages are for traces: they cost nothing unless a collector is named.

mod lines;
pub mod otlp;
pub mod subject;
pub mod trace_context;

use std::io::{self, IsTerminal};

use opentelemetry::trace::TracerProvider as _;
use opentelemetry_sdk::trace::SdkTracerProvider;
use tracing::{Instrument, Level, Metadata, Span};
use tracing_subscriber::{
    EnvFilter, Layer, Registry,
    filter::{FilterExt, filter_fn},
    fmt::{self, format::JsonFields},
    layer::SubscriberExt,
    util::{SubscriberInitExt, TryInitError},
};

use crate::{settings::LogFormat, system::Clock};

/// The target of spans that are stages of a request.
pub const STAGE: &str = "assay_stage";

/// A span of a trace: a stage of what is under way.
macro_rules! stage {
    ($name:literal $(, $($field:tt)*)?) => {
        tracing::info_span!(target: $crate::telemetry::STAGE, $name $(, $($field)*)?)
    };
}
pub(crate) use stage;

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

type BoxedLayer = Box<dyn Layer<Registry> + Send + Sync>;

/// Begins to write log lines to standard error, and traces to `tracer`, where there is one.
///
/// `level` says which of our own lines are written. Of what libraries say, only warnings are, whatever
/// the level: the rest may hold what callers sent.
///
/// # Errors
///
/// Where it was begun before.
pub fn start(
    level: EnvFilter,
    format: LogFormat,
    clock: Clock,
    tracer: Option<&SdkTracerProvider>,
) -> Result<(), TryInitError> {
    let filter = filter_fn(|metadata| {
        !is_stage(metadata) && (is_ours(metadata) || *metadata.level() <= Level::WARN)
    });
    let filter = filter.and(level);
    let lines = fmt::layer().with_writer(io::stderr).with_ansi(io::stderr().is_terminal());
    let mut layers: Vec<BoxedLayer> = vec![match format {
        LogFormat::Text => lines.with_filter(filter).boxed(),
        LogFormat::Json => lines
            .with_ansi(false)
            .fmt_fields(JsonFields::new())
            .event_format(lines::JsonLines(clock))
            .with_filter(filter)
            .boxed(),
    }];
    if let Some(provider) = tracer {
        let wanted = filter_fn(|metadata| {
            is_stage(metadata)
                || (metadata.is_event() && is_ours(metadata) && *metadata.level() <= Level::WARN)
        });
        let stages = tracing_opentelemetry::layer()
            .with_tracer(provider.tracer("assay"))
            .with_location(false)
            .with_threads(false)
            .with_target(false)
            .with_tracked_inactivity(false);
        layers.push(stages.with_filter(wanted).boxed());
    }
    tracing_subscriber::registry().with(layers).try_init()
}

fn is_ours(metadata: &Metadata<'_>) -> bool {
    metadata.target().starts_with("assay")
}

fn is_stage(metadata: &Metadata<'_>) -> bool {
    metadata.is_span() && metadata.target() == STAGE
}
