//! The status of a `Tenant`.

use assay_crds::status::{EffectiveLimit, TenantStatus};
use assay_tenancy::Name;

use super::context::StatusContext;
use crate::{conditions::ConditionState, reason::ConditionReason};

/// The condition type: the operator watches every namespace that the tenant lists.
const KEYS_WATCHED: &str = "KeysWatched";

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
