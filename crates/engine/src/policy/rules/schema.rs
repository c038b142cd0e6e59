//! Validation rules (CEL) for the Kubernetes API server.

use schemars::{Schema, SchemaGenerator, json_schema};
use serde_json::{Value, json};

use super::{CONDITIONS, FIXED_RULES, LONGEST_ID, SELECTING};
use crate::{policy::Quantity, taxonomy::Category};

/// A validation rule of a field: a condition, and a message with the correct value.
pub(in crate::policy) fn rule(path: &str, holds: &str, sentence: &str) -> Value {
    json!({"rule": holds, "message": sentence, "fieldPath": path})
}

pub(super) fn id(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "string",
        "maxLength": LONGEST_ID,
        "x-kubernetes-validations": [{
            "rule": "self.matches('^[a-z][a-z0-9_]{0,62}$')",
            "message": "an id has 1 to 63 lowercase letters, digits and underscores, a letter first",
        }],
    })
}

pub(super) fn categories(_: &mut SchemaGenerator) -> Schema {
    let names: Vec<&str> = Category::ALL.iter().map(|category| category.as_str()).collect();
    json_schema!({
        "type": "array",
        "minItems": 1,
        "maxItems": names.len(),
        "items": {"type": "string", "enum": names},
        "x-kubernetes-list-type": "set",
    })
}

pub(super) fn amounts(generator: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "object",
        "minProperties": 1,
        "maxProperties": 32,
        "additionalProperties": generator.subschema_for::<Quantity>(),
    })
}

/// Validation rules for the conditions of a rule or group.
fn condition_checks() -> Vec<Value> {
    vec![
        rule(
            ".categories",
            "!has(self.categories) || !has(self.severityFrom)",
            "names categories beside `severityFrom`: use one of both",
        ),
        rule(
            ".direct",
            "!has(self.direct) || !self.direct || !has(self.hopsUpTo)",
            "contradicts `hopsUpTo`: use one of both",
        ),
    ]
}

pub(super) fn group_checks() -> Value {
    let any: Vec<_> = CONDITIONS.iter().map(|name| format!("has(self.{name})")).collect();
    let mut checks = condition_checks();
    checks.push(json!({"rule": any.join(" || "), "message": "a group needs a condition"}));
    Value::Array(checks)
}

pub(super) fn rule_checks() -> Value {
    let fixed = FIXED_RULES.map(|rule| rule.id);
    let selects = |of: &str| SELECTING.map(|name| format!("has({of}.{name})")).join(" || ");
    let twice: Vec<_> = CONDITIONS
        .iter()
        .map(|name| format!("!(has(self.{name}) && has(group.{name}))"))
        .chain(
            [
                ("categories", "severityFrom"),
                ("severityFrom", "categories"),
                ("direct", "hopsUpTo"),
                ("hopsUpTo", "direct"),
            ]
            .map(|(own, other)| format!("!(has(self.{own}) && has(group.{other}))")),
        )
        .collect();
    let off = "(has(self.enabled) && !self.enabled)";
    let strong = "['official_list', 'on_chain_proof', 'investigation']";
    let mut checks = condition_checks();
    checks.extend([
        rule(
            ".id",
            &format!("!(self.id in {fixed:?})"),
            "is the id of a rule that every policy has: choose another",
        ),
        rule(
            ".description",
            &format!("{off} || (has(self.description) && size(self.description) > 0)"),
            "needs a sentence: answers give it as the reason",
        ),
        json!({
            "rule": format!(
                "{off} || {} || (has(self.anyOf) && self.anyOf.all(group, {}))",
                selects("self"), selects("group"),
            ),
            "message": "selects no funds: name `categories`, `severityFrom`, `role` or `sinceListing`, in the \
                rule or in every group of `anyOf`",
        }),
        rule(
            ".anyOf",
            &format!("!has(self.anyOf) || self.anyOf.all(group, {})", twice.join(" && ")),
            "repeats or contradicts a condition of the rule: use it in the rule or in the groups",
        ),
        rule(
            ".verdict",
            &format!(
                "!has(self.verdict) || self.verdict != 'block' || ((!has(self.tierFrom) || self.tierFrom \
                 in {strong}) && (!has(self.anyOf) || self.anyOf.all(group, !has(group.tierFrom) \
                 || group.tierFrom in {strong})))"
            ),
            "`block` needs evidence of the tier `investigation` or stronger: raise `tierFrom`, or use `review`",
        ),
    ]);
    Value::Array(checks)
}
