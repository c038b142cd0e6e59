//! Whether a key may be made or changed, and what a person would have to do.

use jiff::Timestamp;
use kube::ResourceExt;

use super::{build, fetch::Fetched};
use crate::{conditions::ReadyState, reason::Reason};

/// What is known of a key that may be made.
#[derive(Debug)]
pub(super) struct ValidatedKey<'a>(pub(super) &'a Fetched);

/// Whether the tenant, where it is in force, lets its keys be in this namespace.
fn is_listed(fetched: &Fetched) -> bool {
    fetched.tenant.allowed.iter().flatten().any(|name| name.as_str() == fetched.namespace)
}

/// Whether keys that were made are to be refused for the time being: their namespace was taken away from
/// the tenant. Where there is no tenant, there is nobody that they would let in.
pub(super) fn is_suspended(fetched: &Fetched) -> bool {
    fetched.tenant.allowed.is_some() && !is_listed(fetched)
}

/// Whether the object is in force: what it says may have changed since its keys were made.
pub(super) fn is_in_force(fetched: &Fetched, now: Timestamp) -> Result<(), ReadyState> {
    let spec = &fetched.object.spec;
    if fetched.tenant.allowed.is_none() {
        // It may come at any moment: whoever applies a page of YAML applies both.
        let name = &spec.tenant;
        let message = match fetched.tenant.back_until.filter(|until| *until > now) {
            Some(until) => format!(
                "Tenant `{name}` was deleted, and its keys are refused: applied again before {until}, it \
                 has them back"
            ),
            None => format!("no Tenant `{name}` is in force"),
        };
        return Err(ReadyState::Waiting(Reason::TenantNotFound, message));
    }
    if !is_listed(fetched) {
        let message = format!(
            "Tenant `{}` does not list the namespace `{}`, so that no key of it is good here: add it to \
             `spec.namespaces` there",
            spec.tenant, fetched.namespace
        );
        return Err(ReadyState::Stalled(Reason::NamespaceNotAllowed, message));
    }
    if let Some(secret) = &fetched.secret
        && !build::is_of(secret, &fetched.object.name_any())
    {
        let message = format!(
            "the Secret `{}` is not this key's: delete it, or name another one in `spec.secretName`",
            fetched.secret_name()
        );
        return Err(ReadyState::Stalled(Reason::SecretNotOurs, message));
    }
    Ok(())
}

/// Whether there is to be a key.
pub(super) fn validate(fetched: &Fetched, now: Timestamp) -> Result<ValidatedKey<'_>, ReadyState> {
    is_in_force(fetched, now)?;
    if let Some(expires) = fetched.object.spec.expires_at.filter(|expires| *expires <= now) {
        let message = format!("the key was good until {expires}: delete it, or set another time");
        return Err(ReadyState::Stalled(Reason::Expired, message));
    }
    Ok(ValidatedKey(fetched))
}
