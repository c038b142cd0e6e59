//! An issuer: its metadata and keys, the page at which people sign in, and the exchange of a code for a person.

use std::{
    fmt, fs, io,
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use assay_store::sessions::SessionRole;
use assay_tenancy::{Name, key::KeyId};
use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use chrono::DateTime;
use http::Uri;
use jiff::Timestamp;
use openidconnect::{
    AuthorizationCode, ClaimsVerificationError, ClientId, ClientSecret, CsrfToken,
    EndpointMaybeSet, EndpointNotSet, EndpointSet, IssuerUrl, Nonce, PkceCodeChallenge,
    PkceCodeVerifier, RedirectUrl, RequestTokenError, Scope, SignatureVerificationError,
    core::{
        CoreAuthenticationFlow, CoreClient, CoreErrorResponseType, CoreIdToken,
        CoreJwsSigningAlgorithm, CoreProviderMetadata,
    },
};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use crate::{
    mapping::{Claims, RoleMapping, is_email_verified},
    transport::{is_safe, send},
};

/// Age of the issuer's metadata and keys at which they are read again.
const METADATA_AGE: Duration = Duration::from_mins(1);
/// Age up to which they are used if they cannot be read again.
const MAX_METADATA_AGE: Duration = Duration::from_hours(24);
/// Time after a failure in which they are not read again.
const RETRY_INTERVAL: Duration = Duration::from_secs(2);
/// Longest time since the issue of a token, and the largest difference between the clocks, in seconds.
const MAX_TOKEN_AGE: i64 = 600;
const CLOCK_SKEW: i64 = 120;
/// Largest number of characters of a person's name.
const LONGEST_NAME: usize = 200;
/// Algorithms of signatures that are accepted: those with a public key.
const ALGORITHMS: [CoreJwsSigningAlgorithm; 9] = [
    CoreJwsSigningAlgorithm::RsaSsaPkcs1V15Sha256,
    CoreJwsSigningAlgorithm::RsaSsaPkcs1V15Sha384,
    CoreJwsSigningAlgorithm::RsaSsaPkcs1V15Sha512,
    CoreJwsSigningAlgorithm::RsaSsaPssSha256,
    CoreJwsSigningAlgorithm::RsaSsaPssSha384,
    CoreJwsSigningAlgorithm::RsaSsaPssSha512,
    CoreJwsSigningAlgorithm::EcdsaP256Sha256,
    CoreJwsSigningAlgorithm::EcdsaP384Sha384,
    CoreJwsSigningAlgorithm::EdDsa,
];

/// A client of the issuer, whose metadata is known.
type Client = CoreClient<
    EndpointSet,
    EndpointNotSet,
    EndpointNotSet,
    EndpointNotSet,
    EndpointMaybeSet,
    EndpointMaybeSet,
>;

/// Settings of a client of an issuer.
#[derive(Clone, Debug)]
pub struct IssuerSettings {
    /// URL of the issuer, below which its configuration is found.
    pub issuer: String,
    /// Client ID.
    pub client_id: String,
    /// File with the client secret, which is read for each sign-in; unset for a public client.
    pub client_secret_file: Option<PathBuf>,
    /// Redirect URI: the issuer redirects people to it after the sign-in.
    pub redirect_url: String,
    /// Scopes that are requested beside `openid`.
    pub scopes: Vec<String>,
    /// Tenant and role of people.
    pub mapping: RoleMapping,
}

/// Invalid setting of an issuer.
#[derive(Debug, thiserror::Error)]
pub enum SettingsError {
    /// The issuer's URL is none, or not safe.
    #[error("`{0}` is not the URL of an issuer: write it as https://id.example.com")]
    Issuer(String),
    /// The URL of this server is none, or not safe.
    #[error("`{0}` is not a redirect URI: write the URL of the server as https://risk.example.com")]
    RedirectUrl(String),
    /// The client ID is empty.
    #[error("the client ID is empty: write the one that the issuer knows")]
    ClientId,
}

/// Random texts of one sign-in, each of which only the person's browser and the issuer learn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignInRequest {
    /// Text that the authorization response repeats.
    pub state: String,
    /// Text that the ID token repeats.
    pub nonce: String,
    /// Text that proves to the issuer that who presents the code has begun the sign-in: 43 to 128 letters and digits.
    pub verifier: String,
}

/// Person who signed in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignedPerson {
    /// Identifier, which follows from issuer and subject.
    pub id: KeyId,
    /// Name as people know it.
    pub name: String,
    /// Tenant whose data the person sees.
    pub tenant: Name,
    /// Permissions.
    pub role: SessionRole,
}

/// Reason for which nobody signed in.
#[derive(Debug, thiserror::Error)]
pub enum SignInError {
    /// The issuer's metadata cannot be read.
    #[error("failed to read the metadata of the issuer: {0}")]
    Discovery(String),
    /// The issuer refuses the client.
    #[error("the issuer refuses the client: check client ID and client secret: {0}")]
    Client(String),
    /// The file with the secret cannot be read.
    #[error("failed to read the client secret {path}: {source}")]
    Secret {
        /// The file.
        path: PathBuf,
        /// The cause.
        #[source]
        source: io::Error,
    },
    /// The issuer gave no token for the code.
    #[error("the issuer gave no token for the code: {0}")]
    Exchange(String),
    /// The issuer's response has no ID token.
    #[error("the issuer's response has no ID token")]
    NoIdToken,
    /// The token is not of this issuer, for this program or for this sign-in, or is not valid now.
    #[error("the ID token is refused: {0}")]
    Token(String),
    /// No rule gives the person a tenant.
    #[error(
        "no rule of the role mapping gives {person:?} a tenant; the ID token has the claims {claims}"
    )]
    NoTenant {
        /// Name of the person.
        person: String,
        /// Names of the claims.
        claims: String,
    },
}

/// An OpenID Connect issuer.
pub struct Issuer {
    settings: IssuerSettings,
    url: IssuerUrl,
    redirect_url: RedirectUrl,
    authority: String,
    metadata: Mutex<KnownMetadata>,
}

/// Metadata of an issuer that was read, and the last failure to read it.
#[derive(Default)]
struct KnownMetadata {
    read: Option<(Instant, Arc<CoreProviderMetadata>)>,
    failed: Option<(Instant, String)>,
}

impl fmt::Debug for Issuer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Issuer").field("settings", &self.settings).finish_non_exhaustive()
    }
}

impl Issuer {
    /// Creates an issuer. Nothing is asked of it yet.
    ///
    /// # Errors
    ///
    /// Returns the first invalid setting.
    pub fn new(settings: IssuerSettings) -> Result<Self, SettingsError> {
        let is_safe = |url: &str| url.parse::<Uri>().is_ok_and(|uri| is_safe(&uri));
        let (issuer, redirect) = (&settings.issuer, &settings.redirect_url);
        let wrong_issuer = || SettingsError::Issuer(issuer.clone());
        let wrong_redirect = || SettingsError::RedirectUrl(redirect.clone());
        let issuer_url = IssuerUrl::new(issuer.clone()).map_err(|_| wrong_issuer())?;
        if !is_safe(issuer) {
            return Err(wrong_issuer());
        }
        let redirect_url = RedirectUrl::new(redirect.clone()).map_err(|_| wrong_redirect())?;
        if !is_safe(redirect) {
            return Err(wrong_redirect());
        }
        if settings.client_id.is_empty() {
            return Err(SettingsError::ClientId);
        }
        let IssuerSettings { client_id, mapping, .. } = &settings;
        let authority = Sha256::digest(format!("{issuer}\n{client_id}\n{mapping:?}"));
        let authority = hex::encode(authority);
        let metadata = Mutex::default();
        Ok(Self { url: issuer_url, redirect_url, settings, authority, metadata })
    }

    /// Returns a digest of issuer, client and role mapping: people who signed in by others sign in again.
    #[must_use]
    pub fn authority(&self) -> &str {
        &self.authority
    }

    /// Reads the issuer's metadata, so that a mistake in the settings is not first seen when somebody signs in. Blocks.
    ///
    /// # Errors
    ///
    /// Returns an error if the metadata cannot be read.
    pub fn check(&self) -> Result<(), SignInError> {
        self.metadata(METADATA_AGE).map(|_| ())
    }

    /// Returns the URL of the issuer's page at which a person signs in. Blocks while the issuer's metadata is read.
    ///
    /// # Errors
    ///
    /// Returns an error if the issuer's metadata or the client secret cannot be read.
    pub fn sign_in_url(&self, request: &SignInRequest) -> Result<String, SignInError> {
        let verifier = PkceCodeVerifier::new(request.verifier.clone());
        let (state, nonce) = (request.state.clone(), request.nonce.clone());
        let client = self.client(&*self.metadata(METADATA_AGE)?)?;
        let mut asking = client
            .authorize_url(
                CoreAuthenticationFlow::AuthorizationCode,
                || CsrfToken::new(state),
                || Nonce::new(nonce),
            )
            .set_pkce_challenge(PkceCodeChallenge::from_code_verifier_sha256(&verifier));
        for scope in &self.settings.scopes {
            asking = asking.add_scope(Scope::new(scope.clone()));
        }
        let (url, ..) = asking.url();
        Ok(url.into())
    }

    /// Exchanges the code of a finished sign-in for the person. Blocks while the issuer is asked.
    ///
    /// # Errors
    ///
    /// Returns the reason for which nobody signed in.
    pub fn person(
        &self,
        request: &SignInRequest,
        code: String,
        now: Timestamp,
    ) -> Result<SignedPerson, SignInError> {
        let client = self.client(&*self.metadata(METADATA_AGE)?)?;
        let exchange = client
            .exchange_code(AuthorizationCode::new(code))
            .map_err(|error| SignInError::Exchange(error.to_string()))?
            .set_pkce_verifier(PkceCodeVerifier::new(request.verifier.clone()));
        let response = exchange.request(&send).map_err(|error| match &error {
            RequestTokenError::ServerResponse(response)
                if *response.error() == CoreErrorResponseType::InvalidClient =>
            {
                SignInError::Client(response.to_string())
            }
            _ => SignInError::Exchange(chain(&error)),
        })?;
        let token = response.extra_fields().id_token().ok_or(SignInError::NoIdToken)?;
        let nonce = Nonce::new(request.nonce.clone());
        match verify(&client, token, &nonce, now) {
            // The issuer may have changed its keys since they were read.
            Err(ClaimsVerificationError::SignatureVerification(
                SignatureVerificationError::NoMatchingKey,
            )) => {
                let client = self.client(&*self.metadata(Duration::ZERO)?)?;
                verify(&client, token, &nonce, now)
            }
            verified => verified,
        }
        .map_err(|error| SignInError::Token(chain(&error)))?;
        let claims = payload(&token.to_string()).ok_or(SignInError::NoIdToken)?;
        check_party_and_begin(&claims, &self.settings.client_id, now)
            .map_err(SignInError::Token)?;
        self.admit(&claims)
    }

    /// Gives the person of verified claims a tenant and a role.
    fn admit(&self, claims: &Claims) -> Result<SignedPerson, SignInError> {
        let subject = text(claims, "sub").unwrap_or_default();
        let name = name(claims).unwrap_or(subject);
        let name: String = name.chars().filter(|it| !it.is_control()).take(LONGEST_NAME).collect();
        let Some((tenant, role)) = self.settings.mapping.admit(claims) else {
            let claims: Vec<&str> = claims.keys().map(String::as_str).collect();
            return Err(SignInError::NoTenant { person: name, claims: format!("{claims:?}") });
        };
        let id = KeyId::of_person(self.url.as_str(), subject);
        Ok(SignedPerson { id, name, tenant, role })
    }

    /// Returns a client with the issuer's metadata and keys.
    fn client(&self, metadata: &CoreProviderMetadata) -> Result<Client, SignInError> {
        let secret = match &self.settings.client_secret_file {
            None => None,
            Some(path) => match fs::read_to_string(path) {
                Ok(text) => Some(ClientSecret::new(text.trim().to_owned())),
                Err(source) => return Err(SignInError::Secret { path: path.clone(), source }),
            },
        };
        let id = ClientId::new(self.settings.client_id.clone());
        let client = CoreClient::from_provider_metadata(metadata.clone(), id, secret);
        Ok(client.set_redirect_uri(self.redirect_url.clone()))
    }

    /// Returns the issuer's metadata and keys, read at most `age` ago, or as they were if they cannot be read. Only one thread
    /// reads, for which the others wait.
    fn metadata(&self, age: Duration) -> Result<Arc<CoreProviderMetadata>, SignInError> {
        // Every change is a single step, so that the state after a panic is consistent.
        let mut known = self.metadata.lock().unwrap_or_else(PoisonError::into_inner);
        let younger_than = |age: Duration| {
            known.read.as_ref().filter(|(at, _)| at.elapsed() < age).map(|(_, it)| Arc::clone(it))
        };
        if let Some(metadata) = younger_than(age) {
            return Ok(metadata);
        }
        let as_it_was = younger_than(MAX_METADATA_AGE);
        let recent = known.failed.as_ref().filter(|(at, _)| at.elapsed() < RETRY_INTERVAL);
        let failure = match recent {
            Some((_, failure)) => failure.clone(),
            None => match CoreProviderMetadata::discover(&self.url, &send) {
                Ok(metadata) => {
                    let metadata = Arc::new(metadata);
                    *known = KnownMetadata {
                        read: Some((Instant::now(), Arc::clone(&metadata))),
                        failed: None,
                    };
                    return Ok(metadata);
                }
                Err(error) => {
                    let failure = chain(&error);
                    known.failed = Some((Instant::now(), failure.clone()));
                    failure
                }
            },
        };
        as_it_was.ok_or(SignInError::Discovery(failure))
    }
}

/// Verifies that a token is of the issuer, for this program and this sign-in, signed and valid now.
fn verify(
    client: &Client,
    token: &CoreIdToken,
    nonce: &Nonce,
    now: Timestamp,
) -> Result<(), ClaimsVerificationError> {
    let seconds = now.as_second();
    let time = DateTime::from_timestamp(seconds, 0).unwrap_or_default();
    let verifier = client
        .id_token_verifier()
        .set_allowed_algs(ALGORITHMS)
        // Of several audiences, the authorized party decides.
        .set_other_audience_verifier_fn(|_| true)
        .set_time_fn(move || time)
        .set_issue_time_verifier_fn(move |issued| {
            let age = seconds.saturating_sub(issued.timestamp());
            if (-CLOCK_SKEW..=MAX_TOKEN_AGE).contains(&age) {
                Ok(())
            } else {
                Err(format!("it was issued {age} s ago; do the clocks agree?"))
            }
        });
    token.claims(&verifier, nonce).map(|_| ())
}

/// Checks what the library leaves open: a token for several audiences must name the client as its authorized party (OpenID
/// Connect Core, section 3.1.3.7), and so must any token that names one; and a token may state when it becomes valid.
fn check_party_and_begin(claims: &Claims, client_id: &str, now: Timestamp) -> Result<(), String> {
    let audiences = claims.get("aud").and_then(Value::as_array).map_or(1, Vec::len);
    match claims.get("azp").map(Value::as_str) {
        None if audiences > 1 => {
            return Err("it has several audiences, and no authorized party (`azp`)".to_owned());
        }
        Some(party) if party != Some(client_id) => {
            return Err("its authorized party (`azp`) is another client".to_owned());
        }
        _ => {}
    }
    let Some(begin) = claims.get("nbf") else { return Ok(()) };
    let begin = begin.to_string();
    // Times may have fractions of a second.
    let second: Option<i64> = begin.split('.').next().and_then(|second| second.parse().ok());
    match second {
        Some(second) if second <= now.as_second().saturating_add(CLOCK_SKEW) => Ok(()),
        _ => Err(format!("it is not valid before {begin} (`nbf`); do the clocks agree?")),
    }
}

/// Returns the claims of a token that was verified.
fn payload(token: &str) -> Option<Claims> {
    let payload = token.split('.').nth(1)?;
    serde_json::from_slice(&BASE64_URL_SAFE_NO_PAD.decode(payload).ok()?).ok()
}

fn text<'a>(claims: &'a Claims, name: &str) -> Option<&'a str> {
    claims.get(name)?.as_str().filter(|text| !text.is_empty())
}

/// Returns the name by which people know a person.
fn name(claims: &Claims) -> Option<&str> {
    let mail = text(claims, "email").filter(|_| is_email_verified(claims));
    mail.or_else(|| text(claims, "preferred_username")).or_else(|| text(claims, "name"))
}

/// Returns an error with its causes.
fn chain(error: &dyn std::error::Error) -> String {
    let mut told = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        told = format!("{told}: {error}");
        cause = error.source();
    }
    told
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn settings() -> IssuerSettings {
        let rules = "rules: [{claim: groups, value: risk, tenant: acme, role: analyst}]";
        IssuerSettings {
            issuer: "https://id.example".into(),
            client_id: "assay".into(),
            client_secret_file: None,
            redirect_url: "https://risk.example/console/oidc/callback".into(),
            scopes: vec!["profile".into()],
            mapping: RoleMapping::read(rules).unwrap(),
        }
    }

    fn claims(value: serde_json::Value) -> Claims {
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn an_unsafe_or_empty_setting_is_refused() {
        assert!(Issuer::new(settings()).is_ok());
        for issuer in ["http://id.example", "id.example", ""] {
            let refused = Issuer::new(IssuerSettings { issuer: issuer.into(), ..settings() });
            assert!(matches!(refused, Err(SettingsError::Issuer(_))), "{issuer}");
        }
        let redirect_url = "http://risk.example/console/oidc/callback".to_owned();
        let refused = Issuer::new(IssuerSettings { redirect_url, ..settings() });
        assert!(matches!(refused, Err(SettingsError::RedirectUrl(_))));
        let refused = Issuer::new(IssuerSettings { client_id: String::new(), ..settings() });
        assert!(matches!(refused, Err(SettingsError::ClientId)));
    }

    #[test]
    fn a_token_is_for_its_authorized_party() {
        let now = Timestamp::from_second(1_000_000).unwrap();
        let check = |value| check_party_and_begin(&claims(value), "assay", now);
        for right in [
            json!({"aud": "assay"}),
            json!({"aud": ["assay"]}),
            json!({"aud": "assay", "azp": "assay"}),
            json!({"aud": ["assay", "reports"], "azp": "assay"}),
        ] {
            assert_eq!(check(right.clone()), Ok(()), "{right}");
        }
        for wrong in [
            json!({"aud": ["assay", "reports"]}),
            json!({"aud": ["assay", "reports"], "azp": "reports"}),
            json!({"aud": "assay", "azp": "reports"}),
            json!({"aud": "assay", "azp": ["assay"]}),
        ] {
            assert!(check(wrong.clone()).unwrap_err().contains("`azp`"), "{wrong}");
        }
    }

    #[test]
    fn a_token_is_refused_before_it_is_valid() {
        let now = Timestamp::from_second(1_000_000).unwrap();
        let check = |begin| {
            check_party_and_begin(&claims(json!({"aud": "assay", "nbf": begin})), "assay", now)
        };
        for right in [json!(999_999), json!(1_000_000 + CLOCK_SKEW), json!(999_999.5)] {
            assert_eq!(check(right.clone()), Ok(()), "{right}");
        }
        for wrong in [json!(1_000_001 + CLOCK_SKEW), json!("999999"), json!(null), json!(1e30)] {
            assert!(check(wrong.clone()).unwrap_err().contains("`nbf`"), "{wrong}");
        }
    }

    #[test]
    fn a_person_has_the_name_that_people_know_and_an_id_by_issuer_and_subject() {
        let issuer = Issuer::new(settings()).unwrap();
        let person = |value| issuer.admit(&claims(value)).unwrap();
        let ada = person(
            json!({"sub": "1", "groups": ["risk"], "email": "ada@x.example", "email_verified": true}),
        );
        assert_eq!((ada.name.as_str(), ada.role), ("ada@x.example", SessionRole::Analyst));
        let renamed = person(
            json!({"sub": "1", "groups": ["risk"], "email": "ada@x.example", "preferred_username": "ada"}),
        );
        assert_eq!(renamed.name, "ada", "an address that nobody verified is no name");
        assert_eq!(renamed.id, ada.id);
        assert_ne!(person(json!({"sub": "2", "groups": ["risk"]})).id, ada.id);
        let refused = issuer.admit(&claims(json!({"sub": "3"}))).unwrap_err();
        assert!(refused.to_string().contains("gives \"3\" a tenant"), "{refused}");
        assert!(refused.to_string().contains("the claims [\"sub\"]"), "{refused}");
    }
}
