//! What is told of a `RiskPolicy`.

use assay_crds::status::RiskPolicyStatus;
use assay_tenancy::Name;

use crate::publish::StatusContext;

/// The status about a policy.
pub(crate) fn status(name: &Name, context: &StatusContext<'_>) -> RiskPolicyStatus {
    let policy = context.in_force.directory.policies.get(name);
    RiskPolicyStatus {
        revision: policy.map(|policy| policy.revision().to_string()),
        tenants: Some(context.tenant_counts.of_policy(name)),
        ..RiskPolicyStatus::default()
    }
}
