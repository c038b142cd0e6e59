//! `GET /api/v1/checks/{check_id}`: an answer as it was given.

use std::sync::Arc;

use axum::{
    extract::{Extension, Path, State},
    http::header,
    response::{IntoResponse, Response},
};

use crate::{
    http::{
        App,
        problem::{Code, Problem},
    },
    serving::Caller,
};

/// Shows an answer that was given to the caller's tenant, to the byte.
///
/// # Errors
///
/// Where there is none, or none any more.
pub async fn show_check(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
) -> Result<Response, Problem> {
    let tenant = &caller.tenant.name;
    let found = match app.service.recorder.waiting(tenant, &id) {
        Some(check) => Some(check),
        None => app.service.store.kept_check(tenant, &id).await.map_err(|error| {
            tracing::error!(%error, "failed to read a kept answer");
            Problem::new(Code::Unavailable, "kept answers cannot be read now")
        })?,
    };
    let check = found.ok_or_else(|| {
        let kept = caller.tenant.plan.retention.checks;
        Problem::new(
            Code::NotFound,
            format!(
                "there is no check of this id, or it is older than {kept}, for which they are kept"
            ),
        )
    })?;
    Ok(([(header::CONTENT_TYPE, "application/json")], check.answer).into_response())
}
