//! The person of a request.

use std::time::Duration;

use assay_engine::facts::Environment;
use assay_service::{Caller, DenialReason};
use assay_store::{
    StoreError,
    sessions::{SessionActor, SessionsOver},
};
use axum::{
    extract::FromRequestParts,
    http::{HeaderMap, StatusCode, Uri, request::Parts, uri::PathAndQuery},
    response::Response,
};
use jiff::{SignedDuration, Timestamp};
use tokio::time::timeout;

use super::response::page;
use crate::{
    Console, cookie,
    pages::{Visitor, message_page, sign_in_page},
};

/// Time after which the use of a session is recorded again, so that not every request writes.
const USE_INTERVAL: SignedDuration = SignedDuration::from_mins(1);

/// Longest time that a request waits until its session is read.
const READ_TIMEOUT: Duration = Duration::from_secs(5);

/// Person with a session, whom the guard has found.
#[derive(Clone, Debug)]
pub(super) struct SignedIn {
    pub(super) caller: Caller,
    /// The key or the person that acts.
    pub(super) actor: SessionActor,
    pub(super) visitor: Visitor,
    /// Time of the request.
    pub(super) now: Timestamp,
}

/// Reason for which a request has no person.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SignedOut {
    /// No session, or one that is over.
    NoSession,
    /// The tenant or key of the session is denied now.
    Denied(DenialReason),
    /// Keys cannot be confirmed at present.
    KeyDataStale,
    /// Sessions cannot be read at present.
    Unavailable,
    /// A form of another session or site.
    ForeignForm,
}

impl SignedIn {
    /// True if the person signed in by a link, which the person who runs the server sees.
    pub(super) const fn runs_the_server(&self) -> bool {
        matches!(self.actor, SessionActor::Key(_))
    }
}

impl<S: Sync> FromRequestParts<S> for SignedIn {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, Self::Rejection> {
        // A route without the guard has no person.
        parts.extensions.get::<Self>().cloned().ok_or_else(|| {
            let text = "This page has no guard.";
            page(StatusCode::FORBIDDEN, message_page(None, "Not available", text))
        })
    }
}

impl Console {
    /// Finds the person of a request. Tenant, plan and policy are those of now.
    pub(super) async fn person(&self, headers: &HeaderMap) -> Result<SignedIn, SignedOut> {
        let service = &self.service;
        let store = &service.databases.store;
        let now = service.clock.now();
        let token = cookie::read(headers, self.settings.is_secure).ok_or(SignedOut::NoSession)?;
        let (tenant, digest) = (&token.tenant, token.digest());
        // Neither a stranger's cookie nor many of them keep the database from others.
        if !service.access().directory.tenants.contains_key(tenant) {
            return Err(SignedOut::NoSession);
        }
        let waiting = timeout(READ_TIMEOUT, self.reading.acquire());
        let permit = waiting.await.map_err(|_| SignedOut::Unavailable)?;
        let unreadable = |error: StoreError| {
            tracing::error!(%error, "failed to read a session");
            SignedOut::Unavailable
        };
        let found = store.session(tenant, &digest, SessionsOver::at(now)).await;
        drop(permit);
        let session = found.map_err(unreadable)?.ok_or(SignedOut::NoSession)?;
        // A session of another issuer, client or role mapping, or of a link where people sign in at an issuer, is over.
        if session.authority != self.authority() {
            return Err(SignedOut::NoSession);
        }
        if service.is_key_data_stale() {
            return Err(SignedOut::KeyDataStale);
        }
        let caller =
            service.caller_of_session(tenant, &session.actor, now).map_err(SignedOut::Denied)?;
        if now.duration_since(session.used_at) >= USE_INTERVAL {
            // The session goes on where nothing can be written, until it is idle.
            if let Err(error) = store.note_session_use(tenant, &digest, now).await {
                tracing::warn!(%error, "failed to record the use of a session");
            }
        }
        let tenant = &caller.tenant;
        let name = if tenant.display_name.is_empty() {
            tenant.name.as_str().to_owned()
        } else {
            tenant.display_name.clone()
        };
        let environment: Environment = service.intel().environment();
        let visitor = Visitor {
            tenant: name,
            person: session.person,
            role: session.role,
            form_token: token.form_token(),
            environment,
        };
        Ok(SignedIn { caller, actor: session.actor, visitor, now })
    }

    /// Returns the page for a request without a person. `asked` is the path below [`MOUNT`](crate::MOUNT), at which a person
    /// who signs in goes on.
    pub(super) fn signed_out(&self, reason: SignedOut, asked: &Uri) -> Response {
        let (status, title, text) = match reason {
            SignedOut::NoSession => {
                let next = asked.path_and_query().map_or("/", PathAndQuery::as_str);
                let content = sign_in_page(self.settings.issuer.as_ref().map(|_| next));
                return page(StatusCode::UNAUTHORIZED, content);
            }
            SignedOut::Denied(DenialReason::TenantSuspended) => {
                (StatusCode::FORBIDDEN, "Signed out", "The tenant is suspended.")
            }
            SignedOut::Denied(DenialReason::NoApiAccess) => (
                StatusCode::FORBIDDEN,
                "Signed out",
                "The plan of the tenant has no access to checks.",
            ),
            SignedOut::Denied(_) => (
                StatusCode::FORBIDDEN,
                "Signed out",
                "The key of the session was revoked or expired, or may no longer check addresses; or the tenant is gone.",
            ),
            SignedOut::ForeignForm => (
                StatusCode::FORBIDDEN,
                "Not done",
                "The form is not of this session. Go back, load the page again and repeat.",
            ),
            SignedOut::KeyDataStale => (
                StatusCode::SERVICE_UNAVAILABLE,
                "Not available",
                "Keys cannot be verified: the server's key data is stale. Try again later.",
            ),
            SignedOut::Unavailable => (
                StatusCode::SERVICE_UNAVAILABLE,
                "Not available",
                "Sessions cannot be read at present. Try again in a moment.",
            ),
        };
        page(status, message_page(None, title, text))
    }
}
