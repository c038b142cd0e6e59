//! `GET /api/v1/checks/{check_id}`: an earlier answer.

use std::sync::Arc;

use assay_request::problem::{Code, Problem};
use assay_service::Caller;
use axum::extract::{Extension, Path, State};
use schemars::JsonSchema;
use serde::Deserialize;

use super::check::CheckResponse;
use crate::{App, request::problem::ProblemResponse, response::JsonText};

/// Parameters in the path.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub struct CheckPath {
    /// The `check_id` of the answer.
    #[schemars(example = "019a1b2c-3d4e-7f50-8a6b-7c8d9e0f1a2b")]
    pub check_id: String,
}

/// Returns an earlier answer to the caller's tenant, byte for byte.
///
/// # Errors
///
/// Returns an error if no check of the tenant has this identifier, or its retention is over.
pub async fn show_check(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    Path(CheckPath { check_id: id }): Path<CheckPath>,
) -> Result<JsonText<CheckResponse<'static>>, ProblemResponse> {
    let now = app.service.clock.now();
    let found = app.service.kept_check(&caller, &id, now).await.map_err(|error| {
        tracing::error!(%error, "failed to read a kept answer");
        Problem::new(Code::Unavailable, "kept answers cannot be read at present")
    })?;
    let kept = caller.tenant.plan.retention.checks;
    let check = found.ok_or_else(|| {
        Problem::new(
            Code::NotFound,
            format!(
                "there is no check with this id, or it is older than the plan's retention of {kept}"
            ),
        )
    })?;
    Ok(JsonText::new(check.answer.to_string()))
}
