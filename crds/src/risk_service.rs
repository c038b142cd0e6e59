//! Running APIs.

use assay_tenancy::{Name, schema::field_rule};
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{EgressSpec, SecretKey, TelemetrySpec, status::RiskServiceStatus};

/// A running API.
#[derive(CustomResource, Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "assay.dev",
    version = "v1alpha1",
    kind = "RiskService",
    plural = "riskservices",
    shortname = "rsvc",
    category = "assay",
    status = "RiskServiceStatus",
    doc = "A running API: image, database, cache, scaling, exposure.",
    derive = "PartialEq",
    namespaced,
    printcolumn(name = "Replicas", type_ = "integer", json_path = ".status.readyReplicas"),
    printcolumn(name = "Floor", type_ = "integer", json_path = ".status.replicaFloor"),
    printcolumn(name = "Version", type_ = "string", json_path = ".status.version")
)]
#[serde(rename_all = "camelCase")]
pub struct RiskServiceSpec {
    /// The image that holds `assay`, by tag or digest.
    #[schemars(length(min = 1, max = 512))]
    pub image: String,
    /// Secrets that let the image be pulled.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 8), extend("x-kubernetes-list-type" = "set"))]
    pub image_pull_secrets: Vec<Name>,
    /// The URL of the PostgreSQL database.
    pub database_secret: SecretKey,
    /// The URL of Redis or Valkey; without one, every replica keeps answers and limits by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_secret: Option<SecretKey>,
    /// How many replicas there are.
    #[serde(default)]
    pub scaling: ScalingSpec,
    /// How the API is reached from outside the cluster; not at all where left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exposure: Option<ExposureSpec>,
    /// How what is outside the cluster is reached.
    #[serde(default)]
    pub egress: EgressSpec,
    /// Where it sends what it tells about itself.
    #[serde(default)]
    pub telemetry: TelemetrySpec,
}

/// How many replicas there are. There are never fewer than what the tenants' limits ask for: the
/// largest of them, or the sum of all times `oversubscriptionPercent`, whichever is more, divided by
/// `ratedRequestsPerReplica`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("x-kubernetes-validations" = [field_rule(
    ".minReplicas",
    "self.minReplicas <= self.maxReplicas",
    "must not exceed maxReplicas",
)]))]
pub struct ScalingSpec {
    /// Fewest replicas, whatever the limits ask for.
    #[schemars(range(min = 1, max = 1000))]
    pub min_replicas: i32,
    /// Most replicas, whatever the limits ask for.
    #[schemars(range(min = 1, max = 1000))]
    pub max_replicas: i32,
    /// Requests a second that one replica is good for.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub rated_requests_per_replica: i32,
    /// The part of all tenants' limits that is asked for at once.
    #[schemars(range(min = 1, max = 100))]
    pub oversubscription_percent: i32,
    /// The use of requested CPU above which there are more.
    #[schemars(range(min = 1, max = 100))]
    pub cpu_percent: i32,
    /// Requests under way in one replica above which there are more. Only for clusters with a metrics
    /// adapter that knows `assay_http_requests_in_flight` of pods; without one, nothing is scaled down.
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

/// How the API is reached from outside the cluster.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-validations" = [{
    "rule": "has(self.httpRoute) != has(self.ingress)",
    "message": "name either an httpRoute or an ingress",
}]))]
pub struct ExposureSpec {
    /// The host name.
    #[schemars(length(min = 1, max = 253))]
    pub host: String,
    /// Through a Gateway.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub http_route: Option<HttpRouteSpec>,
    /// Through an Ingress.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ingress: Option<IngressSpec>,
}

/// A route of a Gateway.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HttpRouteSpec {
    /// The Gateway.
    pub gateway: Name,
    /// The Gateway's namespace; this one where left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gateway_namespace: Option<Name>,
}

/// An Ingress.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct IngressSpec {
    /// The class; the cluster's default where left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub class_name: Option<Name>,
    /// The Secret with the certificate; without one, no TLS.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tls_secret: Option<Name>,
}
