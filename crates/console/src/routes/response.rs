//! Responses of the console.

use assay_picture::text::without_direction_marks;
use assay_request::problem::Problem;
use axum::{
    body::Body,
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use maud::Markup;

use crate::{
    pages::{Visitor, message_page},
    security::{protect_page, protect_page_with_script},
};

/// Returns a page. Characters that change the direction of a text are replaced wherever they come from.
pub(super) fn page(status: StatusCode, markup: Markup) -> Response {
    let text = without_direction_marks(&markup.into_string());
    let mut response = file("text/html; charset=utf-8", text);
    *response.status_mut() = status;
    protect_page(response.headers_mut());
    response
}

/// Returns a page with the console's own script.
pub(super) fn page_with_script(status: StatusCode, markup: Markup) -> Response {
    let mut response = page(status, markup);
    protect_page_with_script(response.headers_mut());
    response
}

/// Returns the page of a problem, with the problem's header fields.
pub(super) fn refused(visitor: &Visitor, problem: &Problem) -> Response {
    let code = problem.code();
    let text = problem.detail();
    let mut response = page(code.status(), message_page(Some(visitor), code.title(), text));
    for (name, value) in problem.headers() {
        response.headers_mut().insert(name, value.clone());
    }
    response.extensions_mut().insert(code);
    response
}

/// Returns a redirection to a path of the console.
pub(super) fn go_to(path: &str) -> Response {
    let mut response = StatusCode::SEE_OTHER.into_response();
    if let Ok(path) = HeaderValue::from_str(path) {
        response.headers_mut().insert(header::LOCATION, path);
    }
    protect_page(response.headers_mut());
    response
}

/// Returns a file.
pub(super) fn file(media_type: &'static str, content: impl Into<Body>) -> Response {
    ([(header::CONTENT_TYPE, HeaderValue::from_static(media_type))], content.into()).into_response()
}
