//! The status of a `RiskPolicy`.

use assay_crds::status::RiskPolicyStatus;
use assay_tenancy::Name;

use super::context::StatusContext;

/// The status of a risk policy.
pub(super) fn status(name: &Name, context: &StatusContext<'_>) -> RiskPolicyStatus {
    let policy = context.in_force.directory.policies.get(name);
    RiskPolicyStatus {
        revision: policy.map(|policy| policy.revision().to_string()),
        tenants: Some(context.tenant_counts.with_policy(name)),
        ..RiskPolicyStatus::default()
    }
}
