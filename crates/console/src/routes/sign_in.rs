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

use super::{
    person::{SignedOut, signed_out},
    response::{go_to, page},
};
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
    if let Some(earlier) = cookie::read(&headers, console.settings.is_secure) {
        console.sessions.end(&earlier);
    }
    let session = Token::new(assay_system::random_u128(), assay_system::random_u128());
    console.sessions.begin(&session, caller, console.service.clock.now());
    tracing::info!(%tenant, "signed in to the console");
    let mut response = page(StatusCode::OK, signed_in_page());
    if let Some(cookie) = cookie::begin(&session, console.settings.is_secure) {
        response.headers_mut().insert(header::SET_COOKIE, cookie);
    }
    response
}

/// Fields of the form that signs out.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct SignOutForm {
    form_token: String,
    /// Not empty: all sessions of the tenant end.
    everywhere: String,
}

/// `POST /console/sign-out`: ends the session, or all sessions of its tenant.
pub(super) async fn sign_out(
    State(console): State<Arc<Console>>,
    headers: HeaderMap,
    form: Result<Form<SignOutForm>, FormRejection>,
) -> Response {
    let Some(session) = cookie::read(&headers, console.settings.is_secure) else {
        return go_to(MOUNT);
    };
    let SignOutForm { form_token, everywhere } = form.map(|Form(form)| form).unwrap_or_default();
    if is_foreign(&headers) || !is_own_form(&session.form_token(), &form_token) {
        return signed_out(SignedOut::ForeignForm);
    }
    let person = console.sessions.find(&session, console.service.clock.now());
    if person.is_none() && !everywhere.is_empty() {
        // A session that is over ends no other one.
        return signed_out(SignedOut::NoSession);
    }
    if let Some(person) = person.filter(|_| !everywhere.is_empty()) {
        let tenant = &person.tenant.name;
        console.sessions.end_all_of(|other| other.tenant.name == *tenant);
        tracing::info!(%tenant, "signed out everywhere");
    }
    console.sessions.end(&session);
    let text = "The session is over. The program has printed a new link to sign in.";
    let mut response = page(StatusCode::OK, message_page(None, "Signed out", text));
    if let Some(cookie) = cookie::end(console.settings.is_secure) {
        response.headers_mut().insert(header::SET_COOKIE, cookie);
    }
    response
}
