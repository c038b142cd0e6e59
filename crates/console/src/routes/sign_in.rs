//! Handlers that begin and end sessions.

use std::sync::Arc;

use axum::{
    extract::{
        Form, Query, State,
        rejection::{FormRejection, QueryRejection},
    },
    http::{HeaderMap, StatusCode, header},
    response::Response,
};
use serde::Deserialize;

use super::response::{go_to, page};
use crate::{
    Console, MOUNT, cookie,
    pages::{message_page, signed_in_page},
    security::{is_foreign, is_own_form},
    session::Token,
};

/// Parameters of a sign-in.
#[derive(Debug, Default, Deserialize)]
pub(super) struct SignInQuery {
    #[serde(default)]
    token: String,
}

/// `GET /console/sign-in`: begins a session by a link that is good once.
pub(super) async fn sign_in(
    State(console): State<Arc<Console>>,
    headers: HeaderMap,
    query: Result<Query<SignInQuery>, QueryRejection>,
) -> Response {
    let SignInQuery { token } = query.map(|Query(query)| query).unwrap_or_default();
    // A browser that fetches ahead must not use the link up.
    let is_ahead = headers.get("sec-purpose").is_some();
    let link = Token::presented(&token);
    let taken = if is_ahead { None } else { console.links.take(&link) };
    let Some(tenant) = taken else {
        let text = "The link is not valid, or was used: each is good once. The program prints a new one when a link is \
                    used, and when it starts.";
        return page(StatusCode::FORBIDDEN, message_page(None, "No sign-in", text));
    };
    console.print_link(&tenant);
    let Some(caller) = console.caller_of(&tenant) else {
        let text = "The tenant has no active key that may check addresses.";
        return page(StatusCode::FORBIDDEN, message_page(None, "No sign-in", text));
    };
    // A session that somebody else chose does not become this person's.
    if let Some(earlier) = cookie::read(&headers, console.is_secure) {
        console.sessions.end(&earlier);
    }
    let session = Token::new(assay_system::random_u128(), assay_system::random_u128());
    console.sessions.begin(&session, caller, console.service.clock.now());
    tracing::info!(%tenant, "signed in to the console");
    let mut response = page(StatusCode::OK, signed_in_page());
    if let Some(cookie) = cookie::begin(&session, console.is_secure) {
        response.headers_mut().insert(header::SET_COOKIE, cookie);
    }
    response
}

/// Fields of the form that signs out.
#[derive(Debug, Default, Deserialize)]
pub(super) struct SignOutForm {
    #[serde(default)]
    form_token: String,
}

/// `POST /console/sign-out`: ends the session.
pub(super) async fn sign_out(
    State(console): State<Arc<Console>>,
    headers: HeaderMap,
    form: Result<Form<SignOutForm>, FormRejection>,
) -> Response {
    let Some(session) = cookie::read(&headers, console.is_secure) else {
        return go_to(MOUNT);
    };
    let SignOutForm { form_token } = form.map(|Form(form)| form).unwrap_or_default();
    if is_foreign(&headers) || !is_own_form(&session, &form_token) {
        let text = "The form is not of this session. Go back, load the page again and repeat.";
        return page(StatusCode::FORBIDDEN, message_page(None, "Not done", text));
    }
    console.sessions.end(&session);
    let text = "The session is over. The program has printed a new link to sign in.";
    let mut response = page(StatusCode::OK, message_page(None, "Signed out", text));
    if let Some(cookie) = cookie::end(console.is_secure) {
        response.headers_mut().insert(header::SET_COOKIE, cookie);
    }
    response
}
