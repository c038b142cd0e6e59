//! The `CustomResourceDefinition` objects of all kinds.

use assay_tenancy::schema::{RULES, rule};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceColumnDefinition, CustomResourceDefinition,
};
use kube::CustomResourceExt;
use serde_json::{Value, json};

use crate::{
    ApiKey, ChainSource, Installation, IntelSource, Plan, RateLimit, RiskPolicy, RiskService,
    Tenant,
};

/// All definitions; a kind follows the kinds that it refers to.
#[must_use]
pub fn all() -> Vec<CustomResourceDefinition> {
    let definitions = [
        Installation::crd(),
        Plan::crd(),
        RiskPolicy::crd(),
        IntelSource::crd(),
        ChainSource::crd(),
        Tenant::crd(),
        RateLimit::crd(),
        ApiKey::crd(),
        RiskService::crd(),
    ];
    definitions.map(with_common_columns).into()
}

/// Adds the printer columns that kinds have in common: `Ready` and its reason first, the age last. A kind without a
/// status has only the age.
fn with_common_columns(mut definition: CustomResourceDefinition) -> CustomResourceDefinition {
    let column = |name: &str, kind: &str, path: &str| CustomResourceColumnDefinition {
        name: name.into(),
        type_: kind.into(),
        json_path: path.into(),
        ..CustomResourceColumnDefinition::default()
    };
    let ready = ".status.conditions[?(@.type==\"Ready\")]";
    let first = [
        column("Ready", "string", &format!("{ready}.status")),
        column("Reason", "string", &format!("{ready}.reason")),
    ];
    let last = column("Age", "date", ".metadata.creationTimestamp");
    for version in &mut definition.spec.versions {
        let own = version.additional_printer_columns.take().unwrap_or_default();
        let has_status = version.subresources.as_ref().is_some_and(|parts| parts.status.is_some());
        let first = first.iter().filter(|_| has_status).cloned();
        let all = first.chain(own).chain([last.clone()]);
        version.additional_printer_columns = Some(all.collect());
    }
    definition
}

/// JSON of a definition in the form that the API server accepts.
#[must_use]
pub fn content(definition: &CustomResourceDefinition) -> Value {
    let mut content = serde_json::to_value(definition).unwrap_or_default();
    remove_unsupported(&mut content);
    content
}

/// Removes or replaces the parts of a schema that API servers do not support: integer formats other than
/// `int32` and `int64`, `nullable`, and `double` of scores, which becomes a validation rule.
fn remove_unsupported(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            let known = ["int32", "int64"].map(Value::from);
            let is_integer = fields.get("type").is_some_and(|kind| kind == "integer");
            if is_integer && fields.get("format").is_some_and(|format| !known.contains(format)) {
                fields.remove("format");
            }
            if fields.get("nullable").is_some_and(Value::is_boolean) {
                fields.remove("nullable");
            }
            if fields.get("format").is_some_and(|format| format == "double") {
                fields.remove("format");
                let tenths = "self * 10.0 - double(int(self * 10.0 + 0.5))";
                let holds = format!("{tenths} < 0.001 && {tenths} > -0.001");
                fields.insert(RULES.into(), json!([rule(&holds, "has at most one decimal")]));
            }
            fields.values_mut().for_each(remove_unsupported);
        }
        Value::Array(values) => values.iter_mut().for_each(remove_unsupported),
        _ => {}
    }
}
