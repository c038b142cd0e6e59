//! Validation of an `ApiKey`: decides which changes of its keys are permitted.

use assay_crds::RotationSpec;
use assay_store::control::{KeyRecord, NewKey};
use assay_tenancy::{
    Name,
    key::{ApiKey as KeyText, KeyEnvironment},
};
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::{Resource, ResourceExt};

use super::{
    fetch::Inputs,
    records,
    secret::{self, ROTATE},
    tenant::TenantState,
};
use crate::{conditions::ReadyState, reason::ConditionReason};

/// The changes that are permitted to an object's keys.
pub(super) enum PermittedChanges {
    /// A key may be issued, kept or replaced.
    Active(ValidatedKey),
    /// No key is issued; existing keys get the expiry of the spec.
    Expired(ValidatedKey, ReadyState),
    /// Keys are suspended until the tenant lists the namespace again.
    Suspended(Vec<KeyRecord>, ReadyState),
    /// No change is permitted.
    Refused(ReadyState),
}

/// An object whose keys may be changed.
#[derive(Clone, Debug)]
pub(super) struct ValidatedKey {
    /// The object's name.
    pub(super) name: String,
    /// The name of the installation.
    pub(super) instance: Name,
    /// The object's namespace.
    pub(super) namespace: String,
    /// The owner reference to the object.
    pub(super) owner: Option<OwnerReference>,
    /// The tenant, scopes and expiry that the spec grants.
    pub(super) grant: NewKey,
    /// The rotation schedule.
    pub(super) rotation: RotationSpec,
    /// The rotation that was requested last.
    pub(super) rotation_request: Option<String>,
    /// The environment of the object's keys.
    pub(super) environment: KeyEnvironment,
    /// The name of the Secret.
    pub(super) secret_name: String,
    /// The Secret, if it exists.
    pub(super) secret: Option<ExistingSecret>,
    /// The records of the object's keys, the oldest first.
    pub(super) records: Vec<KeyRecord>,
    /// True if no key was ever issued for the object: active keys of its name belong to an earlier object.
    pub(super) is_new: bool,
}

/// A Secret that exists.
#[derive(Clone, Debug)]
pub(super) struct ExistingSecret {
    /// The Secret's resource version: a write fails if the Secret was changed since it was read.
    pub(super) resource_version: Option<String>,
    /// The API key in the Secret.
    pub(super) key: Option<KeyText>,
    /// The rotation request that was handled last.
    pub(super) handled_request: Option<String>,
    /// True if the Secret has the owner reference of the object.
    pub(super) has_owner: bool,
}

/// Decides which changes of an object's keys are permitted.
pub(super) fn validate(inputs: &Inputs, now: Timestamp) -> PermittedChanges {
    let (spec, namespace) = (&inputs.object.spec, &inputs.namespace);
    let tenant = &spec.tenant;
    match &inputs.tenant {
        // Waiting, not stalled: the tenant may be created right after the key, from the same file.
        TenantState::Deleted { restorable_until } if *restorable_until > now => {
            let message = format!(
                "Tenant `{tenant}` was deleted and its keys are refused: recreate it before \
                 {restorable_until} to restore them"
            );
            return PermittedChanges::Refused(ReadyState::Waiting(
                ConditionReason::TenantNotFound,
                message,
            ));
        }
        TenantState::Foreign(owner) => {
            let message = format!(
                "Tenant `{tenant}` belongs to {owner}: give this ApiKey the same label, or name a tenant of the \
                 instance `{}`",
                inputs.instance
            );
            return PermittedChanges::Refused(ReadyState::Waiting(
                ConditionReason::TenantNotFound,
                message,
            ));
        }
        TenantState::Deleted { .. } | TenantState::Missing => {
            let message = format!(
                "no Tenant `{tenant}` is in force: create it, or see its condition `Ready`"
            );
            return PermittedChanges::Refused(ReadyState::Waiting(
                ConditionReason::TenantNotFound,
                message,
            ));
        }
        TenantState::InForce(namespaces)
            if !namespaces.iter().any(|name| name.as_str() == namespace) =>
        {
            let message = format!(
                "Tenant `{tenant}` does not list namespace `{namespace}`, and its keys here are \
                 refused: add the namespace to `spec.namespaces` of the tenant"
            );
            let state = ReadyState::Stalled(ConditionReason::NamespaceNotAllowed, message);
            return PermittedChanges::Suspended(inputs.records.clone(), state);
        }
        TenantState::InForce(_) => {}
    }
    let secret_name = secret::name(&inputs.object);
    let name = inputs.object.name_any();
    if let Some(secret) = &inputs.secret
        && !secret::belongs_to(secret, &name)
    {
        let other = match secret::owner(secret) {
            // Another key would stop working.
            Some(owner) => format!("holds the key of ApiKey `{owner}`: choose"),
            None => "was not created for this ApiKey: delete it, or choose".to_owned(),
        };
        let message = format!("Secret `{secret_name}` {other} another `spec.secretName`");
        return PermittedChanges::Refused(ReadyState::Stalled(
            ConditionReason::SecretNotManaged,
            message,
        ));
    }
    let owner = inputs.object.controller_owner_ref(&());
    let secret = inputs.secret.as_ref().map(|secret| ExistingSecret {
        resource_version: secret.resource_version(),
        key: secret::key(secret),
        handled_request: secret.annotations().get(ROTATE).cloned(),
        has_owner: has_owner(secret, owner.as_ref()),
    });
    let key = ValidatedKey {
        name,
        instance: inputs.instance.clone(),
        namespace: namespace.clone(),
        owner,
        grant: NewKey {
            tenant: tenant.clone(),
            name: records::name(&inputs.object),
            scopes: spec.scopes.clone(),
            expires_at: spec.expires_at,
        },
        rotation: spec.rotation.clone(),
        rotation_request: inputs.object.annotations().get(ROTATE).cloned(),
        environment: spec.environment.of_key(inputs.environment),
        secret_name,
        secret,
        records: inputs.records.clone(),
        is_new: inputs.object.status.as_ref().is_none_or(|status| status.key_id.is_none()),
    };
    match spec.expires_at.filter(|expires| *expires <= now) {
        Some(expires) => {
            let message = format!(
                "the key expired at {expires}: delete the ApiKey, or set a later `spec.expiresAt`"
            );
            PermittedChanges::Expired(key, ReadyState::Stalled(ConditionReason::Expired, message))
        }
        None => PermittedChanges::Active(key),
    }
}

fn has_owner(secret: &impl ResourceExt, owner: Option<&OwnerReference>) -> bool {
    let uid = owner.map(|owner| owner.uid.as_str()).unwrap_or_default();
    secret.owner_references().iter().any(|owner| owner.uid == uid)
}
