//! Reads the inputs of the reconciliation of an `ApiKey`.

use assay_crds::ApiKey;
use assay_store::control::{KeyRecord, key_environment};
use assay_tenancy::{Name, key::KeyEnvironment};
use k8s_openapi::api::core::v1::Secret;
use kube::{Api, ResourceExt};

use super::{
    cache::ObservedInputs,
    context::{Context, KeyError},
    records, secret,
    tenant::TenantState,
};

/// The inputs of the reconciliation of an `ApiKey`. The type has no `Debug`, because the Secret holds the key.
#[derive(Clone)]
pub(super) struct Inputs {
    /// The object.
    pub(super) object: ApiKey,
    /// The object's namespace.
    pub(super) namespace: String,
    /// The state of the object's tenant.
    pub(super) tenant: TenantState,
    /// The object's Secret, if it exists and the tenant is in force.
    pub(super) secret: Option<Secret>,
    /// The records of the object's keys, the oldest first.
    pub(super) records: Vec<KeyRecord>,
    /// The name of the installation.
    pub(super) instance: Name,
    /// The environment of keys to the installation's data.
    pub(super) environment: KeyEnvironment,
}

/// Reads the inputs from the store and the API server.
pub(super) async fn fetch(
    object: &ApiKey,
    observed: &ObservedInputs,
    context: &Context,
) -> Result<Inputs, KeyError> {
    let namespace = object.namespace().unwrap_or_default();
    let records = context.store.keys_named(&records::name(object)).await?;
    let secret = match observed.tenant {
        TenantState::InForce(_) => {
            let secrets: Api<Secret> = Api::namespaced(context.shared.client.clone(), &namespace);
            secrets.get_opt(&secret::name(object)).await?
        }
        // Nothing is issued, whatever the Secret holds.
        TenantState::Missing | TenantState::Foreign(_) | TenantState::Deleted { .. } => None,
    };
    Ok(Inputs {
        object: object.clone(),
        namespace,
        tenant: observed.tenant.clone(),
        secret,
        records,
        instance: context.shared.instance.name().clone(),
        environment: key_environment(context.environment),
    })
}
