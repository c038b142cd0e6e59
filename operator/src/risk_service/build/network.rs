//! Who reaches a server, and whom it reaches.

use serde_json::{Value, json};

use super::{ADMIN, API, MIGRATION, PURGE, SERVER};
use crate::{
    egress,
    owned::{OwnedKind, OwnedObject},
    ports,
    risk_service::{fetch::Fetched, validate::Valid},
};

/// The port of the Service.
const PORT: u16 = 80;

pub(super) fn service(fetched: &Fetched) -> OwnedObject {
    let port = |(name, target): (&str, u16), port: u16| json!({"name": name, "port": port, "targetPort": target, "protocol": "TCP"});
    let content = json!({"spec": {
        "type": "ClusterIP",
        "selector": fetched.parent.selector(),
        "ports": [port(API, PORT), port(ADMIN, ADMIN.1)],
    }});
    OwnedObject::new(&fetched.parent, OwnedKind::Service, &fetched.name(), &[], content)
}

/// For servers and for the Jobs beside them: in to the two ports, out to names and to what the Secrets and chain sources name. Where that is
/// cannot be said: it may move, and names are not addresses.
pub(super) fn policy(valid: &Valid<'_>) -> OwnedObject {
    let fetched = valid.fetched;
    let port = |protocol: &str, port: u16| json!({"protocol": protocol, "port": port});
    let mut out = valid.ports.clone();
    out.extend(egress::ports(&fetched.object.spec.egress));
    out.extend(ports::of_collector(&fetched.object.spec.telemetry));
    out.extend(fetched.demand.iter().flat_map(|demand| &demand.endpoint_ports));
    let out: Vec<Value> = out.into_iter().map(|number| port("TCP", number)).collect();
    let names = json!({
        "to": [{"namespaceSelector": {}}],
        "ports": [port("UDP", 53), port("TCP", 53)],
    });
    let content = json!({"spec": {
        "podSelector": fetched.parent.selector_of(&[SERVER, MIGRATION, PURGE]),
        "policyTypes": ["Ingress", "Egress"],
        "ingress": [{"ports": [port("TCP", API.1), port("TCP", ADMIN.1)]}],
        "egress": [names, {"ports": out}],
    }});
    OwnedObject::new(&fetched.parent, OwnedKind::NetworkPolicy, &fetched.name(), &[], content)
}

/// The way in from outside the cluster, where there is to be one.
pub(super) fn exposure(fetched: &Fetched) -> Option<OwnedObject> {
    let exposure = fetched.object.spec.exposure.as_ref()?;
    let (host, name) = (&exposure.host, fetched.name());
    if let Some(route) = &exposure.http_route {
        let mut gateway = json!({"name": route.gateway});
        if let (Some(namespace), Some(fields)) = (&route.gateway_namespace, gateway.as_object_mut())
        {
            fields.insert("namespace".into(), json!(namespace));
        }
        let content = json!({"spec": {
            "parentRefs": [gateway],
            "hostnames": [host],
            "rules": [{"backendRefs": [{"name": name, "port": PORT}]}],
        }});
        return Some(OwnedObject::new(&fetched.parent, OwnedKind::HttpRoute, &name, &[], content));
    }
    let ingress = exposure.ingress.as_ref()?;
    let backend = json!({"service": {"name": name, "port": {"name": API.0}}});
    let path = json!({"path": "/", "pathType": "Prefix", "backend": backend});
    let mut spec = json!({"rules": [{"host": host, "http": {"paths": [path]}}]});
    if let Some(fields) = spec.as_object_mut() {
        let class = ingress.class_name.as_ref();
        fields.extend(class.map(|class| ("ingressClassName".into(), json!(class))));
        let tls = ingress.tls_secret.as_ref();
        let tls = tls.map(|secret| json!([{"hosts": [host], "secretName": secret}]));
        fields.extend(tls.map(|tls| ("tls".into(), tls)));
    }
    let content = json!({"spec": spec});
    Some(OwnedObject::new(&fetched.parent, OwnedKind::Ingress, &name, &[], content))
}
