//! The inputs of the reconciliation of a source.

use assay_tenancy::Name;
use k8s_openapi::api::core::v1::{PersistentVolumeClaim, Secret};
use kube::{Api, api::ListParams, core::PartialObjectMeta};

use super::{Context, WorkloadSettings, kind::Source};
use crate::{
    network_policy::EgressNetworks,
    owned::{LiveObjects, Owner},
    secret_state::SecretState,
    shared::ReconcileError,
};

/// The inputs of the reconciliation of a source.
#[derive(Debug)]
pub(super) struct Inputs<'a, S> {
    /// The source's name.
    pub(super) name: &'a Name,
    /// The spec in force of the source.
    pub(super) spec: S,
    /// True if the source was never imported. `None` until the store was read.
    pub(super) is_new: Option<bool>,
    /// The owner of the source's objects: the source.
    pub(super) owner: Owner,
    /// The existing objects with the names of the source's objects.
    pub(super) live: LiveObjects,
    /// The volume claims of existing and former chain servers.
    pub(super) claims: Vec<PersistentVolumeClaim>,
    /// The metadata of the Secret with the source's credentials, if the Secret exists.
    pub(super) credentials: Option<PartialObjectMeta<Secret>>,
    /// The Secret with the database's URL.
    pub(super) database: SecretState,
    /// The networks of network policies. `None`: the operator creates no network policies.
    pub(super) networks: Option<EgressNetworks>,
    /// The settings of workloads.
    pub(super) settings: &'a WorkloadSettings,
}

impl<S> Inputs<'_, S> {
    /// Describes the absence of a Secret that each workload of a source needs.
    pub(super) fn missing_secret(&self) -> Option<String> {
        let problem =
            self.database.problem(&self.settings.database.source, "a URL of the database")?;
        Some(format!("in namespace `{}`, {problem}", self.owner.namespace()))
    }
}

/// Reads the inputs from the API server.
pub(super) async fn fetch<'a, K: Source>(
    name: &'a Name,
    spec: K::Spec,
    owner: Owner,
    settings: &'a WorkloadSettings,
    context: &Context,
) -> Result<Inputs<'a, K::Spec>, ReconcileError> {
    let (client, namespace) = (&context.shared.client, &*context.namespace);
    let live = LiveObjects::fetch(client, namespace, K::object_names(name.as_str())).await?;
    let claims = if K::HAS_VOLUMES {
        let claims: Api<PersistentVolumeClaim> = Api::namespaced(client.clone(), namespace);
        claims.list(&ListParams::default().labels(&owner.pod_query())).await?.items
    } else {
        vec![]
    };
    let secrets: Api<Secret> = Api::namespaced(client.clone(), namespace);
    let credentials = match K::credentials(&spec) {
        Some(requested) => secrets.get_metadata_opt(requested.secret.name.as_str()).await?,
        None => None,
    };
    let database = SecretState::read(&secrets, &settings.database.source).await?;
    let imported = context.imported.borrow().clone();
    let is_new = imported.map(|imported| !imported.contains(name.as_str()));
    let networks = context.shared.networks.clone();
    Ok(Inputs {
        name,
        spec,
        is_new,
        owner,
        live,
        claims,
        credentials,
        database,
        networks,
        settings,
    })
}
