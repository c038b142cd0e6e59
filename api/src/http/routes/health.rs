//! `/healthz` and `/readyz`: for whoever runs the program.

use std::sync::Arc;

use axum::{
    Json,
    extract::State,
    http::StatusCode,
    response::{IntoResponse, Response},
};
use schemars::JsonSchema;
use serde::Serialize;

use crate::http::App;

/// How the program is.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Health {
    /// `ok`, `degraded` or `draining`.
    pub status: &'static str,
    /// What is not as it should be, although requests are answered.
    pub degraded: Vec<&'static str>,
}

/// Whether the process lives.
pub async fn healthz() -> Json<Health> {
    Json(Health { status: "ok", degraded: vec![] })
}

/// Whether requests should be sent here: not while draining.
pub async fn readyz(State(app): State<Arc<App>>) -> Response {
    if app.service.is_draining() {
        let body = Json(Health { status: "draining", degraded: vec![] });
        return (StatusCode::SERVICE_UNAVAILABLE, body).into_response();
    }
    let mut degraded = Vec::new();
    if !app.service.store_reachable() {
        degraded.push("store_unreachable");
    }
    let status = if degraded.is_empty() { "ok" } else { "degraded" };
    Json(Health { status, degraded }).into_response()
}
