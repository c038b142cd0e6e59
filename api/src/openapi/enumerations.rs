//! Enumerations of the description, in the form that generators of clients accept.
//!
//! A closed enumeration is an `enum`. An open one may get further values within `v1`: it is a plain string with the
//! known values in `x-extensible-enum`, so that a generated client accepts a value that it does not know. Either has the
//! meaning of each value as a table in its description.

use serde_json::{Map, Value};

/// Extension with the known values of an open enumeration.
const KNOWN_VALUES: &str = "x-extensible-enum";

/// Schemas that get no further value within `v1`, so that clients may match their values exhaustively.
const CLOSED: &[&str] =
    &["AssessmentScope", "Direction", "RiskLevel", "TransferDirection", "Verdict"];

/// Rewrites a schema of this name if it is an enumeration.
pub(super) fn rewrite(name: &str, schema: &mut Map<String, Value>) {
    let Some(values) = values(schema) else { return };
    let is_closed = CLOSED.contains(&name);
    let rows: Vec<String> = values
        .iter()
        .filter_map(|(value, meaning)| Some(row(value.as_str()?, meaning.as_deref()?)))
        .collect();
    let mut paragraphs = Vec::new();
    paragraphs.extend(schema.get("description").and_then(Value::as_str).map(str::to_owned));
    if !is_closed {
        paragraphs.push("Further values may be added.".into());
    }
    if !rows.is_empty() {
        paragraphs.push(format!("| value | meaning |\n|---|---|\n{}", rows.join("\n")));
    }
    let values: Vec<Value> = values.into_iter().map(|(value, _)| value).collect();
    schema.retain(|keyword, _| !matches!(keyword.as_str(), "oneOf" | "enum"));
    schema.insert("type".into(), "string".into());
    schema.insert(if is_closed { "enum" } else { KNOWN_VALUES }.into(), values.into());
    schema.insert("description".into(), paragraphs.join("\n\n").into());
}

/// Returns the values of an enumeration with their meanings; `None` for another schema.
///
/// A variant with a comment is a `const` with a description; those without share one `enum`.
fn values(schema: &Map<String, Value>) -> Option<Vec<(Value, Option<String>)>> {
    if let Some(values) = schema.get("enum").and_then(Value::as_array) {
        return Some(values.iter().map(|value| (value.clone(), None)).collect());
    }
    let mut all = Vec::new();
    for variant in schema.get("oneOf")?.as_array()? {
        let meaning = variant.get("description").and_then(Value::as_str).map(str::to_owned);
        if let Some(value) = variant.get("const") {
            all.push((value.clone(), meaning));
        } else {
            let values = variant.get("enum")?.as_array()?;
            all.extend(values.iter().map(|value| (value.clone(), None)));
        }
    }
    Some(all)
}

/// Returns a row of the table of values, on one line.
fn row(value: &str, meaning: &str) -> String {
    let meaning = meaning.split_whitespace().collect::<Vec<_>>().join(" ").replace('|', "\\|");
    format!("| `{value}` | {meaning} |")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn rewritten(name: &str, schema: Value) -> Value {
        let Value::Object(mut schema) = schema else { panic!("{schema} is no object") };
        rewrite(name, &mut schema);
        schema.into()
    }

    #[test]
    fn the_values_of_a_closed_enumeration_are_an_enum() {
        let schema = json!({
            "description": "Verdict of a policy.",
            "oneOf": [
                { "type": "string", "const": "allow", "description": "Below the\nthreshold." },
                { "type": "string", "const": "block", "description": "This | that." },
            ],
        });
        let table = "| value | meaning |\n|---|---|\n| `allow` | Below the threshold. |\n\
                     | `block` | This \\| that. |";
        let expected = json!({
            "description": format!("Verdict of a policy.\n\n{table}"),
            "type": "string",
            "enum": ["allow", "block"],
        });
        assert_eq!(rewritten("Verdict", schema), expected);
    }

    #[test]
    fn an_open_enumeration_accepts_other_values() {
        let schema = json!({ "oneOf": [{ "enum": ["a", "b"] }, { "const": "c" }] });
        let expected = json!({
            "type": "string",
            "x-extensible-enum": ["a", "b", "c"],
            "description": "Further values may be added.",
        });
        assert_eq!(rewritten("Pattern", schema), expected);
    }

    #[test]
    fn other_schemas_stay_as_they_are() {
        for schema in [
            json!({ "type": "string" }),
            json!({ "oneOf": [{ "type": "string" }, { "type": "integer" }] }),
        ] {
            assert_eq!(rewritten("Verdict", schema.clone()), schema);
        }
    }
}
