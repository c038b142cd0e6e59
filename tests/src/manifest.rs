//! Manifests that many tests apply.

/// The manifest of a tenant called `name` on `plan`, with the policy `default`.
#[must_use]
pub fn tenant(name: &str, plan: &str) -> String {
    format!(
        "apiVersion: assay.dev/v1alpha1\nkind: Tenant\nmetadata: {{name: {name}}}\n\
         spec: {{displayName: Tenant {name}, plan: {plan}, policy: default}}\n"
    )
}
