//! Manifests and API keys, as they go in and out of a store.

use assay_engine::facts::Environment;
use assay_tenancy::{
    Name,
    key::{ApiKey, KeyEnvironment, KeyHash, KeyId, Scope},
    manifest::{API_VERSION, Document, Kind},
};
use jiff::Timestamp;
use serde_json::{Value, json};

/// All manifests and keys.
#[derive(Clone, Debug)]
pub struct Control {
    /// How often they changed.
    pub revision: u64,
    /// Every manifest.
    pub manifests: Vec<ManifestRecord>,
    /// Every key, revoked and expired ones included.
    pub keys: Vec<KeyRecord>,
}

/// A stored manifest.
#[derive(Clone, Debug, PartialEq)]
pub struct ManifestRecord {
    /// What it describes.
    pub kind: Kind,
    /// Its name.
    pub name: Name,
    /// What it says.
    pub spec: Value,
}

impl ManifestRecord {
    /// The manifest as a document to be resolved.
    #[must_use]
    pub fn document(&self) -> Document {
        Document {
            origin: format!("stored {} {}", self.kind.as_str(), self.name),
            content: json!({
                "apiVersion": API_VERSION,
                "kind": self.kind.as_str(),
                "metadata": {"name": self.name},
                "spec": self.spec,
            }),
        }
    }
}

/// What is kept of an API key: never the key itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyRecord {
    /// The visible part.
    pub id: KeyId,
    /// Whose it is.
    pub tenant: Name,
    /// What its owner calls it.
    pub name: String,
    /// The hash.
    pub hash: KeyHash,
    /// What it may be used for.
    pub scopes: Vec<Scope>,
    /// When it was made.
    pub created_at: Timestamp,
    /// From when on it is refused by itself.
    pub expires_at: Option<Timestamp>,
    /// From when on it is refused because somebody said so.
    pub revoked_at: Option<Timestamp>,
    /// When it was last used, within a minute.
    pub last_used_at: Option<Timestamp>,
}

/// What a key is good for at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyState {
    /// It lets its owner in.
    Good,
    /// Its time is over.
    Expired,
    /// Somebody said that it is refused.
    Revoked,
}

impl KeyState {
    /// The state in a word.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Good => "good",
            Self::Expired => "expired",
            Self::Revoked => "revoked",
        }
    }
}

impl KeyRecord {
    /// What the key is at `now`.
    #[must_use]
    pub fn state(&self, now: Timestamp) -> KeyState {
        match (self.revoked_at, self.is_good(now)) {
            (Some(_), _) => KeyState::Revoked,
            (None, true) => KeyState::Good,
            (None, false) => KeyState::Expired,
        }
    }

    /// Whether the key is good at `now`.
    #[must_use]
    pub fn is_good(&self, now: Timestamp) -> bool {
        self.revoked_at.is_none() && self.expires_at.is_none_or(|expires| now < expires)
    }
}

/// What a key is to be good for.
#[derive(Clone, Debug)]
pub struct Grant {
    /// Whose it is.
    pub tenant: Name,
    /// What its owner calls it.
    pub name: String,
    /// What it may be used for.
    pub scopes: Vec<Scope>,
    /// From when on it is refused by itself.
    pub expires_at: Option<Timestamp>,
}

impl Grant {
    /// The record of a key that is to be good for this.
    #[must_use]
    pub fn record(self, key: &ApiKey, now: Timestamp) -> KeyRecord {
        KeyRecord {
            id: key.id().clone(),
            tenant: self.tenant,
            name: self.name,
            hash: key.hash(),
            scopes: self.scopes,
            created_at: now,
            expires_at: self.expires_at,
            revoked_at: None,
            last_used_at: None,
        }
    }
}

/// Where keys of an installation are good.
#[must_use]
pub const fn key_environment(environment: Environment) -> KeyEnvironment {
    match environment {
        Environment::Production => KeyEnvironment::Live,
        Environment::Sample => KeyEnvironment::Sample,
    }
}
