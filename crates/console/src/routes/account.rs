//! Handlers of a tenant's own pages: keys, usage and policy; and of changes of keys and sources on one machine.

use std::{collections::BTreeMap, sync::Arc};

use assay_request::problem::{Code, Problem};
use assay_service::{
    administration::{Administration, AdministrationError},
    catalogue,
    keys::NewKey,
};
use assay_store::sessions::{SessionActor, SessionsOver};
use assay_tenancy::{
    Name, Period,
    key::{KeyId, Scope},
};
use axum::{
    extract::{Form, Path, State, rejection::FormRejection},
    http::StatusCode,
    response::Response,
};
use jiff::{SignedDuration, Timestamp, ToSpan as _, tz::TimeZone};
use serde::Deserialize;

use super::{
    person::SignedIn,
    response::{go_to, page, refused},
};
use crate::{
    Console, MOUNT,
    pages::{KeyForm, KeysContent, UsageContent, keys_page, new_key_page, policy_page, usage_page},
};

/// Number of days of the page of usage, today included.
const DAYS: i32 = 30;
/// Largest number of characters of a key's name.
const LONGEST_NAME: usize = 100;

type Shared = State<Arc<Console>>;

/// `GET /console/keys`: the tenant's keys.
pub(super) async fn keys(State(console): Shared, person: SignedIn) -> Response {
    let tenant = &person.caller.tenant.name;
    let store = &console.service.databases.store;
    let over = SessionsOver::at(person.now);
    let read =
        tokio::try_join!(console.service.keys_of(tenant), store.count_sessions(tenant, over));
    match read {
        Ok((keys, sessions)) => {
            let content = KeysContent {
                keys: &keys,
                own: &person.caller.key,
                tenant,
                can_change: console.settings.administration.is_some(),
                sessions,
            };
            page(StatusCode::OK, keys_page(&person.visitor, &content, person.now))
        }
        Err(error) => {
            tracing::error!(%error, "failed to read a tenant's keys");
            let detail = "the tenant's keys cannot be read at present";
            refused(&person.visitor, &Problem::new(Code::Unavailable, detail))
        }
    }
}

/// Fields of the form that creates a key. A box that is not ticked is absent.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct CreateKeyForm {
    name: String,
    check: String,
    screen: String,
    usage: String,
    lifetime: String,
    sandbox: String,
}

impl CreateKeyForm {
    /// Returns the scopes whose boxes are ticked.
    fn scopes(&self) -> Vec<Scope> {
        let boxes = [
            (&self.check, Scope::Check),
            (&self.screen, Scope::Screen),
            (&self.usage, Scope::Usage),
        ];
        boxes.into_iter().filter(|(ticked, _)| !ticked.is_empty()).map(|(_, scope)| scope).collect()
    }

    /// Returns the expiry time; `None` for a key that does not expire.
    fn expires_at(&self, now: Timestamp) -> Result<Option<Timestamp>, Problem> {
        if self.lifetime.is_empty() {
            return Ok(None);
        }
        let period = self.lifetime.parse::<Period>().ok().filter(|period| period.seconds() > 0);
        let seconds = period.and_then(|period| i64::try_from(period.seconds()).ok());
        let expires = seconds.and_then(|it| now.checked_add(SignedDuration::from_secs(it)).ok());
        let wrong = || Problem::new(Code::InvalidRequest, "the lifetime is no time, such as 90d");
        expires.map(Some).ok_or_else(wrong)
    }
}

/// `POST /console/keys`: creates a key, and shows its secret once.
pub(super) async fn create_key(
    State(console): Shared,
    person: SignedIn,
    form: Result<Form<CreateKeyForm>, FormRejection>,
) -> Response {
    let form = form.map(|Form(form)| form).unwrap_or_default();
    let made = async {
        let administration = console.administration()?;
        let scopes = form.scopes();
        if scopes.is_empty() {
            return Err(Problem::new(Code::InvalidRequest, "tick at least one permission"));
        }
        let name = form.name.trim();
        if name.chars().count() > LONGEST_NAME {
            let detail = format!("the name has more than {LONGEST_NAME} characters");
            return Err(Problem::new(Code::InvalidRequest, detail));
        }
        if name.chars().any(char::is_control) {
            let detail = "the name has a character that cannot be shown";
            return Err(Problem::new(Code::InvalidRequest, detail));
        }
        let new_key = NewKey {
            tenant: person.caller.tenant.name.clone(),
            name: name.to_owned(),
            scopes,
            expires_at: form.expires_at(person.now)?,
        };
        let is_sandbox = !form.sandbox.is_empty();
        let (service, by) = (&console.service, &person.actor);
        let created = administration.create_key(service, by, new_key, is_sandbox, person.now);
        created.await.map_err(|error| problem(&error))
    };
    match made.await {
        Ok(key) => {
            let shown = KeyForm { id: key.id().as_str(), secret: key.expose() };
            page(StatusCode::OK, new_key_page(&person.visitor, &shown))
        }
        Err(problem) => refused(&person.visitor, &problem),
    }
}

/// `POST /console/keys/{key}/revoke`: revokes a key at once and permanently.
pub(super) async fn revoke_key(
    State(console): Shared,
    person: SignedIn,
    Path(key): Path<String>,
) -> Response {
    let change = async |means: &Administration| {
        let (service, tenant) = (&console.service, &person.caller.tenant.name);
        means.revoke_key(service, &person.actor, (tenant, &key), person.now).await.map(|_| ())
    };
    changed(&console, &person, "keys", change).await
}

/// `POST /console/sources/{source}/enable`: enables a ready-made source.
pub(super) async fn enable_source(
    State(console): Shared,
    person: SignedIn,
    Path(source): Path<String>,
) -> Response {
    if !person.runs_the_server() {
        let detail = "sources are of all tenants: the person who runs the server enables them";
        return refused(&person.visitor, &Problem::new(Code::InsufficientScope, detail));
    }
    let change = async |means: &Administration| {
        means.enable_source(&console.service, &person.actor, &source, person.now).await
    };
    changed(&console, &person, "sources", change).await
}

/// Makes a change that a form without other fields asks for, and goes to a page.
async fn changed(
    console: &Console,
    person: &SignedIn,
    then: &str,
    change: impl AsyncFnOnce(&Administration) -> Result<(), AdministrationError>,
) -> Response {
    let made = match console.administration() {
        Ok(means) => change(means).await.map_err(|error| problem(&error)),
        Err(problem) => Err(problem),
    };
    match made {
        Ok(()) => go_to(&format!("{MOUNT}/{then}")),
        Err(problem) => refused(&person.visitor, &problem),
    }
}

/// `GET /console/usage`: charges by day, beside the limits of the plan.
pub(super) async fn usage(State(console): Shared, person: SignedIn) -> Response {
    let service = &console.service;
    let is_key = matches!(person.actor, SessionActor::Key(_));
    if is_key && service.renew(&person.caller, Scope::Usage, person.now).is_err() {
        let detail = "the key of this session may not read usage: its scopes lack `usage`";
        return refused(&person.visitor, &Problem::new(Code::InsufficientScope, detail));
    }
    let now = service.store_clock.now(person.now);
    let to = now.to_zoned(TimeZone::UTC).date();
    let from = to.saturating_sub((DAYS - 1).days());
    let tenant = &person.caller.tenant;
    match service.charges_of(&tenant.name, from, to).await {
        Ok(charges) => {
            let names = console.names_of(&tenant.name).await;
            let content = UsageContent { charges: &charges, names: &names, from, to, tenant };
            page(StatusCode::OK, usage_page(&person.visitor, &content, now))
        }
        Err(error) => {
            tracing::error!(%error, "failed to read usage");
            let detail = "usage cannot be read at present";
            refused(&person.visitor, &Problem::new(Code::Unavailable, detail))
        }
    }
}

/// `GET /console/policy`: the tenant's policy in words.
pub(super) async fn policy(person: SignedIn) -> Response {
    let tenant = &person.caller.tenant;
    let (policy, name) = (&tenant.policy, &tenant.policy_name);
    let content = policy_page(&person.visitor, name, policy.spec(), &catalogue(policy));
    page(StatusCode::OK, content)
}

impl Console {
    /// Returns the names of a tenant's keys, and of the people who signed in lately.
    async fn names_of(&self, tenant: &Name) -> BTreeMap<KeyId, String> {
        let store = &self.service.databases.store;
        let read = tokio::try_join!(self.service.keys_of(tenant), store.names_of_people(tenant));
        match read {
            Ok((keys, mut names)) => {
                names.extend(keys.into_iter().map(|key| (key.id, key.name)));
                names
            }
            Err(error) => {
                tracing::error!(%error, "failed to read the names of keys and people");
                BTreeMap::new()
            }
        }
    }

    /// Returns the means of changing keys and sources.
    fn administration(&self) -> Result<&Administration, Problem> {
        self.settings.administration.as_ref().ok_or_else(|| {
            let detail = "keys and sources of this server are decided by manifests; the pages show the manifest to apply";
            Problem::new(Code::NotFound, detail)
        })
    }
}

/// Returns the problem of a change that was refused or failed.
fn problem(error: &AdministrationError) -> Problem {
    match error {
        AdministrationError::UnknownKey(_) => Problem::new(Code::NotFound, error.to_string()),
        AdministrationError::BeyondScope(_)
        | AdministrationError::BeyondExpiry(_)
        | AdministrationError::BeyondSandbox => {
            Problem::new(Code::InsufficientScope, error.to_string())
        }
        AdministrationError::TooManyKeys
        | AdministrationError::Source(_)
        | AdministrationError::Exists(_)
        | AdministrationError::NothingFetched
        | AdministrationError::Problems(_) => Problem::new(Code::InvalidRequest, error.to_string()),
        AdministrationError::Unlisted(_) => {
            tracing::error!(%error, "failed to record a revocation");
            Problem::new(Code::Unavailable, error.to_string())
        }
        AdministrationError::Store(_) => {
            tracing::error!(%error, "failed to change keys or sources");
            Problem::new(Code::Unavailable, "the database cannot be written at present")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_has_the_scopes_and_the_lifetime_of_the_form() {
        let now = Timestamp::from_second(1_000_000).unwrap();
        let form = CreateKeyForm {
            check: "on".into(),
            usage: "on".into(),
            lifetime: "30d".into(),
            ..CreateKeyForm::default()
        };
        assert_eq!(form.scopes(), [Scope::Check, Scope::Usage]);
        let expires = form.expires_at(now).unwrap().unwrap();
        assert_eq!(expires.duration_since(now).as_hours(), 30 * 24);
        assert_eq!(CreateKeyForm::default().expires_at(now).unwrap(), None);
        for wrong in ["0d", "-1d", "x", "99999999999999999999d"] {
            let form = CreateKeyForm { lifetime: wrong.into(), ..CreateKeyForm::default() };
            assert!(form.expires_at(now).is_err(), "{wrong}");
        }
    }
}
