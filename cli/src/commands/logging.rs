//! Log lines on standard error, as text or JSON, and the collector of telemetry.

use assay_telemetry::otlp::Collector;
use tracing_subscriber::EnvFilter;

use super::Failure;
use crate::settings::CliSettings;

/// The collector, if one is set.
pub(super) fn collector(settings: &CliSettings) -> Result<Option<Collector>, Failure> {
    let Some(endpoint) = &settings.otlp_endpoint else { return Ok(None) };
    let collector = Collector::new("assay", endpoint, assay_system::now);
    collector.map(Some).map_err(|error| Failure::Usage(format!("otlp-endpoint: {error}")))
}

pub(super) fn start(settings: &CliSettings, collector: Option<&Collector>) -> Result<(), Failure> {
    let filter: EnvFilter = settings
        .log_level
        .parse()
        .map_err(|error| Failure::Usage(format!("log-level: {error}")))?;
    let traces = collector.map(Collector::traces);
    assay_telemetry::start(filter, settings.log_format, assay_system::now, traces)
        .map_err(|error| Failure::Failed(format!("failed to begin logging: {error}")))
}
