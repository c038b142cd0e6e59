//! What is told of a `Plan`.

use assay_crds::status::PlanStatus;
use assay_tenancy::Name;

use crate::publish::StatusContext;

/// The status about a plan.
pub(crate) fn status(name: &Name, context: &StatusContext<'_>) -> PlanStatus {
    PlanStatus { tenants: Some(context.tenant_counts.of_plan(name)), ..PlanStatus::default() }
}
