//! Server-side apply of objects that are out of date.

use std::collections::BTreeMap;

use kube::{
    Api, Client, ResourceExt,
    api::{DeleteParams, DynamicObject},
};
use serde_json::Value;

use super::{OwnedKind, OwnedObject, Owner, digest, surplus::removals};
use crate::{shared::SharedContext, writer::WriteError};

/// The annotation with the digest of the document that an object was applied from. A changed digest shows that a field
/// was removed from the document.
const APPLIED: &str = "assay.dev/applied";

/// The existing objects with the names of an owner's objects, which may belong to another owner.
#[derive(Debug, Default)]
pub(crate) struct LiveObjects(BTreeMap<OwnedKind, DynamicObject>);

impl LiveObjects {
    /// Reads the objects with these names. A kind that the cluster lacks has no objects.
    pub(crate) async fn fetch(
        client: &Client,
        namespace: &str,
        names: Vec<(OwnedKind, String)>,
    ) -> Result<Self, kube::Error> {
        let mut live = BTreeMap::new();
        for (kind, name) in names {
            match dynamic_api(client, namespace, kind).get(&name).await {
                Ok(object) => drop(live.insert(kind, object)),
                // An unknown kind gives this code too.
                Err(kube::Error::Api(status)) if status.code == 404 => {}
                Err(error) => return Err(error),
            }
        }
        Ok(Self(live))
    }

    /// The object of a kind.
    pub(crate) fn get(&self, kind: OwnedKind) -> Option<&DynamicObject> {
        self.0.get(&kind)
    }

    /// Parses the object of a kind. `None` if there is no such object or it belongs to another owner.
    pub(crate) fn owned<K: OwnedObject>(&self, owner: &Owner) -> Result<Option<K>, WriteError> {
        let live = self.get(K::KIND).filter(|live| owner.owns(*live));
        Ok(live.map(parse).transpose()?)
    }

    /// The first object that belongs to another owner.
    pub(crate) fn foreign(
        &self,
        owner: &Owner,
        is_desired: impl Fn(OwnedKind) -> bool,
    ) -> Option<(OwnedKind, String)> {
        let desired = self.0.iter().filter(|(kind, _)| is_desired(**kind));
        let mut foreign = desired.filter(|(_, live)| !owner.owns(*live));
        foreign.next().map(|(kind, live)| (*kind, live.name_any()))
    }

    #[cfg(test)]
    pub(crate) fn insert(&mut self, kind: OwnedKind, object: DynamicObject) {
        self.0.insert(kind, object);
    }
}

/// Writes the objects of an owner, one after the other.
pub(crate) struct ObjectApplier<'a> {
    shared: &'a SharedContext,
    owner: &'a Owner,
    live: &'a LiveObjects,
    has_changed: bool,
}

impl<'a> ObjectApplier<'a> {
    /// An applier that compares documents with the existing objects.
    pub(crate) const fn new(
        shared: &'a SharedContext,
        owner: &'a Owner,
        live: &'a LiveObjects,
    ) -> Self {
        Self { shared, owner, live, has_changed: false }
    }

    /// Says whether the applier wrote anything.
    pub(crate) const fn has_changed(&self) -> bool {
        self.has_changed
    }

    /// Applies an object unless it is up to date, and returns the resulting object.
    ///
    /// # Errors
    ///
    /// Returns an error if the object was not written, or the API server's answer is not of its type.
    pub(crate) async fn apply<K: OwnedObject>(&mut self, object: &K) -> Result<K, WriteError> {
        let document = document(object)?;
        let api: Api<K> = Api::namespaced(self.shared.client.clone(), self.owner.namespace());
        let (label, name) = (K::KIND.metric_label(), object.name_any());
        if let Some(live) = self.live.get(K::KIND) {
            let live = serde_json::to_value(live)?;
            let surplus = surplus(K::KIND, &live, &document);
            if surplus.is_empty() && includes(&live, &document) {
                return Ok(serde_json::from_value(live)?);
            }
            // First, because an admission policy may refuse what the object would be with it.
            self.remove(&api, label, &name, surplus).await?;
        }
        let applied = self.shared.writer.apply(label, &api, &name, &document).await?;
        self.has_changed = true;
        Ok(applied)
    }

    /// Removes what others added to an object. If another client has changed the object since, that waits for the next
    /// reconciliation.
    async fn remove<K: OwnedObject>(
        &mut self,
        api: &Api<K>,
        label: &'static str,
        name: &str,
        surplus: Vec<Value>,
    ) -> Result<(), WriteError> {
        if surplus.is_empty() {
            return Ok(());
        }
        self.has_changed = true;
        match self.shared.writer.patch(label, api, name, surplus).await {
            Err(error) if error.refusal().is_some() => {
                tracing::warn!(%error, kind = label, %name, "what others added to an object is still there");
                Ok(())
            }
            patched => patched.map(drop),
        }
    }

    /// Deletes the object of a kind, unless the object belongs to another owner. `parameters` set the propagation of
    /// the deletion to the objects that it owns.
    ///
    /// # Errors
    ///
    /// Returns an error if the object was not deleted.
    pub(crate) async fn delete(
        &mut self,
        kind: OwnedKind,
        parameters: DeleteParams,
    ) -> Result<(), WriteError> {
        let Some(live) = self.live.get(kind).filter(|live| self.owner.owns(*live)) else {
            return Ok(());
        };
        let api = dynamic_api(&self.shared.client, self.owner.namespace(), kind);
        self.shared.writer.delete(kind.metric_label(), &api, live, parameters).await?;
        self.has_changed = true;
        Ok(())
    }
}

fn dynamic_api(client: &Client, namespace: &str, kind: OwnedKind) -> Api<DynamicObject> {
    Api::namespaced_with(client.clone(), namespace, &kind.resource())
}

/// The document to apply for an object: the object with the digest of itself.
pub(crate) fn document<K: OwnedObject>(object: &K) -> Result<Value, serde_json::Error> {
    let mut content = serde_json::to_value(object)?;
    // The order of fields has no meaning.
    content.sort_all_objects();
    let mut object = object.clone();
    object.annotations_mut().insert(APPLIED.to_owned(), digest(&[&content.to_string()]));
    serde_json::to_value(object)
}

fn parse<K: OwnedObject>(live: &DynamicObject) -> Result<K, serde_json::Error> {
    serde_json::from_value(serde_json::to_value(live)?)
}

/// The operations that remove what others added to an object. The pods of a Job cannot be changed.
fn surplus(kind: OwnedKind, live: &Value, document: &Value) -> Vec<Value> {
    if kind == OwnedKind::Job { Vec::new() } else { removals(live, document) }
}

/// Says whether an object has every field of a document. API servers add defaults and omit empty fields.
fn includes(live: &Value, desired: &Value) -> bool {
    match (live, desired) {
        (Value::Object(live), Value::Object(desired)) => desired.iter().all(|(name, value)| {
            live.get(name).map_or_else(|| is_empty(value), |live| includes(live, value))
        }),
        (Value::Array(live), Value::Array(desired)) => {
            live.len() == desired.len() && live.iter().zip(desired).all(|(l, d)| includes(l, d))
        }
        _ => live == desired,
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::{
        api::core::v1::{ConfigMap, Service, ServicePort, ServiceSpec},
        apimachinery::pkg::apis::meta::v1::OwnerReference,
    };

    use super::*;
    use crate::owned::HTTPRoute;

    fn owner(uid: &str) -> Owner {
        let reference = OwnerReference { uid: uid.into(), ..OwnerReference::default() };
        Owner::new(reference, &"one".parse().unwrap(), "ns", "api", "server")
    }

    fn service(cluster_ip: &str) -> Value {
        let port = ServicePort { port: 80, ..ServicePort::default() };
        let spec = ServiceSpec {
            cluster_ip: Some(cluster_ip.into()),
            external_ips: Some(vec![]),
            ports: Some(vec![port]),
            ..ServiceSpec::default()
        };
        let metadata = owner("me").metadata("api");
        document(&Service { metadata, spec: Some(spec), status: None }).unwrap()
    }

    fn is_up_to_date(live: &Value, document: &Value) -> bool {
        includes(live, document) && surplus(OwnedKind::Service, live, document).is_empty()
    }

    #[test]
    fn fields_that_the_server_adds_or_leaves_out_are_no_change() {
        let mut live = service("a");
        live["spec"]["ports"][0]["protocol"] = "TCP".into();
        live["spec"].as_object_mut().unwrap().remove("externalIPs").unwrap();
        live["status"] = serde_json::json!({"loadBalancer": {}});
        assert!(is_up_to_date(&live, &service("a")));
    }

    #[test]
    fn another_document_and_a_change_by_another_client_are_changes() {
        assert!(is_up_to_date(&service("a"), &service("a")));
        assert!(!is_up_to_date(&service("a"), &service("b")));
        let mut changed = service("a");
        changed["spec"]["clusterIP"] = "evil".into();
        assert!(!is_up_to_date(&changed, &service("a")));
        let mut grown = service("a");
        let more = serde_json::json!({"port": 81});
        grown["spec"]["ports"].as_array_mut().unwrap().push(more);
        assert!(!is_up_to_date(&grown, &service("a")));
    }

    #[test]
    fn a_removed_field_is_a_change() {
        let with = |labels: &[&str]| {
            let data = labels.iter().map(|name| ((*name).to_owned(), "x".to_owned())).collect();
            let metadata = owner("me").metadata("api");
            document(&ConfigMap { metadata, data: Some(data), ..ConfigMap::default() }).unwrap()
        };
        assert!(!is_up_to_date(&with(&["a", "b"]), &with(&["a"])));
    }

    #[test]
    fn an_object_of_another_owner_is_foreign() {
        let mut live = LiveObjects::default();
        live.insert(OwnedKind::Service, serde_json::from_value(service("a")).unwrap());
        assert!(live.owned::<Service>(&owner("me")).unwrap().is_some());
        assert!(live.owned::<Service>(&owner("other")).unwrap().is_none());
        assert_eq!(live.foreign(&owner("me"), |_| true), None);
        let foreign = live.foreign(&owner("other"), |_| true);
        assert_eq!(foreign, Some((OwnedKind::Service, "api".into())));
        assert_eq!(live.foreign(&owner("other"), |kind| kind != OwnedKind::Service), None);
    }

    #[test]
    fn a_route_that_another_client_created_can_be_parsed() {
        let route = serde_json::json!({
            "apiVersion": "gateway.networking.k8s.io/v1", "kind": "HTTPRoute",
            "metadata": {"name": "api"},
            "spec": {"rules": [{"filters": [{"type": "RequestRedirect"}]}], "parentRefs": [{}]},
        });
        let route: HTTPRoute = parse(&serde_json::from_value(route).unwrap()).unwrap();
        assert!(route.spec.0["rules"][0].get("filters").is_some());
    }
}
