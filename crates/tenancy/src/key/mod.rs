//! API keys: `assay_<environment>_<id>_<secret>_<checksum>`.
//!
//! The id is visible: it names the key in lists and logs and finds its record. The secret has 256 bits; only a
//! SHA-256 hash of the whole key is kept. The checksum reveals typing errors without a query to a store, and lets
//! secret scanners recognize keys.

mod base62;

use std::{borrow::Borrow, fmt, str::FromStr, sync::Arc};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

use crate::text_form::text_form;

/// First part of every key, which must never change, because keys in use start with it.
const KEY_PREFIX: &str = "assay";
const ID_DIGITS: usize = 11;
const SECRET_DIGITS: usize = 44;
const CHECKSUM_DIGITS: usize = 6;

/// The environment in which a key is valid: the data that its answers come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyEnvironment {
    /// Real data.
    Live,
    /// The demo data set.
    Sample,
    /// The sandbox, whose answers are chosen by the request.
    Sandbox,
}

impl KeyEnvironment {
    /// Every environment.
    pub const ALL: [Self; 3] = [Self::Live, Self::Sample, Self::Sandbox];

    /// The environment's name, which is the second part of its keys.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Live => "live",
            Self::Sample => "sample",
            Self::Sandbox => "sandbox",
        }
    }
}

impl fmt::Display for KeyEnvironment {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.as_str())
    }
}

impl FromStr for KeyEnvironment {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::ALL.into_iter().find(|environment| environment.as_str() == text).ok_or_else(|| {
            let known = Self::ALL.map(Self::as_str).join(", ");
            format!("`{text}` is no environment of keys; expected one of {known}")
        })
    }
}

/// The environment that the owner of a key asks for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RequestedEnvironment {
    /// The data of the installation.
    #[default]
    Live,
    /// The sandbox.
    Sandbox,
}

impl RequestedEnvironment {
    /// The environment of a key; `of_data` is that of keys to the installation's data.
    #[must_use]
    pub const fn of_key(self, of_data: KeyEnvironment) -> KeyEnvironment {
        match self {
            Self::Live => of_data,
            Self::Sandbox => KeyEnvironment::Sandbox,
        }
    }
}

/// The visible part of a key.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KeyId(Arc<str>);

impl KeyId {
    /// The id of a person whom an OpenID Connect issuer names, which is no key: the first 64 bits of a digest of both.
    #[must_use]
    pub fn of_person(issuer: &str, subject: &str) -> Self {
        let digest: [u8; 32] = Sha256::digest(format!("{issuer}\n{subject}")).into();
        let number = digest.iter().take(8).fold(0, |sum: u128, byte| sum * 256 + u128::from(*byte));
        Self(base62::write::<ID_DIGITS>(number).into())
    }

    /// The id.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Borrow<str> for KeyId {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl FromStr for KeyId {
    type Err = InvalidKey;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if is_id(text) { Ok(Self(text.into())) } else { Err(InvalidKey) }
    }
}

impl fmt::Display for KeyId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(&self.0)
    }
}

impl fmt::Debug for KeyId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// A well-formed API key. `Debug` shows only the id of the key.
#[derive(Clone)]
pub struct ApiKey {
    environment: KeyEnvironment,
    id: KeyId,
    text: String,
}

/// A text that is no API key. The message does not show the text, which may be a secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "not an API key: expected `assay_<environment>_<id>_<secret>_<checksum>` with a right checksum"
)]
pub struct InvalidKey;

impl ApiKey {
    /// Creates a key from random numbers: 64 bits for the id, 256 bits for the secret.
    #[must_use]
    pub fn generate(environment: KeyEnvironment, id: u64, secret: [u128; 2]) -> Self {
        let id = base62::write::<ID_DIGITS>(id.into());
        let secret: String = secret.map(base62::write::<{ SECRET_DIGITS / 2 }>).concat();
        let body = format!("{KEY_PREFIX}_{}_{id}_{secret}", environment.as_str());
        let checksum: String = checksum(&body).map(char::from).iter().collect();
        let text = format!("{body}_{checksum}");
        Self { environment, id: KeyId(id.into()), text }
    }

    /// The environment in which the key is valid.
    #[must_use]
    pub const fn environment(&self) -> KeyEnvironment {
        self.environment
    }

    /// The visible part.
    #[must_use]
    pub const fn id(&self) -> &KeyId {
        &self.id
    }

    /// The hash of the key, which is stored instead of the key.
    #[must_use]
    pub fn hash(&self) -> KeyHash {
        KeyHash::of(&self.text)
    }

    /// The whole key, which only its owner sees, and only once.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.text
    }
}

impl FromStr for ApiKey {
    type Err = InvalidKey;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let PresentedKey { environment, id, text } = PresentedKey::parse(text)?;
        Ok(Self { environment, id: KeyId(id.into()), text: text.to_owned() })
    }
}

/// A well-formed API key in a text. `Debug` shows only the id of the key.
#[derive(Clone, Copy)]
pub struct PresentedKey<'a> {
    environment: KeyEnvironment,
    id: &'a str,
    text: &'a str,
}

impl<'a> PresentedKey<'a> {
    /// Parses a key.
    ///
    /// # Errors
    ///
    /// Returns an error if the text is no key.
    pub fn parse(text: &'a str) -> Result<Self, InvalidKey> {
        let (body, found) = text.rsplit_once('_').ok_or(InvalidKey)?;
        let mut parts = body.split('_');
        let parts = [(); 5].map(|()| parts.next());
        let [Some(KEY_PREFIX), Some(environment), Some(id), Some(secret), None] = parts else {
            return Err(InvalidKey);
        };
        let environment = environment.parse().map_err(|_| InvalidKey)?;
        let well_formed = is_id(id)
            && secret.len() == SECRET_DIGITS
            && base62::is_base62(secret)
            && checksum(body) == found.as_bytes();
        if well_formed { Ok(Self { environment, id, text }) } else { Err(InvalidKey) }
    }

    /// The visible part.
    #[must_use]
    pub const fn id(&self) -> &'a str {
        self.id
    }

    /// The hash of the key.
    #[must_use]
    pub fn hash(&self) -> KeyHash {
        KeyHash::of(self.text)
    }
}

impl fmt::Debug for PresentedKey<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "PresentedKey({})", self.id)
    }
}

impl fmt::Debug for ApiKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "ApiKey({})", self.id)
    }
}

fn checksum(body: &str) -> [u8; CHECKSUM_DIGITS] {
    base62::digits(crc32fast::hash(body.as_bytes()).into())
}

/// True if a text has the form of the visible part of a key.
fn is_id(text: &str) -> bool {
    text.len() == ID_DIGITS && base62::is_base62(text)
}

/// The SHA-256 hash of a key, which is strong enough for secrets of 256 bits. Comparisons take constant time.
#[derive(Clone, Copy)]
pub struct KeyHash([u8; 32]);

impl KeyHash {
    fn of(text: &str) -> Self {
        Self(Sha256::digest(text).into())
    }

    /// Creates the hash from stored bytes.
    #[must_use]
    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The bytes of the hash.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl PartialEq for KeyHash {
    fn eq(&self, other: &Self) -> bool {
        self.0.ct_eq(&other.0).into()
    }
}

impl Eq for KeyHash {}

impl fmt::Debug for KeyHash {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("KeyHash")
    }
}

/// An operation that a key permits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Scope {
    /// Checking single addresses, and reading the catalogue and the sources.
    Check,
    /// Screening many addresses.
    Screen,
    /// Reading the tenant's usage.
    Usage,
    /// Reading the tenant's settings.
    AdminRead,
}

impl Scope {
    /// Every scope.
    pub const ALL: [Self; 4] = [Self::Check, Self::Screen, Self::Usage, Self::AdminRead];

    /// The scope's name.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Check => "check",
            Self::Screen => "screen",
            Self::Usage => "usage",
            Self::AdminRead => "admin:read",
        }
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.as_str())
    }
}

impl FromStr for Scope {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::ALL.into_iter().find(|scope| scope.as_str() == text).ok_or_else(|| {
            let known: Vec<_> = Self::ALL.iter().map(|scope| scope.as_str()).collect();
            format!("`{text}` is no scope; expected one of {}", known.join(", "))
        })
    }
}

text_form!(Scope);

impl JsonSchema for Scope {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Scope".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "string", "enum": Self::ALL.map(Self::as_str)})
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_key_never_shows_its_secret() {
        let key = ApiKey::generate(KeyEnvironment::Live, 7, [1, 2]);
        assert_eq!(format!("{key:?} {:?}", key.hash()), "ApiKey(00000000007) KeyHash");
    }

    proptest! {
        #[test]
        fn a_key_reads_back(id in any::<u64>(), secret in any::<[u128; 2]>(), environment in prop::sample::select(&KeyEnvironment::ALL[..])) {
            let key = ApiKey::generate(environment, id, secret);
            let read: ApiKey = key.expose().parse().unwrap();
            prop_assert_eq!(read.id(), key.id());
            prop_assert_eq!(read.hash(), key.hash());
            prop_assert_eq!(read.environment(), environment);
        }

        #[test]
        fn one_wrong_character_is_refused_by_the_checksum(
            id in any::<u64>(), secret in any::<[u128; 2]>(), place in any::<prop::sample::Index>(), other in "[0-9A-Za-z_]",
        ) {
            let key = ApiKey::generate(KeyEnvironment::Live, id, secret);
            let place = place.index(key.expose().len());
            let mut text = key.expose().to_owned();
            text.replace_range(place..=place, &other);
            prop_assume!(text != key.expose());
            prop_assert_eq!(text.parse::<ApiKey>().unwrap_err(), InvalidKey);
        }

        #[test]
        fn junk_is_refused(text in "\\PC{0,120}") {
            prop_assert!(text.parse::<ApiKey>().is_err());
        }
    }
}
