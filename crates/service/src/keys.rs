//! Issuing of API keys.

use assay_engine::facts::Environment;
pub use assay_store::control::NewKey;
use assay_store::control::{KeyRecord, key_environment};
use assay_tenancy::key::ApiKey;
use jiff::Timestamp;

/// Issues a random key, and returns it with the record for the store.
#[must_use]
pub fn issue(environment: Environment, new_key: NewKey, now: Timestamp) -> (ApiKey, KeyRecord) {
    let secret = [assay_system::random_u128(), assay_system::random_u128()];
    let key = ApiKey::generate(key_environment(environment), assay_system::random_u64(), secret);
    let record = new_key.record(&key, now);
    (key, record)
}
