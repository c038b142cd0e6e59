//! JSON schemas of an API server's kinds, from its OpenAPI description.

use std::{fs, path::Path};

use assay_tests::{Cluster, wait_at_most};
use serde_json::{Value, json};

use super::PATIENCE;

/// Writes the schemas of all kinds of a group's version, once the API server publishes them.
pub(super) fn write(cluster: &Cluster, group: &str, version: &str, kind: &str, folder: &Path) {
    let path = match group {
        "" => format!("/openapi/v3/api/{version}"),
        _ => format!("/openapi/v3/apis/{group}/{version}"),
    };
    let mut found = false;
    let _ = wait_at_most(PATIENCE, kind, || {
        let answer = cluster.try_kubectl(&["get", "--raw", &path]);
        let Ok(said) = serde_json::from_str::<Value>(&answer.stdout) else { return false };
        let Some(schemas) = said["components"]["schemas"].as_object() else { return false };
        let mut definitions = said["components"]["schemas"].clone();
        make_strict(&mut definitions);
        for (name, schema) in schemas {
            let is_own = |of: &&Value| of["group"] == group && of["version"] == version;
            let kinds = schema["x-kubernetes-group-version-kind"].as_array().into_iter().flatten();
            for of in kinds.filter(is_own) {
                let own = of["kind"].as_str().unwrap();
                found |= own == kind;
                // kubeconform takes the version of the oldest kinds, which have no group, for the group.
                let of_file = if group.is_empty() { version } else { group };
                let file = format!("{of_file}_{}_{version}.json", own.to_lowercase());
                let schema = json!({
                    "$ref": format!("#/definitions/{name}"), "definitions": definitions,
                });
                fs::write(folder.join(file), schema.to_string()).unwrap();
            }
        }
        found
    });
}

/// Forbids unknown fields in objects with named fields, and points references to the definitions.
fn make_strict(schema: &mut Value) {
    match schema {
        Value::Object(parts) => {
            if let Some(Value::String(reference)) = parts.get_mut("$ref") {
                *reference = reference.replace("#/components/schemas/", "#/definitions/");
            }
            let is_open = parts.contains_key("additionalProperties")
                || parts.get("x-kubernetes-preserve-unknown-fields") == Some(&Value::Bool(true));
            // A field may be called `properties`: those of a schema are schemas.
            let is_schema = parts.get("properties").is_some_and(Value::is_object);
            if is_schema && !is_open && parts.get("type").is_some_and(|it| it == "object") {
                parts.insert("additionalProperties".into(), false.into());
            }
            parts.values_mut().for_each(make_strict);
        }
        Value::Array(parts) => parts.iter_mut().for_each(make_strict),
        _ => {}
    }
}
