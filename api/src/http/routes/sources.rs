//! `GET /api/v1/sources`: what answers rest on, and how fresh it is.

use std::sync::Arc;

use assay_engine::{assessment::AssessedSource, facts::Environment, judge_sources};
use axum::{
    Json,
    extract::{Extension, State},
};
use schemars::JsonSchema;
use serde::Serialize;

use crate::{http::App, serving::Caller};

/// What answers rest on.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct SourcesResponse {
    /// Every source; `mandatory` and `stale` by the caller's policy.
    pub sources: Vec<AssessedSource>,
    /// Names the data.
    pub data_revision: String,
    /// Whether the data is real.
    pub environment: Environment,
}

/// Lists the sources.
pub async fn list_sources(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
) -> Json<SourcesResponse> {
    let intel = app.service.intel();
    let now = app.service.clock.now();
    Json(SourcesResponse {
        sources: judge_sources(intel.sources(), &caller.tenant.policy, now),
        data_revision: intel.data_revision().to_owned(),
        environment: intel.environment(),
    })
}
