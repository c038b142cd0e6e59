//! Handlers of a sign-in at the issuer: the way to it, and the way back.

use std::{sync::Arc, time::Duration};

use assay_oidc::{Issuer, SignInError, SignedPerson};
use assay_store::sessions::SessionActor;
use axum::{
    Extension,
    extract::{Query, State, rejection::QueryRejection},
    http::{HeaderMap, HeaderValue, StatusCode, header},
    response::Response,
};
use jiff::SignedDuration;
use serde::Deserialize;
use subtle::ConstantTimeEq as _;
use tokio::time::timeout;

use super::{
    response::{go_to, page},
    sign_in::{NewPerson, set_cookie},
};
use crate::{
    CallerAddress, Console, cookie,
    pages::{message_page, not_signed_in_page},
    pending::PendingSignIn,
    security::is_foreign,
    session::Token,
};

/// Longest time for the issuer's answers: shorter than the timeout of a request.
const ISSUER_TIMEOUT: Duration = Duration::from_secs(8);
/// Largest number of bytes of a code.
const LONGEST_CODE: usize = 4_096;

/// Parameters of the way to the issuer.
#[derive(Debug, Default, Deserialize)]
pub(super) struct StartQuery {
    #[serde(default)]
    next: String,
}

/// `GET /console/oidc/start`: leads to the issuer's page at which people sign in.
pub(super) async fn start(
    State(console): State<Arc<Console>>,
    headers: HeaderMap,
    query: Result<Query<StartQuery>, QueryRejection>,
) -> Response {
    let StartQuery { mut next } = query.map(|Query(query)| query).unwrap_or_default();
    // Another site does not choose the page.
    if is_foreign(&headers) {
        next.clear();
    }
    let Some(issuer) = &console.settings.issuer else { return no_issuer() };
    let pending = PendingSignIn::new(Token::random(), &next);
    let request = pending.request();
    let asking = console.ask(issuer, move |issuer| issuer.sign_in_url(&request));
    match asking.await {
        Ok(url) => {
            let mut response = go_to(&url);
            let is_secure = console.settings.is_secure;
            set_cookie(&mut response, cookie::begin_sign_in(&pending.cookie(), is_secure));
            response
        }
        Err(refusal) => *refusal,
    }
}

/// Parameters of the way back.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct CallbackQuery {
    code: String,
    state: String,
    /// Not empty: the issuer refuses, or the person has given up.
    error: String,
}

/// `GET /console/oidc/callback`: begins a session for the person whom the issuer names.
pub(super) async fn callback(
    State(console): State<Arc<Console>>,
    headers: HeaderMap,
    caller: Option<Extension<CallerAddress>>,
    query: Result<Query<CallbackQuery>, QueryRejection>,
) -> Response {
    let asked = query.map(|Query(query)| query).unwrap_or_default();
    let begun = cookie::read_sign_in(&headers, console.settings.is_secure);
    let Some(pending) = begun.and_then(PendingSignIn::read) else {
        return not_signed_in(
            "This browser has not begun a sign-in, or more than ten minutes ago. Begin again.",
        );
    };
    let is_own: bool = pending.request().state.as_bytes().ct_eq(asked.state.as_bytes()).into();
    if !is_own {
        return not_signed_in(
            "The response is not of the sign-in that this browser began last. Begin again.",
        );
    }
    let caller = caller.map(|Extension(caller)| caller);
    let mut response = console.finish_sign_in(&headers, caller, &pending, asked).await;
    // A sign-in is finished once, however it ends.
    set_cookie(&mut response, cookie::end_sign_in(console.settings.is_secure));
    response
}

impl Console {
    async fn finish_sign_in(
        &self,
        headers: &HeaderMap,
        caller: Option<CallerAddress>,
        pending: &PendingSignIn,
        asked: CallbackQuery,
    ) -> Response {
        let Some(issuer) = &self.settings.issuer else { return no_issuer() };
        let request = pending.request();
        if !asked.error.is_empty() {
            let error: String = asked.error.chars().take(64).collect();
            tracing::info!(error, "the issuer refused a sign-in");
            return not_signed_in("The issuer did not sign you in.");
        }
        if asked.code.is_empty() || asked.code.len() > LONGEST_CODE {
            return not_signed_in("The issuer's response has no code. Begin again.");
        }
        let now = self.service.clock.now();
        if let Some(caller) = caller
            && let Err(wait) = self.code_exchanges.begin(caller, now)
        {
            return too_many_exchanges(wait);
        }
        let asking = self.ask(issuer, move |issuer| issuer.person(&request, asked.code, now));
        let SignedPerson { id, name, tenant, role } = match asking.await {
            Ok(person) => person,
            Err(refusal) => return *refusal,
        };
        if let Some(caller) = caller {
            self.code_exchanges.succeeded(caller);
        }
        let actor = SessionActor::Person(id);
        if let Err(reason) = self.service.caller_of_session(&tenant, &actor, now) {
            let person = name.as_str();
            tracing::warn!(%tenant, person, ?reason, "a person's tenant is not served");
            return not_signed_in(
                "Your organization's tenant does not exist here, is suspended, or has a plan without access to checks.",
            );
        }
        self.begin_session(headers, NewPerson { tenant, actor, role, name }, &pending.then).await
    }

    /// Asks the issuer, beside a bounded number of other requests.
    async fn ask<T: Send + 'static>(
        &self,
        issuer: &Arc<Issuer>,
        question: impl FnOnce(&Issuer) -> Result<T, SignInError> + Send + 'static,
    ) -> Result<T, Box<Response>> {
        let issuer = Arc::clone(issuer);
        let asking = async {
            let permit = Arc::clone(&self.issuer_requests).acquire_owned().await;
            // The permit is held until the issuer has answered, also if nobody waits for it any longer.
            tokio::task::spawn_blocking(move || {
                let _permit = permit;
                question(&issuer)
            })
            .await
        };
        let again = "The issuer cannot be asked at present. Try again in a moment.";
        let refusal = match timeout(ISSUER_TIMEOUT, asking).await {
            Ok(Ok(Ok(answer))) => return Ok(answer),
            Ok(Ok(Err(error))) => {
                let text = error.to_string();
                let cause = text.as_str();
                match error {
                    SignInError::Discovery(_)
                    | SignInError::Secret { .. }
                    | SignInError::Client(_) => {
                        tracing::error!(cause, "nobody can sign in to the console");
                        unavailable(again)
                    }
                    SignInError::NoTenant { .. } => {
                        tracing::warn!(cause, "refused a sign-in");
                        not_signed_in(
                            "The issuer knows you, and no rule of this server says which tenant you belong to.",
                        )
                    }
                    _ => {
                        tracing::warn!(cause, "refused a sign-in");
                        not_signed_in(
                            "The issuer's response was refused; the reason is in the server's log. Begin again.",
                        )
                    }
                }
            }
            Ok(Err(error)) => {
                tracing::error!(%error, "failed to ask the issuer");
                unavailable(again)
            }
            Err(_) => {
                tracing::warn!("the issuer did not answer in time");
                unavailable(again)
            }
        };
        Err(Box::new(refusal))
    }
}

fn not_signed_in(text: &str) -> Response {
    page(StatusCode::FORBIDDEN, not_signed_in_page(text))
}

fn too_many_exchanges(wait: SignedDuration) -> Response {
    let text = "Too many sign-ins from your network have failed. Try again in a minute.";
    let content = message_page(None, "Not signed in", text);
    let mut response = page(StatusCode::TOO_MANY_REQUESTS, content);
    let seconds = HeaderValue::from(wait.as_secs().max(1));
    response.headers_mut().insert(header::RETRY_AFTER, seconds);
    response
}

fn unavailable(text: &str) -> Response {
    page(StatusCode::SERVICE_UNAVAILABLE, message_page(None, "Not available", text))
}

fn no_issuer() -> Response {
    let text = "People sign in here by links that the program prints.";
    page(StatusCode::NOT_FOUND, message_page(None, "Not found", text))
}
