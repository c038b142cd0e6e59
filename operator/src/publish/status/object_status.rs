//! The status of an object of any published kind.

use assay_crds::status::{
    ChainSourceStatus, IntelSourceStatus, PlanStatus, RateLimitStatus, RiskPolicyStatus, Status,
    TenantStatus,
};
use assay_tenancy::{CompactJson, manifest::Kind};
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use serde::{Serialize, de::DeserializeOwned};

use super::{context::StatusContext, plan, rate_limit, risk_policy, source, tenant};
use crate::{
    conditions::{ReadyState, condition, conditions},
    publish::fetch::ObjectKey,
};

/// The status of an object of any published kind.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub(super) enum ObjectStatus {
    Plan(PlanStatus),
    Tenant(TenantStatus),
    RateLimit(RateLimitStatus),
    RiskPolicy(RiskPolicyStatus),
    IntelSource(IntelSourceStatus),
    ChainSource(ChainSourceStatus),
}

/// Evaluates an expression for the status of whichever kind.
macro_rules! each {
    ($self:expr, $status:ident => $result:expr) => {
        match $self {
            ObjectStatus::Plan($status) => $result,
            ObjectStatus::Tenant($status) => $result,
            ObjectStatus::RateLimit($status) => $result,
            ObjectStatus::RiskPolicy($status) => $result,
            ObjectStatus::IntelSource($status) => $result,
            ObjectStatus::ChainSource($status) => $result,
        }
    };
}

impl ObjectStatus {
    /// Parses the status of an object; an absent or invalid one gives an empty one. `None` for a kind that
    /// has no custom resource.
    pub(super) fn read(kind: Kind, status: Option<&CompactJson>) -> Option<Self> {
        fn parse<S: Default + DeserializeOwned>(status: Option<&CompactJson>) -> S {
            let parse = |status: &CompactJson| serde_json::from_value(status.value()).ok();
            status.and_then(parse).unwrap_or_default()
        }
        Some(match kind {
            Kind::Plan => Self::Plan(parse(status)),
            Kind::Tenant => Self::Tenant(parse(status)),
            Kind::RateLimit => Self::RateLimit(parse(status)),
            Kind::RiskPolicy => Self::RiskPolicy(parse(status)),
            Kind::IntelSource => Self::IntelSource(parse(status)),
            Kind::ChainSource => Self::ChainSource(parse(status)),
            Kind::FormerTenant => return None,
        })
    }

    /// The next status of an object, after `self`.
    pub(super) fn next(
        &self,
        (kind, name): &ObjectKey,
        generation: Option<i64>,
        ready_state: &ReadyState,
        context: &StatusContext<'_>,
    ) -> Self {
        let mut next = match self.clone() {
            Self::Plan(_) => Self::Plan(plan::status(name, context)),
            Self::Tenant(_) => Self::Tenant(tenant::status(name, context)),
            Self::RateLimit(_) => Self::RateLimit(rate_limit::status(name, context)),
            Self::RiskPolicy(_) => Self::RiskPolicy(risk_policy::status(name, context)),
            Self::IntelSource(before) => {
                Self::IntelSource(source::intel_status(name, context, before))
            }
            Self::ChainSource(before) => {
                Self::ChainSource(source::chain_status(name, context, before))
            }
        };
        let (before, now) = (self.conditions(), context.now);
        let mut all = conditions(ready_state, before, generation, now);
        if matches!(self, Self::IntelSource(_) | Self::ChainSource(_)) {
            let workload = source::workload(*kind, name, context, before);
            all.extend(workload.map(|state| condition(&state, before, generation, now)));
        }
        if matches!(self, Self::Tenant(_)) {
            let watched = tenant::keys_watched(name, context);
            all.extend(watched.map(|state| condition(&state, before, generation, now)));
        }
        if matches!(self, Self::ChainSource(_)) {
            let branches = source::branches(name, context, before);
            all.extend(branches.map(|state| condition(&state, before, generation, now)));
        }
        next.set(generation, all);
        next
    }

    /// The same status with the conditions of a state, about a generation. `None`: the newest generation
    /// was not checked yet.
    pub(super) fn with_ready_state(
        &self,
        generation: Option<i64>,
        ready_state: &ReadyState,
        now: Timestamp,
    ) -> Self {
        let mut next = self.clone();
        let conditions = conditions(ready_state, self.conditions(), generation, now);
        next.set(generation.or(self.observed_generation()), conditions);
        next
    }

    /// Its conditions.
    pub(super) fn conditions(&self) -> &[Condition] {
        each!(self, status => status.conditions())
    }

    /// The generation that it describes.
    pub(super) fn observed_generation(&self) -> Option<i64> {
        each!(self, status => status.observed_generation())
    }

    fn set(&mut self, generation: Option<i64>, conditions: Vec<Condition>) {
        each!(self, status => status.set(generation, conditions));
    }
}

#[cfg(test)]
mod tests {
    use assay_crds::status::PlanStatus;
    use serde_json::json;

    use super::*;
    use crate::reason::Reason;

    #[test]
    fn an_invalid_status_counts_as_an_empty_one() {
        let text = json!({"conditions": "none", "tenants": -1});
        let read = ObjectStatus::read(Kind::Plan, Some(&CompactJson::from(&text)));
        assert_eq!(read, Some(ObjectStatus::Plan(PlanStatus::default())));
        assert_eq!(ObjectStatus::read(Kind::FormerTenant, None), None);
    }

    #[test]
    fn a_failure_of_the_store_keeps_all_but_the_conditions() {
        let text = json!({
            "observedGeneration": 3, "tenants": 7,
            "conditions": [{
                "type": "Ready", "status": "True", "reason": "Published", "message": "",
                "lastTransitionTime": "2026-11-22T01:00:00Z",
            }],
        });
        let before = ObjectStatus::read(Kind::Plan, Some(&CompactJson::from(&text))).unwrap();
        let failed = ReadyState::Waiting(Reason::StoreUnavailable, "down".into());
        let after = json!(before.with_ready_state(None, &failed, Timestamp::UNIX_EPOCH));
        assert_eq!((&after["observedGeneration"], &after["tenants"]), (&json!(3), &json!(7)));
        assert_eq!(after["conditions"][0]["reason"], "StoreUnavailable");
        assert!(after["conditions"][0].get("observedGeneration").is_none());
    }
}
