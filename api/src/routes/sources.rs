//! `GET /api/v1/sources`: the sources of answers, and their freshness.

use std::sync::Arc;

use assay_engine::{
    assess_never_fetched, assess_sources, assess_tip, assessment::AssessedSource,
    facts::Environment,
};
use assay_service::{Caller, never_fetched};
use assay_telemetry::stage;
use axum::{
    Json,
    extract::{Extension, State},
};
use schemars::JsonSchema;
use serde::Serialize;
use tracing::Instrument;

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
    let policy = &caller.tenant.policy;
    let mut sources = assess_sources(intel.sources(), policy, now);
    sources.extend(assess_sources(intel.price_sources(), policy, now));
    let never_fetched = never_fetched(&app.service.access().directory, &intel);
    sources.extend(assess_never_fetched(&never_fetched, policy));
    let chains = app.service.chains();
    match chains.latest_blocks().instrument(stage!("read_tips")).await {
        Ok(tips) => sources.extend(
            tips.iter()
                .filter_map(|(chain, tip)| assess_tip(*chain, intel.environment(), tip, now)),
        ),
        Err(error) => tracing::error!(%error, "failed to read the latest blocks"),
    }
    Json(SourcesResponse {
        sources,
        data_revision: intel.data_revision().to_owned(),
        environment: intel.environment(),
    })
}
