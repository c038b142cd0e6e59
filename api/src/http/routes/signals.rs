//! `GET /api/v1/signals`: the catalogue of everything an answer can name.

use axum::{Json, extract::Extension};

use crate::serving::{Caller, Catalogue, catalogue};

/// Shows the catalogue under the caller's policy.
pub async fn list_signals(Extension(caller): Extension<Caller>) -> Json<Catalogue> {
    Json(catalogue(&caller.tenant.policy))
}
