//! `/healthz` and `/readyz`: liveness and readiness probes.

use std::sync::Arc;

use assay_request::problem::{Code, Problem};
use axum::{Json, extract::State};
use schemars::JsonSchema;
use serde::Serialize;

use crate::{App, request::problem::ProblemResponse};

/// Health of the server.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Health {
    /// `ok` or `degraded`.
    pub status: &'static str,
    /// Degradations under which requests are still answered.
    pub degraded: Vec<&'static str>,
}

/// Liveness: always succeeds.
pub async fn healthz() -> Json<Health> {
    Json(Health { status: "ok", degraded: vec![] })
}

/// Readiness: succeeds if the server can answer requests.
///
/// # Errors
///
/// Returns [`Code::Unavailable`] while draining, [`Code::KeyDataStale`] if API keys cannot be
/// verified.
pub async fn readyz(State(app): State<Arc<App>>) -> Result<Json<Health>, ProblemResponse> {
    if app.service.is_draining() {
        return Err(Problem::new(Code::Unavailable, "draining: send requests elsewhere").into());
    }
    if app.service.is_key_data_stale() {
        let detail = "API keys cannot be verified: the server's key data is stale";
        return Err(Problem::new(Code::KeyDataStale, detail).into());
    }
    let mut degraded = Vec::new();
    if !app.service.store_reachable() {
        degraded.push("database_unreachable");
    } else if !app.service.store_writable() {
        degraded.push("database_unwritable");
    }
    if !app.service.chains_reachable() {
        degraded.push("chains_unreachable");
    }
    if app.service.redis().is_some_and(|link| !link.is_connected()) {
        degraded.push("redis_unreachable");
    }
    if app.service.is_intel_stale() {
        degraded.push("intel_stale");
    }
    let status = if degraded.is_empty() { "ok" } else { "degraded" };
    Ok(Json(Health { status, degraded }))
}
