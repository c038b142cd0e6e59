//! The inputs of the reconciliation of a `RiskService`.

use assay_crds::{RiskService, SecretKey};
use k8s_openapi::api::core::v1::Secret;
use kube::{Api, Resource, ResourceExt};

use super::{
    Context,
    build::SERVER,
    demand::ServerDemand,
    histories::{SourceSecret, secrets_of},
    names,
};
use crate::{
    network_policy::EgressNetworks,
    owned::{LiveObjects, Owner},
    secret_state::SecretState,
    shared::ReconcileError,
};

/// The inputs of the reconciliation of a `RiskService`.
#[derive(Debug)]
pub(super) struct Inputs {
    /// The object.
    pub(super) object: RiskService,
    /// The owner of the service's objects: the object.
    pub(super) owner: Owner,
    /// The Secret with the database's URL.
    pub(super) database: SecretState,
    /// The Secret with the cache's URL, if the spec names one.
    pub(super) cache: Option<SecretState>,
    /// The Secret with the token of chain servers, if the spec names one.
    pub(super) chain_token: Option<SecretState>,
    /// The Secret with the client secret of the console, if the spec names one.
    pub(super) console_client: Option<SecretState>,
    /// The existing objects with the names of the service's objects.
    pub(super) live: LiveObjects,
    /// The sources that servers read on demand with credentials, and their Secrets.
    pub(super) source_secrets: Vec<SourceSecret>,
    /// The demand on servers. `None` until the demand is known.
    pub(super) demand: Option<ServerDemand>,
    /// The networks of network policies. `None`: the operator creates no network policies.
    pub(super) networks: Option<EgressNetworks>,
}

impl Inputs {
    /// The namespace of the service.
    pub(super) fn namespace(&self) -> &str {
        self.owner.namespace()
    }
}

/// Reads the inputs from the API server.
pub(super) async fn fetch(
    object: &RiskService,
    context: &Context,
) -> Result<Inputs, ReconcileError> {
    let client = &context.shared.client;
    let (namespace, name) = (object.namespace().unwrap_or_default(), object.name_any());
    // The API server gave it a name and an identity.
    let reference = object.controller_owner_ref(&()).unwrap_or_default();
    let secrets: Api<Secret> = Api::namespaced(client.clone(), &namespace);
    let database = SecretState::read(&secrets, &object.spec.database_secret).await?;
    let optional = async |key: &Option<SecretKey>| match key {
        Some(key) => SecretState::read(&secrets, key).await.map(Some),
        None => Ok::<_, kube::Error>(None),
    };
    let cache = optional(&object.spec.cache_secret).await?;
    let chain_token = optional(&object.spec.chain_token_secret).await?;
    let client_secret =
        object.spec.console.as_ref().and_then(|console| console.client_secret.clone());
    let console_client = optional(&client_secret.map(Into::into)).await?;
    let migration = match &database {
        SecretState::Present { uid, .. } => Some(names::migration(&name, &object.spec, uid)),
        SecretState::NoSecret | SecretState::NoKey => None,
    };
    let demand = context.demand.borrow().clone();
    let sources = demand.as_ref().map(|demand| demand.on_demand.as_slice()).unwrap_or_default();
    let source_secrets = secrets_of(sources, &secrets).await?;
    let live = LiveObjects::fetch(client, &namespace, names::all(&name, migration)).await?;
    Ok(Inputs {
        object: object.clone(),
        owner: Owner::new(reference, context.shared.instance.name(), &namespace, &name, SERVER),
        database,
        cache,
        chain_token,
        console_client,
        live,
        source_secrets,
        demand,
        networks: context.shared.networks.clone(),
    })
}
