//! Telemetry: log lines, and traces and metrics for a collector if one is configured.
//!
//! - [`stage!`]: a span of a trace
//! - `lines`: log lines as JSON and as text
//! - `output`: standard error, to which lines are written one by one or in batches
//! - [`otlp`]: export to a collector
//! - [`request`]: identifiers of the request in progress, on all its log lines
//!
//! All spans are stages of traces: they cost nothing unless a collector is configured. Log lines need no spans.

mod lines;
pub mod otlp;
mod output;
pub mod request;

use std::io::{self, IsTerminal};

use jiff::Timestamp;
use opentelemetry::trace::TracerProvider as _;
use opentelemetry_sdk::trace::SdkTracerProvider;
use tracing::{Level, Metadata};
use tracing_subscriber::{
    EnvFilter, Layer, Registry,
    filter::{FilterExt, filter_fn},
    fmt::{self, format::Format},
    layer::SubscriberExt,
    util::{SubscriberInitExt, TryInitError},
};

pub use output::{BatchedLines, batch_lines, dropped_lines};
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
    let is_terminal = io::stderr().is_terminal();
    let lines = fmt::layer().with_writer(output::LineWriter);
    let mut layers: Vec<BoxedLayer> = vec![match format {
        LogFormat::Text => {
            let text = lines::TextLines { event: Format::default().with_ansi(is_terminal) };
            lines.with_ansi(is_terminal).event_format(text).with_filter(filter).boxed()
        }
        LogFormat::Json => {
            lines.with_ansi(false).event_format(lines::JsonLines(now)).with_filter(filter).boxed()
        }
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
