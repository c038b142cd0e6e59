//! The configuration in force: tenants, plans, policies, limits and sources of the store.

use std::{collections::BTreeMap, sync::Arc};

use assay_engine::policy::Policy;
use assay_tenancy::{Directory, Name, manifest::RateLimitSpec};

/// The configuration in force.
#[derive(Clone, Debug, Default)]
pub(crate) struct ConfigurationInForce {
    /// Tenants with their plans, policies and limits; sources.
    pub(crate) directory: Arc<Directory<Policy>>,
    /// The namespaces that may hold the keys of each tenant.
    pub(crate) namespaces: Arc<BTreeMap<Name, Vec<Name>>>,
    /// The tenants of other installations of the cluster, each with a description of its installation.
    pub(crate) foreign_tenants: Arc<BTreeMap<Name, String>>,
    /// The rate limits by name.
    pub(crate) rate_limits: Arc<BTreeMap<Name, RateLimitSpec>>,
}
