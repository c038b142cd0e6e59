//! Fields and values that were renamed or replaced: a manifest in the old words is refused with the new ones.

use serde_json::Value;

use super::Kind;
use crate::FieldProblem;

/// Fields of a kind's spec by their old path, each with its new name. `*` stands for every key of an
/// object, `[]` for every element of an array.
const FIELDS: [(Kind, &str, &str); 9] = [
    (Kind::Plan, "floorShare", "fallbackShare"),
    (Kind::Plan, "onStoreLoss", "onTokenStoreLoss"),
    (Kind::Plan, "screenRows", "maxScreenRows"),
    (Kind::ChainSource, "timeBound", "fetchTimeout"),
    (Kind::ChainSource, "testNetwork", "allowTestNetwork"),
    (Kind::RiskPolicy, "tierCaps.behaviour", "behavior"),
    (Kind::RiskPolicy, "amounts.*.curve.[].worth", "score"),
    (Kind::RiskPolicy, "amounts.*.cutBelow", "stopTraceBelow"),
    (Kind::RiskPolicy, "trace.cutShare", "stopBelowShareMillionths"),
];

/// Fields whose content has another form now, each with the field and the form that took its place.
const REPLACED: [(Kind, &str, &str); 6] = [
    (Kind::Plan, "trace.addressesPerLevel", ENTRIES),
    (Kind::Plan, "trace.addressesPerHop", ENTRIES),
    (Kind::RiskPolicy, "floors", RULES),
    (Kind::RiskPolicy, "minimumScoreRules", RULES),
    (Kind::RiskPolicy, "trace.addressesPerLevel", ENTRIES),
    (Kind::RiskPolicy, "trace.addressesPerHop", ENTRIES),
];

const ENTRIES: &str =
    "was replaced by `entries`: a trace is bounded by the inputs and outputs that it reads";

const RULES: &str = "was replaced by `rules`: write another share or severity of severe categories as \
                     `rules: [{id: severe_category_exposure, description: \"...\", severityFrom: 90, \
                     shareFrom: 10%}]`; with 90 and 10 % leave it out, those are the default";

/// Values of a field: its path, the old value and the new one.
const VALUES: [(Kind, &str, &str, &str); 6] = [
    (Kind::RiskPolicy, "lists.*", "binding", "blocking"),
    (Kind::RiskPolicy, "lists.*", "informative", "advisory"),
    (Kind::Plan, "onStoreLoss", "floor", "fallback"),
    (Kind::Plan, "onStoreLoss", "closed", "refuse"),
    (Kind::Plan, "onTokenStoreLoss", "floor", "fallback"),
    (Kind::Plan, "onTokenStoreLoss", "closed", "refuse"),
];

/// Every old word in a manifest's spec, with the word that took its place.
pub(super) fn old_words(kind: Kind, spec: &Value) -> Vec<FieldProblem> {
    let fields = FIELDS.iter().filter(|(of, ..)| *of == kind).flat_map(|&(_, path, new)| {
        let found = matches(spec, path);
        found.into_iter().map(move |(path, _)| (path, format!("was renamed to `{new}`")))
    });
    let replaced =
        REPLACED.iter().filter(|(of, ..)| *of == kind).flat_map(|&(_, path, message)| {
            matches(spec, path).into_iter().map(move |(path, _)| (path, message.to_owned()))
        });
    let values = VALUES.iter().filter(|(of, ..)| *of == kind).flat_map(|&(_, path, old, new)| {
        let found = matches(spec, path).into_iter().filter(move |(_, value)| *value == old);
        found.map(move |(path, _)| (path, format!("`{old}` was renamed to `{new}`")))
    });
    fields
        .chain(replaced)
        .chain(values)
        .map(|(path, message)| FieldProblem::invalid(format!("spec{path}"), message))
        .collect()
}

/// The values at a path with wildcards, each with its own path.
fn matches<'a>(value: &'a Value, path: &str) -> Vec<(String, &'a Value)> {
    path.split('.').fold(vec![(String::new(), value)], |found, step| {
        found.into_iter().flat_map(|(path, value)| children(&path, value, step)).collect()
    })
}

/// The children of a value that one step of a path names.
fn children<'a>(path: &str, value: &'a Value, step: &str) -> Vec<(String, &'a Value)> {
    match (step, value) {
        ("*", Value::Object(fields)) => {
            fields.iter().map(|(name, value)| (format!("{path}.{name}"), value)).collect()
        }
        ("[]", Value::Array(elements)) => elements
            .iter()
            .enumerate()
            .map(|(index, value)| (format!("{path}[{index}]"), value))
            .collect(),
        (name, _) => {
            value.get(name).map(|value| (format!("{path}.{name}"), value)).into_iter().collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn problems(kind: Kind, spec: &Value) -> Vec<String> {
        let problem = |FieldProblem { path, message, .. }| format!("{path}: {message}");
        old_words(kind, spec).into_iter().map(problem).collect()
    }

    #[test]
    fn every_old_field_of_a_plan_is_named_with_the_new_one() {
        let spec = json!({
            "displayName": "floorShare", "floorShare": 10, "onStoreLoss": "closed", "screenRows": 5,
            "trace": {"hops": 3, "addressesPerLevel": 7},
        });
        assert_eq!(
            problems(Kind::Plan, &spec),
            [
                "spec.floorShare: was renamed to `fallbackShare`",
                "spec.onStoreLoss: was renamed to `onTokenStoreLoss`",
                "spec.screenRows: was renamed to `maxScreenRows`",
                &format!("spec.trace.addressesPerLevel: {ENTRIES}"),
                "spec.onStoreLoss: `closed` was renamed to `refuse`",
            ]
        );
        assert_eq!(
            problems(Kind::Plan, &json!({"onTokenStoreLoss": "floor"})),
            ["spec.onTokenStoreLoss: `floor` was renamed to `fallback`"]
        );
        assert!(problems(Kind::Tenant, &spec).is_empty(), "a word of another kind");
    }

    #[test]
    fn every_old_field_of_a_policy_is_named_at_any_depth() {
        let spec = json!({
            "floors": {"graveFrom": 90}, "tierCaps": {"behaviour": 40},
            "minimumScoreRules": {"severeCategorySharePercent": 10},
            "amounts": {"USD": {"curve": [{"amount": 5, "score": 1}, {"amount": 6, "worth": 2}], "cutBelow": 1}},
            "lists": {"a": "binding", "b": "informative", "c": "advisory"},
            "trace": {"cutShare": 1000, "addressesPerHop": 256},
        });
        assert_eq!(
            problems(Kind::RiskPolicy, &spec),
            [
                "spec.tierCaps.behaviour: was renamed to `behavior`",
                "spec.amounts.USD.curve[1].worth: was renamed to `score`",
                "spec.amounts.USD.cutBelow: was renamed to `stopTraceBelow`",
                "spec.trace.cutShare: was renamed to `stopBelowShareMillionths`",
                &format!("spec.floors: {RULES}"),
                &format!("spec.minimumScoreRules: {RULES}"),
                &format!("spec.trace.addressesPerHop: {ENTRIES}"),
                "spec.lists.a: `binding` was renamed to `blocking`",
                "spec.lists.b: `informative` was renamed to `advisory`",
            ]
        );
        assert_eq!(
            problems(Kind::ChainSource, &json!({"timeBound": "2s", "testNetwork": true})),
            [
                "spec.timeBound: was renamed to `fetchTimeout`",
                "spec.testNetwork: was renamed to `allowTestNetwork`",
            ]
        );
    }
}
