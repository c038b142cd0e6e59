//! Whether a key may be made or changed, and what a person would have to do.

use jiff::Timestamp;
use kube::ResourceExt;

use super::{build, fetch::Fetched};
use crate::{conditions::Standing, reason::Reason};

/// What is known of a key that may be made.
#[derive(Debug)]
pub(super) struct Valid<'a>(pub(super) &'a Fetched);

/// Whether the object is in force: what it says may have changed since its keys were made.
pub(super) fn is_in_force(fetched: &Fetched) -> Result<(), Standing> {
    let spec = &fetched.object.spec;
    let Some(tenant) = &fetched.tenant else {
        // It may come at any moment: whoever applies a page of YAML applies both.
        let message = format!("no Tenant `{}` is in force", spec.tenant);
        return Err(Standing::Waiting(Reason::TenantNotFound, message));
    };
    if !tenant.namespaces.iter().any(|name| name.as_str() == fetched.namespace) {
        let message = format!(
            "Tenant `{}` does not list the namespace `{}`: add it to `spec.namespaces` there",
            spec.tenant, fetched.namespace
        );
        return Err(Standing::Stalled(Reason::NamespaceNotAllowed, message));
    }
    if let Some(secret) = &fetched.secret
        && !build::is_of(secret, &fetched.object.name_any())
    {
        let message = format!(
            "the Secret `{}` is not this key's: delete it, or name another one in `spec.secretName`",
            fetched.secret_name()
        );
        return Err(Standing::Stalled(Reason::SecretNotOurs, message));
    }
    Ok(())
}

/// Whether there is to be a key.
pub(super) fn validate(fetched: &Fetched, now: Timestamp) -> Result<Valid<'_>, Standing> {
    is_in_force(fetched)?;
    if let Some(expires) = fetched.object.spec.expires_at.filter(|expires| *expires <= now) {
        let message = format!("the key was good until {expires}: delete it, or set another time");
        return Err(Standing::Stalled(Reason::Expired, message));
    }
    Ok(Valid(fetched))
}
