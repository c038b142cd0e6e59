//! Operations of the API: one table for routing and documentation, so that they cannot diverge.

use assay_limiter::RequestKind;
use assay_request::problem::Code;
use assay_tenancy::key::Scope;
use serde_json::Value;

use crate::{
    contract::{self, Endpoint},
    openapi::examples,
    request::{gate::Gate, idempotency::KeyedOperation},
    routes,
};

/// Returns the paths of an operation below both prefixes.
macro_rules! paths {
    ($path:literal) => {
        [concat!("/api/v1", $path), concat!("/v1", $path)]
    };
}

/// Group of operations in the description.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tag {
    /// Assessments.
    Checks,
    /// The caller's tenant.
    Account,
    /// Sources and terms of answers.
    Data,
    /// Probes.
    Health,
}

impl Tag {
    /// All tags, in the order of the description.
    pub(super) const ALL: [Self; 4] = [Self::Checks, Self::Account, Self::Data, Self::Health];

    /// Returns the name. Generators of clients make a module of it.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Checks => "checks",
            Self::Account => "account",
            Self::Data => "data",
            Self::Health => "health",
        }
    }

    /// Returns the description.
    pub(super) const fn description(self) -> &'static str {
        match self {
            Self::Checks => "Assessments of addresses and transfers.",
            Self::Account => "The tenant's plan, limits, policy, keys and usage.",
            Self::Data => "Sources, blockchains, listed parties, and the terms in answers.",
            Self::Health => "Probes without a key.",
        }
    }
}

/// An operation.
pub(super) struct Operation {
    /// Paths below each prefix. The first path is described; the other one is an alias.
    pub(super) paths: [&'static str; 2],
    /// Operation id. Generators of clients name functions and types after it, so it never changes within `v1`.
    pub(super) id: &'static str,
    /// Group in the description.
    pub(super) tag: Tag,
    /// Summary of the operation in a few words.
    pub(super) summary: &'static str,
    /// Description.
    pub(super) description: &'static str,
    /// Requirements that a caller must meet.
    pub(super) gate: Gate,
    /// Charge of its requests that may have an idempotency key; `None` if they have none.
    pub(super) keyed: Option<KeyedOperation>,
    /// Handler, method and contract.
    pub(super) endpoint: Endpoint,
    /// Example of the request body, if there is one.
    pub(super) request_example: Option<Value>,
    /// Example of the response body.
    pub(super) response_example: Value,
    /// Problems in addition to [`COMMON_PROBLEMS`].
    pub(super) problems: &'static [&'static [Code]],
}

/// Problems that every operation can have.
pub(super) const COMMON_PROBLEMS: &[Code] = &[
    Code::MissingKey,
    Code::InvalidKey,
    Code::TenantSuspended,
    Code::NoApiAccess,
    Code::InsufficientScope,
    Code::QuotaExceeded,
    Code::ReducedCapacity,
    Code::TooManyInFlight,
    Code::HeadersTooLarge,
    Code::InternalError,
    Code::Unavailable,
    Code::Overloaded,
];

/// Problems that every check can have.
const CHECK_PROBLEMS: &[Code] = &[
    Code::MalformedJson,
    Code::InvalidRequest,
    Code::MalformedHttp,
    Code::RequestTimeout,
    Code::BodyTooLarge,
    Code::UnsupportedMediaType,
    Code::UnsupportedChain,
    Code::InvalidAddress,
    Code::IdempotencyKeyInUse,
    Code::IdempotencyKeyReused,
];

/// Returns an operation whose requests are each charged as one check, and may have an idempotency key.
const fn one_check(id: &'static str) -> KeyedOperation {
    KeyedOperation { id, max_body: routes::check::MAX_BODY_BYTES, is_one_check: true }
}

/// Returns all operations.
pub(super) fn operations() -> Vec<Operation> {
    let mut all = check_operations();
    all.extend(bulk_operations());
    all.extend(information_operations());
    all
}

/// Returns the operations that assess addresses and transfers.
fn check_operations() -> Vec<Operation> {
    vec![
        Operation {
            paths: paths!("/check/address"),
            id: "check_address",
            tag: Tag::Checks,
            summary: "Assess the risk of a blockchain address",
            description: "Returns a risk score from 0 to 100, with at most one decimal, with its components and all evidence \
                          behind it. Charged as one check if the status is 200. \
                          `Cache-Control: no-cache` or `max-age` requests a fresher answer than the \
                          cached one.",
            gate: Gate { scope: Scope::Check, kind: RequestKind::Check },
            keyed: Some(one_check("check_address")),
            endpoint: contract::post(routes::check::check_address).with_idempotency_key(),
            request_example: Some(examples::check_request()),
            response_example: examples::check_response(),
            problems: &[CHECK_PROBLEMS],
        },
        Operation {
            paths: paths!("/check/addresses"),
            id: "check_addresses",
            tag: Tag::Checks,
            summary: "Assess the risk of up to 100 blockchain addresses",
            description: "Takes 1 to 100 bodies of a check of one address, and returns in their order \
                          for each the answer of that check or its problem. Each answer is charged as \
                          one check; if the limits have no room for all valid ones, the request is \
                          refused with status 429 and charges nothing.",
            gate: Gate { scope: Scope::Check, kind: RequestKind::Request },
            keyed: Some(KeyedOperation {
                id: "check_addresses",
                max_body: routes::check_addresses::MAX_BODY_BYTES,
                is_one_check: false,
            }),
            endpoint: contract::post(routes::check_addresses::check_addresses)
                .with_idempotency_key(),
            request_example: Some(examples::check_addresses_request()),
            response_example: examples::check_addresses_response(),
            problems: &[CHECK_PROBLEMS],
        },
        Operation {
            paths: paths!("/check/transfer"),
            id: "check_transfer",
            tag: Tag::Checks,
            summary: "Assess the risk of one transfer, or of a withdrawal before it is sent",
            description: "Assesses outputs of one confirmed transaction: of a `deposit` the origins of \
                          its money, of a `withdrawal` its receiver and what the money did afterwards. \
                          A withdrawal that is not sent yet has no `transaction`, but `to`, `asset` and \
                          `amount`: its receiver is assessed, with rules by the amount, and a warning if \
                          it looks like a receiver that you checked before. The answer is that of a check \
                          of an address with `transfer` beside `address`. Charged as one check if the status is 200. `Cache-Control: no-cache` or \
                          `max-age` requests a fresher answer than the cached one.",
            gate: Gate { scope: Scope::Check, kind: RequestKind::Check },
            keyed: Some(one_check("check_transfer")),
            endpoint: contract::post(routes::check::check_transfer).with_idempotency_key(),
            request_example: Some(examples::transfer_request()),
            response_example: examples::transfer_response(),
            problems: &[
                CHECK_PROBLEMS,
                &[
                    Code::TransactionNotFound,
                    Code::OutputNotFound,
                    Code::ChainNotFollowed,
                    Code::UnsupportedTransfer,
                ],
            ],
        },
    ]
}

/// Returns the operations on earlier answers and on many rows.
fn bulk_operations() -> Vec<Operation> {
    vec![
        Operation {
            paths: paths!("/checks"),
            id: "list_checks",
            tag: Tag::Checks,
            summary: "Find earlier checks",
            description: "Returns the earlier checks of the same tenant that meet all conditions, the \
                          newest first, in pages, during the plan's retention period. A check of \
                          another server is listed within seconds.",
            gate: Gate { scope: Scope::Check, kind: RequestKind::Request },
            keyed: None,
            endpoint: contract::get(routes::check_list::list_checks),
            request_example: None,
            response_example: examples::checks_response(),
            problems: &[&[Code::InvalidRequest, Code::UnsupportedChain, Code::InvalidAddress]],
        },
        Operation {
            paths: paths!("/checks/{check_id}"),
            id: "show_check",
            tag: Tag::Checks,
            summary: "Show an earlier answer",
            description: "Returns the answer of an earlier check of the same tenant, byte for byte, \
                          during the plan's retention period.",
            gate: Gate { scope: Scope::Check, kind: RequestKind::Request },
            keyed: None,
            endpoint: contract::get(routes::checks::show_check),
            request_example: None,
            response_example: examples::check_response(),
            problems: &[&[Code::NotFound]],
        },
        Operation {
            paths: paths!("/screen"),
            id: "screen_addresses",
            tag: Tag::Checks,
            summary: "Screen many addresses",
            description: "Takes one JSON object a line and returns one a line, in order, while rows \
                          arrive: read the response while you send. An array of at most 1 MiB \
                          (`application/json`) is answered by an array. Errors of a row are in its \
                          `error` field. Rows cover lists and labels; with `scope=full`, flows of funds too, as \
                          a check does. Without flows, no row is allowed on a chain whose flows are \
                          followed. Each answered row is charged as one check; the plan caps the rows of \
                          a request, and those with flows apart.",
            gate: Gate { scope: Scope::Screen, kind: RequestKind::Request },
            keyed: None,
            endpoint: contract::post(routes::screen::screen_rows),
            request_example: Some(examples::screen_request()),
            response_example: examples::screen_response(),
            problems: &[&[
                Code::MalformedJson,
                Code::InvalidRequest,
                Code::MalformedHttp,
                Code::RequestTimeout,
                Code::BodyTooLarge,
                Code::UnsupportedMediaType,
            ]],
        },
    ]
}

/// Returns the operations that list usage, settings and sources.
fn information_operations() -> Vec<Operation> {
    vec![
        Operation {
            paths: paths!("/usage"),
            id: "show_usage",
            tag: Tag::Account,
            summary: "Show the tenant's usage",
            description: "Returns answered checks and rows by UTC day, key, plan, operation and verdict, \
                          up to now.",
            gate: Gate { scope: Scope::Usage, kind: RequestKind::Request },
            keyed: None,
            endpoint: contract::get(routes::usage::show_usage),
            request_example: None,
            response_example: examples::usage_response(),
            problems: &[&[Code::InvalidRequest]],
        },
        Operation {
            paths: paths!("/account"),
            id: "show_account",
            tag: Tag::Account,
            summary: "Show the tenant's settings",
            description: "Returns the tenant, its plan, the limits in force with the source of each, \
                          its policy, and its keys without their secrets.",
            gate: Gate { scope: Scope::AdminRead, kind: RequestKind::Request },
            keyed: None,
            endpoint: contract::get(routes::account::show_account),
            request_example: None,
            response_example: examples::account_response(),
            problems: &[],
        },
        Operation {
            paths: paths!("/sources"),
            id: "list_sources",
            tag: Tag::Data,
            summary: "List the sources of answers, and how fresh they are",
            description: "Returns every source with its newest publication, the time of its last \
                          verification, and whether the caller's policy requires it.",
            gate: Gate { scope: Scope::Check, kind: RequestKind::Request },
            keyed: None,
            endpoint: contract::get(routes::sources::list_sources),
            request_example: None,
            response_example: examples::sources_response(),
            problems: &[],
        },
        Operation {
            paths: paths!("/chains"),
            id: "list_chains",
            tag: Tag::Data,
            summary: "List the blockchains and what is known of each",
            description: "Returns every blockchain with the parts of an answer that Assay can give there, \
                          and the listed addresses, labels and blocks that this installation has.",
            gate: Gate { scope: Scope::Check, kind: RequestKind::Request },
            keyed: None,
            endpoint: contract::get(routes::chains::list_chains),
            request_example: None,
            response_example: examples::chains_response(),
            problems: &[],
        },
        Operation {
            paths: paths!("/entities"),
            id: "find_entities",
            tag: Tag::Data,
            summary: "Find listed parties by name",
            description: "Returns the listed parties with addresses whose names are like a name, in any \
                          script and order of words, with a score of likeness, their programs and \
                          addresses. It is a lookup and never part of a risk score.",
            gate: Gate { scope: Scope::Check, kind: RequestKind::Request },
            keyed: None,
            endpoint: contract::get(routes::entities::find_entities),
            request_example: None,
            response_example: examples::entities_response(),
            problems: &[&[Code::InvalidRequest]],
        },
        Operation {
            paths: paths!("/signals"),
            id: "list_signals",
            tag: Tag::Data,
            summary: "List everything that answers can name",
            description: "Returns categories, tiers of evidence, heuristics and patterns, each with its \
                          definition and its severity under the caller's policy.",
            gate: Gate { scope: Scope::Check, kind: RequestKind::Request },
            keyed: None,
            endpoint: contract::get(routes::signals::list_signals),
            request_example: None,
            response_example: examples::signals_response(),
            problems: &[],
        },
        sandbox_operation(),
    ]
}

/// Returns the operation that lists the addresses of the sandbox.
fn sandbox_operation() -> Operation {
    Operation {
        paths: paths!("/sandbox/addresses"),
        id: "list_sandbox_addresses",
        tag: Tag::Data,
        summary: "List what chooses the answers of the sandbox",
        description: "Returns the outcomes of the sandbox on a blockchain: each verdict and problem, with the addresses, and \
                      the transaction, that choose it in a request with a key of the sandbox \
                      (`assay_sandbox_...`). Such requests read and keep no data, and are not charged.",
        gate: Gate { scope: Scope::Check, kind: RequestKind::Request },
        keyed: None,
        endpoint: contract::get(routes::sandbox::list_sandbox_addresses),
        request_example: None,
        response_example: examples::sandbox_response(),
        problems: &[&[Code::InvalidRequest, Code::UnsupportedChain]],
    }
}
