//! Revoked keys, published over Redis so that servers refuse them before they have reloaded key data. A message can
//! only revoke; a server that misses it reads the revocation from the database a moment later.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, PoisonError, RwLock},
    time::{Duration, Instant},
};

use assay_redis::{RedisClient, Subscription, SubscriptionEvent};
use assay_tenancy::key::KeyId;
use redis::cmd;

use super::Service;

/// Keys whose revocation was published. A key is held until key data in memory has its revocation, or is too old to be
/// used.
#[derive(Debug, Default)]
pub struct RevokedKeys(RwLock<RevokedKeySet>);

#[derive(Debug, Default)]
struct RevokedKeySet {
    /// Time at which each key's revocation arrived last.
    keys: HashMap<KeyId, Instant>,
    /// Arrivals, oldest first.
    arrivals: VecDeque<(Instant, KeyId)>,
}

impl RevokedKeys {
    /// Says whether the revocation of a key was published.
    #[must_use]
    pub fn contains(&self, key: &KeyId) -> bool {
        let published = self.0.read().unwrap_or_else(PoisonError::into_inner);
        !published.keys.is_empty() && published.keys.contains_key(key)
    }

    /// Adds a key, and removes keys that arrived longer than `age` ago. `age` is the largest age of usable key data: by
    /// then the data has the revocation, or every request is refused.
    pub(crate) fn add(&self, key: KeyId, now: Instant, age: Duration) {
        let mut published = self.0.write().unwrap_or_else(PoisonError::into_inner);
        let RevokedKeySet { keys, arrivals } = &mut *published;
        while let Some((arrived, old)) = arrivals.pop_front_if(|(arrived, _)| now - *arrived > age)
        {
            if keys.get(&old) == Some(&arrived) {
                keys.remove(&old);
            }
        }
        keys.insert(key.clone(), now);
        arrivals.push_back((now, key));
    }
}

fn channel(prefix: &str) -> String {
    format!("{prefix}:revoked")
}

/// Publishes a key's revocation to all servers, after the revocation was stored: if Redis fails, servers read it from
/// the database.
pub async fn publish(client: &RedisClient, prefix: &str, key: &KeyId) {
    let mut command = cmd("PUBLISH");
    command.arg(channel(prefix)).arg(key.to_string());
    if let Err(error) = client.run::<i64>(&command).await {
        tracing::warn!(%error, "failed to publish a revocation to Redis; servers read it from the database");
    }
}

/// Subscribes to revocations until the task is dropped. After a lost connection, the subscriber requests fresh key
/// data.
pub async fn subscribe(service: Arc<Service>, client: RedisClient, prefix: String) {
    let mut messages = Subscription::new(client.settings().clone(), vec![channel(&prefix)]);
    loop {
        match messages.next().await {
            SubscriptionEvent::Subscribed => service.refresh_requested.notify_one(),
            SubscriptionEvent::Message { payload, .. } => {
                let text = String::from_utf8_lossy(&payload);
                let Ok(key) = text.parse::<KeyId>() else {
                    tracing::warn!("ignored a revocation without a key identifier");
                    continue;
                };
                service.revoked_keys.add(key, Instant::now(), service.bounds.key_data_age);
                service.refresh_requested.notify_one();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use assay_tenancy::key::{ApiKey, KeyEnvironment};

    use super::*;

    const AGE: Duration = Duration::from_mins(10);

    fn key(number: u64) -> KeyId {
        ApiKey::generate(KeyEnvironment::Live, number, [1, 2]).id().clone()
    }

    #[test]
    fn a_revoked_key_is_forgotten_by_age_and_not_by_number() {
        // Given more revocations at once than once were held.
        let (revoked, now) = (RevokedKeys::default(), Instant::now());
        for number in 0..100_002 {
            revoked.add(key(number), now, AGE);
        }
        assert!((0..100_002).all(|number| revoked.contains(&key(number))));
        // When one of them is published again, and their time is over.
        revoked.add(key(0), now + AGE, AGE);
        assert!(revoked.contains(&key(1)), "until then");
        revoked.add(key(200_000), now + AGE + Duration::from_millis(1), AGE);
        // Then the others are forgotten.
        let held = |number| revoked.contains(&key(number));
        assert_eq!((held(0), held(1), held(100_001), held(200_000)), (true, false, false, true));
    }
}
