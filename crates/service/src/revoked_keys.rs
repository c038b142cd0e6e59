//! Revoked keys, published over Redis so that servers refuse them before they have read the directory anew.
//! A message can only revoke; a server that misses it reads the same from the database a moment later.

use std::{
    collections::HashSet,
    sync::{Arc, PoisonError, RwLock},
};

use assay_redis::{Event, RedisClient, Subscription};
use assay_tenancy::key::KeyId;
use redis::cmd;

use super::Service;

/// Largest number of keys in memory. Beyond it all are dropped: the directory has them by then.
const MAX_KEYS: usize = 100_000;

/// Keys whose revocation was published.
#[derive(Debug, Default)]
pub struct RevokedKeys(RwLock<HashSet<KeyId>>);

impl RevokedKeys {
    /// Says whether the revocation of a key was published.
    #[must_use]
    pub fn contains(&self, key: &KeyId) -> bool {
        let keys = self.0.read().unwrap_or_else(PoisonError::into_inner);
        !keys.is_empty() && keys.contains(key)
    }

    fn add(&self, key: KeyId) {
        let mut keys = self.0.write().unwrap_or_else(PoisonError::into_inner);
        if keys.len() >= MAX_KEYS {
            keys.clear();
        }
        keys.insert(key);
    }
}

fn channel(prefix: &str) -> String {
    format!("{prefix}:revoked")
}

/// Publishes a key's revocation to all servers. The database has it already: if Redis fails, servers read
/// it from there.
pub async fn publish(client: &RedisClient, prefix: &str, key: &KeyId) {
    let mut command = cmd("PUBLISH");
    command.arg(channel(prefix)).arg(key.to_string());
    if let Err(error) = client.run::<i64>(&command).await {
        tracing::warn!(%error, "failed to publish a revocation to Redis; servers read it from the database");
    }
}

/// Subscribes to revocations until it is dropped. After a gap the directory is read anew.
pub async fn subscribe(service: Arc<Service>, client: RedisClient, prefix: String) {
    let mut messages = Subscription::new(client.settings().clone(), vec![channel(&prefix)]);
    loop {
        match messages.next().await {
            Event::Subscribed => service.refresh_requested.notify_one(),
            Event::Message { payload, .. } => {
                let text = String::from_utf8_lossy(&payload);
                let Ok(key) = text.parse::<KeyId>() else {
                    tracing::warn!("ignored a revocation without a key identifier");
                    continue;
                };
                service.revoked_keys.add(key);
                service.refresh_requested.notify_one();
            }
        }
    }
}
