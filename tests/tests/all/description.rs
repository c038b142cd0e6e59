//! Real answers conform to the API's description, both versions of it describe the same, and generators of clients accept
//! it.

use std::collections::{BTreeMap, BTreeSet};

use assay_api::openapi;
use assay_tests::{Answer, sample};
use serde_json::{Map, Value, json};

/// Checks a body against a schema of the description.
fn conforms(description: &Value, schema: &Value, answer: &Answer) {
    let mut schema = schema.clone();
    schema["components"] = description["components"].clone();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let body = answer.json();
    let errors: Vec<String> = validator
        .iter_errors(&body)
        .map(|error| format!("{}: {error}", error.instance_path()))
        .collect();
    assert!(errors.is_empty(), "{errors:?} in {body}");
}

#[test]
fn answers_and_problems_have_the_described_shape() {
    // The plan with the larger burst: there are many requests.
    let (server, _, caller) = sample();
    let description = caller.get("/openapi.json").json();
    let answer = |method: &str, path: &str, status: &str| {
        let operation = &description["paths"][path][method];
        let content = operation["responses"][status]["content"].as_object().unwrap();
        content.values().next().unwrap()["schema"].clone()
    };
    let check = "/api/v1/check/address";
    for line in server.greeting().lines().filter(|line| line.starts_with("  ")).skip(2) {
        let mut words = line.split_whitespace();
        let (Some(chain), Some(address)) = (words.next(), words.next()) else { continue };
        let found = caller.check(chain, address);
        assert_eq!(found.status, 200, "{}", found.text);
        conforms(&description, &answer("post", check, "200"), &found);
    }
    let transfer = "/api/v1/check/transfer";
    let request = &description["paths"][transfer]["post"]["requestBody"]["content"];
    let mut deposit = request["application/json"]["example"].clone();
    for direction in ["deposit", "withdrawal"] {
        deposit["direction"] = direction.into();
        let found = caller.post(transfer, &deposit.to_string(), &[]);
        assert_eq!(found.status, 200, "{}", found.text);
        conforms(&description, &answer("post", transfer, "200"), &found);
    }
    for path in ["/api/v1/account", "/api/v1/sources", "/api/v1/signals"] {
        conforms(&description, &answer("get", path, "200"), &caller.get(path));
    }

    let problem = json!({"$ref": "#/components/schemas/ProblemDetails"});
    let stranger = server.caller("not-a-key");
    let problems = [
        stranger.check("btc", "x"),
        caller.check("btc", "x"),
        caller.check("nochain", "x"),
        caller.post(check, "{", &[]),
        caller.post(check, "{}", &[]),
        caller.get(check),
        caller.post(transfer, "{}", &[]),
        caller.post(transfer, &deposit.to_string().replace('0', "1"), &[]),
        caller.get("/api/v1/nothing"),
    ];
    for found in problems {
        assert!(found.status >= 400);
        conforms(&description, &problem, &found);
    }
}

/// All operations: path and method with the operation.
fn operations(description: &Value) -> Vec<(String, &Value)> {
    let paths = description["paths"].as_object().unwrap();
    let methods = paths.iter().flat_map(|(path, methods)| {
        let methods = methods.as_object().unwrap();
        methods.iter().map(move |(method, operation)| (format!("{method} {path}"), operation))
    });
    methods.collect()
}

fn schemas(description: &Value) -> &Map<String, Value> {
    description["components"]["schemas"].as_object().unwrap()
}

/// Names in an object, or none where there is no object.
fn names(object: &Value) -> BTreeSet<&str> {
    object.as_object().into_iter().flat_map(Map::keys).map(String::as_str).collect()
}

/// All objects of a description, with a path for messages. The keys of `properties` are no keywords.
fn visit(value: &Value, path: &str, each: &mut dyn FnMut(&str, &Map<String, Value>)) {
    match value {
        Value::Object(fields) => {
            if !path.ends_with("/properties") && !path.ends_with("/schemas") {
                each(path, fields);
            }
            for (name, value) in fields {
                if name != "example" {
                    visit(value, &format!("{path}/{name}"), each);
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| visit(item, path, each)),
        _ => {}
    }
}

#[test]
fn both_versions_describe_the_same() {
    let (newer, older) = (openapi::document(), openapi::document_3_0());
    assert_eq!((&newer["openapi"], &older["openapi"]), (&json!("3.1.0"), &json!("3.0.3")));
    let told = |description: &Value| {
        let mut told = BTreeMap::new();
        for (name, operation) in operations(description) {
            let parameters = operation["parameters"].as_array().into_iter().flatten();
            let parameters: Vec<String> = parameters
                .map(|one| format!("{} {} {}", one["in"], one["name"], one["required"]))
                .collect();
            let request = names(&operation["requestBody"]["content"]);
            let responses = operation["responses"].as_object().unwrap().iter();
            let responses: Vec<String> = responses
                .map(|(status, response)| {
                    let (fields, content) =
                        (names(&response["headers"]), names(&response["content"]));
                    format!("{status} {fields:?} {content:?}")
                })
                .collect();
            let id = &operation["operationId"];
            told.insert(name, format!("{id} {parameters:?} {request:?} {responses:?}"));
        }
        for (name, schema) in schemas(description) {
            let (properties, required) = (names(&schema["properties"]), &schema["required"]);
            let values = [&schema["enum"], &schema["x-extensible-enum"]];
            told.insert(name.clone(), format!("{properties:?} {required} {values:?}"));
        }
        told
    };
    assert_eq!(told(&newer), told(&older));
    let mut types = 0;
    visit(&older, "", &mut |path, fields| {
        for keyword in ["const", "examples", "$defs"] {
            assert!(!fields.contains_key(keyword), "{keyword} at {path} is not of version 3.0");
        }
        assert!(!fields.get("type").is_some_and(Value::is_array), "several types at {path}");
        assert!(!fields.contains_key("$ref") || fields.len() == 1, "{path}: {fields:?}");
        assert!(
            !fields.contains_key("nullable") || fields.contains_key("type"),
            "{path}: {fields:?}"
        );
        types += usize::from(fields.contains_key("type"));
    });
    assert!(types > 400, "{types} types were looked at");
}

/// A schema of version 3.0 as JSON Schema: `nullable` accepts null.
fn as_json_schema(schema: &Value) -> Value {
    match schema {
        Value::Object(fields) => {
            let converted =
                fields.iter().map(|(name, value)| (name.clone(), as_json_schema(value)));
            let converted: Map<String, Value> = converted.collect();
            let is_nullable = fields.get("nullable") == Some(&json!(true));
            if is_nullable {
                json!({ "anyOf": [converted, { "type": "null" }] })
            } else {
                converted.into()
            }
        }
        Value::Array(items) => items.iter().map(as_json_schema).collect(),
        other => other.clone(),
    }
}

/// Examples with their schemas and their places.
fn examples(description: &Value) -> Vec<(String, Value, Value)> {
    let mut found = Vec::new();
    visit(description, "", &mut |path, fields| {
        if let Some(schema) = fields.get("schema") {
            let example = fields.get("example").unwrap_or_else(|| panic!("no example at {path}"));
            found.push((path.to_owned(), schema.clone(), example.clone()));
        }
    });
    found
}

#[test]
fn every_example_conforms_to_both_versions() {
    let (newer, older) = (openapi::document(), openapi::document_3_0());
    for other in [&newer, &older] {
        let components = as_json_schema(&other["components"]);
        for description in [&newer, &older] {
            let all = examples(description);
            assert!(all.len() > 20, "{} examples", all.len());
            for ((path, _, example), (_, schema, _)) in all.iter().zip(examples(other)) {
                let mut schema = as_json_schema(&schema);
                schema["components"] = components.clone();
                let validator = jsonschema::validator_for(&schema).unwrap();
                let errors: Vec<String> = validator
                    .iter_errors(example)
                    .map(|error| format!("{}: {error}", error.instance_path()))
                    .collect();
                assert!(errors.is_empty(), "{path}: {errors:?} in {example}");
            }
        }
    }
}

#[test]
fn only_enumerations_that_stay_as_they_are_refuse_a_new_value() {
    let description = openapi::document();
    let (mut closed, mut open) = (Vec::new(), 0);
    for (name, schema) in schemas(&description) {
        let Some(values) = schema.get("enum").or(schema.get("x-extensible-enum")) else { continue };
        assert_eq!(schema["type"], "string", "{name}");
        assert!(values.as_array().unwrap().iter().all(Value::is_string), "{name}: {values}");
        let validator = jsonschema::validator_for(schema).unwrap();
        if validator.is_valid(&json!("a value of a later version")) {
            open += 1;
        } else {
            closed.push(name.as_str());
        }
    }
    closed.sort_unstable();
    // A value that is added to one of these breaks clients that were generated before.
    let promised = ["AssessmentScope", "Direction", "RiskLevel", "TransferDirection", "Verdict"];
    assert_eq!(closed, promised);
    assert!(open > 20, "{open} open enumerations");
}

#[test]
fn generators_get_no_keyword_that_they_misread() {
    let description = openapi::document();
    visit(&description["components"]["schemas"], "/schemas", &mut |path, fields| {
        // Generators make a type of each value, a field that is always there, and a union with one member.
        for keyword in ["const", "default", "oneOf", "allOf", "multipleOf"] {
            assert!(!fields.contains_key(keyword), "{keyword} at {path}");
        }
        if let Some(choices) = fields.get("anyOf") {
            assert_eq!(choices[1], json!({ "type": "null" }), "{path}");
        }
    });
}

#[test]
fn types_of_operations_and_of_schemas_have_different_names() {
    let description = openapi::document();
    let schemas = schemas(&description);
    let mut ids = BTreeSet::new();
    for (name, operation) in operations(&description) {
        let id = operation["operationId"].as_str().unwrap();
        assert!(ids.insert(id), "{id} is the name of two operations");
        assert_eq!(operation["tags"].as_array().unwrap().len(), 1, "{name}");
        let words = id.split('_').map(|word| word[..1].to_uppercase() + &word[1..]);
        let prefix: String = words.collect();
        // Names that generators give to the types of an operation.
        for suffix in ["", "Response", "Params", "JSONBody", "JSONRequestBody"] {
            let taken = format!("{prefix}{suffix}");
            assert!(!schemas.contains_key(&taken), "{name} and a schema are named {taken}");
        }
    }
}
