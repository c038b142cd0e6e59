//! The status of an object of any published kind.

use assay_crds::status::{
    ChainSourceStatus, IntelSourceStatus, PlanStatus, RateLimitStatus, RiskPolicyStatus, Status,
    TenantStatus,
};
use assay_tenancy::manifest::Kind;
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use serde::Serialize;

use super::{context::StatusContext, plan, rate_limit, risk_policy, tenant};
use crate::{
    conditions::{PUBLISHED, READY, ReadyState, STALLED, condition, conditions_named, reason_of},
    publish::fetch::ObjectKey,
    watched::{WatchedObject, parse_status},
};

/// The status of an object of any published kind.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub(in crate::publish) enum ObjectStatus {
    Plan(PlanStatus),
    Tenant(TenantStatus),
    RateLimit(RateLimitStatus),
    RiskPolicy(RiskPolicyStatus),
    IntelSource(IntelSourceStatus),
    ChainSource(ChainSourceStatus),
}

/// Evaluates an expression with the status of the object's kind.
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
    /// Parses the status of an object. An absent or invalid status becomes an empty status. `None` for a kind without a
    /// custom resource.
    pub(in crate::publish) fn read(kind: Kind, object: &WatchedObject) -> Option<Self> {
        Some(match kind {
            Kind::Plan => Self::Plan(parse_status(object)),
            Kind::Tenant => Self::Tenant(parse_status(object)),
            Kind::RateLimit => Self::RateLimit(parse_status(object)),
            Kind::RiskPolicy => Self::RiskPolicy(parse_status(object)),
            Kind::IntelSource => Self::IntelSource(published(&parse_status(object))),
            Kind::ChainSource => Self::ChainSource(published(&parse_status(object))),
            Kind::FormerTenant => return None,
        })
    }

    /// The next status of an object, after `self`.
    pub(super) fn next(
        &self,
        (_, name): &ObjectKey,
        generation: Option<i64>,
        ready_state: &ReadyState,
        context: &StatusContext<'_>,
    ) -> Self {
        let mut next = match self.clone() {
            Self::Plan(_) => Self::Plan(plan::status(name, context)),
            Self::Tenant(_) => Self::Tenant(tenant::status(name, context)),
            Self::RateLimit(_) => Self::RateLimit(rate_limit::status(name, context)),
            Self::RiskPolicy(_) => Self::RiskPolicy(risk_policy::status(name, context)),
            Self::IntelSource(_) => Self::IntelSource(IntelSourceStatus::default()),
            Self::ChainSource(_) => Self::ChainSource(ChainSourceStatus::default()),
        };
        let (before, now) = (self.conditions(), context.now);
        let mut all = conditions_named(self.condition(), ready_state, before, generation, now);
        if matches!(self, Self::Tenant(_)) {
            let watched = tenant::keys_watched(name, context);
            let states = watched.into_iter().chain(tenant::namespaces_own(name, context));
            all.extend(states.map(|state| condition(&state, before, generation, now)));
        }
        if matches!(self, Self::RiskPolicy(_)) {
            let known = risk_policy::sources_known(name, context);
            let states = known.into_iter().chain(risk_policy::defaults_kept(name, context));
            all.extend(states.map(|state| condition(&state, before, generation, now)));
        }
        next.set(generation, all);
        next
    }

    /// Replaces the conditions by those of a state, about a generation. `None`: the newest generation of the object was
    /// not checked yet.
    pub(super) fn with_ready_state(
        &self,
        generation: Option<i64>,
        ready_state: &ReadyState,
        now: Timestamp,
    ) -> Self {
        let mut next = self.clone();
        let before = self.conditions();
        let conditions = conditions_named(self.condition(), ready_state, before, generation, now);
        next.set(generation.or(self.observed_generation()), conditions);
        next
    }

    /// The type of the condition that the spec is in force. `Ready` of a source is about its data.
    pub(super) const fn condition(&self) -> &'static str {
        match self {
            Self::Plan(_) | Self::Tenant(_) | Self::RateLimit(_) | Self::RiskPolicy(_) => READY,
            Self::IntelSource(_) | Self::ChainSource(_) => PUBLISHED,
        }
    }

    /// The reason of the condition that the spec is in force.
    pub(super) fn reason(&self) -> Option<&str> {
        reason_of(self.condition(), self.conditions())
    }

    /// The conditions of the status.
    pub(super) fn conditions(&self) -> &[Condition] {
        each!(self, status => status.conditions())
    }

    /// The generation that the status describes.
    pub(super) fn observed_generation(&self) -> Option<i64> {
        each!(self, status => status.observed_generation())
    }

    fn set(&mut self, generation: Option<i64>, conditions: Vec<Condition>) {
        each!(self, status => status.set(generation, conditions));
    }
}

/// The part of a source's status that describes its publication. Other field managers own the rest of the status.
fn published<S: Status>(status: &S) -> S {
    let own = |condition: &&Condition| [PUBLISHED, STALLED].contains(&&*condition.type_);
    let mut part = S::default();
    let conditions = status.conditions().iter().filter(own).cloned();
    part.set(status.observed_generation(), conditions.collect());
    part
}

#[cfg(test)]
mod tests {
    use assay_crds::{Plan, status::PlanStatus};
    use assay_tenancy::CompactJson;
    use kube::api::ApiResource;
    use serde_json::{Value, json};

    use super::*;
    use crate::reason::ConditionReason;

    fn object(status: &Value) -> WatchedObject {
        let kind = ApiResource::erase::<Plan>(&());
        let mut object = WatchedObject::new("any", &kind, CompactJson::from(&json!({})));
        object.status = Some(CompactJson::from(status));
        object
    }

    fn condition(kind: &str) -> Value {
        json!({
            "type": kind, "status": "True", "reason": "Published", "message": "",
            "lastTransitionTime": "2026-11-22T01:00:00Z",
        })
    }

    #[test]
    fn an_invalid_status_counts_as_an_empty_one() {
        let object = object(&json!({"conditions": "none", "tenants": -1}));
        let read = ObjectStatus::read(Kind::Plan, &object);
        assert_eq!(read, Some(ObjectStatus::Plan(PlanStatus::default())));
        assert_eq!(ObjectStatus::read(Kind::FormerTenant, &object), None);
    }

    #[test]
    fn of_a_source_only_the_part_about_its_publication_is_read() {
        let conditions = ["Published", "Ready", "Stalled"].map(condition);
        let whole = json!({"observedGeneration": 3, "conditions": conditions, "replicas": 2});
        let read = ObjectStatus::read(Kind::ChainSource, &object(&whole));
        let own = [conditions[0].clone(), conditions[2].clone()];
        assert_eq!(json!(read), json!({"observedGeneration": 3, "conditions": own}));
    }

    #[test]
    fn a_failure_of_the_store_keeps_all_but_the_conditions() {
        let text =
            json!({"observedGeneration": 3, "tenants": 7, "conditions": [condition("Ready")]});
        let before = ObjectStatus::read(Kind::Plan, &object(&text)).unwrap();
        let failed = ReadyState::Waiting(ConditionReason::StoreUnavailable, "down".into());
        let after = json!(before.with_ready_state(None, &failed, Timestamp::UNIX_EPOCH));
        assert_eq!((&after["observedGeneration"], &after["tenants"]), (&json!(3), &json!(7)));
        assert_eq!(after["conditions"][0]["reason"], "StoreUnavailable");
        assert!(after["conditions"][0].get("observedGeneration").is_none());
    }
}
