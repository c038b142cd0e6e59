//! Where programs send what they tell about themselves.

use assay_tenancy::schema::field_rule;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Where programs send what they tell about themselves, beside their log and what is scraped.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("x-kubernetes-validations" = [field_rule(
    ".otlpEndpoint",
    "!has(self.otlpEndpoint) || self.otlpEndpoint.matches('^https?://[^/@?# ]+(/[^?# ]*)?$')",
    "write it as http://HOST:PORT, without a password",
)]))]
pub struct TelemetrySpec {
    /// A collector that takes traces and metrics by OTLP over HTTP, such as `http://collector.otel.svc:4318`.
    #[schemars(length(min = 1, max = 512))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub otlp_endpoint: Option<String>,
}
