//! `RiskService`: a deployment of the API.

use std::{fmt, str::FromStr};

use assay_tenancy::{
    Name,
    manifest::{PodsSpec, SecretKey},
    schema::field_rule,
};
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    console::ConsoleSpec, egress::EgressSpec, status::RiskServiceStatus, telemetry::TelemetrySpec,
};

/// A deployment of the API: image, database, cache, scaling, exposure and egress.
#[derive(CustomResource, Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "assay.dev",
    version = "v1alpha1",
    kind = "RiskService",
    plural = "riskservices",
    shortname = "rsvc",
    category = "assay",
    status = "RiskServiceStatus",
    doc = "A deployment of the API: image, database, cache, scaling, exposure and egress.",
    derive = "PartialEq",
    namespaced,
    printcolumn(name = "Replicas", type_ = "integer", json_path = ".status.readyReplicas"),
    printcolumn(name = "Required", type_ = "integer", json_path = ".status.requiredReplicas"),
    printcolumn(name = "Version", type_ = "string", json_path = ".status.version")
)]
#[serde(rename_all = "camelCase")]
pub struct RiskServiceSpec {
    /// Container image of `assay`, by tag or digest, such as `registry.example/assay:1.4.0`.
    #[schemars(length(min = 1, max = 512))]
    pub image: String,
    /// Names of Secrets with credentials for pulling the image. Default: none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 8), extend("x-kubernetes-list-type" = "set"))]
    pub image_pull_secrets: Vec<Name>,
    /// Pull policy of the image. Unset: that of Kubernetes, `IfNotPresent` unless the tag is `latest`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image_pull_policy: Option<ImagePullPolicy>,
    /// Key of a Secret that holds the URL of the PostgreSQL database.
    pub database_secret: SecretKey,
    /// Key of a Secret that holds the URL of Redis or Valkey, through which replicas share cached answers and rate
    /// limits. Unset: each replica caches answers, and counts limits with windows below an hour, separately.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_secret: Option<SecretKey>,
    /// Key of a Secret that holds the token of the chain servers: the same value as in the operator's
    /// `--chain-token-secret`. Servers need it to ask the chain servers of each `ChainSource` of mode `follow`. Unset:
    /// servers trace no money on these chains.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chain_token_secret: Option<SecretKey>,
    /// Number of replicas: bounds, and the loads at which the autoscaler adds replicas.
    #[serde(default)]
    pub scaling: ScalingSpec,
    /// Access to the API from outside the cluster. Unset: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exposure: Option<ExposureSpec>,
    /// Pages for people at `/console`, who sign in at an OpenID Connect issuer. Unset: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub console: Option<ConsoleSpec>,
    /// Client connections: bounds, and proxies in front of the pods.
    #[serde(default)]
    pub connections: ConnectionsSpec,
    /// Outgoing connections: proxies and trusted certificates.
    #[serde(default)]
    pub egress: EgressSpec,
    /// Export of traces and metrics.
    #[serde(default)]
    pub telemetry: TelemetrySpec,
    /// Pods of the servers; all but `resources` and `topologySpreadConstraints` also of the migration and the purge.
    #[serde(default, skip_serializing_if = "PodsSpec::is_default")]
    pub pods: PodsSpec,
}

/// Pull policy of an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum ImagePullPolicy {
    /// The image is pulled at each start.
    Always,
    /// The image is pulled unless the node has it.
    IfNotPresent,
    /// The node must have the image.
    Never,
}

impl ImagePullPolicy {
    /// The policy's name in Kubernetes.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Always => "Always",
            Self::IfNotPresent => "IfNotPresent",
            Self::Never => "Never",
        }
    }
}

/// A text that is no pull policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidImagePullPolicy(String);

impl fmt::Display for InvalidImagePullPolicy {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "`{}` is no pull policy: write Always, IfNotPresent or Never", self.0)
    }
}

impl std::error::Error for InvalidImagePullPolicy {}

impl FromStr for ImagePullPolicy {
    type Err = InvalidImagePullPolicy;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let all = [Self::Always, Self::IfNotPresent, Self::Never];
        let found = all.into_iter().find(|policy| policy.as_str() == text);
        found.ok_or_else(|| InvalidImagePullPolicy(text.to_owned()))
    }
}

/// Client connections to one replica.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("x-kubernetes-validations" = [field_rule(
    ".proxyProtocol",
    "!has(self.proxyProtocol) || !self.proxyProtocol || (has(self.trustedProxies) && \
     size(self.trustedProxies) > 0)",
    "needs trustedProxies",
)]))]
pub struct ConnectionsSpec {
    /// Most connections that wait to be accepted: 1 to 65535. The node may allow fewer (`net.core.somaxconn`). Unset:
    /// 4096.
    #[schemars(range(min = 1, max = 65_535))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backlog: Option<i32>,
    /// Most concurrent connections: 1 to 1000000. Beyond this number, each new connection closes the oldest connection
    /// that never sent a valid key. Unset: 4096.
    #[schemars(range(min = 1, max = 1_000_000))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max: Option<i32>,
    /// Most connections of one address that never sent a valid key: 1 to 1000000. Unset: 1024.
    #[schemars(range(min = 1, max = 1_000_000))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_per_peer: Option<i32>,
    /// Networks (CIDR) of proxies in front of the pods, such as those of an ingress controller. `maxPerPeer` does not
    /// apply to these proxies, whose connections carry requests of many clients. Default: none.
    #[schemars(length(max = 64), inner(length(min = 1, max = 64)))]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub trusted_proxies: Vec<String>,
    /// True if connections of trusted proxies begin with a PROXY header (version 1 or 2), which names the client.
    /// Default `false`.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub proxy_protocol: bool,
}

/// The number of replicas. Tenants' limits set a minimum: the highest limit, or the sum of all limits
/// times `oversubscriptionPercent`, whichever is larger, divided by `ratedRequestsPerReplica`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("x-kubernetes-validations" = [field_rule(
    ".minReplicas",
    "self.minReplicas <= self.maxReplicas",
    "must not exceed maxReplicas",
)]))]
pub struct ScalingSpec {
    /// Smallest number of replicas, even if tenants' limits require fewer. 1 to 1000, default 2.
    #[schemars(range(min = 1, max = 1000))]
    pub min_replicas: i32,
    /// Largest number of replicas, even if tenants' limits require more; in that case the condition `LimitsCovered` is
    /// false. 1 to 1000, default 10.
    #[schemars(range(min = 1, max = 1000))]
    pub max_replicas: i32,
    /// Requests per second that one replica can serve, as measured on the nodes in use. Default 500.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub rated_requests_per_replica: i32,
    /// Share of the sum of all tenants' limits, in percent, that is expected to be used at the same time.
    /// Default 10.
    #[schemars(range(min = 1, max = 100))]
    pub oversubscription_percent: i32,
    /// Target utilization of the requested CPU, in percent: the autoscaler adds replicas above it. Default 70.
    #[schemars(range(min = 1, max = 100))]
    pub cpu_percent: i32,
    /// Target number of requests in flight per replica: the autoscaler adds replicas above it. This target needs a
    /// metrics adapter that serves `assay_http_requests_in_flight` for pods; without an adapter, the autoscaler never
    /// removes replicas. Unset: only CPU is considered.
    #[schemars(range(min = 1, max = 1_000_000))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requests_in_flight: Option<i32>,
}

impl Default for ScalingSpec {
    fn default() -> Self {
        Self {
            min_replicas: 2,
            max_replicas: 10,
            rated_requests_per_replica: 500,
            oversubscription_percent: 10,
            cpu_percent: 70,
            requests_in_flight: None,
        }
    }
}

/// Access to the API from outside the cluster.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-validations" = [{
    "rule": "has(self.httpRoute) != has(self.ingress)",
    "message": "name either an httpRoute or an ingress",
}]))]
pub struct ExposureSpec {
    /// Host name of the API, such as `risk.example.com`.
    #[schemars(length(min = 1, max = 253))]
    pub host: String,
    /// Routes requests through a Gateway, by an `HTTPRoute`. Exactly one of `httpRoute` and `ingress`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub http_route: Option<HttpRouteSpec>,
    /// Routes requests through an Ingress. Exactly one of `httpRoute` and `ingress`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ingress: Option<IngressSpec>,
}

/// The Gateway that requests come through.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HttpRouteSpec {
    /// Name of the Gateway.
    pub gateway: Name,
    /// Namespace of the Gateway. Unset: the namespace of this object.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gateway_namespace: Option<Name>,
}

/// The Ingress that requests come through.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct IngressSpec {
    /// Ingress class. Unset: the cluster's default class.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub class_name: Option<Name>,
    /// Name of the Secret with the TLS certificate. Unset: the Ingress does not terminate TLS.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tls_secret: Option<Name>,
}
