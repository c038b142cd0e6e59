//! `GET /api/v1/sources`: the sources of answers, and their freshness.

use std::sync::Arc;

use assay_engine::{assessment::AssessedSource, facts::Environment};
use assay_service::Caller;
use axum::{
    Json,
    extract::{Extension, State},
};
use schemars::JsonSchema;
use serde::Serialize;

use crate::App;

/// Sources of answers.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct SourcesResponse {
    /// All sources; the caller's policy decides `mandatory` and `stale`.
    pub sources: Vec<AssessedSource>,
    /// Revision of the data.
    pub data_revision: String,
    /// Kind of data: real, or a sample.
    pub environment: Environment,
}

/// Lists the sources.
pub async fn list_sources(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
) -> Json<SourcesResponse> {
    let intel = app.service.intel();
    let now = app.service.clock.now();
    let sources = app.service.assessed_sources(&caller.tenant.policy, now).await;
    Json(SourcesResponse {
        sources,
        data_revision: intel.data_revision().to_owned(),
        environment: intel.environment(),
    })
}
