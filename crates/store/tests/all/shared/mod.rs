//! Behavior of the shared backend beyond the contract of every backend.

mod in_time;
mod isolation;
mod migrations;
mod quotas;
mod reach;
mod slots;
mod tls;
mod watch;

use std::time::Duration;

use assay_store::control::KeyRecord;
use assay_tenancy::key::{ApiKey, KeyEnvironment, Scope};
use jiff::{SignedDuration, Timestamp};

use crate::backends;

/// Timeout that is longer than any operation of a test.
const PATIENCE: Duration = Duration::from_secs(30);

fn at(minute: i64) -> Timestamp {
    "2026-11-20T12:00:00Z".parse::<Timestamp>().unwrap() + SignedDuration::from_mins(minute)
}

fn key(id: u64, tenant: &str) -> KeyRecord {
    let key = ApiKey::generate(KeyEnvironment::Live, id, [1, 2]);
    KeyRecord {
        id: key.id().clone(),
        tenant: tenant.parse().unwrap(),
        name: "back end".into(),
        environment: KeyEnvironment::Live,
        hash: key.hash(),
        scopes: vec![Scope::Check],
        created_at: at(0),
        expires_at: None,
        revoked_at: None,
        last_used_at: None,
    }
}
