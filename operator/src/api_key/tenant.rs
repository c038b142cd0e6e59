//! The state of a key's tenant.

use assay_tenancy::{Name, manifest::FormerTenantSpec};
use jiff::Timestamp;

use crate::in_force::InForce;

/// The state of a key's tenant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum TenantState {
    /// It is in force, and its keys may be in these namespaces.
    InForce(Vec<Name>),
    /// It was deleted, and can be restored.
    Deleted {
        /// The end of the time in which it can be restored.
        restorable_until: Timestamp,
    },
    /// It does not exist.
    Missing,
}

impl TenantState {
    /// The state of a tenant.
    pub(super) fn of(name: &Name, in_force: &InForce) -> Self {
        let former = in_force.directory.former_tenants.get(name);
        match (in_force.namespaces.get(name), former.map(FormerTenantSpec::forgotten_at)) {
            (Some(namespaces), _) => Self::InForce(namespaces.clone()),
            (None, Some(restorable_until)) => Self::Deleted { restorable_until },
            (None, None) => Self::Missing,
        }
    }
}
