//! Fields and operations that `docs/differences.md` names as those of Assay are in the API's description.

use std::fs;

use assay_api::openapi;
use serde_json::Value;

use super::root;

/// Schemas whose fields the page names.
const ROOTS: [&str; 6] = [
    "CheckResponse",
    "CheckRequest",
    "TransferRequest",
    "AddressesRequest",
    "ScreenResponse",
    "ProblemDetails",
];

/// A schema, behind references and beside null.
fn resolved<'a>(document: &'a Value, schema: &'a Value) -> &'a Value {
    let reference = |schema: &'a Value| schema["$ref"].as_str();
    let choices = schema["anyOf"].as_array().into_iter().flatten();
    match reference(schema).or_else(|| choices.into_iter().find_map(reference)) {
        Some(name) => document.pointer(name.trim_start_matches('#')).unwrap(),
        None => schema,
    }
}

/// The schema at a path such as `exposure[].amount.usd`, from a named schema on.
fn at<'a>(document: &'a Value, root: &str, path: &str) -> Option<&'a Value> {
    let mut schema = &document["components"]["schemas"][root];
    for step in path.split('.') {
        let (name, is_list) = match step.strip_suffix("[]") {
            Some(name) => (name, true),
            None => (step, false),
        };
        schema = resolved(document, schema)["properties"].get(name)?;
        if is_list {
            schema = schema.get("items")?;
        }
    }
    Some(resolved(document, schema))
}

/// True if a schema lists the values of its enumeration, and this is none of them.
fn refuses(schema: &Value, value: &str) -> bool {
    let listed = schema["enum"].as_array().or_else(|| schema["x-extensible-enum"].as_array());
    listed.is_some_and(|values| values.iter().all(|known| known != value))
}

/// The problem of a name: an operation (`GET /path`), a field, or a field with a value (`direction: deposit`).
fn problem(document: &Value, name: &str) -> Option<String> {
    if let Some((method @ ("GET" | "POST"), path)) = name.split_once(' ') {
        let operation = &document["paths"][path][method.to_lowercase()];
        return operation.is_null().then(|| format!("no operation {name}"));
    }
    let (path, value) = match name.split_once(": ") {
        Some((path, value)) => (path, Some(value)),
        None => (name, None),
    };
    let found: Vec<&Value> = ROOTS.iter().filter_map(|root| at(document, root, path)).collect();
    let accepts = |schema: &&Value| !value.is_some_and(|value| refuses(schema, value));
    // The key of every EVM chain is no identifier of a chain.
    let is_known = name == "blockchain: evm" || found.iter().any(accepts);
    (!is_known).then(|| format!("no field {name}"))
}

/// Names between backticks in the second column of the tables of requests and answers, without header fields.
fn names(page: &str) -> Vec<&str> {
    let mut names = Vec::new();
    let mut is_ours = false;
    for line in page.lines() {
        let cells: Vec<&str> = line.split(" | ").collect();
        match cells[..] {
            [_, second] if line.starts_with('|') => {
                is_ours |= second.starts_with("Assay's ");
                if is_ours {
                    names.extend(second.split('`').skip(1).step_by(2));
                }
            }
            _ if line.starts_with("|---") => {}
            _ => is_ours = false,
        }
    }
    let is_header = |name: &str| {
        name.starts_with(char::is_uppercase)
            && !name.starts_with("GET ")
            && !name.starts_with("POST ")
    };
    names.retain(|name| !is_header(name));
    names
}

#[test]
fn fields_of_the_mapping_are_in_the_description() {
    let page = fs::read_to_string(root().join("docs/differences.md")).unwrap();
    let document = openapi::document();
    let names = names(&page);
    assert!(names.len() > 100, "only {} names were found", names.len());
    let problems: Vec<String> = names.iter().filter_map(|name| problem(&document, name)).collect();
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}
