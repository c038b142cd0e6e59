//! Conversion of problems into HTTP responses.

use assay_request::problem::Problem;
use axum::{
    Json,
    http::{HeaderValue, header},
    response::{IntoResponse, Response},
};

/// The media type of problem details.
pub const PROBLEM_JSON: &str = "application/problem+json";

/// Response to a refused request. The problem is an extension of an empty response until [`super::frame`] renders it.
#[derive(Clone, Debug)]
pub struct ProblemResponse(pub Problem);

impl From<Problem> for ProblemResponse {
    fn from(problem: Problem) -> Self {
        Self(problem)
    }
}

impl IntoResponse for ProblemResponse {
    fn into_response(self) -> Response {
        let mut response = self.0.code().status().into_response();
        response.extensions_mut().insert(self);
        response
    }
}

/// Returns the response with the problem of one request.
#[must_use]
pub(crate) fn render(problem: &Problem, instance: &str, request_id: &str) -> Response {
    let details = problem.details(instance, request_id);
    let mut response = (problem.code().status(), Json(details)).into_response();
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(PROBLEM_JSON));
    for (name, value) in problem.headers() {
        headers.insert(name, value.clone());
    }
    response.extensions_mut().insert(problem.code());
    response
}
