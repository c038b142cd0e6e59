//! The namespaces whose objects the operator reconciles.
//!
//! The operator watches all namespaces of the cluster, or only some. In the second case the operator needs no rights
//! outside these namespaces, except for Assay's cluster-scoped kinds.

use std::collections::BTreeSet;

use assay_tenancy::Name;
use k8s_openapi::NamespaceResourceScope;
use kube::{Api, Client, Resource};

/// The namespace of events about cluster-scoped objects.
const EVENTS_OF_CLUSTER_KINDS: &str = "default";

/// The namespaces whose objects the operator reconciles.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum WatchScope {
    /// All namespaces of the cluster.
    Cluster,
    /// `RiskService`s in the operator's own namespace only, `ApiKey`s in the namespaces `keys`.
    Namespaces {
        /// The operator's namespace.
        own: String,
        /// The namespaces of `ApiKey`s, the operator's own among them.
        keys: BTreeSet<String>,
    },
}

impl WatchScope {
    /// The scope of an operator in the namespace `own`. `watched` lists the namespaces of tenants; an empty list means
    /// all namespaces.
    pub(crate) fn new(own: &str, watched: &[Name]) -> Self {
        if watched.is_empty() {
            return Self::Cluster;
        }
        let keys = watched.iter().map(Name::to_string).chain([own.to_owned()]);
        Self::Namespaces { own: own.to_owned(), keys: keys.collect() }
    }

    /// The API for `RiskService`s and the objects that they own.
    pub(crate) fn services<K>(&self, client: &Client) -> Api<K>
    where
        K: Resource<Scope = NamespaceResourceScope, DynamicType: Default>,
    {
        match self {
            Self::Cluster => Api::all(client.clone()),
            Self::Namespaces { own, .. } => Api::namespaced(client.clone(), own),
        }
    }

    /// The APIs for `ApiKey`s, one for each watch.
    pub(crate) fn keys<K>(&self, client: &Client) -> Vec<Api<K>>
    where
        K: Resource<Scope = NamespaceResourceScope, DynamicType: Default>,
    {
        match self {
            Self::Cluster => vec![Api::all(client.clone())],
            Self::Namespaces { keys, .. } => {
                keys.iter().map(|name| Api::namespaced(client.clone(), name)).collect()
            }
        }
    }

    /// The namespaces in a tenant's list that the operator does not watch. `None`: the operator watches the whole
    /// cluster.
    pub(crate) fn unwatched<'a>(&self, namespaces: &'a [Name]) -> Option<Vec<&'a str>> {
        match self {
            Self::Cluster => None,
            Self::Namespaces { keys, .. } => {
                let names = namespaces.iter().map(Name::as_str);
                Some(names.filter(|name| !keys.contains(*name)).collect())
            }
        }
    }

    /// Says whether the operator may create events about an object in a namespace, or about a cluster-scoped object.
    pub(crate) fn may_create_events_about(&self, namespace: Option<&str>) -> bool {
        match self {
            Self::Cluster => true,
            Self::Namespaces { keys, .. } => {
                keys.contains(namespace.unwrap_or(EVENTS_OF_CLUSTER_KINDS))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(texts: &[&str]) -> Vec<Name> {
        texts.iter().map(|text| text.parse().unwrap()).collect()
    }

    #[test]
    fn without_names_all_namespaces_are_watched() {
        let scope = WatchScope::new("assay", &[]);
        assert_eq!(scope, WatchScope::Cluster);
        assert_eq!(scope.unwatched(&names(&["anywhere"])), None);
        assert!(
            scope.may_create_events_about(None) && scope.may_create_events_about(Some("anywhere"))
        );
    }

    #[test]
    fn with_names_those_and_the_operators_own_are_watched() {
        let scope = WatchScope::new("assay", &names(&["payments"]));
        let unwatched = scope
            .unwatched(&names(&["assay", "elsewhere", "payments"]).clone())
            .map(|found| found.join(" "));
        assert_eq!(unwatched.as_deref(), Some("elsewhere"));
        assert!(
            scope.may_create_events_about(Some("payments"))
                && scope.may_create_events_about(Some("assay"))
        );
        assert!(!scope.may_create_events_about(None), "they would be in `default`");
        assert!(WatchScope::new("default", &names(&["payments"])).may_create_events_about(None));
    }
}
