//! The Service, the network policy, and the route from outside the cluster.

use std::collections::BTreeMap;

use k8s_openapi::api::{
    core::v1::{Service, ServiceSpec},
    networking::v1::{
        HTTPIngressPath, HTTPIngressRuleValue, Ingress, IngressBackend, IngressRule,
        IngressServiceBackend, IngressSpec, IngressTLS, NetworkPolicy, ServiceBackendPort,
    },
};
use serde_json::json;

use super::{MIGRATION, PURGE, RouteObject, SERVER};
use crate::{
    network_policy,
    owned::{self, GatewayRouteSpec, HTTPRoute},
    risk_service::validate::{Exposure, Route, ValidatedService},
    serving::{ADMIN, API, service_port},
    source::CHAIN_SERVER,
};

/// The Service's port for the API.
const PORT: u16 = 80;

/// The Service, which exposes the API, health checks and metrics within the cluster.
pub(super) fn service(service: &ValidatedService) -> Service {
    Service {
        metadata: service.owner.metadata(&service.name),
        spec: Some(ServiceSpec {
            type_: Some("ClusterIP".to_owned()),
            selector: Some(service.owner.match_labels()),
            ports: Some(vec![service_port(API, PORT), service_port(ADMIN, ADMIN.1)]),
            ..ServiceSpec::default()
        }),
        status: None,
    }
}

/// The network policy of servers, migration and purge. Allowed are connections to the two ports, and from the pods to
/// the database, the cache, proxies, the collector, chain endpoints and chain servers. `None`: the operator creates no
/// network policies.
pub(super) fn policy(service: &ValidatedService) -> Option<NetworkPolicy> {
    let networks = service.networks.as_ref()?;
    let pods = service.owner.selector_of(&[SERVER, MIGRATION, PURGE]);
    let chain_servers = service.chain_servers.as_ref().map(|_| {
        let servers = network_policy::any_namespace(owned::pods_of(CHAIN_SERVER));
        network_policy::egress_to(vec![servers], API.1)
    });
    let spec = network_policy::spec(
        pods,
        vec![network_policy::ingress_from_anywhere(&[API.1, ADMIN.1])],
        (&service.destinations, networks),
        chain_servers.into_iter().collect(),
    );
    Some(NetworkPolicy { metadata: service.owner.metadata(&service.name), spec: Some(spec) })
}

/// The object that routes requests from outside the cluster.
pub(super) fn route(exposure: &Exposure, service: &ValidatedService) -> RouteObject {
    let metadata = service.owner.metadata(&service.name);
    match &exposure.route {
        Route::HttpRoute(route) => {
            let namespace = route.gateway_namespace.iter().map(|name| ("namespace", name));
            let gateway = [("name", &route.gateway)].into_iter().chain(namespace);
            let spec = json!({
                "parentRefs": [gateway.collect::<BTreeMap<_, _>>()],
                "hostnames": [exposure.host],
                "rules": [{"backendRefs": [{"name": service.name, "port": PORT}]}],
            });
            let spec = GatewayRouteSpec(spec);
            RouteObject::HttpRoute(Box::new(HTTPRoute { metadata, spec }))
        }
        Route::Ingress(ingress) => {
            let hosts = || Some(vec![exposure.host.clone()]);
            let tls = ingress
                .tls_secret
                .as_ref()
                .map(|secret| IngressTLS { hosts: hosts(), secret_name: Some(secret.to_string()) });
            let spec = IngressSpec {
                ingress_class_name: ingress.class_name.as_ref().map(ToString::to_string),
                tls: tls.map(|tls| vec![tls]),
                rules: Some(vec![IngressRule {
                    host: Some(exposure.host.clone()),
                    http: Some(HTTPIngressRuleValue { paths: vec![path(service)] }),
                }]),
                default_backend: None,
            };
            RouteObject::Ingress(Box::new(Ingress { metadata, spec: Some(spec), status: None }))
        }
    }
}

fn path(service: &ValidatedService) -> HTTPIngressPath {
    let port = ServiceBackendPort { name: Some(API.0.to_owned()), number: None };
    HTTPIngressPath {
        path: Some("/".to_owned()),
        path_type: "Prefix".to_owned(),
        backend: IngressBackend {
            service: Some(IngressServiceBackend { name: service.name.clone(), port: Some(port) }),
            resource: None,
        },
    }
}
