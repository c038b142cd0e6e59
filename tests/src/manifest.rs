//! Manifests that many tests apply.

/// The manifest of a tenant called `name` on `plan`, with the policy `default`.
#[must_use]
pub fn tenant(name: &str, plan: &str) -> String {
    format!(
        "apiVersion: assay.dev/v1alpha1\nkind: Tenant\nmetadata: {{name: {name}}}\n\
         spec: {{displayName: Tenant {name}, plan: {plan}, policy: default}}\n"
    )
}

/// The manifests of a plan with one limit, and of the tenant `acme` on this plan.
#[must_use]
pub fn plan_with_tenant(plan: &str, limit: &str) -> String {
    format!(
        "apiVersion: assay.dev/v1alpha1\nkind: Plan\nmetadata: {{name: {plan}}}\n\
         spec:\n  displayName: Plan {plan}\n  apiAccess: true\n  limits:\n  - {limit}\n---\n{}",
        tenant("acme", plan)
    )
}
