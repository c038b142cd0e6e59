//! The kinds of objects that the operator creates.

use std::fmt::Debug;

use k8s_openapi::{
    NamespaceResourceScope,
    api::{
        apps::v1::{Deployment, StatefulSet},
        autoscaling::v2::HorizontalPodAutoscaler,
        batch::v1::{CronJob, Job},
        core::v1::{ConfigMap, Service},
        networking::v1::{Ingress, NetworkPolicy},
        policy::v1::PodDisruptionBudget,
    },
};
use kube::{CustomResource, Resource, api::ApiResource};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

/// An object that the operator creates for another object.
pub(crate) trait OwnedObject:
    Resource<DynamicType = (), Scope = NamespaceResourceScope>
    + Clone
    + Debug
    + Serialize
    + DeserializeOwned
{
    /// Its kind.
    const KIND: OwnedKind;
}

/// Declares the kinds, each with its type and its label in metrics.
macro_rules! kinds {
    ($($kind:ident: $type:ty => $label:literal,)*) => {
        /// A kind of objects that the operator creates.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub(crate) enum OwnedKind {
            $($kind,)*
        }

        impl OwnedKind {
            /// The API resource of the kind.
            pub(crate) fn resource(self) -> ApiResource {
                match self {
                    $(Self::$kind => ApiResource::erase::<$type>(&()),)*
                }
            }

            /// The label of writes of this kind in metrics.
            pub(crate) const fn metric_label(self) -> &'static str {
                match self {
                    $(Self::$kind => $label,)*
                }
            }
        }

        $(
            impl OwnedObject for $type {
                const KIND: OwnedKind = OwnedKind::$kind;
            }
        )*
    };
}

kinds! {
    ConfigMap: ConfigMap => "config_map",
    Service: Service => "service",
    NetworkPolicy: NetworkPolicy => "network_policy",
    PodDisruptionBudget: PodDisruptionBudget => "pod_disruption_budget",
    HorizontalPodAutoscaler: HorizontalPodAutoscaler => "horizontal_pod_autoscaler",
    Ingress: Ingress => "ingress",
    HttpRoute: HTTPRoute => "http_route",
    Job: Job => "job",
    CronJob: CronJob => "cron_job",
    Deployment: Deployment => "deployment",
    StatefulSet: StatefulSet => "stateful_set",
}

/// The fields of an `HTTPRoute` of the Gateway API that the operator sets. The kind is not part of
/// Kubernetes itself, and clusters may lack it. No field is required, so that routes of other clients can
/// be parsed too.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[kube(
    group = "gateway.networking.k8s.io",
    version = "v1",
    kind = "HTTPRoute",
    plural = "httproutes",
    schema = "disabled",
    namespaced
)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct HttpRouteSpec {
    /// The Gateways that the route is attached to.
    pub(crate) parent_refs: Vec<ParentRef>,
    /// The host names whose requests it takes.
    pub(crate) hostnames: Vec<String>,
    /// The Services that answer.
    pub(crate) rules: Vec<HttpRouteRule>,
}

/// A Gateway that a route is attached to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct ParentRef {
    /// The Gateway's name.
    pub(crate) name: String,
    /// The Gateway's namespace. Unset: the route's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) namespace: Option<String>,
}

/// A rule of a route.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct HttpRouteRule {
    /// The Services that requests are sent to.
    pub(crate) backend_refs: Vec<BackendRef>,
}

/// A Service that a route sends requests to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct BackendRef {
    /// The Service's name.
    pub(crate) name: String,
    /// The Service's port.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) port: Option<u16>,
}
