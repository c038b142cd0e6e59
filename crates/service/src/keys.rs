//! Issuing of API keys.

use assay_store::control::KeyRecord;
pub use assay_store::control::NewKey;
use assay_tenancy::key::{ApiKey, KeyEnvironment};
use jiff::Timestamp;

/// Issues a random key, and returns it with the record for the store.
#[must_use]
pub fn issue(environment: KeyEnvironment, new_key: NewKey, now: Timestamp) -> (ApiKey, KeyRecord) {
    let secret = [assay_system::random_u128(), assay_system::random_u128()];
    let key = ApiKey::generate(environment, assay_system::random_u64(), secret);
    let record = new_key.record(&key, now);
    (key, record)
}
