//! What is told of a `RiskPolicy`.

use assay_crds::status::RiskPolicyStatus;
use assay_tenancy::Name;

use crate::publish::Context;

/// The facts about a policy.
pub(crate) fn status(name: &Name, context: &Context<'_>) -> RiskPolicyStatus {
    let policy = context.in_force.directory.policies.get(name);
    RiskPolicyStatus {
        revision: policy.map(|policy| policy.revision().to_string()),
        tenants: Some(context.users.of_policy(name)),
        ..RiskPolicyStatus::default()
    }
}
