//! `GET /api/v1/sandbox/addresses`: the addresses and transactions that choose an answer of the sandbox.

use assay_request::{
    parse_chain,
    problem::{Code, Problem},
};
use assay_sandbox::{SandboxCatalog, catalog};
use axum::{
    Json,
    extract::{Query, rejection::QueryRejection},
};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::request::problem::ProblemResponse;

/// Blockchain of the addresses.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SandboxQuery {
    /// Blockchain: its identifier or a well-known name, in any letter case.
    #[schemars(length(min = 1), example = &"btc")]
    pub blockchain: String,
}

/// Lists the outcomes of the sandbox on a blockchain.
///
/// # Errors
///
/// Returns a problem if the blockchain is missing or not supported.
pub async fn list_sandbox_addresses(
    query: Result<Query<SandboxQuery>, QueryRejection>,
) -> Result<Json<SandboxCatalog>, ProblemResponse> {
    let Query(query) = query.map_err(|_| {
        let message = "send one blockchain, such as `?blockchain=btc`, and nothing else";
        Problem::new(Code::InvalidRequest, message).field("blockchain", message)
    })?;
    Ok(Json(catalog(parse_chain(&query.blockchain)?)))
}
