//! Settings of connections to hosts outside the cluster.

use assay_tenancy::{Name, schema::field_rule};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Outgoing connections to hosts outside the cluster: lists, nodes, explorers, a telemetry collector.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("x-kubernetes-validations" = [
    proxy_rule("httpsProxy"),
    proxy_rule("httpProxy"),
]))]
pub struct EgressSpec {
    /// Proxy for `https` URLs, such as `http://proxy.example:3128`. The proxy must allow `CONNECT`. Unset: direct
    /// connections.
    #[schemars(length(min = 1, max = 512))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub https_proxy: Option<String>,
    /// Proxy for `http` URLs. The proxy must allow `CONNECT` to the URLs' ports. Unset: direct connections.
    #[schemars(length(min = 1, max = 512))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub http_proxy: Option<String>,
    /// Hosts that are connected to without a proxy: domain names (including their subdomains), IP
    /// addresses and networks (CIDR). Default: none.
    #[schemars(length(max = 64), inner(length(min = 1, max = 253)))]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub no_proxy: Vec<String>,
    /// CA bundle (PEM) used instead of the system roots. Unset: the system roots.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ca_bundle: Option<CaBundle>,
}

/// CA certificates (PEM) in a `ConfigMap` or a Secret of the same namespace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-validations" = [{
    "rule": "has(self.configMap) != has(self.secret)",
    "message": "name either a configMap or a secret",
}]))]
pub struct CaBundle {
    /// Name of the `ConfigMap`. Exactly one of `configMap` and `secret`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config_map: Option<Name>,
    /// Name of the Secret. Exactly one of `configMap` and `secret`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret: Option<Name>,
    /// Key in the object that holds the certificates. Default `ca.crt`.
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
