//! The operations of the API: one table that is both routed and documented, so that neither can drift
//! from the other.

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

/// A path below the prefixes under which every operation answers.
macro_rules! paths {
    ($path:literal) => {
        [concat!("/api/v1", $path), concat!("/v1", $path)]
    };
}

/// One operation.
pub(super) struct Operation {
    /// Its path, below each prefix; the first is its own, the others are aliases.
    pub(super) paths: [&'static str; 2],
    /// Its method.
    pub(super) method: Method,
    /// Its name.
    pub(super) id: &'static str,
    /// What it does, in a few words.
    pub(super) summary: &'static str,
    /// What there is to know about it.
    pub(super) description: &'static str,
    /// What it asks of a caller.
    pub(super) gate: Gate,
    /// What handles it.
    pub(super) handler: MethodRouter<Arc<App>>,
    /// What can be said in the path and the query: place, name, whether it is required, meaning,
    /// example.
    pub(super) parameters: &'static [Parameter],
    /// The type of both bodies: JSON, or JSON lines of the given schemas.
    pub(super) media_type: &'static str,
    /// The body's schema and an example.
    pub(super) request: Option<(SchemaOf, Value)>,
    /// The answer's schema and an example.
    pub(super) response: (SchemaOf, Value),
    /// Problems beyond those that every operation has.
    pub(super) problems: &'static [Code],
}

/// A parameter of an operation.
pub(super) struct Parameter {
    /// `path` or `query`.
    pub(super) location: &'static str,
    /// Its name.
    pub(super) name: &'static str,
    /// What it means.
    pub(super) description: &'static str,
    /// Its format (JSON Schema), where it has one.
    pub(super) format: Option<&'static str>,
    /// An example.
    pub(super) example: &'static str,
}

const JSON: &str = "application/json";
const JSON_LINES: &str = "application/x-ndjson";

/// Adds a type's schema to a document.
pub(super) type SchemaOf = fn(&mut SchemaGenerator) -> Schema;

fn schema_of<T: JsonSchema>(generator: &mut SchemaGenerator) -> Schema {
    generator.subschema_for::<T>()
}

/// Problems that every operation has.
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

/// Every operation.
pub(super) fn operations() -> Vec<Operation> {
    let mut all = assessment_operations();
    all.extend(information_operations());
    all
}

/// Operations that assess addresses.
fn assessment_operations() -> Vec<Operation> {
    vec![
        Operation {
            paths: paths!("/check/address"),
            method: Method::POST,
            id: "check_address",
            summary: "Assess the risk of a blockchain address",
            description: "Answers with a risk score from 0 to 100, what it is made of, and everything \
                          it rests on. Charged as one check where the status is 200. \
                          `Cache-Control: no-cache` or `max-age` asks for a fresher answer than the \
                          cache holds.",
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
            summary: "Show an answer as it was given",
            description: "The answer of an earlier check of the same tenant, to the byte, for as long \
                          as the plan keeps it.",
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
            description: "One JSON object a line in, one a line out, in order, answered while they \
                          arrive: read the answer while you send. What is wrong with a row stands in \
                          its `error`. Flows of money are not looked at (`depth` is `labels`). Each \
                          answered row is charged as one check; the plan caps the rows of a request.",
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

/// Operations that tell what there is to know besides.
fn information_operations() -> Vec<Operation> {
    vec![
        Operation {
            paths: paths!("/usage"),
            method: Method::GET,
            id: "show_usage",
            summary: "Show what the tenant was charged",
            description: "Answered checks and rows by UTC day, key, plan, operation and verdict, up to \
                          this moment.",
            gate: Gate { scope: Scope::Usage, kind: RequestKind::Request },
            parameters: &[
                Parameter {
                    location: "query",
                    name: "from",
                    description: "First day (UTC); 30 days before the last where left out.",
                    format: Some("date"),
                    example: "2026-02-01",
                },
                Parameter {
                    location: "query",
                    name: "to",
                    description: "Last day (UTC); today where left out.",
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
            description: "The tenant, its plan, the limits that hold now and where each comes from, its \
                          policy, and its keys without their secrets.",
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
            summary: "List what answers rest on, and how fresh it is",
            description: "Every source with its newest publication, when that was last verified, and \
                          whether the caller's policy allows nothing without it.",
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
            summary: "List everything that an answer can name",
            description: "Categories, tiers of evidence, heuristics and patterns, each with its \
                          definition and the severity it has under the caller's policy.",
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
