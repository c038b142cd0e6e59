//! Keys that somebody said are dead, before the directory could be read anew. A message only ever kills:
//! where it is missed, the directory says the same a moment later.

use std::{
    collections::HashSet,
    sync::{Arc, PoisonError, RwLock},
};

use assay_redis::{Event, RedisClient, Subscription};
use assay_tenancy::key::KeyId;
use redis::cmd;

use super::Service;

/// Most keys that are remembered: with more, the oldest message may be forgotten, as the directory knows
/// them by then.
const MOST: usize = 100_000;

/// Keys that were said to be dead.
#[derive(Debug, Default)]
pub struct DeadKeys(RwLock<HashSet<KeyId>>);

impl DeadKeys {
    /// Whether a key was said to be dead.
    #[must_use]
    pub fn contains(&self, key: &KeyId) -> bool {
        let keys = self.0.read().unwrap_or_else(PoisonError::into_inner);
        !keys.is_empty() && keys.contains(key)
    }

    fn add(&self, key: KeyId) {
        let mut keys = self.0.write().unwrap_or_else(PoisonError::into_inner);
        if keys.len() >= MOST {
            keys.clear();
        }
        keys.insert(key);
    }
}

fn channel(prefix: &str) -> String {
    format!("{prefix}:revoked")
}

/// Tells all servers at once that a key is dead. The store knows it already: where nobody can be told,
/// they learn it from there.
pub async fn tell(client: &RedisClient, prefix: &str, key: &KeyId) {
    let mut publish = cmd("PUBLISH");
    publish.arg(channel(prefix)).arg(key.to_string());
    if let Err(error) = client.run::<i64>(&publish).await {
        tracing::warn!(%error, "failed to tell servers by Redis; they learn it from the database");
    }
}

/// Hears which keys are dead, until it is dropped. After a gap the directory is looked at anew.
pub async fn hear(service: Arc<Service>, client: RedisClient, prefix: String) {
    let mut messages = Subscription::new(client.settings().clone(), vec![channel(&prefix)]);
    loop {
        match messages.next().await {
            Event::Subscribed => service.look_again.notify_one(),
            Event::Message { payload, .. } => {
                let text = String::from_utf8_lossy(&payload);
                let Ok(key) = text.parse::<KeyId>() else {
                    tracing::warn!("a message about a revoked key names none");
                    continue;
                };
                service.dead_keys.add(key);
                service.look_again.notify_one();
            }
        }
    }
}
