//! Objects that the operator makes for others: whose they are, and whether they are as they should be.

use std::collections::BTreeMap;

use k8s_openapi::{
    api::{
        apps::v1::Deployment,
        autoscaling::v2::HorizontalPodAutoscaler,
        batch::v1::{CronJob, Job},
        core::v1::{ConfigMap, Service},
        networking::v1::{Ingress, NetworkPolicy},
        policy::v1::PodDisruptionBudget,
    },
    apimachinery::pkg::apis::meta::v1::OwnerReference,
};
use kube::{
    Api, Client, ResourceExt,
    api::{ApiResource, DynamicObject},
    core::GroupVersionKind,
};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::writer::{MANAGER, WriteError, Writer};

/// The labels by which pods are chosen.
const NAME: &str = "app.kubernetes.io/name";
const INSTANCE: &str = "app.kubernetes.io/instance";
const COMPONENT: &str = "app.kubernetes.io/component";
/// Says who made an object.
const MANAGED_BY: &str = "app.kubernetes.io/managed-by";
/// What an object was applied from. A field that is not wanted any more shows by nothing else.
const APPLIED: &str = "assay.dev/applied";

/// What the operator makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum OwnedKind {
    /// Settings.
    ConfigMap,
    /// A name and an address for pods.
    Service,
    /// Who may speak with pods.
    NetworkPolicy,
    /// How many pods may be away on purpose.
    PodDisruptionBudget,
    /// How many pods there are.
    HorizontalPodAutoscaler,
    /// A way in through an Ingress.
    Ingress,
    /// A way in through a Gateway.
    HttpRoute,
    /// Something done once.
    Job,
    /// Something done on a schedule.
    CronJob,
    /// Something that runs.
    Deployment,
}

impl OwnedKind {
    /// How it is called and reached at the API server.
    pub(crate) fn resource(self) -> ApiResource {
        match self {
            Self::ConfigMap => ApiResource::erase::<ConfigMap>(&()),
            Self::Service => ApiResource::erase::<Service>(&()),
            Self::NetworkPolicy => ApiResource::erase::<NetworkPolicy>(&()),
            Self::PodDisruptionBudget => ApiResource::erase::<PodDisruptionBudget>(&()),
            Self::HorizontalPodAutoscaler => ApiResource::erase::<HorizontalPodAutoscaler>(&()),
            Self::Ingress => ApiResource::erase::<Ingress>(&()),
            Self::HttpRoute => ApiResource::from_gvk(&GroupVersionKind::gvk(
                "gateway.networking.k8s.io",
                "v1",
                "HTTPRoute",
            )),
            Self::Job => ApiResource::erase::<Job>(&()),
            Self::CronJob => ApiResource::erase::<CronJob>(&()),
            Self::Deployment => ApiResource::erase::<Deployment>(&()),
        }
    }

    /// The objects of a namespace.
    pub(crate) fn api(self, client: &Client, namespace: &str) -> Api<DynamicObject> {
        Api::namespaced_with(client.clone(), namespace, &self.resource())
    }

    /// The object of that name, where there is one. A cluster that does not know the kind has none: it
    /// answers in words then, and not with a status.
    pub(crate) async fn get(
        self,
        client: &Client,
        namespace: &str,
        name: &str,
    ) -> Result<Option<DynamicObject>, kube::Error> {
        match self.api(client, namespace).get(name).await {
            Ok(object) => Ok(Some(object)),
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// What metrics call writing one.
    pub(crate) const fn written(self) -> &'static str {
        match self {
            Self::ConfigMap => "config_map",
            Self::Service => "service",
            Self::NetworkPolicy => "network_policy",
            Self::PodDisruptionBudget => "pod_disruption_budget",
            Self::HorizontalPodAutoscaler => "horizontal_pod_autoscaler",
            Self::Ingress => "ingress",
            Self::HttpRoute => "http_route",
            Self::Job => "job",
            Self::CronJob => "cron_job",
            Self::Deployment => "deployment",
        }
    }
}

/// Whose objects they are.
#[derive(Clone, Debug)]
pub(crate) struct Owner {
    /// The object they go with.
    pub(crate) reference: OwnerReference,
    /// Where they are.
    pub(crate) namespace: String,
    /// What is written on them, and on their pods.
    pub(crate) labels: BTreeMap<&'static str, String>,
}

impl Owner {
    /// An object and where its objects are; `component` says what they are for.
    pub(crate) fn new(
        reference: OwnerReference,
        namespace: &str,
        instance: &str,
        component: &str,
    ) -> Self {
        let labels = [
            (NAME, "assay"),
            (INSTANCE, instance),
            (COMPONENT, component),
            ("app.kubernetes.io/part-of", "assay"),
            (MANAGED_BY, MANAGER),
        ];
        let labels = labels.map(|(name, value)| (name, value.to_owned())).into();
        Self { reference, namespace: namespace.to_owned(), labels }
    }

    /// The labels by which its pods are chosen. They can never change.
    pub(crate) fn selector(&self) -> Value {
        json!(self.chosen(&[NAME, INSTANCE, COMPONENT]))
    }

    /// Chooses the pods of several components of the same instance.
    pub(crate) fn selector_of(&self, components: &[&str]) -> Value {
        json!({
            "matchLabels": self.chosen(&[NAME, INSTANCE]),
            "matchExpressions": [{"key": COMPONENT, "operator": "In", "values": components}],
        })
    }

    /// The labels by which its pods are chosen, as a question.
    pub(crate) fn pods(&self) -> String {
        let chosen = self.chosen(&[NAME, INSTANCE, COMPONENT]);
        let pairs = chosen.into_iter().map(|(name, value)| format!("{name}={value}"));
        pairs.collect::<Vec<_>>().join(",")
    }

    fn chosen(&self, names: &[&str]) -> BTreeMap<&str, &str> {
        let labels = self.labels.iter().map(|(name, value)| (*name, value.as_str()));
        labels.filter(|(name, _)| names.contains(name)).collect()
    }

    /// Whether an object is one of its objects.
    pub(crate) fn owns(&self, object: &DynamicObject) -> bool {
        object.owner_references().iter().any(|owner| owner.uid == self.reference.uid)
    }
}

/// An object as it is to be.
#[derive(Clone, Debug)]
pub(crate) struct OwnedObject {
    pub(crate) kind: OwnedKind,
    pub(crate) name: String,
    body: Value,
}

impl OwnedObject {
    /// A owned; `content` is what it holds beside its metadata, `annotations` what is noted on it.
    pub(crate) fn new(
        parent: &Owner,
        kind: OwnedKind,
        name: &str,
        annotations: &[(&str, &str)],
        content: Value,
    ) -> Self {
        let resource = kind.resource();
        let mut annotations: BTreeMap<&str, &str> = annotations.iter().copied().collect();
        let mut body = json!({
            "apiVersion": resource.api_version,
            "kind": resource.kind,
            "metadata": {
                "name": name,
                "namespace": parent.namespace,
                "labels": parent.labels,
                "annotations": annotations,
                "ownerReferences": [parent.reference],
            },
        });
        if let (Value::Object(body), Value::Object(content)) = (&mut body, content) {
            body.extend(content);
        }
        let applied = hash(&[&body.to_string()]);
        annotations.insert(APPLIED, &applied);
        if let Some(place) = body.pointer_mut("/metadata/annotations") {
            *place = json!(annotations);
        }
        Self { kind, name: name.to_owned(), body }
    }

    /// The object, as it is applied.
    pub(crate) const fn body(&self) -> &Value {
        &self.body
    }

    /// Whether an object is as it is to be: it was applied from the same, and nobody changed it since.
    fn is_up_to_date(&self, live: &DynamicObject) -> bool {
        let live = serde_json::to_value(live).unwrap_or_default();
        includes(&live, &self.body)
    }

    /// Applies it where it is not as it should be; gives what there is, and whether it was written.
    pub(crate) async fn apply(
        &self,
        client: &Client,
        writer: &Writer,
        namespace: &str,
        live: Option<&DynamicObject>,
    ) -> Result<(DynamicObject, bool), WriteError> {
        if let Some(live) = live
            && self.is_up_to_date(live)
        {
            return Ok((live.clone(), false));
        }
        let api = self.kind.api(client, namespace);
        let written = writer.apply(self.kind.written(), &api, &self.name, &self.body).await?;
        Ok((written, true))
    }
}

/// Whether an object says all that is wanted. Servers add defaults, and leave out what is empty.
fn includes(live: &Value, wanted: &Value) -> bool {
    match (live, wanted) {
        (Value::Object(live), Value::Object(wanted)) => wanted.iter().all(|(name, value)| {
            live.get(name).map_or_else(|| is_empty(value), |live| includes(live, value))
        }),
        (Value::Array(live), Value::Array(wanted)) => {
            live.len() == wanted.len() && live.iter().zip(wanted).all(|(l, w)| includes(l, w))
        }
        _ => live == wanted,
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

/// A short name of a list of texts: the same for the same, another one otherwise.
pub(crate) fn hash(texts: &[&str]) -> String {
    let mut digest = Sha256::new();
    for text in texts {
        // With their lengths, so that no two lists run together.
        digest.update(text.len().to_be_bytes());
        digest.update(text);
    }
    let mut name = hex::encode(digest.finalize());
    name.truncate(16);
    name
}

/// Which objects are watched: those that the operator made.
pub(crate) fn label_selector() -> String {
    format!("{MANAGED_BY}={MANAGER}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owned(image: &str) -> OwnedObject {
        let parent = Owner::new(OwnerReference::default(), "ns", "api", "server");
        let content = json!({"spec": {"image": image, "secrets": [], "ports": [{"port": 80}]}});
        OwnedObject::new(&parent, OwnedKind::Service, "api", &[], content)
    }

    fn live(body: Value) -> DynamicObject {
        serde_json::from_value(body).unwrap()
    }

    #[test]
    fn what_the_server_adds_and_leaves_out_is_no_change() {
        let owned = owned("a");
        let mut stored = owned.body().clone();
        stored["spec"]["ports"][0]["protocol"] = "TCP".into();
        stored["spec"].as_object_mut().unwrap().remove("secrets");
        stored["status"] = json!({"ready": 1});
        assert!(owned.is_up_to_date(&live(stored)));
    }

    #[test]
    fn what_is_wanted_otherwise_or_was_changed_by_somebody_is_a_change() {
        let stored = live(owned("a").body().clone());
        assert!(!owned("b").is_up_to_date(&stored));
        let mut changed = owned("a").body().clone();
        changed["spec"]["image"] = "evil".into();
        assert!(!owned("a").is_up_to_date(&live(changed)));
        let mut grown = owned("a").body().clone();
        grown["spec"]["ports"].as_array_mut().unwrap().push(json!({"port": 81}));
        assert!(!owned("a").is_up_to_date(&live(grown)));
    }

    #[test]
    fn lists_of_texts_do_not_run_together() {
        assert_eq!(hash(&["a", "b"]), hash(&["a", "b"]));
        assert_ne!(hash(&["ab", ""]), hash(&["a", "b"]));
        assert_eq!(hash(&[]).len(), 16);
    }
}
