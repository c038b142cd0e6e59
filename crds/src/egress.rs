//! The way out of the cluster.

use assay_tenancy::{Name, schema::field_rule};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How what is outside the cluster is reached: lists, nodes, explorers, a collector of telemetry.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("x-kubernetes-validations" = [
    proxy_rule("httpsProxy"),
    proxy_rule("httpProxy"),
]))]
pub struct EgressSpec {
    /// The proxy for URLs with https, such as `http://proxy.example:3128`. It must let `CONNECT` pass.
    #[schemars(length(min = 1, max = 512))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub https_proxy: Option<String>,
    /// The proxy for URLs with http. It must let `CONNECT` pass to their ports too.
    #[schemars(length(min = 1, max = 512))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub http_proxy: Option<String>,
    /// What is reached without a proxy: names with what is below them, addresses, networks.
    #[schemars(length(max = 64), inner(length(min = 1, max = 253)))]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub no_proxy: Vec<String>,
    /// The certificates that are believed in the place of the web's authorities.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ca_bundle: Option<CaBundle>,
}

/// Certificates in PEM, in a `ConfigMap` or a Secret of the same namespace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-validations" = [{
    "rule": "has(self.configMap) != has(self.secret)",
    "message": "name either a configMap or a secret",
}]))]
pub struct CaBundle {
    /// The `ConfigMap`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config_map: Option<Name>,
    /// The Secret.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret: Option<Name>,
    /// The key in it.
    #[serde(default = "default_key")]
    #[schemars(length(min = 1, max = 253))]
    pub key: String,
}

fn proxy_rule(field: &str) -> serde_json::Value {
    let holds = format!("!has(self.{field}) || self.{field}.matches('^https?://[^/]+/?$')");
    field_rule(&format!(".{field}"), &holds, "write it as http://HOST:PORT")
}

fn default_key() -> String {
    "ca.crt".to_owned()
}
