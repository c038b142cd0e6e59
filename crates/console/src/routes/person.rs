//! The person of a request.

use assay_engine::facts::Environment;
use assay_service::{Caller, DenialReason};
use assay_tenancy::key::Scope;
use axum::{
    http::{HeaderMap, StatusCode},
    response::Response,
};
use jiff::Timestamp;

use super::response::page;
use crate::{
    Console, cookie,
    pages::{Visitor, message_page},
    security::{is_foreign, is_own_form},
};

/// Person with a session.
pub(super) struct SignedIn {
    pub(super) caller: Caller,
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
    /// A form of another session or site.
    ForeignForm,
}

impl Console {
    /// Finds the person who sends a form of the console. A form of another site or session has no person.
    pub(super) fn person_of_form(
        &self,
        headers: &HeaderMap,
        form_token: &str,
    ) -> Result<SignedIn, SignedOut> {
        let person = self.person(headers)?;
        if is_foreign(headers) || !is_own_form(&person.visitor.form_token, form_token) {
            return Err(SignedOut::ForeignForm);
        }
        Ok(person)
    }

    /// Finds the person of a request. Tenant, plan and policy are those of now.
    pub(super) fn person(&self, headers: &HeaderMap) -> Result<SignedIn, SignedOut> {
        let service = &self.service;
        let now = service.clock.now();
        let session = cookie::read(headers, self.settings.is_secure).ok_or(SignedOut::NoSession)?;
        let caller = self.sessions.find(&session, now).ok_or(SignedOut::NoSession)?;
        if service.is_key_data_stale() {
            return Err(SignedOut::KeyDataStale);
        }
        let caller = match service.renew(&caller, Scope::Check, now) {
            Ok(caller) => caller,
            Err(reason) => {
                self.sessions.end(&session);
                return Err(SignedOut::Denied(reason));
            }
        };
        let tenant = &caller.tenant;
        let name = if tenant.display_name.is_empty() {
            tenant.name.as_str().to_owned()
        } else {
            tenant.display_name.clone()
        };
        let environment: Environment = service.intel().environment();
        let visitor = Visitor { tenant: name, form_token: session.form_token(), environment };
        Ok(SignedIn { caller, visitor, now })
    }
}

/// Returns the page for a request without a person.
pub(super) fn signed_out(reason: SignedOut) -> Response {
    let (status, title, text) = match reason {
        SignedOut::NoSession => (
            StatusCode::UNAUTHORIZED,
            "Sign in",
            "Open the link that the program printed when it started, or when the link before was used. Each is good once. \
             A session ends after 30 minutes without a request.",
        ),
        SignedOut::Denied(DenialReason::TenantSuspended) => {
            (StatusCode::FORBIDDEN, "Signed out", "The tenant is suspended.")
        }
        SignedOut::Denied(_) => (
            StatusCode::FORBIDDEN,
            "Signed out",
            "The key of the session was revoked or expired, or may no longer check addresses.",
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
    };
    page(status, message_page(None, title, text))
}
