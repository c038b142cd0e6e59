//! HTTP interface of a chain server: questions of API servers, and the admin port.
//!
//! - `questions`: the routes of the questions
//! - `tokens`: authentication of clients
//! - `metrics`: [`ChainMetrics`]

mod metrics;
mod questions;
mod tokens;

use std::sync::Arc;

use assay_chain_protocol::message::{
    AccountTransactionQuestion, AccountTransferQuestion, BranchBlocksQuestion, ChangesQuestion,
    ClusterQuestion, CopyFingerprintQuestion, CopyPartQuestion, CopyQuestion, FlowsAtMostQuestion,
    HistoryQuestion, Question, ROOT, TimelineQuestion, TraceQuestion, TransactionQuestion,
    TransferQuestion,
};
use assay_service::chains::host::ChainHost;
use axum::{
    Json, Router,
    extract::{DefaultBodyLimit, State},
    http::{StatusCode, header},
    middleware::from_fn_with_state,
    response::{IntoResponse, Response},
    routing::{get, post},
};
use serde_json::json;

use self::questions::ask;
pub use self::{metrics::ChainMetrics, tokens::Tokens};

/// Largest question in bytes.
const MOST_BYTES: usize = 1 << 20;

/// State that all handlers of a chain server share.
#[derive(Debug)]
pub struct ChainApp {
    /// The graphs that the chain server answers from, with lists and labels.
    pub host: Arc<ChainHost>,
    /// Tokens of permitted clients; `None` permits every client.
    pub tokens: Option<Tokens>,
    /// Metrics.
    pub metrics: ChainMetrics,
}

/// Returns the router for API servers and for other chain servers.
pub fn chain_api(app: &Arc<ChainApp>) -> Router {
    let path = |last: &str| format!("{ROOT}/{{chain}}/{last}");
    Router::new()
        .route(&path("state"), get(questions::state))
        .route(&path(TraceQuestion::PATH), post(ask::<TraceQuestion>))
        .route(&path(FlowsAtMostQuestion::PATH), post(ask::<FlowsAtMostQuestion>))
        .route(&path(TransferQuestion::PATH), post(ask::<TransferQuestion>))
        .route(&path(TransactionQuestion::PATH), post(ask::<TransactionQuestion>))
        .route(&path(AccountTransferQuestion::PATH), post(ask::<AccountTransferQuestion>))
        .route(&path(AccountTransactionQuestion::PATH), post(ask::<AccountTransactionQuestion>))
        .route(&path(HistoryQuestion::PATH), post(ask::<HistoryQuestion>))
        .route(&path(TimelineQuestion::PATH), post(ask::<TimelineQuestion>))
        .route(&path(ClusterQuestion::PATH), post(ask::<ClusterQuestion>))
        .route(&path(ChangesQuestion::PATH), post(ask::<ChangesQuestion>))
        .route(&path(BranchBlocksQuestion::PATH), post(ask::<BranchBlocksQuestion>))
        .route(&path(CopyQuestion::PATH), post(ask::<CopyQuestion>))
        .route(&path(CopyPartQuestion::PATH), post(questions::copy_part))
        .route(&path(CopyFingerprintQuestion::PATH), post(ask::<CopyFingerprintQuestion>))
        .fallback(questions::unknown)
        .layer(from_fn_with_state(Arc::clone(app), tokens::expect_token))
        .layer(DefaultBodyLimit::max(MOST_BYTES))
        .with_state(Arc::clone(app))
}

/// Returns the router of the admin port: health and metrics.
pub fn chain_admin(app: &Arc<ChainApp>) -> Router {
    Router::new()
        .route(crate::HEALTH, get(healthz))
        .route(crate::READY, get(readyz))
        .route(crate::METRICS, get(print_metrics))
        .with_state(Arc::clone(app))
}

/// Liveness: always succeeds, also while a graph is filled.
async fn healthz() -> Response {
    Json(json!({"status": "ok"})).into_response()
}

/// Readiness: succeeds if every graph of the server has blocks and can be read.
async fn readyz(State(app): State<Arc<ChainApp>>) -> Response {
    let problem = if app.host.is_draining() {
        Some("draining: send questions elsewhere".to_owned())
    } else {
        app.host.problem().await
    };
    match problem {
        None => Json(json!({"status": "ok"})).into_response(),
        Some(problem) => {
            let body = Json(json!({"status": "unavailable", "problem": problem}));
            (StatusCode::SERVICE_UNAVAILABLE, body).into_response()
        }
    }
}

async fn print_metrics(State(app): State<Arc<ChainApp>>) -> Response {
    let text = app.metrics.print(&app.host).await;
    let content_type = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    ([(header::CONTENT_TYPE, content_type)], text).into_response()
}
