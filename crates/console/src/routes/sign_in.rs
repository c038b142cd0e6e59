//! Handlers that begin and end sessions.

use std::sync::Arc;

use assay_request::problem::{Code, Problem};
use assay_store::{
    StoreError,
    sessions::{ConsoleSession, SessionActor, SessionRole, SessionsOver},
};
use assay_tenancy::Name;
use axum::{
    extract::{
        Form, Query, State,
        rejection::{FormRejection, QueryRejection},
    },
    http::{HeaderMap, HeaderValue, StatusCode, header},
    response::Response,
};
use serde::Deserialize;

use super::{
    person::SignedIn,
    response::{page, refused},
};
use crate::{
    Console, MOUNT, cookie,
    pages::{message_page, signed_in_page, signed_out_page},
    session::{SessionToken, Token},
};

/// Person who signs in.
pub(super) struct NewPerson {
    pub(super) tenant: Name,
    pub(super) actor: SessionActor,
    pub(super) role: SessionRole,
    /// Name of the person; empty if none is known.
    pub(super) name: String,
}

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
        let text = "The link is not valid, or was used: each works once. The program prints a new one when a link is \
                    used, and when it starts.";
        return page(StatusCode::FORBIDDEN, message_page(None, "No sign-in", text));
    };
    console.print_link(&tenant);
    let Some(caller) = console.caller_of(&tenant) else {
        let text = "The tenant has no active key that may check addresses.";
        return page(StatusCode::FORBIDDEN, message_page(None, "No sign-in", text));
    };
    // A key of the person who runs the server.
    let actor = SessionActor::Key(caller.key);
    let person = NewPerson { tenant, actor, role: SessionRole::Admin, name: String::new() };
    console.begin_session(&headers, person, MOUNT).await
}

/// Fields of the form that signs out.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct SignOutForm {
    /// Not empty: all sessions of the person end.
    everywhere: String,
}

/// `POST /console/sign-out`: ends the session, or all sessions of the person.
pub(super) async fn sign_out(
    State(console): State<Arc<Console>>,
    headers: HeaderMap,
    person: SignedIn,
    form: Result<Form<SignOutForm>, FormRejection>,
) -> Response {
    let SignOutForm { everywhere } = form.map(|Form(form)| form).unwrap_or_default();
    let tenant = &person.caller.tenant.name;
    let store = &console.service.databases.store;
    let ended = if everywhere.is_empty() {
        let token = cookie::read(&headers, console.settings.is_secure);
        let digest = token.map(|token| token.digest()).unwrap_or_default();
        store.end_session(tenant, &digest).await
    } else {
        store.end_sessions(tenant, Some(&person.actor)).await.map(|_| ())
    };
    console.ended(&person, ended, "signed out")
}

/// `POST /console/sign-out/everybody`: ends all sessions of the tenant.
pub(super) async fn sign_everybody_out(
    State(console): State<Arc<Console>>,
    person: SignedIn,
) -> Response {
    let tenant = &person.caller.tenant.name;
    let ended = console.service.databases.store.end_sessions(tenant, None).await;
    console.ended(&person, ended.map(|_| ()), "signed everybody out")
}

impl Console {
    /// Begins a session, and returns the page that leads to a path of the console.
    pub(super) async fn begin_session(
        &self,
        headers: &HeaderMap,
        person: NewPerson,
        then: &str,
    ) -> Response {
        let now = self.service.clock.now();
        let store = &self.service.databases.store;
        let NewPerson { tenant, actor, role, name } = person;
        let token = SessionToken::new(tenant.clone(), Token::random());
        let id = actor.id().clone();
        let session = ConsoleSession {
            tenant: tenant.clone(),
            digest: token.digest(),
            actor,
            role,
            person: name,
            authority: self.authority().to_owned(),
            began_at: now,
            used_at: now,
        };
        let beginning = async {
            // A session that somebody else chose does not become this person's.
            if let Some(earlier) = cookie::read(headers, self.settings.is_secure) {
                store.end_session(&earlier.tenant, &earlier.digest()).await?;
            }
            store.begin_session(&session, SessionsOver::at(now)).await
        };
        if let Err(error) = beginning.await {
            tracing::error!(%error, "failed to begin a session");
            let text = "A session cannot be begun at present. Try again in a moment.";
            let content = message_page(None, "Not available", text);
            return page(StatusCode::SERVICE_UNAVAILABLE, content);
        }
        let person = session.person.as_str();
        tracing::info!(%tenant, actor = %id, %role, person, "signed in to the console");
        let mut response = page(StatusCode::OK, signed_in_page(then));
        set_cookie(&mut response, cookie::begin(&token, self.settings.is_secure));
        response
    }

    /// Returns the page after sessions were ended.
    fn ended(&self, person: &SignedIn, ended: Result<(), StoreError>, deed: &str) -> Response {
        if let Err(error) = ended {
            tracing::error!(%error, "failed to end sessions");
            let detail = "sessions cannot be ended at present: try again in a moment";
            return refused(&person.visitor, &Problem::new(Code::Unavailable, detail));
        }
        let (tenant, actor) = (&person.caller.tenant.name, person.actor.id());
        tracing::info!(%tenant, %actor, "{deed}");
        let mut response = page(StatusCode::OK, signed_out_page(self.settings.issuer.is_some()));
        set_cookie(&mut response, cookie::end(self.settings.is_secure));
        response
    }
}

/// Adds a cookie to a response.
pub(super) fn set_cookie(response: &mut Response, cookie: Option<HeaderValue>) {
    if let Some(cookie) = cookie {
        response.headers_mut().append(header::SET_COOKIE, cookie);
    }
}
