//! Validation of `RateLimit` manifests.

use std::collections::BTreeMap;

use super::{Cause, ManifestProblem, ValidManifest, plan::contradiction};
use crate::{
    Directory,
    directory::{Limit, Plan},
    manifest::{MOST_REQUESTS, Per, RateLimitSpec, RateLimitTarget, TenantSpec},
};

pub(super) fn check<P>(
    rate_limits: &[ValidManifest<'_, RateLimitSpec>],
    tenants: &[ValidManifest<'_, TenantSpec>],
    directory: &Directory<P>,
    problems: &mut Vec<ManifestProblem>,
) {
    for rate_limit in rate_limits {
        let plan_name = match &rate_limit.spec.target {
            RateLimitTarget::Plan(plan) => Some(plan),
            RateLimitTarget::Tenant(tenant) => {
                let found = tenants.iter().find(|other| other.name == tenant);
                if found.is_none() {
                    let message = format!("there is no tenant `{tenant}`");
                    let problem = rate_limit.problem("spec.target.tenant", message);
                    problems.push(problem.with_cause(Cause::TenantNotFound));
                }
                found.map(|tenant| &tenant.spec.plan)
            }
        };
        match plan_name.map(|name| (name, directory.plans.get(name))) {
            Some((_, Some(plan))) => check_numbers(rate_limit, plan, problems),
            Some((name, None)) if rate_limit.spec.target == RateLimitTarget::Plan(name.clone()) => {
                let message = format!("there is no plan `{name}`");
                let problem = rate_limit.problem("spec.target.plan", message);
                problems.push(problem.with_cause(Cause::PlanNotFound));
            }
            // A tenant without a plan has its own problem.
            Some((_, None)) | None => {}
        }
    }
    check_overlaps(rate_limits, problems);
}

fn check_numbers(
    rate_limit: &ValidManifest<'_, RateLimitSpec>,
    plan: &Plan,
    problems: &mut Vec<ManifestProblem>,
) {
    let mut changed: Vec<Limit> = plan.limits.clone();
    for (index, number) in rate_limit.spec.limits.iter().enumerate() {
        let path = format!("spec.limits[{index}]");
        let Some(limit) = changed.iter_mut().find(|limit| limit.name == number.name) else {
            let message = format!("plan `{}` has no limit `{}`", plan.name, number.name);
            let problem = rate_limit.problem(&format!("{path}.name"), message);
            problems.push(problem.with_cause(Cause::LimitNotFound));
            continue;
        };
        let of_tenant = matches!(rate_limit.spec.target, RateLimitTarget::Tenant(_));
        if of_tenant && limit.per == Per::Plan {
            let message = format!(
                "`{}` counts all tenants of plan `{}` together: set it for the plan",
                number.name, plan.name
            );
            problems.push(rate_limit.problem(&format!("{path}.name"), message));
        } else if !(1..=MOST_REQUESTS).contains(&number.requests) {
            let message = format!("{} is not from 1 to {MOST_REQUESTS}", number.requests);
            problems.push(rate_limit.problem(&format!("{path}.requests"), message));
        } else if number.requests > limit.ceiling {
            let message = format!(
                "{} is above the ceiling of plan `{}` ({})",
                number.requests, plan.name, limit.ceiling
            );
            let problem = rate_limit.problem(&format!("{path}.requests"), message);
            problems.push(problem.with_cause(Cause::AboveCeiling));
        }
        limit.requests = number.requests;
    }
    if let Some(message) = contradiction(&changed) {
        let problem = rate_limit.problem("spec.limits", message);
        problems.push(problem.with_cause(Cause::LimitsContradict));
    }
}

/// Refuses a second permanent number, or a second temporary number, for one target and limit.
fn check_overlaps(
    rate_limits: &[ValidManifest<'_, RateLimitSpec>],
    problems: &mut Vec<ManifestProblem>,
) {
    let mut seen = BTreeMap::new();
    for rate_limit in rate_limits {
        let spec = rate_limit.spec;
        for (index, number) in spec.limits.iter().enumerate() {
            let target = match &spec.target {
                RateLimitTarget::Plan(name) => ("plan", name.clone()),
                RateLimitTarget::Tenant(name) => ("tenant", name.clone()),
            };
            let key = (target, number.name.clone(), spec.until.is_some());
            if let Some(other) = seen.insert(key, rate_limit) {
                let message = format!(
                    "`{}` is set twice for the same target, also by RateLimit {} ({})",
                    number.name, other.name, other.origin
                );
                let path = format!("spec.limits[{index}].name");
                let problem = rate_limit.problem(&path, message);
                problems.push(problem.with_cause(Cause::LimitsContradict));
            }
        }
    }
}
