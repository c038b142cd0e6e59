//! The guard in front of the routes for people: it finds the person of a request, and refuses people whose role may not, and
//! forms of other sessions and sites.

use std::sync::Arc;

use assay_request::problem::{Code, Problem};
use assay_store::sessions::SessionRole;
use axum::{
    body::{Body, to_bytes},
    extract::{Form, FromRequest as _, Request, State},
    http::{Method, Uri},
    middleware::Next,
    response::Response,
};
use serde::Deserialize;

use super::{MAX_FORM_BYTES, person::SignedOut, response::refused};
use crate::{
    Console,
    pages::Visitor,
    security::{is_foreign, is_own_form},
};

/// Knowledge of the guard of a group of routes.
#[derive(Clone, Debug)]
pub(super) struct GuardState {
    pub(super) console: Arc<Console>,
    /// The least role that may.
    pub(super) needed: SessionRole,
}

/// Passes a request on with its person, or refuses it.
pub(super) async fn guard(
    State(GuardState { console, needed }): State<GuardState>,
    request: Request,
    next: Next,
) -> Response {
    let is_read = matches!(*request.method(), Method::GET | Method::HEAD);
    let first_page = Uri::from_static("/");
    let person = match console.person(request.headers()).await {
        Ok(person) => person,
        Err(reason) if is_read => return console.signed_out(reason, request.uri()),
        Err(reason) => return console.signed_out(reason, &first_page),
    };
    let mut request = if is_read {
        request
    } else {
        match with_own_form(request, &person.visitor).await {
            Some(request) => request,
            None => return console.signed_out(SignedOut::ForeignForm, &first_page),
        }
    };
    if person.visitor.role < needed {
        return may_not(&person.visitor, needed);
    }
    request.extensions_mut().insert(person);
    next.run(request).await
}

/// The field that every form of the console has.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct TokenForm {
    form_token: String,
}

/// Returns the request unless its form is of another session or site.
async fn with_own_form(request: Request, visitor: &Visitor) -> Option<Request> {
    if is_foreign(request.headers()) {
        return None;
    }
    let (parts, body) = request.into_parts();
    let bytes = to_bytes(body, MAX_FORM_BYTES).await.ok()?;
    let read = Request::from_parts(parts.clone(), Body::from(bytes.clone()));
    let Form(TokenForm { form_token }) = Form::from_request(read, &()).await.ok()?;
    let is_own = is_own_form(&visitor.form_token, &form_token);
    is_own.then(|| Request::from_parts(parts, Body::from(bytes)))
}

/// Returns the page for a person whose role may not.
fn may_not(visitor: &Visitor, needed: SessionRole) -> Response {
    let role = visitor.role;
    let detail = format!("your role is {role}; this needs the role {needed}");
    refused(visitor, &Problem::new(Code::InsufficientScope, detail))
}
