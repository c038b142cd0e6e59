//! The inputs of the statuses of published objects.

use std::collections::BTreeMap;

use assay_tenancy::Name;
use jiff::Timestamp;

use crate::{in_force::ConfigurationInForce, scope::WatchScope};

/// The inputs of the statuses of all objects.
#[derive(Clone, Copy, Debug)]
pub(super) struct StatusContext<'a> {
    /// The configuration in force.
    pub(super) in_force: &'a ConfigurationInForce,
    /// The number of tenants by plan and policy.
    pub(super) tenant_counts: &'a TenantCounts,
    /// The namespaces whose keys are watched.
    pub(super) scope: &'a WatchScope,
    /// The current time.
    pub(super) now: Timestamp,
}

/// The number of tenants by plan and policy, and the tenants by namespace.
#[derive(Debug, Default)]
pub(super) struct TenantCounts {
    plans: BTreeMap<Name, u32>,
    policies: BTreeMap<Name, u32>,
    namespaces: BTreeMap<Name, Vec<Name>>,
}

impl TenantCounts {
    /// Counts the tenants in force.
    pub(super) fn count(in_force: &ConfigurationInForce) -> Self {
        let mut counts = Self::default();
        for tenant in in_force.directory.tenants.values() {
            *counts.plans.entry(tenant.plan.name.clone()).or_default() += 1;
            *counts.policies.entry(tenant.policy_name.clone()).or_default() += 1;
        }
        for (tenant, listed) in &*in_force.namespaces {
            for namespace in listed {
                counts.namespaces.entry(namespace.clone()).or_default().push(tenant.clone());
            }
        }
        counts
    }

    /// The tenants that list a namespace.
    pub(super) fn in_namespace(&self, namespace: &Name) -> &[Name] {
        self.namespaces.get(namespace).map(Vec::as_slice).unwrap_or_default()
    }

    /// The number of tenants on a plan.
    pub(super) fn on_plan(&self, name: &Name) -> u32 {
        self.plans.get(name).copied().unwrap_or(0)
    }

    /// The number of tenants with a policy.
    pub(super) fn with_policy(&self, name: &Name) -> u32 {
        self.policies.get(name).copied().unwrap_or(0)
    }
}
