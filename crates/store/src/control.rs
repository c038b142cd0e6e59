//! Manifests and API keys.

use assay_engine::facts::Environment;
use assay_tenancy::{
    Name,
    key::{ApiKey, KeyEnvironment, KeyHash, KeyId, Scope},
    manifest::{Kind, ParsedManifest},
};
use async_trait::async_trait;
use jiff::Timestamp;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::StoreError;

/// The store of manifests and API keys.
#[async_trait]
pub trait ControlStore: std::fmt::Debug + Send + Sync {
    /// All manifests and keys.
    async fn control(&self) -> Result<Control, StoreError>;

    /// All manifests.
    async fn manifests(&self) -> Result<ManifestSet, StoreError>;

    /// All keys.
    async fn keys(&self) -> Result<KeySet, StoreError>;

    /// Adds or replaces manifests, and removes other manifests. Removing a manifest that does not exist is no error.
    ///
    /// # Errors
    ///
    /// Returns [`StoreError::Conflict`] if the revision of the manifests is no longer `expected`: resolve the manifests
    /// again. A change of keys is no conflict, with one exception: a former tenant is not forgotten while it has an
    /// active key, which would be valid again for a new tenant of its name.
    async fn put_manifests(
        &self,
        manifests: &[ManifestRecord],
        removed: &[(Kind, Name)],
        expected: u64,
        at: Timestamp,
    ) -> Result<(), StoreError>;

    /// Returns all keys of one tenant, revoked and expired ones included, in order of creation.
    async fn keys_of(&self, tenant: &Name) -> Result<Vec<KeyRecord>, StoreError>;

    /// The keys with this name, revoked and expired ones included, in order of creation.
    async fn keys_named(&self, name: &str) -> Result<Vec<KeyRecord>, StoreError>;

    /// Adds a key. In the same transaction, the key that the new key replaces gets an expiry time. A revoked key cannot
    /// be replaced: its former holder would receive a valid key again.
    ///
    /// # Errors
    ///
    /// Returns [`StoreError::UnknownKey`] if the key to replace does not exist or is revoked.
    async fn add_key(
        &self,
        key: &KeyRecord,
        replaces: Option<(&KeyId, Timestamp)>,
    ) -> Result<(), StoreError>;

    /// Changes the scopes and the expiry time of a key.
    ///
    /// # Errors
    ///
    /// Returns [`StoreError::UnknownKey`] if the key does not exist.
    async fn update_key(
        &self,
        id: &KeyId,
        scopes: &[Scope],
        expires_at: Option<Timestamp>,
    ) -> Result<(), StoreError>;

    /// Revokes a key. A revoked key keeps its first revocation time.
    ///
    /// # Errors
    ///
    /// Returns [`StoreError::UnknownKey`] if the key does not exist.
    async fn revoke_key(&self, id: &KeyId, at: Timestamp) -> Result<(), StoreError>;

    /// Records when keys were last used. The control revision does not change.
    async fn record_key_use(&self, used: &[(KeyId, Timestamp)]) -> Result<(), StoreError>;
}

/// All manifests and keys.
#[derive(Clone, Debug)]
pub struct Control {
    /// The revision of the manifests.
    pub manifests_revision: u64,
    /// The revision of the keys.
    pub keys_revision: u64,
    /// All manifests.
    pub manifests: Vec<ManifestRecord>,
    /// All keys, revoked and expired ones included.
    pub keys: Vec<KeyRecord>,
}

/// All manifests.
#[derive(Clone, Debug, PartialEq)]
pub struct ManifestSet {
    /// The revision of the manifests.
    pub revision: u64,
    /// The manifests.
    pub manifests: Vec<ManifestRecord>,
}

/// All keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeySet {
    /// The revision of the keys.
    pub revision: u64,
    /// The keys, revoked and expired ones included.
    pub keys: Vec<KeyRecord>,
}

/// A stored manifest.
#[derive(Clone, Debug, PartialEq)]
pub struct ManifestRecord {
    /// The kind.
    pub kind: Kind,
    /// The name.
    pub name: Name,
    /// The specification.
    pub spec: Value,
}

impl ManifestRecord {
    /// Parses the manifest. `R` is the spec of a risk policy.
    #[must_use]
    pub fn parse<R: DeserializeOwned>(self) -> ParsedManifest<R> {
        let Self { kind, name, spec } = self;
        ParsedManifest::parse_spec(format!("stored {} {name}", kind.as_str()), kind, name, &spec)
    }
}

/// A stored API key: its hash and its properties, never the key itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyRecord {
    /// The visible part of the key, which names it in lists and logs.
    pub id: KeyId,
    /// The tenant that the key belongs to.
    pub tenant: Name,
    /// The name that the key's owner gave.
    pub name: String,
    /// The environment in which the key is valid.
    pub environment: KeyEnvironment,
    /// SHA-256 of the key.
    pub hash: KeyHash,
    /// The scopes.
    pub scopes: Vec<Scope>,
    /// Creation time.
    pub created_at: Timestamp,
    /// Expiry time. `None`: the key does not expire.
    pub expires_at: Option<Timestamp>,
    /// Revocation time.
    pub revoked_at: Option<Timestamp>,
    /// Time of the last use, to the minute.
    pub last_used_at: Option<Timestamp>,
}

/// The state of a key at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyState {
    /// The API accepts the key.
    Active,
    /// The expiry time has passed.
    Expired,
    /// The key was revoked.
    Revoked,
}

impl KeyState {
    /// The identifier of the state in answers.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Expired => "expired",
            Self::Revoked => "revoked",
        }
    }
}

impl KeyRecord {
    /// The state of the key at `now`.
    #[must_use]
    pub fn state(&self, now: Timestamp) -> KeyState {
        match (self.revoked_at, self.is_active(now)) {
            (Some(_), _) => KeyState::Revoked,
            (None, true) => KeyState::Active,
            (None, false) => KeyState::Expired,
        }
    }

    /// True if the key is neither revoked nor expired at `now`.
    #[must_use]
    pub fn is_active(&self, now: Timestamp) -> bool {
        self.revoked_at.is_none() && self.expires_at.is_none_or(|expires| now < expires)
    }
}

/// The properties of a key to be created.
#[derive(Clone, Debug)]
pub struct NewKey {
    /// The tenant that the key belongs to.
    pub tenant: Name,
    /// The name that the key's owner gives.
    pub name: String,
    /// The scopes.
    pub scopes: Vec<Scope>,
    /// Expiry time. `None`: the key does not expire.
    pub expires_at: Option<Timestamp>,
}

impl NewKey {
    /// The record of `key`, created at `now` with these properties.
    #[must_use]
    pub fn record(self, key: &ApiKey, now: Timestamp) -> KeyRecord {
        KeyRecord {
            id: key.id().clone(),
            tenant: self.tenant,
            name: self.name,
            environment: key.environment(),
            hash: key.hash(),
            scopes: self.scopes,
            created_at: now,
            expires_at: self.expires_at,
            revoked_at: None,
            last_used_at: None,
        }
    }
}

/// The environment in which keys to the data of an installation are valid.
#[must_use]
pub const fn key_environment(environment: Environment) -> KeyEnvironment {
    match environment {
        Environment::Production => KeyEnvironment::Live,
        Environment::Sample => KeyEnvironment::Sample,
        Environment::Sandbox => KeyEnvironment::Sandbox,
    }
}
