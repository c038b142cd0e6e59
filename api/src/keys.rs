//! Making API keys.

use assay_engine::facts::Environment;
use assay_store::control::KeyRecord;
use assay_tenancy::{
    Name,
    key::{ApiKey, KeyEnvironment, Scope},
};
use jiff::Timestamp;

use crate::system;

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

/// Makes a random key, and the record that is kept of it.
#[must_use]
pub fn issue(environment: Environment, grant: Grant, now: Timestamp) -> (ApiKey, KeyRecord) {
    let environment = match environment {
        Environment::Production => KeyEnvironment::Live,
        Environment::Sample => KeyEnvironment::Sample,
    };
    let secret = [system::random_u128(), system::random_u128()];
    let key = ApiKey::generate(environment, system::random_u64(), secret);
    let record = KeyRecord {
        id: key.id().clone(),
        tenant: grant.tenant,
        name: grant.name,
        hash: key.hash(),
        scopes: grant.scopes,
        created_at: now,
        expires_at: grant.expires_at,
        revoked_at: None,
        last_used_at: None,
    };
    (key, record)
}
