//! Conversion of the description from OpenAPI 3.1 to OpenAPI 3.0, for generators of clients that read no later version.
//!
//! Schemas of 3.0 know neither `null` as a type nor `const` nor several `examples`, and ignore what stands beside a
//! `$ref`. `nullable` goes with a `type`, so that a reference that may be null becomes an `allOf` of the reference with
//! its type. Validators read that `allOf` as if it refused null: the examples of 3.0 leave out what is null, as they
//! may, because a field that may be null is never required.

use serde_json::{Map, Value, json};

/// Returns the description in OpenAPI 3.0.
pub(super) fn convert(mut document: Value) -> Value {
    let schemas = document.pointer("/components/schemas").and_then(Value::as_object);
    let types = schemas.into_iter().flatten().filter_map(|(name, schema)| {
        let reference = format!("#/components/schemas/{name}");
        Some((reference, schema.get("type")?.clone()))
    });
    let converter = Converter { types: types.collect() };
    if let Some(fields) = document.as_object_mut() {
        fields.insert("openapi".into(), "3.0.3".into());
        fields.values_mut().for_each(|value| converter.convert_within(value));
    }
    let schemas = document.pointer_mut("/components/schemas").and_then(Value::as_object_mut);
    for schema in schemas.into_iter().flat_map(Map::values_mut) {
        converter.convert_schema(schema);
    }
    document
}

/// The types of schemas, by their references.
struct Converter {
    types: Map<String, Value>,
}

impl Converter {
    /// Converts the schemas of parameters, bodies and header fields, which are all named `schema`, and examples.
    fn convert_within(&self, value: &mut Value) {
        match value {
            Value::Object(fields) => {
                for (name, value) in fields {
                    match name.as_str() {
                        "schema" => self.convert_schema(value),
                        "example" => remove_null(value),
                        // Converted by their names.
                        "schemas" => {}
                        _ => self.convert_within(value),
                    }
                }
            }
            Value::Array(items) => items.iter_mut().for_each(|item| self.convert_within(item)),
            _ => {}
        }
    }

    /// Converts a schema with the schemas in it.
    fn convert_schema(&self, schema: &mut Value) {
        let Value::Object(fields) = schema else { return };
        for (keyword, value) in fields.iter_mut() {
            match (keyword.as_str(), value) {
                ("properties", Value::Object(properties)) => {
                    properties.values_mut().for_each(|property| self.convert_schema(property));
                }
                ("items" | "additionalProperties", value) => self.convert_schema(value),
                ("anyOf" | "oneOf" | "allOf", Value::Array(schemas)) => {
                    for schema in schemas {
                        self.convert_schema(schema);
                    }
                }
                _ => {}
            }
        }
        if let Some(value) = fields.remove("const") {
            fields.insert("enum".into(), json!([value]));
        }
        if let Some(Value::Array(examples)) = fields.remove("examples")
            && let Some(example) = examples.into_iter().next()
        {
            fields.insert("example".into(), example);
        }
        self.convert_null(fields);
        if fields.len() > 1
            && let Some(reference) = fields.remove("$ref")
        {
            fields.insert("allOf".into(), json!([{ "$ref": reference }]));
        }
    }

    /// Replaces the type `null`, beside another type or a reference, by `nullable`.
    fn convert_null(&self, fields: &mut Map<String, Value>) {
        let mut is_nullable = false;
        if let Some(Value::Array(kinds)) = fields.get_mut("type") {
            is_nullable |= kinds.iter().any(|kind| kind == "null");
            kinds.retain(|kind| kind != "null");
            if let [kind] = kinds.as_slice() {
                let kind = kind.clone();
                fields.insert("type".into(), kind);
            }
        }
        let null = json!({ "type": "null" });
        if let Some(Value::Array(schemas)) = fields.get_mut("anyOf")
            && schemas.contains(&null)
        {
            is_nullable = true;
            schemas.retain(|schema| *schema != null);
            if let [schema] = schemas.as_slice() {
                let kind = schema.get("$ref").and_then(Value::as_str);
                let kind = kind.and_then(|reference| self.types.get(reference)).cloned();
                fields.extend(kind.map(|kind| ("type".to_owned(), kind)));
            }
            if let Some(schemas) = fields.remove("anyOf") {
                let is_one = schemas.as_array().is_some_and(|schemas| schemas.len() == 1);
                fields.insert(if is_one { "allOf" } else { "anyOf" }.into(), schemas);
            }
        }
        if is_nullable {
            fields.insert("nullable".into(), true.into());
        }
    }
}

/// Removes fields that are null from an example.
fn remove_null(example: &mut Value) {
    match example {
        Value::Object(fields) => {
            fields.retain(|_, value| !value.is_null());
            fields.values_mut().for_each(remove_null);
        }
        Value::Array(items) => items.iter_mut().for_each(remove_null),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn converted(mut schema: Value) -> Value {
        let kind = |name: &str, kind: &str| (name.to_owned(), json!(kind));
        let types = [kind("#/a", "object"), kind("#/b", "string")];
        Converter { types: types.into_iter().collect() }.convert_schema(&mut schema);
        schema
    }

    #[test]
    fn null_becomes_nullable() {
        let cases = [
            (json!({ "type": ["string", "null"] }), json!({ "type": "string", "nullable": true })),
            (
                json!({ "anyOf": [{ "$ref": "#/a" }, { "type": "null" }], "description": "b" }),
                json!({
                    "description": "b",
                    "type": "object",
                    "allOf": [{ "$ref": "#/a" }],
                    "nullable": true,
                }),
            ),
            (
                json!({ "anyOf": [{ "$ref": "#/a" }, { "$ref": "#/b" }, { "type": "null" }] }),
                json!({ "anyOf": [{ "$ref": "#/a" }, { "$ref": "#/b" }], "nullable": true }),
            ),
        ];
        for (schema, expected) in cases {
            assert_eq!(converted(schema), expected);
        }
    }

    #[test]
    fn words_of_3_1_become_words_of_3_0() {
        let cases = [
            (json!({ "const": "a" }), json!({ "enum": ["a"] })),
            (json!({ "examples": ["a", "b"] }), json!({ "example": "a" })),
            (json!({ "$ref": "#/a" }), json!({ "$ref": "#/a" })),
            (
                json!({ "$ref": "#/a", "description": "b" }),
                json!({ "description": "b", "allOf": [{ "$ref": "#/a" }] }),
            ),
        ];
        for (schema, expected) in cases {
            let inner = json!({ "properties": { "const": schema } });
            assert_eq!(converted(inner), json!({ "properties": { "const": expected } }));
        }
    }

    #[test]
    fn examples_and_other_parts_stay_as_they_are() {
        let document = json!({
            "openapi": "3.1.0",
            "paths": { "/a": { "get": {
                "parameters": [{ "schema": { "type": ["string", "null"] } }],
                "example": { "schema": { "const": 1, "absent": null } },
            } } },
            "components": { "schemas": { "schema": { "const": 1 } } },
        });
        let expected = json!({
            "openapi": "3.0.3",
            "paths": { "/a": { "get": {
                "parameters": [{ "schema": { "type": "string", "nullable": true } }],
                "example": { "schema": { "const": 1 } },
            } } },
            "components": { "schemas": { "schema": { "enum": [1] } } },
        });
        assert_eq!(convert(document), expected);
    }
}
