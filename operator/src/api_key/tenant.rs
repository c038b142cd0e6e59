//! The state of a key's tenant.

use assay_tenancy::{Name, manifest::FormerTenantSpec};
use jiff::Timestamp;

use crate::in_force::ConfigurationInForce;

/// The state of a key's tenant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum TenantState {
    /// The tenant is in force, and its keys may be in these namespaces.
    InForce(Vec<Name>),
    /// The tenant was deleted and can be restored.
    Deleted {
        /// The end of the time in which the tenant can be restored.
        restorable_until: Timestamp,
    },
    /// The tenant belongs to another installation of the cluster, described by this text.
    Foreign(String),
    /// The tenant does not exist.
    Missing,
}

impl TenantState {
    /// The state of a tenant.
    pub(super) fn find(name: &Name, in_force: &ConfigurationInForce) -> Self {
        let former = in_force.directory.former_tenants.get(name);
        if let Some(namespaces) = in_force.namespaces.get(name) {
            return Self::InForce(namespaces.clone());
        }
        if let Some(owner) = in_force.foreign_tenants.get(name) {
            return Self::Foreign(owner.clone());
        }
        match former.map(FormerTenantSpec::forgotten_at) {
            Some(restorable_until) => Self::Deleted { restorable_until },
            None => Self::Missing,
        }
    }
}
