//! Manifests of the tests.

/// A plan and a policy.
pub(crate) const GOLD: &str = "
apiVersion: assay.dev/v1alpha1
kind: Plan
metadata: {name: gold}
spec:
  displayName: Gold
  apiAccess: true
  limits:
    - {name: daily, requests: 1000, window: 1d, counts: checks, ceiling: 5000}
---
apiVersion: assay.dev/v1alpha1
kind: RiskPolicy
metadata: {name: careful}
spec: {thresholds: {review: 55}}
";

/// A tenant on a plan whose keys may be in `default`.
pub(crate) fn tenant(name: &str, plan: &str) -> String {
    format!(
        "
---
apiVersion: assay.dev/v1alpha1
kind: Tenant
metadata: {{name: {name}}}
spec: {{displayName: {name}, plan: {plan}, policy: careful, namespaces: [default]}}
"
    )
}

/// An `ApiKey` in `default`.
pub(crate) fn key(name: &str, tenant: &str) -> String {
    format!(
        "
---
apiVersion: assay.dev/v1alpha1
kind: ApiKey
metadata: {{name: {name}, namespace: default}}
spec: {{tenant: {tenant}}}
"
    )
}

/// A `RateLimit` that raises a tenant's limit.
pub(crate) fn raised(requests: u32) -> String {
    format!(
        "
---
apiVersion: assay.dev/v1alpha1
kind: RateLimit
metadata: {{name: more}}
spec:
  target: {{tenant: acme}}
  limits: [{{name: daily, requests: {requests}}}]
"
    )
}
