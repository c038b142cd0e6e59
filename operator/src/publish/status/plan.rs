//! The status of a `Plan`.

use assay_crds::status::PlanStatus;
use assay_tenancy::Name;

use super::context::StatusContext;

/// The status of a plan.
pub(super) fn status(name: &Name, context: &StatusContext<'_>) -> PlanStatus {
    PlanStatus { tenants: Some(context.tenant_counts.on_plan(name)), ..PlanStatus::default() }
}
