//! `GET /api/v1/entities`: listed parties by name, with their addresses. A lookup for analysts; scores do not use it.

use std::sync::Arc;

use assay_intel::FoundEntity;
use assay_request::problem::{Code, Problem};
use axum::{
    Json,
    extract::{Query, State, rejection::QueryRejection},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{App, request::problem::ProblemResponse};

/// Longest name in characters.
const LONGEST_NAME: usize = 300;
/// Largest number of parties of one answer, and its default.
const MOST: usize = 100;
const DEFAULT: usize = 20;

/// Name to look up.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EntitiesQuery {
    /// Name of a person, company or vessel, in any script and order of its words.
    #[schemars(length(min = 1, max = 300), example = &"Lantern")]
    pub name: String,
    /// Largest number of parties. Default: 20.
    #[serde(default)]
    #[schemars(range(min = 1, max = 100), example = 20)]
    pub limit: Option<usize>,
}

/// Listed parties with a name.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct EntitiesResponse {
    /// Name that was looked up.
    pub name: String,
    /// Listed parties with addresses whose names are similar, the most similar first. Parties without crypto addresses
    /// are not searched.
    pub entities: Vec<FoundEntity>,
    /// Revision of the data.
    pub data_revision: String,
}

/// Looks up listed parties by name.
///
/// # Errors
///
/// Returns a problem if the name is missing, blank or too long, or the limit is out of range.
pub async fn find_entities(
    State(app): State<Arc<App>>,
    query: Result<Query<EntitiesQuery>, QueryRejection>,
) -> Result<Json<EntitiesResponse>, ProblemResponse> {
    let wrong = |message: String, field: &str| {
        ProblemResponse::from(Problem::new(Code::InvalidRequest, &message).field(field, message))
    };
    let Query(query) = query.map_err(|error| {
        let message = error.body_text();
        let field = if message.contains("limit") { "limit" } else { "name" };
        wrong(message, field)
    })?;
    let length = query.name.chars().count();
    if query.name.trim().is_empty() || length > LONGEST_NAME {
        let message = format!("`name` has {length} characters: write 1 to {LONGEST_NAME}");
        return Err(wrong(message, "name"));
    }
    let limit = query.limit.unwrap_or(DEFAULT);
    if !(1..=MOST).contains(&limit) {
        return Err(wrong(format!("`limit` is {limit}: write 1 to {MOST}"), "limit"));
    }
    let intel = app.service.intel();
    let today = intel.day(app.service.clock.now());
    Ok(Json(EntitiesResponse {
        entities: intel.entities_named(&query.name, today, limit),
        name: query.name,
        data_revision: intel.data_revision().to_owned(),
    }))
}
