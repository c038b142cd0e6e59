//! What is told of a `RateLimit`.

use assay_crds::status::RateLimitStatus;
use assay_tenancy::{
    Name,
    manifest::{Kind, RateLimitSpec, RateLimitTarget},
};

use crate::publish::Context;

/// The facts about a rate limit.
pub(crate) fn status(name: &Name, context: &Context<'_>) -> RateLimitStatus {
    let manifest = context.in_force.manifests.get(&(Kind::RateLimit, name.clone()));
    let spec: Option<RateLimitSpec> =
        manifest.and_then(|manifest| serde_json::from_value(manifest.spec.clone()).ok());
    let Some(spec) = spec else { return RateLimitStatus::default() };
    RateLimitStatus {
        tenants: Some(match &spec.target {
            RateLimitTarget::Plan(plan) => context.users.of_plan(plan),
            RateLimitTarget::Tenant(_) => 1,
        }),
        ended: spec.until.map(|until| until <= context.now),
        ..RateLimitStatus::default()
    }
}
