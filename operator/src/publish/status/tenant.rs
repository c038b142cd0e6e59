//! The status of a `Tenant`.

use assay_crds::status::{EffectiveLimit, TenantStatus};
use assay_tenancy::Name;

use super::context::StatusContext;

/// The status of a tenant: its limits in force, and the object that sets each.
pub(super) fn status(name: &Name, context: &StatusContext<'_>) -> TenantStatus {
    let Some(tenant) = context.in_force.directory.tenants.get(name) else {
        return TenantStatus::default();
    };
    let limits = tenant.limits_and_changes(context.now).map(|(limit, change)| EffectiveLimit {
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
