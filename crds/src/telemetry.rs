//! Export of traces and metrics.

use assay_tenancy::schema::field_rule;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Export of traces and metrics, in addition to the log and the metrics endpoint for scraping.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("x-kubernetes-validations" = [field_rule(
    ".otlpEndpoint",
    "!has(self.otlpEndpoint) || self.otlpEndpoint.matches('^https?://[^/@?# ]+(/[^?# ]*)?$')",
    "write it as http://HOST:PORT, without a password",
)]))]
pub struct TelemetrySpec {
    /// URL of a collector that receives traces and metrics by OTLP over HTTP, such as
    /// `http://collector.otel.svc:4318`. Unset: nothing is exported.
    #[schemars(length(min = 1, max = 512))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub otlp_endpoint: Option<String>,
}
