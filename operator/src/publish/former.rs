//! Deleted tenants: the manifests that replace theirs while their records are kept.

use std::collections::BTreeSet;

use assay_manifests::{Reconciled, Specs};
use assay_tenancy::{
    Name,
    manifest::{FormerTenantSpec, Kind, PlanSpec, RetentionSpec, TenantSpec},
};
use jiff::Timestamp;
use serde::de::DeserializeOwned;
use serde_json::json;

/// Adds a `FormerTenant` for each deleted tenant, and removes it when the tenant is restored. So the
/// transaction that deletes a tenant also sets how long its records are kept.
pub(super) fn record(stored: &Specs, reconciled: &mut Reconciled, now: Timestamp) {
    let is_there = |reconciled: &Reconciled, name: &Name| {
        reconciled.specs.contains_key(&(Kind::Tenant, name.clone()))
    };
    for name in names(stored, Kind::Tenant) {
        if !is_there(reconciled, &name) {
            let former = FormerTenantSpec { deleted_at: now, retention: retention(stored, &name) };
            reconciled.specs.insert((Kind::FormerTenant, name.clone()), json!(former));
            reconciled.resolved.directory.former_tenants.insert(name, former);
        }
    }
    for name in names(&reconciled.specs, Kind::FormerTenant) {
        if is_there(reconciled, &name) {
            reconciled.specs.remove(&(Kind::FormerTenant, name));
        }
    }
}

/// The deleted tenants that can no longer be restored.
pub(super) fn expired(stored: &Specs, now: Timestamp) -> BTreeSet<Name> {
    let is_past = |name: &Name| {
        let former: Option<FormerTenantSpec> = read(stored, Kind::FormerTenant, name);
        former.is_some_and(|former| former.is_forgotten(now))
    };
    names(stored, Kind::FormerTenant).into_iter().filter(is_past).collect()
}

fn names(specs: &Specs, desired: Kind) -> Vec<Name> {
    let of_kind = specs.keys().filter(|(kind, _)| *kind == desired);
    of_kind.map(|(_, name)| name.clone()).collect()
}

/// The retention of a tenant's records by its plan.
fn retention(stored: &Specs, tenant: &Name) -> RetentionSpec {
    let tenant: Option<TenantSpec> = read(stored, Kind::Tenant, tenant);
    let plan: Option<PlanSpec> = tenant.and_then(|tenant| read(stored, Kind::Plan, &tenant.plan));
    plan.map_or_else(RetentionSpec::default, |plan| plan.retention)
}

fn read<S: DeserializeOwned>(specs: &Specs, kind: Kind, name: &Name) -> Option<S> {
    let spec = specs.get(&(kind, name.clone()))?;
    serde_json::from_value(spec.clone()).ok()
}

#[cfg(test)]
mod tests {
    use assay_manifests::{DesiredManifests, reconcile};
    use serde_json::Value;

    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn key(kind: Kind, name: &str) -> (Kind, Name) {
        (kind, name.parse().unwrap())
    }

    fn stored() -> Specs {
        let plan = json!({
            "displayName": "Gold", "apiAccess": false, "limits": [],
            "retention": {"checks": "10s", "usage": "1m"},
        });
        let tenant = json!({"displayName": "Acme", "plan": "gold", "policy": "default"});
        Specs::from([
            (key(Kind::Plan, "gold"), plan),
            (key(Kind::RiskPolicy, "default"), json!({})),
            (key(Kind::Tenant, "acme"), tenant),
        ])
    }

    /// The store after a change of `acme`.
    fn after(stored: &Specs, spec: Option<Value>, now: Timestamp) -> Specs {
        let desired = DesiredManifests::from([(key(Kind::Tenant, "acme"), spec)]);
        let mut reconciled = reconcile(stored, &desired).unwrap();
        assert!(reconciled.refused.is_empty());
        record(stored, &mut reconciled, now);
        reconciled.specs
    }

    #[test]
    fn a_deleted_tenant_keeps_its_plans_retention_but_not_the_plan() {
        let gone = after(&stored(), None, at(7));
        let former = json!({
            "deletedAt": "1970-01-01T00:00:07Z", "retention": {"checks": "10s", "usage": "1m"},
        });
        assert_eq!(gone.get(&key(Kind::FormerTenant, "acme")), Some(&former));
        let without_plan = DesiredManifests::from([(key(Kind::Plan, "gold"), None)]);
        let mut reconciled = reconcile(&gone, &without_plan).unwrap();
        record(&gone, &mut reconciled, at(8));
        assert!(reconciled.refused.is_empty());
        assert_eq!(reconciled.specs.get(&key(Kind::FormerTenant, "acme")), Some(&former), "once");
    }

    #[test]
    fn a_restored_tenant_is_no_longer_a_former_tenant() {
        let gone = after(&stored(), None, at(7));
        let tenant = stored().remove(&key(Kind::Tenant, "acme"));
        assert_eq!(after(&gone, tenant, at(9)), stored());
    }

    #[test]
    fn a_tenant_that_cannot_be_restored_is_expired() {
        let gone = after(&stored(), None, at(7));
        assert_eq!(expired(&gone, at(66)), BTreeSet::new());
        assert_eq!(expired(&gone, at(67)), BTreeSet::from(["acme".parse().unwrap()]));
    }
}
