//! Manifests of deleted tenants, kept as long as the tenants' records.

use std::{collections::BTreeSet, sync::Arc};

use assay_manifests::{Manifest, Manifests, Reconciled};
use assay_tenancy::{
    CompactJson, Name,
    manifest::{FormerTenantSpec, Kind, ManifestSpec, RetentionSpec},
};
use jiff::Timestamp;
use serde_json::json;

/// Adds a `FormerTenant` for each deleted tenant, and removes it when the tenant is restored. The transaction that
/// deletes a tenant thereby sets how long its records are kept.
pub(super) fn record(stored: &Manifests, reconciled: &mut Reconciled, now: Timestamp) {
    let is_tenant = |reconciled: &Reconciled, name: &Name| {
        reconciled.manifests.contains_key(&(Kind::Tenant, name.clone()))
    };
    for name in names(stored, Kind::Tenant) {
        if !is_tenant(reconciled, &name) {
            let former = FormerTenantSpec { deleted_at: now, retention: retention(stored, &name) };
            let manifest = Manifest {
                origin: format!("{} {name}", Kind::FormerTenant.as_str()),
                kind: Kind::FormerTenant,
                name: name.clone(),
                spec: Ok(ManifestSpec::FormerTenant(former)),
                source: CompactJson::from(&json!(former)),
            };
            reconciled.manifests.insert(manifest.key(), Arc::new(manifest));
            reconciled.directory.former_tenants.insert(name, former);
        }
    }
    for name in names(&reconciled.manifests, Kind::FormerTenant) {
        if is_tenant(reconciled, &name) {
            reconciled.manifests.remove(&(Kind::FormerTenant, name));
        }
    }
}

/// The deleted tenants that can no longer be restored.
pub(super) fn expired(stored: &Manifests, now: Timestamp) -> BTreeSet<Name> {
    let expired = stored.values().filter(|manifest| {
        matches!(&manifest.spec, Ok(ManifestSpec::FormerTenant(former)) if former.is_forgotten(now))
    });
    expired.map(|manifest| manifest.name.clone()).collect()
}

fn names(manifests: &Manifests, desired: Kind) -> Vec<Name> {
    let of_kind = manifests.keys().filter(|(kind, _)| *kind == desired);
    of_kind.map(|(_, name)| name.clone()).collect()
}

/// The retention of a tenant's records, set by its plan.
fn retention(stored: &Manifests, tenant: &Name) -> RetentionSpec {
    let spec = |kind, name: &Name| stored.get(&(kind, name.clone()))?.spec.as_ref().ok();
    let Some(ManifestSpec::Tenant(tenant)) = spec(Kind::Tenant, tenant) else {
        return RetentionSpec::default();
    };
    match spec(Kind::Plan, &tenant.plan) {
        Some(ManifestSpec::Plan(plan)) => plan.retention,
        _ => RetentionSpec::default(),
    }
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

    fn parsed(kind: Kind, name: &str, spec: &Value) -> ((Kind, Name), Arc<Manifest>) {
        let name = name.parse().unwrap();
        let manifest = Manifest::parse_spec("a test".into(), kind, name, spec);
        (manifest.key(), Arc::new(manifest))
    }

    fn stored() -> Manifests {
        let plan = json!({
            "displayName": "Gold", "apiAccess": false, "limits": [],
            "retention": {"checks": "10s", "usage": "1m"},
        });
        let tenant = json!({"displayName": "Acme", "plan": "gold", "policy": "default"});
        Manifests::from([
            parsed(Kind::Plan, "gold", &plan),
            parsed(Kind::RiskPolicy, "default", &json!({})),
            parsed(Kind::Tenant, "acme", &tenant),
        ])
    }

    /// The store after a change of `acme`.
    fn after(stored: &Manifests, tenant: Option<Arc<Manifest>>, now: Timestamp) -> Manifests {
        let desired = DesiredManifests::from([(key(Kind::Tenant, "acme"), tenant)]);
        let mut reconciled = reconcile(stored, &desired).unwrap();
        assert!(reconciled.refused.is_empty());
        record(stored, &mut reconciled, now);
        reconciled.manifests
    }

    /// The stored spec of the former tenant `acme`.
    fn former(manifests: &Manifests) -> Option<Value> {
        manifests.get(&key(Kind::FormerTenant, "acme")).map(|manifest| manifest.source.value())
    }

    #[test]
    fn a_deleted_tenant_keeps_its_plans_retention_but_not_the_plan() {
        let gone = after(&stored(), None, at(7));
        let expected = json!({
            "deletedAt": "1970-01-01T00:00:07Z", "retention": {"checks": "10s", "usage": "1m"},
        });
        assert_eq!(former(&gone), Some(expected.clone()));
        let without_plan = DesiredManifests::from([(key(Kind::Plan, "gold"), None)]);
        let mut reconciled = reconcile(&gone, &without_plan).unwrap();
        record(&gone, &mut reconciled, at(8));
        assert!(reconciled.refused.is_empty());
        assert_eq!(former(&reconciled.manifests), Some(expected), "once");
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
