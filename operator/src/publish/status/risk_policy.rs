//! The status of a `RiskPolicy`.

use assay_crds::status::RiskPolicyStatus;
use assay_engine::{policy::PolicySpec, taxonomy::Category};
use assay_tenancy::Name;

use super::context::StatusContext;
use crate::{conditions::ConditionState, reason::ConditionReason};

/// The condition type: an `IntelSource` provides each mandatory list and label set of the policy.
const SOURCES_KNOWN: &str = "SourcesKnown";
/// The condition type: the policy weighs grave categories as much as Assay's defaults, and switches no rule off.
const DEFAULTS_KEPT: &str = "DefaultsKept";
/// The severity from which a category is grave.
const GRAVE: u8 = 80;

/// The status of a risk policy.
pub(super) fn status(name: &Name, context: &StatusContext<'_>) -> RiskPolicyStatus {
    let policy = context.in_force.directory.policies.get(name);
    RiskPolicyStatus {
        revision: policy.map(|policy| policy.revision().to_string()),
        tenants: Some(context.tenant_counts.with_policy(name)),
        ..RiskPolicyStatus::default()
    }
}

/// The condition that an `IntelSource` provides each mandatory list and label set. `None`: the policy is not in force.
pub(super) fn sources_known(name: &Name, context: &StatusContext<'_>) -> Option<ConditionState> {
    let directory = &context.in_force.directory;
    let policy = directory.policies.get(name)?;
    let is_provided = |wanted: &str| {
        let mut feeds = directory.feeds.values();
        feeds.any(|feed| {
            feed.name.as_str() == wanted || feed.spec.lists.iter().any(|list| *list == *wanted)
        })
    };
    let mandatory = policy.spec().mandatory_sources.iter().map(|source| source.name.as_str());
    let unknown: Vec<String> = mandatory
        .filter(|wanted| !is_provided(wanted))
        .map(|wanted| format!("`{wanted}`"))
        .collect();
    let (holds, reason, message) = if unknown.is_empty() {
        let message = "an IntelSource provides each mandatory source".to_owned();
        (true, ConditionReason::SourcesKnown, message)
    } else {
        let message = format!(
            "no IntelSource provides these mandatory sources, and unless they are imported by hand each `allow` is \
             `indeterminate`: {}; create the source, or correct spec.mandatorySources",
            unknown.join(", ")
        );
        (false, ConditionReason::SourceUnknown, message)
    };
    Some(ConditionState { kind: SOURCES_KNOWN, holds, reason, message })
}

/// The condition that the policy is not weaker than Assay's defaults. `None`: the policy is not in force.
pub(super) fn defaults_kept(name: &Name, context: &StatusContext<'_>) -> Option<ConditionState> {
    let policy = context.in_force.directory.policies.get(name)?;
    let weakened = weakened(policy.spec());
    let (holds, reason, message) = if weakened.is_empty() {
        let message = "no rule is off, and no grave category has a lower severity than by default";
        (true, ConditionReason::DefaultsKept, message.to_owned())
    } else {
        let message = format!(
            "answers by this policy accuse less than Assay's defaults: {}; if that is not intended, leave it out of the spec",
            weakened.join(", ")
        );
        (false, ConditionReason::DefaultsWeakened, message)
    };
    Some(ConditionState { kind: DEFAULTS_KEPT, holds, reason, message })
}

/// The rules that a complete policy switches off, and the grave categories with lower severities than by default.
fn weakened(spec: &PolicySpec) -> Vec<String> {
    let lowered = Category::ALL.iter().filter_map(|category| {
        let usual = category.info().severity;
        let severity = *spec.severities.get(category.as_str())?;
        let is_lower = usual >= GRAVE && severity < usual;
        is_lower.then(|| format!("severity {severity} of `{category}` instead of {usual}"))
    });
    let off = spec.rules.iter().filter(|rule| !rule.enabled);
    lowered.chain(off.map(|rule| format!("rule `{}` is off", rule.id))).collect()
}

#[cfg(test)]
mod tests {
    use assay_engine::policy::Policy;
    use serde_json::json;

    use super::*;

    #[test]
    fn rules_that_are_off_and_lower_severities_of_grave_categories_are_told() {
        let of = |spec| {
            let spec: PolicySpec = serde_json::from_value(spec).unwrap();
            weakened(Policy::compile(spec).unwrap().spec())
        };
        assert_eq!(of(json!({})), Vec::<String>::new());
        let stricter = json!({"severities": {"gambling": 5, "mixer": 90}});
        assert_eq!(of(stricter), Vec::<String>::new(), "gambling is not grave by default");
        let zeroed = json!({
            "severities": {"sanctions": 0},
            "rules": [{"id": "direct_listed_counterparty", "enabled": false}],
        });
        assert_eq!(
            of(zeroed),
            [
                "severity 0 of `sanctions` instead of 100",
                "rule `direct_listed_counterparty` is off"
            ]
        );
    }
}
