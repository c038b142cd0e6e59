//! What is known of a key: the object, its tenant, the Secret, the store's records.

use assay_crds::ApiKey;
use assay_store::control::KeyRecord;
use assay_tenancy::{
    Name,
    key::{ApiKey as KeyText, KeyEnvironment},
    manifest::FormerTenantSpec,
};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Secret;
use kube::{Api, Resource, ResourceExt};

use super::{Context, KeyError, build, cache::ObservedInputs};

/// What is in force about a key's tenant.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct TenantInForce {
    /// The namespaces in which its keys may be, where there is such a tenant.
    pub(super) allowed: Option<Vec<Name>>,
    /// Until when it can come back, where it was deleted.
    pub(super) back_until: Option<Timestamp>,
}

/// What is known of a key.
#[derive(Debug)]
pub(super) struct Fetched {
    pub(super) object: ApiKey,
    pub(super) namespace: String,
    /// What is in force about its tenant.
    pub(super) tenant: TenantInForce,
    /// The Secret, where there is one.
    pub(super) secret: Option<Secret>,
    /// What the store keeps of the object's keys, the oldest first.
    pub(super) records: Vec<KeyRecord>,
    /// Where keys are good.
    pub(super) environment: KeyEnvironment,
}

impl Fetched {
    /// The name of the Secret.
    pub(super) fn secret_name(&self) -> String {
        secret_name(&self.object)
    }

    /// The key that the Secret holds.
    pub(super) fn held(&self) -> Option<KeyText> {
        let data = self.secret.as_ref()?.data.as_ref()?;
        std::str::from_utf8(&data.get(build::KEY)?.0).ok()?.trim().parse().ok()
    }
}

/// The name of a key's Secret.
pub(super) fn secret_name(object: &ApiKey) -> String {
    let own = object.spec.secret_name.as_ref().map(Name::to_string);
    own.unwrap_or_else(|| object.name_any())
}

/// What is in force about an object's tenant.
pub(super) fn tenant(object: &ApiKey, context: &Context) -> TenantInForce {
    let in_force = context.in_force.borrow();
    let name = &object.spec.tenant;
    let former = in_force.directory.former_tenants.get(name);
    TenantInForce {
        allowed: in_force.namespaces.get(name).cloned(),
        back_until: former.map(FormerTenantSpec::forgotten_at),
    }
}

pub(super) async fn fetch(
    object: &ApiKey,
    inputs: &ObservedInputs,
    context: &Context,
) -> Result<Fetched, KeyError> {
    let namespace = object.namespace().unwrap_or_default();
    let name = build::record_name(&namespace, &object.name_any());
    let records = context.store.keys_named(&name).await?;
    let mut fetched = Fetched {
        object: object.clone(),
        namespace: namespace.clone(),
        tenant: inputs.tenant.clone(),
        secret: None,
        records,
        environment: assay_store::control::key_environment(context.environment),
    };
    // Of a key that was never made there is no Secret. Where there is one all the same, it is not
    // overwritten: making another one fails, and the next try looks.
    let is_new = fetched.records.is_empty() && inputs.secret.is_none();
    if !is_new || context.failures.has_failed(object.meta().uid.as_ref()) {
        let secrets: Api<Secret> = Api::namespaced(context.client.0.clone(), &namespace);
        fetched.secret = secrets.get_opt(&fetched.secret_name()).await?;
    }
    Ok(fetched)
}
