//! The operations of the API: one table that is both routed and documented, so that neither can drift
//! from the other.

use std::sync::Arc;

use assay_limiter::Ask;
use assay_tenancy::key::Scope;
use axum::{
    http::Method,
    routing::{MethodRouter, get, post},
};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde_json::Value;

use super::{App, gate::Gate, openapi::examples, problem::Code, routes};
use crate::serving::Catalogue;

/// The prefixes under which every operation answers.
pub const PREFIXES: [&str; 2] = ["/api/v1", "/v1"];

/// One operation, below each prefix.
pub(super) struct Operation {
    /// Its path below the prefix.
    pub(super) path: &'static str,
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
    /// The body's schema and an example.
    pub(super) request: Option<(SchemaOf, Value)>,
    /// The answer's schema and an example.
    pub(super) response: (SchemaOf, Value),
    /// Problems beyond those that every operation has.
    pub(super) problems: &'static [Code],
}

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
    Code::HeadersTooLarge,
    Code::InternalError,
    Code::Unavailable,
];

/// Every operation.
pub(super) fn operations() -> Vec<Operation> {
    vec![
        Operation {
            path: "/check/address",
            method: Method::POST,
            id: "check_address",
            summary: "Assess the risk of a blockchain address",
            description: "Answers with a risk score from 0 to 100, what it is made of, and everything \
                          it rests on. Charged as one check where the status is 200. \
                          `Cache-Control: no-cache` or `max-age` asks for a fresher answer than the \
                          cache holds.",
            gate: Gate { scope: Scope::Check, ask: Ask::Check },
            handler: post(routes::check::check_address),
            request: Some((schema_of::<routes::check::CheckRequest>, examples::check_request())),
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
            path: "/sources",
            method: Method::GET,
            id: "list_sources",
            summary: "List what answers rest on, and how fresh it is",
            description: "Every source with its newest publication, when that was last verified, and \
                          whether the caller's policy allows nothing without it.",
            gate: Gate { scope: Scope::Check, ask: Ask::Request },
            handler: get(routes::sources::list_sources),
            request: None,
            response: (schema_of::<routes::sources::SourcesResponse>, examples::sources_response()),
            problems: &[],
        },
        Operation {
            path: "/signals",
            method: Method::GET,
            id: "list_signals",
            summary: "List everything that an answer can name",
            description: "Categories, tiers of evidence, heuristics and patterns, each with its \
                          definition and the severity it has under the caller's policy.",
            gate: Gate { scope: Scope::Check, ask: Ask::Request },
            handler: get(routes::signals::list_signals),
            request: None,
            response: (schema_of::<Catalogue>, examples::signals_response()),
            problems: &[],
        },
    ]
}
