//! The namespaces whose objects the operator works on.
//!
//! It watches all namespaces of the cluster, or a few: then it needs no right outside these, but for Assay's own
//! kinds that belong to the cluster.

use std::collections::BTreeSet;

use assay_tenancy::Name;
use k8s_openapi::NamespaceResourceScope;
use kube::{Api, Client, Resource};

/// The namespace that holds events about objects that are in none.
const EVENTS_OF_CLUSTER_KINDS: &str = "default";

/// The namespaces whose objects the operator works on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum WatchScope {
    /// All namespaces of the cluster.
    Cluster,
    /// `RiskService`s in the operator's own namespace alone, `ApiKey`s in these.
    Namespaces {
        /// The operator's namespace.
        own: String,
        /// The namespaces of `ApiKey`s, the operator's own among them.
        keys: BTreeSet<String>,
    },
}

impl WatchScope {
    /// The scope of an operator in the namespace `own`. `watched` lists the namespaces of tenants; empty: all.
    pub(crate) fn new(own: &str, watched: &[Name]) -> Self {
        if watched.is_empty() {
            return Self::Cluster;
        }
        let keys = watched.iter().map(Name::to_string).chain([own.to_owned()]);
        Self::Namespaces { own: own.to_owned(), keys: keys.collect() }
    }

    /// The objects around `RiskService`s, and these themselves.
    pub(crate) fn services<K>(&self, client: &Client) -> Api<K>
    where
        K: Resource<Scope = NamespaceResourceScope, DynamicType: Default>,
    {
        match self {
            Self::Cluster => Api::all(client.clone()),
            Self::Namespaces { own, .. } => Api::namespaced(client.clone(), own),
        }
    }

    /// The `ApiKey`s: one API for each watch.
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

    /// Those of a tenant's namespaces whose `ApiKey`s the operator does not see. `None`: it sees all of the cluster.
    pub(crate) fn unwatched<'a>(&self, namespaces: &'a [Name]) -> Option<Vec<&'a str>> {
        match self {
            Self::Cluster => None,
            Self::Namespaces { keys, .. } => {
                let names = namespaces.iter().map(Name::as_str);
                Some(names.filter(|name| !keys.contains(*name)).collect())
            }
        }
    }

    /// Says whether the operator may create events about an object in this namespace, or in none.
    pub(crate) fn has_events_of(&self, namespace: Option<&str>) -> bool {
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
        assert!(scope.has_events_of(None) && scope.has_events_of(Some("anywhere")));
    }

    #[test]
    fn with_names_those_and_the_operators_own_are_watched() {
        let scope = WatchScope::new("assay", &names(&["payments"]));
        let unwatched = scope
            .unwatched(&names(&["assay", "elsewhere", "payments"]).clone())
            .map(|found| found.join(" "));
        assert_eq!(unwatched.as_deref(), Some("elsewhere"));
        assert!(scope.has_events_of(Some("payments")) && scope.has_events_of(Some("assay")));
        assert!(!scope.has_events_of(None), "they would be in `default`");
        assert!(WatchScope::new("default", &names(&["payments"])).has_events_of(None));
    }
}
