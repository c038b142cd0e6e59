//! The installation that an operator belongs to. Several installations may share a cluster; each has an instance name,
//! a database and objects of its own.
//!
//! The instance name is recorded in the cluster as an `Installation`, in the database, and as the label
//! `assay.dev/instance` on objects. An operator never takes over the record of an instance name from another
//! installation. Objects without the label belong to the oldest installation.

use std::time::Duration;

use assay_crds::{INSTANCE_LABEL, Installation, InstallationSpec};
use assay_store::{PostgresStore, StoreError};
use assay_tenancy::Name;
use futures_util::{Stream, TryStreamExt};
use kube::{
    Api, Client, Resource, ResourceExt,
    api::ListParams,
    runtime::{
        reflector::{ObjectRef, Store},
        watcher,
    },
};
use tokio::time::sleep;

use crate::writer::{WriteError, Writer};

/// Delay between the creation of an `Installation` and the comparison of all `Installation` objects. Creation times
/// have a precision of a second: after the delay, every `Installation` of the same second is visible.
const SETTLING_TIME: Duration = Duration::from_millis(1_500);

/// The installation that this operator belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Instance {
    name: Name,
    owns_unlabelled: bool,
}

impl Instance {
    /// The instance name.
    pub(crate) const fn name(&self) -> &Name {
        &self.name
    }

    /// Says whether an object belongs to this installation.
    pub(crate) fn owns(&self, object: &impl ResourceExt) -> bool {
        match object.labels().get(INSTANCE_LABEL) {
            Some(name) => name == self.name.as_str(),
            None => self.owns_unlabelled,
        }
    }

    /// Converts the events of a watch of all objects into those of this installation's objects: an object whose label
    /// changes to another installation counts as deleted. `known` are the objects that the watch holds.
    pub(crate) fn own_events<K>(
        self,
        events: impl Stream<Item = watcher::Result<watcher::Event<K>>>,
        known: Store<K>,
    ) -> impl Stream<Item = watcher::Result<watcher::Event<K>>>
    where
        K: Resource<DynamicType = ()> + Clone,
    {
        events.try_filter_map(move |event| {
            let is_known = |object: &K| known.get(&ObjectRef::from_obj(object)).is_some();
            std::future::ready(Ok(self.own_event(event, is_known)))
        })
    }

    fn own_event<K: Resource>(
        &self,
        event: watcher::Event<K>,
        is_known: impl Fn(&K) -> bool,
    ) -> Option<watcher::Event<K>> {
        use watcher::Event::{Apply, Delete, InitApply};
        match event {
            Apply(object) | Delete(object) if !self.owns(&object) => {
                is_known(&object).then_some(Delete(object))
            }
            InitApply(object) if !self.owns(&object) => None,
            event => Some(event),
        }
    }
}

/// Describes the installation of an object, for messages about objects of other installations.
pub(crate) fn owner_of(object: &impl ResourceExt) -> String {
    object.labels().get(INSTANCE_LABEL).map_or_else(
        || format!("the first installation of the cluster, as it has no label `{INSTANCE_LABEL}`"),
        |name| format!("the instance `{name}`"),
    )
}

/// Error: the operator cannot act for an installation.
#[derive(Debug, thiserror::Error)]
pub(crate) enum InstanceError {
    /// The instance name belongs to an installation in another namespace.
    #[error(
        "the instance name `{name}` belongs to the installation in namespace `{owner}`, and this operator runs in \
         namespace `{namespace}`: set `--instance` (the chart's value `instance`) to another name; or, if that \
         installation no longer exists, delete the Installation `{name}`"
    )]
    NameTaken { name: Name, owner: String, namespace: String },
    /// Another installation runs in the namespace.
    #[error(
        "the namespace `{namespace}` belongs to the instance `{owner}`, and this operator is the instance `{name}`: \
         set `--instance` (the chart's value `instance`) to `{owner}` to continue that installation, or use another \
         namespace; or, if that installation no longer exists, delete the Installation `{owner}`"
    )]
    NamespaceTaken { name: Name, owner: String, namespace: String },
    /// The database belongs to another installation.
    #[error(
        "the database belongs to the instance `{owner}`, and this operator is the instance `{name}`: give it a \
         database of its own, or set `--instance` (the chart's value `instance`) to `{owner}` to continue that \
         installation"
    )]
    DatabaseTaken { name: Name, owner: Name },
    /// The cluster lacks the kind.
    #[error(
        "the cluster lacks the kind Installation: apply the definitions of this release (the folder `crds` of the chart)"
    )]
    KindMissing,
    /// The API server failed.
    #[error("failed to list Installations: {0}")]
    Server(#[source] kube::Error),
    /// The record was not written.
    #[error("failed to create an Installation: {0}")]
    Write(#[from] WriteError),
    /// The database failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl InstanceError {
    /// Says whether a person has to act, because a name, namespace or database belongs to another installation.
    pub(crate) const fn is_refusal(&self) -> bool {
        matches!(
            self,
            Self::NameTaken { .. } | Self::NamespaceTaken { .. } | Self::DatabaseTaken { .. }
        )
    }
}

/// The record of an installation.
#[derive(Debug, PartialEq, Eq)]
enum InstallationRecord {
    /// The record exists.
    Found(Instance),
    /// The record is to be created.
    Missing {
        /// True if there is no other installation in the cluster.
        owns_unlabelled: bool,
    },
}

/// Finds the record of the installation `name` in `namespace` among all records.
fn find(
    name: &Name,
    namespace: &str,
    all: &[Installation],
) -> Result<InstallationRecord, InstanceError> {
    let Some(own) = all.iter().find(|record| record.name_any() == name.as_str()) else {
        if let Some(other) = all.iter().find(|other| other.spec.namespace == namespace) {
            let (name, namespace) = (name.clone(), namespace.to_owned());
            return Err(InstanceError::NamespaceTaken { name, owner: other.name_any(), namespace });
        }
        return Ok(InstallationRecord::Missing { owns_unlabelled: all.is_empty() });
    };
    if own.spec.namespace != namespace {
        let (name, owner) = (name.clone(), own.spec.namespace.clone());
        return Err(InstanceError::NameTaken { name, owner, namespace: namespace.to_owned() });
    }
    // Two that were created at once may both have taken themselves for the first.
    let owners = all.iter().filter(|record| record.spec.owns_unlabelled);
    let first = owners.min_by_key(|record| {
        let created = record.meta().creation_timestamp.as_ref().map(|time| time.0);
        (created, record.name_any())
    });
    let owns_unlabelled = first.is_some_and(|first| first.name_any() == name.as_str());
    Ok(InstallationRecord::Found(Instance { name: name.clone(), owns_unlabelled }))
}

async fn list(client: &Client) -> Result<Vec<Installation>, InstanceError> {
    let listed = Api::<Installation>::all(client.clone()).list(&ListParams::default()).await;
    match listed {
        Ok(list) => Ok(list.items),
        Err(kube::Error::Api(status)) if status.code == 404 => Err(InstanceError::KindMissing),
        Err(error) => Err(InstanceError::Server(error)),
    }
}

/// Checks, without a write, that no other installation has the name or the namespace.
///
/// # Errors
///
/// Returns a refusal if another installation has the name or the namespace.
pub(crate) async fn check(
    client: &Client,
    name: &Name,
    namespace: &str,
) -> Result<(), InstanceError> {
    find(name, namespace, &list(client).await?).map(drop)
}

/// Returns the installation `name` in `namespace`; creates its record if there is none.
///
/// # Errors
///
/// Returns a refusal if another installation has the name or the namespace.
pub(crate) async fn register(
    client: &Client,
    writer: &Writer,
    name: &Name,
    namespace: &str,
) -> Result<Instance, InstanceError> {
    let api = Api::<Installation>::all(client.clone());
    loop {
        let owns_unlabelled = match find(name, namespace, &list(client).await?)? {
            InstallationRecord::Found(instance) => return Ok(instance),
            InstallationRecord::Missing { owns_unlabelled } => owns_unlabelled,
        };
        let spec = InstallationSpec { namespace: namespace.to_owned(), owns_unlabelled };
        match writer.create("installation", &api, &Installation::new(name.as_str(), spec)).await {
            // Another operator of this name was faster: it is compared with.
            Err(WriteError::Server(kube::Error::Api(status))) if status.code == 409 => {}
            created => drop(created?),
        }
        if owns_unlabelled {
            sleep(SETTLING_TIME).await;
        }
    }
}

/// Writes the instance name into a database that has no instance name.
///
/// # Errors
///
/// Returns a refusal if the database belongs to another installation.
pub(crate) async fn claim_database(
    store: &PostgresStore,
    name: &Name,
) -> Result<(), InstanceError> {
    let owner = store.claim_instance(name).await?;
    if owner == *name {
        return Ok(());
    }
    Err(InstanceError::DatabaseTaken { name: name.clone(), owner })
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

    use super::*;

    fn record(name: &str, namespace: &str, owns_unlabelled: bool, created: i64) -> Installation {
        let namespace = namespace.to_owned();
        let mut record = Installation::new(name, InstallationSpec { namespace, owns_unlabelled });
        let created = Timestamp::from_second(created).unwrap();
        record.meta_mut().creation_timestamp = Some(Time(created));
        record
    }

    fn found(
        name: &str,
        namespace: &str,
        all: &[Installation],
    ) -> Result<InstallationRecord, InstanceError> {
        find(&name.parse().unwrap(), namespace, all)
    }

    fn instance(name: &str, owns_unlabelled: bool) -> Instance {
        Instance { name: name.parse().unwrap(), owns_unlabelled }
    }

    #[test]
    fn the_first_installation_owns_the_objects_without_a_label() {
        let missing = |owns_unlabelled| InstallationRecord::Missing { owns_unlabelled };
        assert_eq!(found("a", "one", &[]).unwrap(), missing(true));
        let all = [record("a", "one", true, 1)];
        assert_eq!(found("b", "two", &all).unwrap(), missing(false));
        let all = [record("a", "one", true, 1), record("b", "two", false, 2)];
        assert_eq!(
            found("a", "one", &all).unwrap(),
            InstallationRecord::Found(instance("a", true))
        );
        assert_eq!(
            found("b", "two", &all).unwrap(),
            InstallationRecord::Found(instance("b", false))
        );
        // A later one does not become the first when the first goes.
        let left = &all[1..];
        assert_eq!(
            found("b", "two", left).unwrap(),
            InstallationRecord::Found(instance("b", false))
        );
        assert_eq!(found("c", "three", left).unwrap(), missing(false));
    }

    #[test]
    fn of_two_first_installations_the_oldest_counts_then_the_name() {
        for (times, first) in [((1, 2), "b"), ((2, 1), "a"), ((1, 1), "a")] {
            let all = [record("b", "two", true, times.0), record("a", "one", true, times.1)];
            for (name, namespace) in [("a", "one"), ("b", "two")] {
                let expected = InstallationRecord::Found(instance(name, name == first));
                assert_eq!(found(name, namespace, &all).unwrap(), expected, "{times:?}");
            }
        }
    }

    #[test]
    fn an_installation_that_would_share_is_refused_with_the_mend() {
        let all = [record("a", "one", true, 1)];
        let error = found("a", "two", &all).unwrap_err();
        assert!(error.is_refusal());
        let words = error.to_string();
        assert!(words.contains("belongs to the installation in namespace `one`"), "{words}");
        assert!(words.contains("set `--instance`"), "{words}");
        let error = found("b", "one", &all).unwrap_err();
        assert!(error.is_refusal());
        let words = error.to_string();
        assert!(words.contains("belongs to the instance `a`"), "{words}");
    }

    #[test]
    fn an_object_that_another_installation_gets_is_deleted_from_this_one() {
        use watcher::Event::{Apply, Delete, Init, InitApply, InitDone};
        let object = |label: &str| {
            let mut object = record("any", "any", false, 1);
            object.meta_mut().labels = Some([(INSTANCE_LABEL.to_owned(), label.to_owned())].into());
            object
        };
        let seen = |event, is_known| match instance("a", true).own_event(event, |_| is_known) {
            None => "nothing",
            Some(Apply(_)) => "applied",
            Some(Delete(_)) => "deleted",
            Some(Init) => "list begins",
            Some(InitApply(_)) => "listed",
            Some(InitDone) => "list ends",
        };
        assert_eq!(seen(Apply(object("a")), false), "applied");
        assert_eq!(seen(Delete(object("a")), true), "deleted");
        assert_eq!(seen(Apply(object("b")), true), "deleted", "its label changed");
        assert_eq!(seen(Delete(object("b")), true), "deleted");
        for event in [Apply(object("b")), Delete(object("b")), InitApply(object("b"))] {
            assert_eq!(seen(event, false), "nothing");
        }
        assert_eq!(seen(InitApply(object("b")), true), "nothing", "the list replaces all");
        assert_eq!(seen(InitApply(object("a")), false), "listed");
        assert_eq!((seen(Init, false), seen(InitDone, false)), ("list begins", "list ends"));
    }

    #[test]
    fn an_object_belongs_to_the_installation_that_its_label_names() {
        let object = |label: Option<&str>| {
            let mut object = record("any", "any", false, 1);
            let labels = label.map(|name| [(INSTANCE_LABEL.to_owned(), name.to_owned())].into());
            object.meta_mut().labels = labels;
            object
        };
        for (label, first, second) in [
            (Some("a"), true, false),
            (Some("b"), false, true),
            (Some("c"), false, false),
            (None, true, false),
        ] {
            assert_eq!(instance("a", true).owns(&object(label)), first, "{label:?}");
            assert_eq!(instance("b", false).owns(&object(label)), second, "{label:?}");
        }
    }
}
