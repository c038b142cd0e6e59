//! The owner of objects that the operator creates, and the metadata of these objects.

use std::collections::BTreeMap;

use assay_crds::INSTANCE_LABEL;
use assay_tenancy::Name;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{
    LabelSelector, LabelSelectorRequirement, ObjectMeta, OwnerReference,
};
use kube::ResourceExt;

use crate::writer::MANAGER;

const NAME: &str = "app.kubernetes.io/name";
const INSTANCE: &str = "app.kubernetes.io/instance";
const COMPONENT: &str = "app.kubernetes.io/component";
/// The label with the application that an object is part of.
pub(crate) const PART_OF: &str = "app.kubernetes.io/part-of";
/// The label with the program that manages an object.
pub(crate) const MANAGED_BY: &str = "app.kubernetes.io/managed-by";

/// An object that owns other objects, and the component (label) of the owned objects.
#[derive(Clone, Debug)]
pub(crate) struct Owner {
    reference: OwnerReference,
    installation: Name,
    namespace: String,
    instance: String,
    component: &'static str,
}

impl Owner {
    /// The owner of the objects of a component of `instance`, which are in `namespace` and belong to `installation`.
    pub(crate) fn new(
        reference: OwnerReference,
        installation: &Name,
        namespace: &str,
        instance: &str,
        component: &'static str,
    ) -> Self {
        let (namespace, instance) = (namespace.to_owned(), instance.to_owned());
        Self { reference, installation: installation.clone(), namespace, instance, component }
    }

    /// The owner with another component.
    pub(crate) fn with_component(&self, component: &'static str) -> Self {
        Self { component, ..self.clone() }
    }

    /// The namespace of the owned objects.
    pub(crate) fn namespace(&self) -> &str {
        &self.namespace
    }

    /// The labels that the owned objects and their pods share.
    fn labels(&self) -> BTreeMap<String, String> {
        let mut labels = self.selected(&[NAME, INSTANCE, COMPONENT]);
        labels.extend([(PART_OF, "assay"), (MANAGED_BY, MANAGER)].map(owned));
        labels
    }

    /// The metadata of an owned object of that name. Pods lack the label of the installation, because a new label would
    /// replace the pods of earlier releases.
    pub(crate) fn metadata(&self, name: &str) -> ObjectMeta {
        let mut labels = self.labels();
        labels.insert(INSTANCE_LABEL.to_owned(), self.installation.to_string());
        ObjectMeta {
            name: Some(name.to_owned()),
            namespace: Some(self.namespace.clone()),
            labels: Some(labels),
            owner_references: Some(vec![self.reference.clone()]),
            ..ObjectMeta::default()
        }
    }

    /// The metadata of a template of owned pods or Jobs.
    pub(crate) fn template_metadata(&self) -> ObjectMeta {
        ObjectMeta { labels: Some(self.labels()), ..ObjectMeta::default() }
    }

    /// The labels that select the owned pods. A Deployment's selector can never change.
    pub(crate) fn match_labels(&self) -> BTreeMap<String, String> {
        self.selected(&[NAME, INSTANCE, COMPONENT])
    }

    /// The selector of the owned pods.
    pub(crate) fn selector(&self) -> LabelSelector {
        LabelSelector { match_labels: Some(self.match_labels()), match_expressions: None }
    }

    /// The selector of the pods of several components of the same instance.
    pub(crate) fn selector_of(&self, components: &[&str]) -> LabelSelector {
        let components = components.iter().map(|component| (*component).to_owned());
        LabelSelector {
            match_labels: Some(self.selected(&[NAME, INSTANCE])),
            match_expressions: Some(vec![LabelSelectorRequirement {
                key: COMPONENT.to_owned(),
                operator: "In".to_owned(),
                values: Some(components.collect()),
            }]),
        }
    }

    /// The label selector of the owned pods as a query parameter.
    pub(crate) fn pod_query(&self) -> String {
        let pairs = self.match_labels().into_iter().map(|(name, value)| format!("{name}={value}"));
        pairs.collect::<Vec<_>>().join(",")
    }

    /// Says whether an object belongs to this owner.
    pub(crate) fn owns(&self, object: &impl ResourceExt) -> bool {
        object.owner_references().iter().any(|owner| owner.uid == self.reference.uid)
    }

    fn selected(&self, names: &[&str]) -> BTreeMap<String, String> {
        let all = [(NAME, "assay"), (INSTANCE, &*self.instance), (COMPONENT, self.component)];
        all.into_iter().filter(|(name, _)| names.contains(name)).map(owned).collect()
    }
}

fn owned((name, value): (&str, &str)) -> (String, String) {
    (name.to_owned(), value.to_owned())
}

/// The label selector of all objects that the operator creates.
pub(crate) fn managed_by_selector() -> String {
    format!("{MANAGED_BY}={MANAGER}")
}

/// The selector of the pods of a component of any instance that the operator creates.
pub(crate) fn pods_of(component: &str) -> LabelSelector {
    let labels = [(NAME, "assay"), (COMPONENT, component), (MANAGED_BY, MANAGER)];
    LabelSelector { match_labels: Some(labels.map(owned).into()), match_expressions: None }
}

/// The instance and the component of a pod that the operator's objects created.
pub(crate) fn instance_and_component(pod: &impl ResourceExt) -> Option<(String, String)> {
    let label = |name| pod.labels().get(name).cloned();
    Some((label(INSTANCE)?, label(COMPONENT)?))
}

/// The selector of the operator's own pods.
pub(crate) fn operator_pods() -> LabelSelector {
    let labels = [(NAME, "assay"), (COMPONENT, "operator")];
    LabelSelector { match_labels: Some(labels.map(owned).into()), match_expressions: None }
}
