//! OpenAPI 3.1 description of the API, generated from the table of operations and the types.

pub(super) mod examples;

use std::{collections::BTreeMap, sync::LazyLock};

use assay_request::problem::{Code, ProblemDetails};
use axum::{body::Bytes, http::header, response::IntoResponse};
use schemars::{SchemaGenerator, generate::SchemaSettings};
use serde_json::{Map, Value, json};

use crate::{
    contract::{Content, Contract, Parameters},
    operations::{COMMON_PROBLEMS, Operation, operations},
    request::problem::PROBLEM_JSON,
    response::JSON,
    routes::health::Health,
};

/// `GET /openapi.json`.
pub(super) async fn serve() -> impl IntoResponse {
    ([(header::CONTENT_TYPE, JSON)], printed())
}

/// Returns the document as text, which is generated once, because requests for it need no key.
fn printed() -> Bytes {
    static PRINTED: LazyLock<Bytes> = LazyLock::new(|| document().to_string().into());
    PRINTED.clone()
}

/// Returns the whole document.
#[must_use]
pub fn document() -> Value {
    let mut generator = SchemaSettings::draft2020_12()
        .with(|settings| settings.definitions_path = "/components/schemas".into())
        .into_generator();
    let mut paths = Map::new();
    for operation in operations() {
        for (index, path) in operation.paths.into_iter().enumerate() {
            let method = operation.endpoint.method.as_str().to_ascii_lowercase();
            let described = describe(&operation, index > 0, &mut generator);
            paths.insert(path.into(), json!({ method: described }));
        }
    }
    paths.insert("/healthz".into(), json!({ "get": health(&mut generator) }));
    // Responses refer to the schema, which this call adds.
    generator.subschema_for::<ProblemDetails>();
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Assay",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "Risk of blockchain addresses. Within `v1`, fields are only added and \
                            enumerations may grow. Every response other than a 200 is a problem \
                            (RFC 9457) with a `code` from a closed table.",
        },
        "servers": [{ "url": "/" }],
        "security": [{ "apiKey": [] }, { "bearer": [] }],
        "paths": paths,
        "components": {
            "securitySchemes": {
                "apiKey": { "type": "apiKey", "in": "header", "name": "X-API-Key" },
                "bearer": {
                    "type": "http",
                    "scheme": "bearer",
                    "description": "The token is the API key itself.",
                },
            },
            "headers": headers(),
            "schemas": generator.take_definitions(true),
        },
    })
}

fn describe(operation: &Operation, is_alias: bool, generator: &mut SchemaGenerator) -> Value {
    let Contract { parameters, request, response } = &operation.endpoint.contract;
    let id = if is_alias { format!("{}_alias", operation.id) } else { operation.id.to_owned() };
    let mut responses =
        problem_responses(operation.problems.iter().copied().flatten().chain(COMMON_PROBLEMS));
    let limited = json!({
        "RateLimit-Policy": { "$ref": "#/components/headers/RateLimit-Policy" },
        "RateLimit": { "$ref": "#/components/headers/RateLimit" },
        "X-Request-Id": { "$ref": "#/components/headers/X-Request-Id" },
    });
    responses.insert(
        "200".into(),
        json!({
            "description": operation.summary,
            "headers": limited,
            "content": content(response, Some(&operation.response_example), generator),
        }),
    );
    let mut described = json!({
        "operationId": id,
        "summary": operation.summary,
        "description": operation.description,
        "responses": responses,
    });
    let parameters: Vec<Value> =
        parameters.iter().flat_map(|parameters| describe_parameters(*parameters)).collect();
    if let (false, Some(fields)) = (parameters.is_empty(), described.as_object_mut()) {
        fields.insert("parameters".into(), parameters.into());
    }
    if let (Some(request), Some(fields)) = (request, described.as_object_mut()) {
        let content = content(request, operation.request_example.as_ref(), generator);
        let description = "UTF-8, with or without a byte order mark. May be compressed, as \
                           `Content-Encoding: gzip` or `zstd` states; limits of size apply to the decoded body. \
                           Other codings are refused with status 415 and `Accept-Encoding`.";
        let body = json!({ "description": description, "required": true, "content": content });
        fields.insert("requestBody".into(), body);
    }
    described
}

/// Returns a body by its media type.
fn content(content: &Content, example: Option<&Value>, generator: &mut SchemaGenerator) -> Value {
    let Content { media_type, schema } = content;
    json!({ *media_type: { "schema": schema(generator), "example": example } })
}

/// Returns the properties of an object as parameters.
fn describe_parameters(Parameters { location, schema }: Parameters) -> Vec<Value> {
    // No component of the document: a parameter has a schema of its own.
    let mut generator = SchemaGenerator::default();
    let object = schema(&mut generator);
    let properties = object.get("properties").and_then(Value::as_object);
    let required = object.get("required").and_then(Value::as_array);
    let is_required =
        |name: &str| required.is_some_and(|names| names.iter().any(|required| required == name));
    // The values of an enumeration are a definition of their own.
    let words = |property: &Value| {
        let name = property.get("$ref")?.as_str()?.rsplit('/').next()?;
        let words = generator.definitions().get(name)?.get("oneOf")?.as_array()?;
        let words: Option<Vec<Value>> =
            words.iter().map(|word| word.get("const").cloned()).collect();
        words.map(|words| json!({ "type": "string", "enum": words }))
    };
    let described = |(name, property): (&String, &Value)| {
        let kind = match property.get("type") {
            Some(Value::Array(kinds)) => kinds.first(),
            kind => kind,
        };
        let mut schema = words(property).unwrap_or_else(|| json!({ "type": kind }));
        for rule in ["format", "minimum", "maximum", "minLength", "maxLength"] {
            if let (Some(value), Some(schema)) = (property.get(rule), schema.as_object_mut()) {
                schema.insert(rule.into(), value.clone());
            }
        }
        json!({
            "in": location,
            "name": name,
            "required": location == "path" || is_required(name),
            "description": property.get("description"),
            "schema": schema,
            "example": property.pointer("/examples/0"),
        })
    };
    properties.into_iter().flatten().map(described).collect()
}

/// Returns one response for each status of these problems, with its codes.
fn problem_responses<'a>(codes: impl IntoIterator<Item = &'a Code>) -> BTreeMap<String, Value> {
    let mut by_status: BTreeMap<String, Vec<Code>> = BTreeMap::new();
    for code in codes {
        by_status.entry(code.status().as_u16().to_string()).or_default().push(*code);
    }
    by_status
        .into_iter()
        .map(|(status, codes)| {
            let named: Vec<String> =
                codes.iter().map(|code| format!("`{}`: {}", code.as_str(), code.title())).collect();
            let response = json!({
                "description": named.join(" "),
                "content": { PROBLEM_JSON: {
                    "schema": { "$ref": "#/components/schemas/ProblemDetails" },
                } },
            });
            (status, response)
        })
        .collect()
}

fn health(generator: &mut SchemaGenerator) -> Value {
    json!({
        "operationId": "healthz",
        "summary": "Liveness probe",
        "security": [],
        "responses": { "200": {
            "description": "The probe succeeds.",
            "content": { JSON: { "schema": generator.subschema_for::<Health>() } },
        } },
    })
}

fn headers() -> Value {
    let header = |description: &str, example: &str| json!({ "description": description, "schema": { "type": "string" }, "example": example });
    json!({
        "RateLimit-Policy": header(
            "Every limit: `q` requests in `w` seconds (IETF httpapi draft).",
            "\"burst\";q=20;w=1, \"daily\";q=100000;w=86400",
        ),
        "RateLimit": header(
            "Status of every limit: `r` requests left, `t` seconds until the next window.",
            "\"burst\";r=19;t=1, \"daily\";r=99999;t=43200",
        ),
        "X-Request-Id": header(
            "Identifies the request in the logs; a well-formed one that you send is kept.",
            "019a1b2c-3d4e-7f50-8a6b-7c8d9e0f1a2b",
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_description_is_made_once() {
        let (one, other) = (printed(), printed());
        assert_eq!(one.as_ptr(), other.as_ptr());
        assert_eq!(serde_json::from_slice::<Value>(&one).unwrap(), document());
    }
}
