//! The status of a `Tenant`.

use assay_crds::status::{EffectiveLimit, TenantStatus};
use assay_tenancy::Name;

use super::context::StatusContext;
use crate::{conditions::ConditionState, reason::ConditionReason};

/// The condition type: the operator watches every namespace that the tenant lists.
const KEYS_WATCHED: &str = "KeysWatched";

/// The condition type: no other tenant lists a namespace of the tenant.
const NAMESPACES_OWN: &str = "NamespacesOwn";

/// The status of a tenant: its limits in force, and the object that sets each.
pub(super) fn status(name: &Name, context: &StatusContext<'_>) -> TenantStatus {
    let Some(tenant) = context.in_force.directory.tenants.get(name) else {
        return TenantStatus::default();
    };
    let limits = tenant.limits_with_overrides(context.now).map(|(limit, change)| EffectiveLimit {
        name: limit.name,
        requests: limit.requests,
        window: limit.window,
        counts: limit.counts,
        per: limit.per,
        from: change.map_or_else(
            || format!("Plan {}", tenant.plan.name),
            |change| format!("RateLimit {}", change.rate_limit),
        ),
        until: change.and_then(|change| change.until),
    });
    TenantStatus { effective_limits: limits.collect(), ..TenantStatus::default() }
}

/// The condition that the operator watches the `ApiKey` objects of a tenant. `None`: the operator watches all
/// namespaces, or the tenant is not in force.
pub(super) fn keys_watched(name: &Name, context: &StatusContext<'_>) -> Option<ConditionState> {
    let listed = context.in_force.namespaces.get(name)?;
    let unwatched = context.scope.unwatched(listed)?;
    let (holds, reason, message) = if unwatched.is_empty() {
        let message = "the operator watches every namespace in spec.namespaces".to_owned();
        (true, ConditionReason::NamespacesWatched, message)
    } else {
        let names = unwatched.join(", ");
        let message = format!(
            "the operator does not watch these namespaces in spec.namespaces, and issues no keys there: {names}; add \
             them to the chart's operator.namespaces (--watch-namespaces, with operator/rights-tenant.yaml in each)"
        );
        (false, ConditionReason::NamespaceNotWatched, message)
    };
    Some(ConditionState { kind: KEYS_WATCHED, holds, reason, message })
}

/// The condition that no other tenant lists a namespace of the tenant. `None`: the tenant lists none, or is not in force.
pub(super) fn namespaces_own(name: &Name, context: &StatusContext<'_>) -> Option<ConditionState> {
    let listed = context.in_force.namespaces.get(name).filter(|listed| !listed.is_empty())?;
    let shared = listed.iter().filter_map(|namespace| {
        let mut tenants = context.tenant_counts.in_namespace(namespace).iter();
        Some((namespace, tenants.find(|tenant| *tenant != name)?))
    });
    let shared: Vec<String> =
        shared.map(|(namespace, tenant)| format!("`{namespace}` with Tenant `{tenant}`")).collect();
    let (holds, reason, message) = if shared.is_empty() {
        let message = "no other tenant lists a namespace in spec.namespaces".to_owned();
        (true, ConditionReason::NamespacesExclusive, message)
    } else {
        let message = format!(
            "people who may write an ApiKey in a shared namespace can issue keys of each tenant that lists it: {}; leave it out \
             of spec.namespaces of one of them",
            shared.join(", ")
        );
        (false, ConditionReason::NamespaceShared, message)
    };
    Some(ConditionState { kind: NAMESPACES_OWN, holds, reason, message })
}
