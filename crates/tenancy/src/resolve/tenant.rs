//! Validation of `Tenant` manifests.

use std::sync::Arc;

use super::{Cause, ManifestMap, ManifestProblem, ValidManifest};
use crate::{
    Directory, Name,
    directory::{Override, Tenant},
    manifest::{Kind, RateLimitSpec, RateLimitTarget, TenantSpec},
};

pub(super) fn check<R, P>(
    tenant: &ValidManifest<'_, TenantSpec>,
    rate_limits: &[ValidManifest<'_, RateLimitSpec>],
    directory: &Directory<P>,
    manifests: &ManifestMap<R>,
    problems: &mut Vec<ManifestProblem>,
) -> Option<Tenant<P>> {
    // What is there but broken has a problem of its own.
    let mut missing = |kind: Kind, name: &Name, path: &str, cause: Cause| {
        if !manifests.contains_key(&(kind, name.clone())) {
            let message = format!("there is no {} `{name}`", kind.as_str());
            problems.push(tenant.problem(path, message).with_cause(cause));
        }
    };
    let plan = directory.plans.get(&tenant.spec.plan);
    if plan.is_none() {
        missing(Kind::Plan, &tenant.spec.plan, "spec.plan", Cause::PlanNotFound);
    }
    let policy = directory.policies.get(&tenant.spec.policy);
    if policy.is_none() {
        missing(Kind::RiskPolicy, &tenant.spec.policy, "spec.policy", Cause::PolicyNotFound);
    }
    let (plan, policy) = (plan?, policy?);
    Some(Tenant {
        name: tenant.name.clone(),
        display_name: tenant.spec.display_name.clone(),
        plan: Arc::clone(plan),
        policy_name: tenant.spec.policy.clone(),
        policy: Arc::clone(policy),
        suspended: tenant.spec.suspended,
        overrides: overrides(tenant, rate_limits),
    })
}

/// Overrides in rising precedence: first the overrides for the tenant's plan, then those for the tenant; of each, first
/// the permanent overrides, then the temporary ones.
fn overrides(
    tenant: &ValidManifest<'_, TenantSpec>,
    rate_limits: &[ValidManifest<'_, RateLimitSpec>],
) -> Vec<Override> {
    let plan = RateLimitTarget::Plan(tenant.spec.plan.clone());
    let own = RateLimitTarget::Tenant(tenant.name.clone());
    let mut overrides = Vec::new();
    for target in [plan, own] {
        for for_ever in [true, false] {
            let chosen = rate_limits
                .iter()
                .map(|rate_limit| (rate_limit.name, rate_limit.spec))
                .filter(|(_, spec)| spec.target == target && spec.until.is_none() == for_ever);
            overrides.extend(chosen.flat_map(|(name, spec)| {
                spec.limits.iter().map(|number| Override {
                    rate_limit: name.clone(),
                    limit: number.name.clone(),
                    requests: number.requests,
                    until: spec.until,
                })
            }));
        }
    }
    overrides
}
