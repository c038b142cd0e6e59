//! Operations of the API: one table for routing and documentation, so that they cannot diverge.

use std::sync::Arc;

use assay_limiter::RequestKind;
use assay_request::{check::CheckRequest, problem::Code, row::ScreenRequest};
use assay_service::Catalogue;
use assay_tenancy::key::Scope;
use axum::{
    http::Method,
    routing::{MethodRouter, get, post},
};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde_json::Value;

use crate::{App, openapi::examples, request::gate::Gate, routes};

/// Returns the paths of an operation below both prefixes.
macro_rules! paths {
    ($path:literal) => {
        [concat!("/api/v1", $path), concat!("/v1", $path)]
    };
}

/// An operation.
pub(super) struct Operation {
    /// Paths below each prefix; the first is the main one, the others are aliases.
    pub(super) paths: [&'static str; 2],
    /// HTTP method.
    pub(super) method: Method,
    /// Operation id.
    pub(super) id: &'static str,
    /// Summary in a few words.
    pub(super) summary: &'static str,
    /// Description.
    pub(super) description: &'static str,
    /// Requirements towards the caller.
    pub(super) gate: Gate,
    /// Handler.
    pub(super) handler: MethodRouter<Arc<App>>,
    /// Parameters of the path and the query.
    pub(super) parameters: &'static [Parameter],
    /// Media type of both bodies: JSON, or JSON lines.
    pub(super) media_type: &'static str,
    /// Schema and example of the request body, if it has one.
    pub(super) request: Option<(SchemaOf, Value)>,
    /// Schema and example of the response body.
    pub(super) response: (SchemaOf, Value),
    /// Problems besides [`COMMON_PROBLEMS`].
    pub(super) problems: &'static [Code],
}

/// A parameter of an operation.
pub(super) struct Parameter {
    /// `path` or `query`.
    pub(super) location: &'static str,
    /// Name.
    pub(super) name: &'static str,
    /// Description.
    pub(super) description: &'static str,
    /// Format (JSON Schema), if any.
    pub(super) format: Option<&'static str>,
    /// An example.
    pub(super) example: &'static str,
}

const JSON: &str = "application/json";
const JSON_LINES: &str = "application/x-ndjson";

/// Function that adds a type's schema to a document.
pub(super) type SchemaOf = fn(&mut SchemaGenerator) -> Schema;

fn schema_of<T: JsonSchema>(generator: &mut SchemaGenerator) -> Schema {
    generator.subschema_for::<T>()
}

/// Problems of every operation.
pub(super) const COMMON_PROBLEMS: &[Code] = &[
    Code::MissingKey,
    Code::InvalidKey,
    Code::TenantSuspended,
    Code::NoApiAccess,
    Code::InsufficientScope,
    Code::QuotaExceeded,
    Code::ReducedCapacity,
    Code::HeadersTooLarge,
    Code::InternalError,
    Code::Unavailable,
    Code::Overloaded,
];

/// Returns all operations.
pub(super) fn operations() -> Vec<Operation> {
    let mut all = assessment_operations();
    all.extend(information_operations());
    all
}

/// Returns the operations that assess addresses.
fn assessment_operations() -> Vec<Operation> {
    vec![
        Operation {
            paths: paths!("/check/address"),
            method: Method::POST,
            id: "check_address",
            summary: "Assess the risk of a blockchain address",
            description: "Returns a risk score from 0 to 100 with its components and all evidence \
                          behind it. Charged as one check if the status is 200. \
                          `Cache-Control: no-cache` or `max-age` requests a fresher answer than the \
                          cached one.",
            gate: Gate { scope: Scope::Check, kind: RequestKind::Check },
            parameters: &[],
            media_type: JSON,
            handler: post(routes::check::check_address),
            request: Some((schema_of::<CheckRequest>, examples::check_request())),
            response: (
                schema_of::<routes::check::CheckResponse<'static>>,
                examples::check_response(),
            ),
            problems: &[
                Code::MalformedJson,
                Code::InvalidRequest,
                Code::MalformedHttp,
                Code::RequestTimeout,
                Code::BodyTooLarge,
                Code::UnsupportedMediaType,
                Code::UnsupportedChain,
                Code::InvalidAddress,
            ],
        },
        Operation {
            paths: paths!("/checks/{check_id}"),
            method: Method::GET,
            id: "show_check",
            summary: "Show an earlier answer",
            description: "Returns the answer of an earlier check of the same tenant, byte for byte, \
                          during the plan's retention period.",
            gate: Gate { scope: Scope::Check, kind: RequestKind::Request },
            parameters: &[Parameter {
                location: "path",
                name: "check_id",
                description: "The check's `check_id`.",
                format: None,
                example: examples::IDENTIFIER,
            }],
            media_type: JSON,
            handler: get(routes::checks::show_check),
            request: None,
            response: (
                schema_of::<routes::check::CheckResponse<'static>>,
                examples::check_response(),
            ),
            problems: &[Code::NotFound],
        },
        Operation {
            paths: paths!("/screen"),
            method: Method::POST,
            id: "screen",
            summary: "Screen many addresses by lists and labels",
            description: "Takes one JSON object a line and returns one a line, in order, while rows \
                          arrive: read the response while you send. Errors of a row are in its `error` \
                          field. Flows of funds are not traced. Each answered row is charged as one \
                          check; the plan caps the rows of a request.",
            gate: Gate { scope: Scope::Screen, kind: RequestKind::Request },
            parameters: &[],
            media_type: JSON_LINES,
            handler: post(routes::screen::screen_rows),
            request: Some((schema_of::<ScreenRequest>, examples::screen_request())),
            response: (schema_of::<routes::screen::ScreenResponse>, examples::screen_response()),
            problems: &[Code::UnsupportedMediaType],
        },
    ]
}

/// Returns the operations that list usage, settings and sources.
fn information_operations() -> Vec<Operation> {
    vec![
        Operation {
            paths: paths!("/usage"),
            method: Method::GET,
            id: "show_usage",
            summary: "Show the tenant's usage",
            description: "Returns answered checks and rows by UTC day, key, plan, operation and verdict, \
                          up to now.",
            gate: Gate { scope: Scope::Usage, kind: RequestKind::Request },
            parameters: &[
                Parameter {
                    location: "query",
                    name: "from",
                    description: "First day (UTC). Default: 30 days before the last.",
                    format: Some("date"),
                    example: "2026-02-01",
                },
                Parameter {
                    location: "query",
                    name: "to",
                    description: "Last day (UTC). Default: today.",
                    format: Some("date"),
                    example: "2026-02-11",
                },
            ],
            media_type: JSON,
            handler: get(routes::usage::show_usage),
            request: None,
            response: (schema_of::<routes::usage::UsageResponse>, examples::usage_response()),
            problems: &[Code::InvalidRequest],
        },
        Operation {
            paths: paths!("/account"),
            method: Method::GET,
            id: "show_account",
            summary: "Show the tenant's settings",
            description: "Returns the tenant, its plan, the limits in force with the source of each, \
                          its policy, and its keys without their secrets.",
            gate: Gate { scope: Scope::AdminRead, kind: RequestKind::Request },
            parameters: &[],
            media_type: JSON,
            handler: get(routes::account::show_account),
            request: None,
            response: (schema_of::<routes::account::AccountResponse>, examples::account_response()),
            problems: &[],
        },
        Operation {
            paths: paths!("/sources"),
            method: Method::GET,
            id: "list_sources",
            summary: "List the sources of answers, and how fresh they are",
            description: "Returns every source with its newest publication, the time of its last \
                          verification, and whether the caller's policy requires it.",
            gate: Gate { scope: Scope::Check, kind: RequestKind::Request },
            parameters: &[],
            media_type: JSON,
            handler: get(routes::sources::list_sources),
            request: None,
            response: (schema_of::<routes::sources::SourcesResponse>, examples::sources_response()),
            problems: &[],
        },
        Operation {
            paths: paths!("/signals"),
            method: Method::GET,
            id: "list_signals",
            summary: "List everything that answers can name",
            description: "Returns categories, tiers of evidence, heuristics and patterns, each with its \
                          definition and its severity under the caller's policy.",
            gate: Gate { scope: Scope::Check, kind: RequestKind::Request },
            parameters: &[],
            media_type: JSON,
            handler: get(routes::signals::list_signals),
            request: None,
            response: (schema_of::<Catalogue>, examples::signals_response()),
            problems: &[],
        },
    ]
}
