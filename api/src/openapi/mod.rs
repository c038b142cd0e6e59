//! Descriptions of the API: OpenAPI 3.1, generated from the table of operations and the types, and OpenAPI 3.0,
//! converted from it.

mod enumerations;
pub(super) mod examples;
mod version_3_0;

use std::{collections::BTreeMap, sync::LazyLock};

use assay_request::problem::{Code, Problem, ProblemDetails, RetryAdvice};
use axum::{body::Bytes, http::header, response::IntoResponse};
use schemars::{SchemaGenerator, generate::SchemaSettings};
use serde_json::{Map, Value, json};

use crate::{
    contract::{Content, Contract, Parameters},
    deprecation::Deprecation,
    operations::{COMMON_PROBLEMS, Operation, Tag, operations},
    request::problem::PROBLEM_JSON,
    response::JSON,
    routes::health::Health,
};

/// `GET /openapi.json`: OpenAPI 3.1.
pub(super) async fn serve() -> impl IntoResponse {
    // Printed once, because requests for it need no key.
    static PRINTED: LazyLock<Bytes> = LazyLock::new(|| document().to_string().into());
    ([(header::CONTENT_TYPE, JSON)], PRINTED.clone())
}

/// `GET /openapi-3.0.json`: OpenAPI 3.0, for generators of clients that read no later version.
pub(super) async fn serve_3_0() -> impl IntoResponse {
    static PRINTED: LazyLock<Bytes> = LazyLock::new(|| document_3_0().to_string().into());
    ([(header::CONTENT_TYPE, JSON)], PRINTED.clone())
}

/// Returns the whole description in OpenAPI 3.0.
#[must_use]
pub fn document_3_0() -> Value {
    version_3_0::convert(document())
}

/// Returns the whole description in OpenAPI 3.1.
#[must_use]
pub fn document() -> Value {
    let mut generator = SchemaSettings::draft2020_12()
        .with(|settings| settings.definitions_path = "/components/schemas".into())
        .into_generator();
    let mut paths = Map::new();
    for operation in operations() {
        // Aliases are not described: a generated client would have each operation twice.
        let [path, _] = operation.paths;
        let method = operation.endpoint.method.as_str().to_ascii_lowercase();
        paths.insert(path.into(), json!({ method: describe(&operation, &mut generator) }));
    }
    paths.insert("/healthz".into(), json!({ "get": health(&mut generator) }));
    // Responses refer to the schema, which this call adds.
    generator.subschema_for::<ProblemDetails>();
    let tag = |tag: Tag| json!({ "name": tag.name(), "description": tag.description() });
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Assay",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "Risk of blockchain addresses. Within `v1`, fields are only added, and open \
                            enumerations (`x-extensible-enum`) may get values: ignore fields and values \
                            that you do not know. Every response other than a 200 is a problem (RFC \
                            9457) with a `code`. All paths below `/api/v1` exist below `/v1` too.",
            "contact": { "name": "The operator of this installation" },
            "license": { "name": "Apache-2.0", "url": "https://www.apache.org/licenses/LICENSE-2.0" },
        },
        "servers": [{ "url": "/", "description": "The server of this description." }],
        "tags": Tag::ALL.map(tag),
        "security": [{ "apiKey": [] }, { "bearer": [] }],
        "paths": paths,
        "components": {
            "securitySchemes": {
                "apiKey": {
                    "type": "apiKey",
                    "in": "header",
                    "name": "X-API-Key",
                    "description": "The API key.",
                },
                "bearer": {
                    "type": "http",
                    "scheme": "bearer",
                    "description": "The token is the API key itself.",
                },
            },
            "headers": headers(),
            "schemas": schemas(&mut generator),
        },
    })
}

/// Returns all schemas, in a form that generators of clients accept.
fn schemas(generator: &mut SchemaGenerator) -> Map<String, Value> {
    let mut schemas = generator.take_definitions(true);
    for (name, schema) in &mut schemas {
        let Value::Object(schema) = schema else { continue };
        enumerations::rewrite(name, schema);
        let properties = schema.get_mut("properties").and_then(Value::as_object_mut);
        for property in properties.into_iter().flat_map(|properties| properties.values_mut()) {
            // A generator makes a field with a default a field that is always there.
            property.as_object_mut().map(|property| property.remove("default"));
        }
    }
    schemas
}

fn describe(operation: &Operation, generator: &mut SchemaGenerator) -> Value {
    let Contract { parameters, request, response } = &operation.endpoint.contract;
    let [path, _] = operation.paths;
    let codes = operation.problems.iter().copied().flatten().chain(COMMON_PROBLEMS);
    let mut responses = problem_responses(path, codes);
    responses.insert(
        "200".into(),
        json!({
            "description": operation.summary,
            "headers": references(["RateLimit-Policy", "RateLimit", "X-Request-Id"]),
            "content": content(response, Some(&operation.response_example), generator),
        }),
    );
    let mut described = json!({
        "operationId": operation.id,
        "tags": [operation.tag.name()],
        "summary": operation.summary,
        "description": operation.description,
        "responses": responses,
    });
    let parameters: Vec<Value> = parameters
        .iter()
        .flat_map(|parameters| describe_parameters(*parameters, generator))
        .collect();
    if let (false, Some(fields)) = (parameters.is_empty(), described.as_object_mut()) {
        fields.insert("parameters".into(), parameters.into());
    }
    if let (false, Some(fields)) = (request.is_empty(), described.as_object_mut()) {
        let content = content(request, operation.request_example.as_ref(), generator);
        let description = "UTF-8, with or without a byte order mark. May be compressed, as \
                           `Content-Encoding: gzip` or `zstd` states; limits of size apply to the decoded body. \
                           Other codings are refused with status 415 and `Accept-Encoding`.";
        let body = json!({ "description": description, "required": true, "content": content });
        fields.insert("requestBody".into(), body);
    }
    if let Some(deprecation) = Deprecation::of(operation.id) {
        deprecation.mark(&mut described);
    }
    described
}

/// Returns a body by its media types.
fn content(
    contents: &[Content],
    example: Option<&Value>,
    generator: &mut SchemaGenerator,
) -> Map<String, Value> {
    let described = |Content { media_type, schema, is_array }: &Content| {
        let mut described = json!({ "schema": schema(generator) });
        if let (Some(example), Some(fields)) = (example, described.as_object_mut()) {
            let example = if *is_array { json!([example]) } else { example.clone() };
            fields.insert("example".into(), example);
        }
        ((*media_type).to_owned(), described)
    };
    contents.iter().map(described).collect()
}

/// Returns the properties of an object as parameters.
fn describe_parameters(parameters: Parameters, generator: &mut SchemaGenerator) -> Vec<Value> {
    let Parameters { location, schema } = parameters;
    let object = schema(generator);
    let properties = object.get("properties").and_then(Value::as_object);
    let required = object.get("required").and_then(Value::as_array);
    let is_required =
        |name: &str| required.is_some_and(|names| names.iter().any(|required| required == name));
    let described = |(name, property): (&String, &Value)| {
        let mut schema = without_null(property);
        let mut parameter = Map::new();
        parameter.insert("in".into(), location.into());
        parameter.insert("name".into(), name.clone().into());
        parameter.insert("required".into(), (location == "path" || is_required(name)).into());
        parameter.extend(schema.remove("description").map(|text| ("description".to_owned(), text)));
        let examples = schema.remove("examples").unwrap_or_default();
        let example = examples.get(0).map(|example| ("example".to_owned(), example.clone()));
        parameter.extend(example);
        parameter.insert("schema".into(), schema.into());
        parameter.into()
    };
    properties.into_iter().flatten().map(described).collect()
}

/// Returns the schema of a parameter: one that is absent is not null.
fn without_null(property: &Value) -> Map<String, Value> {
    let mut schema = property.as_object().cloned().unwrap_or_default();
    schema.retain(|keyword, value| !(keyword == "default" && value.is_null()));
    if let Some(Value::Array(kinds)) = schema.get("type") {
        let kind = kinds.first().cloned().unwrap_or_default();
        schema.insert("type".into(), kind);
    }
    if let Some(Value::Array(schemas)) = schema.remove("anyOf")
        && let Some(Value::Object(first)) = schemas.into_iter().next()
    {
        schema.extend(first);
    }
    schema
}

/// Returns one response for each status of these problems of a path, with its codes.
fn problem_responses<'a>(
    path: &str,
    codes: impl IntoIterator<Item = &'a Code>,
) -> BTreeMap<String, Value> {
    let mut by_status: BTreeMap<String, Vec<Code>> = BTreeMap::new();
    for code in codes {
        by_status.entry(code.status().as_u16().to_string()).or_default().push(*code);
    }
    by_status
        .into_iter()
        .map(|(status, codes)| {
            let named: Vec<String> =
                codes.iter().map(|code| format!("`{}`: {}", code.as_str(), code.title())).collect();
            let example = codes
                .first()
                .map(|code| Problem::new(*code, code.title()).details(path, examples::IDENTIFIER));
            let later = codes.iter().any(|code| code.retry() == RetryAdvice::Later);
            let fields = ["X-Request-Id"].into_iter().chain(later.then_some("Retry-After"));
            let response = json!({
                "description": named.join(" "),
                "headers": references(fields),
                "content": { PROBLEM_JSON: {
                    "schema": { "$ref": "#/components/schemas/ProblemDetails" },
                    "example": example,
                } },
            });
            (status, response)
        })
        .collect()
}

fn health(generator: &mut SchemaGenerator) -> Value {
    let mut responses = problem_responses("/healthz", [&Code::HeadersTooLarge]);
    let succeeded = json!({
        "description": "The probe succeeds.",
        "content": { JSON: {
            "schema": generator.subschema_for::<Health>(),
            "example": { "status": "ok", "degraded": [] },
        } },
    });
    responses.insert("200".into(), succeeded);
    json!({
        "operationId": "healthz",
        "tags": [Tag::Health.name()],
        "summary": "Liveness probe",
        "description": "Succeeds while the process serves. Needs no key.",
        "security": [],
        "responses": responses,
    })
}

/// Returns references to header fields of responses.
fn references(names: impl IntoIterator<Item = &'static str>) -> Map<String, Value> {
    let reference = |name| json!({ "$ref": format!("#/components/headers/{name}") });
    names.into_iter().map(|name| (name.to_owned(), reference(name))).collect()
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
        "Retry-After": {
            "description": "Seconds after which a repeated request may succeed; absent if that is not known.",
            "schema": { "type": "integer", "minimum": 0 },
            "example": 3,
        },
    })
}
