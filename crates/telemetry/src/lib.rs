//! Telemetry: log lines, and traces and metrics for a collector if one is configured.
//!
//! - [`stage!`]: a span of a trace
//! - `lines`: log lines as JSON
//! - [`otlp`]: export to a collector
//! - [`request`]: the span around a request
//!
//! There are two kinds of spans, which never mix. Ordinary spans are for log lines: every line within a span has the
//! span's fields. Stages are for traces: they cost nothing unless a collector is configured.

mod lines;
pub mod otlp;
pub mod request;

use std::io::{self, IsTerminal};

use jiff::Timestamp;
use opentelemetry::trace::TracerProvider as _;
use opentelemetry_sdk::trace::SdkTracerProvider;
use tracing::{Level, Metadata};
use tracing_subscriber::{
    EnvFilter, Layer, Registry,
    filter::{FilterExt, filter_fn},
    fmt::{self, format::JsonFields},
    layer::SubscriberExt,
    util::{SubscriberInitExt, TryInitError},
};

#[doc(hidden)]
pub use tracing::info_span;

/// Target of spans that are stages.
pub const STAGE: &str = "assay_stage";

/// Creates a span of a trace: a stage of the work in progress.
#[macro_export]
macro_rules! stage {
    ($name:literal $(, $($field:tt)*)?) => {
        $crate::info_span!(target: $crate::STAGE, $name $(, $($field)*)?)
    };
}

/// Source of the time.
pub type TimeSource = fn() -> Timestamp;

/// Format of log lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogFormat {
    /// For people.
    Text,
    /// For programs: one flat JSON object a line.
    Json,
}

type BoxedLayer = Box<dyn Layer<Registry> + Send + Sync>;

/// Starts to write log lines to standard error, and traces to `tracer`, if there is one.
///
/// `level` filters this project's own lines. Of libraries only warnings are written at every level:
/// other lines may contain callers' data.
///
/// # Errors
///
/// Returns an error if logging was started before.
pub fn start(
    level: EnvFilter,
    format: LogFormat,
    now: TimeSource,
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
            .event_format(lines::JsonLines(now))
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
