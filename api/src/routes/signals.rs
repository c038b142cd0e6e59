//! `GET /api/v1/signals`: the catalogue of the terms in answers.

use assay_service::{Caller, Catalogue, catalogue};
use axum::{Json, extract::Extension};

/// Returns the catalogue under the caller's policy.
pub async fn list_signals(Extension(caller): Extension<Caller>) -> Json<Catalogue> {
    Json(catalogue(&caller.tenant.policy))
}
