//! What is told of a `Plan`.

use assay_crds::status::PlanStatus;
use assay_tenancy::Name;

use crate::publish::Context;

/// The facts about a plan.
pub(crate) fn status(name: &Name, context: &Context<'_>) -> PlanStatus {
    PlanStatus { tenants: Some(context.users.of_plan(name)), ..PlanStatus::default() }
}
