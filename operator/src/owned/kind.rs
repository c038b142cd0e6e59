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
use serde_json::Value;

/// An object that the operator creates for another object.
pub(crate) trait OwnedObject:
    Resource<DynamicType = (), Scope = NamespaceResourceScope>
    + Clone
    + Debug
    + Serialize
    + DeserializeOwned
{
    /// The kind of the object.
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

/// The spec of an `HTTPRoute` of the Gateway API. The kind is not part of Kubernetes itself, and clusters may lack it.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[kube(
    group = "gateway.networking.k8s.io",
    version = "v1",
    kind = "HTTPRoute",
    plural = "httproutes",
    schema = "disabled",
    namespaced
)]
#[serde(transparent)]
pub(crate) struct GatewayRouteSpec(pub(crate) Value);
