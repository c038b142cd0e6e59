//! What a program tells about itself: log lines, and where a collector is named, traces and metrics.
//!
//! - [`stage!`]: a span of a trace
//! - `lines`: log lines as JSON
//! - [`otlp`]: to a collector
//! - [`request`]: the span around a request
//!
//! Two kinds of spans never mix. Those of a program are for log lines: what they know stands on every line
//! within them. Stages are for traces: they cost nothing unless a collector is named.

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

/// The target of spans that are stages.
pub const STAGE: &str = "assay_stage";

/// A span of a trace: a stage of what is under way.
#[macro_export]
macro_rules! stage {
    ($name:literal $(, $($field:tt)*)?) => {
        $crate::info_span!(target: $crate::STAGE, $name $(, $($field)*)?)
    };
}

/// Where the time comes from.
pub type Now = fn() -> Timestamp;

/// How log lines are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogFormat {
    /// For people.
    Text,
    /// For programs: one flat JSON object a line.
    Json,
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
    now: Now,
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
