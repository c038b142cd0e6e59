//! The status of a `RateLimit`.

use assay_crds::status::RateLimitStatus;
use assay_tenancy::{Name, manifest::RateLimitTarget};

use super::context::StatusContext;

/// The status of a rate limit.
pub(super) fn status(name: &Name, context: &StatusContext<'_>) -> RateLimitStatus {
    let Some(spec) = context.in_force.rate_limits.get(name) else {
        return RateLimitStatus::default();
    };
    RateLimitStatus {
        tenants: Some(match &spec.target {
            RateLimitTarget::Plan(plan) => context.tenant_counts.on_plan(plan),
            RateLimitTarget::Tenant(_) => 1,
        }),
        ended: spec.until.map(|until| until <= context.now),
        ..RateLimitStatus::default()
    }
}
