//! Keys whose `ApiKey` was deleted or now belongs to another installation.
//!
//! The operator revokes the keys of an object when the watch reports its deletion. An object may also be deleted while
//! no operator runs: after each complete list, and at each resync, the operator compares the store with the objects.
//! The operator suspends a key whose object is absent, because objects are also absent while a cluster is being
//! restored, and revokes the key if the object is still absent a resync interval later. Keys that were created by hand
//! have no object and stay.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use assay_store::control::KeyRecord;
use assay_tenancy::key::{KeyId, Scope};
use jiff::Timestamp;
use tokio::time::{Instant, sleep_until};

use super::{
    context::{Context, KeyError},
    records,
    watches::KeyWatch,
};
use crate::backoff;

/// Revokes the keys of an object if the watch reported its deletion. The caller ensures that no reconciliation of the
/// object runs: keys of a later object of the same name are newer and stay. The next comparison retries a failure.
pub(super) async fn revoke_deleted(name: &str, watched: &KeyWatch, context: &Context) {
    if !context.deleted.contains(name) {
        return;
    }
    match revoke(name, Some(context.shared.clock.now()), context).await {
        Ok(()) => context.deleted.remove(name),
        Err(error) => {
            tracing::warn!(%error, key = name, "failed to revoke the keys of a deleted ApiKey; retrying");
            watched.listed.notify_one();
        }
    }
}

/// Revokes the keys of an object: those created `before` a time, or all.
pub(super) async fn revoke(
    name: &str,
    before: Option<Timestamp>,
    context: &Context,
) -> Result<(), KeyError> {
    let mut keys = context.store.keys_named(name).await?;
    keys.retain(|key| before.is_none_or(|before| key.created_at < before));
    let now = context.shared.clock.now();
    for key in records::revocable(&keys, now) {
        context.shared.writer.require_leadership()?;
        context.store.revoke_key(&key.id, now).await?;
        context.shared.metrics.count_write("store");
        tracing::info!(key = %key.id, name, "revoked a key: its ApiKey is gone");
    }
    Ok(())
}

/// Compares the store with the objects of a watch until the program ends.
pub(super) async fn compare_regularly(watched: Arc<KeyWatch>, context: Arc<Context>) {
    let mut absent = AbsentKeys::default();
    let mut failures = 0;
    // The first list.
    watched.listed.notified().await;
    loop {
        let interval = context.shared.resync;
        let next = match compare(&watched, &context, &mut absent).await {
            Ok(()) => {
                failures = 0;
                let now = Instant::now();
                let resync = now + backoff::with_jitter(interval, assay_system::random_fraction());
                absent.next_revocation(interval, now).map_or(resync, |time| time.min(resync))
            }
            Err(error) => {
                tracing::warn!(%error, "failed to compare the keys in the store with the cluster; retrying");
                failures += 1;
                Instant::now() + backoff::delay(failures - 1, assay_system::random_fraction())
            }
        };
        tokio::select! {
            () = sleep_until(next) => {}
            // A failure is not retried sooner than after its delay.
            () = watched.listed.notified(), if failures == 0 => {}
        }
    }
}

async fn compare(
    watched: &KeyWatch,
    context: &Context,
    absent: &mut AbsentKeys,
) -> Result<(), KeyError> {
    let deleted = &context.deleted;
    context.shared.writer.require_leadership()?;
    // The store is read first: a key is stored only for an object that the watch has delivered.
    let mut keys = context.store.keys().await?.keys;
    keys.retain(|key| is_watched(key, watched.namespace.as_deref()));
    let present: BTreeSet<String> =
        watched.keys.state().iter().map(|object| records::name(&**object)).collect();
    // A later object of the same name revokes them itself.
    let here = |name: &&String| {
        let namespace = records::namespace_in(name);
        watched.namespace.is_none() || watched.namespace.as_deref() == namespace
    };
    for name in deleted.all().iter().filter(here).filter(|name| !present.contains(*name)) {
        revoke(name, Some(context.shared.clock.now()), context).await?;
        deleted.remove(name);
    }
    let now = context.shared.clock.now();
    let changes = absent.compare(&keys, &present, (now, Instant::now()), context.shared.resync);
    for Change { key, name, kind } in changes {
        context.shared.writer.require_leadership()?;
        match kind {
            ChangeKind::Suspend(scopes) => {
                context.store.update_key(&key, &scopes, Some(now)).await?;
                tracing::warn!(%key, name, "suspended a key: its ApiKey does not exist");
            }
            ChangeKind::Revoke => {
                context.store.revoke_key(&key, now).await?;
                tracing::warn!(%key, name, "revoked a key: its ApiKey does not exist");
            }
        }
        context.shared.metrics.count_write("store");
    }
    Ok(())
}

/// Says whether the operator issued a key for an object of a watch, which covers one namespace or all namespaces.
fn is_watched(key: &KeyRecord, watched: Option<&str>) -> bool {
    let namespace = records::namespace(key);
    namespace.is_some_and(|namespace| watched.is_none_or(|watched| watched == namespace))
}

/// A change of a key whose object is absent.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Change {
    key: KeyId,
    /// The name of the keys in the store.
    name: String,
    kind: ChangeKind,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum ChangeKind {
    /// The key expires now and keeps its scopes.
    Suspend(Vec<Scope>),
    Revoke,
}

/// The names of keys whose objects are absent, each with the time since which its object is absent.
#[derive(Debug, Default)]
struct AbsentKeys(BTreeMap<String, Instant>);

impl AbsentKeys {
    /// Compares the keys of a watch with the objects that are present, and returns the changes: a key is suspended when
    /// its object is absent, and revoked when the object was absent for `grace`.
    fn compare(
        &mut self,
        keys: &[KeyRecord],
        present: &BTreeSet<String>,
        (now, instant): (Timestamp, Instant),
        grace: Duration,
    ) -> Vec<Change> {
        let mut by_name: BTreeMap<&str, Vec<&KeyRecord>> = BTreeMap::new();
        for key in keys {
            if !present.contains(&key.name) {
                by_name.entry(&key.name).or_default().push(key);
            }
        }
        let before = std::mem::take(&mut self.0);
        let mut changes = Vec::new();
        for (name, keys) in by_name {
            let revocable: Vec<&KeyRecord> =
                records::revocable(keys.iter().copied(), now).collect();
            if revocable.is_empty() {
                continue;
            }
            let since = before.get(name).copied().unwrap_or(instant);
            let is_over = instant.duration_since(since) >= grace;
            self.0.insert(name.to_owned(), since);
            for key in revocable {
                let kind = match (is_over, key.is_active(now)) {
                    (true, _) => ChangeKind::Revoke,
                    (false, true) => ChangeKind::Suspend(key.scopes.clone()),
                    (false, false) => continue,
                };
                changes.push(Change { key: key.id.clone(), name: name.to_owned(), kind });
            }
        }
        changes
    }

    /// The time after `now` at which the next absent key is to be revoked.
    fn next_revocation(&self, grace: Duration, now: Instant) -> Option<Instant> {
        self.0.values().map(|since| *since + grace).filter(|time| *time > now).min()
    }
}

#[cfg(test)]
mod tests {
    use assay_tenancy::key::{ApiKey as KeyText, KeyEnvironment};

    use super::*;

    const GRACE: Duration = Duration::from_mins(10);

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    /// The key of a number, created at that second.
    fn key(number: u64, name: &str) -> KeyRecord {
        let text = KeyText::generate(KeyEnvironment::Live, number, [u128::from(number); 2]);
        KeyRecord {
            id: text.id().clone(),
            tenant: "acme".parse().unwrap(),
            name: name.to_owned(),
            environment: KeyEnvironment::Live,
            hash: text.hash(),
            scopes: vec![Scope::Check],
            created_at: at(i64::try_from(number).unwrap()),
            expires_at: None,
            revoked_at: None,
            last_used_at: None,
        }
    }

    fn names(all: &[&str]) -> BTreeSet<String> {
        all.iter().map(|name| (*name).to_owned()).collect()
    }

    fn change(key: &KeyRecord, kind: ChangeKind) -> Change {
        Change { key: key.id.clone(), name: key.name.clone(), kind }
    }

    fn suspend(key: &KeyRecord) -> Change {
        change(key, ChangeKind::Suspend(key.scopes.clone()))
    }

    #[test]
    fn a_key_without_an_object_is_suspended_and_revoked_if_that_lasts() {
        let (start, mut absent) = (Instant::now(), AbsentKeys::default());
        let [kept, mut gone] = [key(1, "ApiKey team/kept"), key(2, "ApiKey team/gone")];
        let present = names(&["ApiKey team/kept"]);
        let mut compare = |gone: &KeyRecord, present: &BTreeSet<String>, after: Duration| {
            let keys = [kept.clone(), gone.clone()];
            absent.compare(&keys, present, (at(100), start + after), GRACE)
        };
        assert_eq!(compare(&gone, &present, Duration::ZERO), [suspend(&gone)]);
        gone.expires_at = Some(at(100));
        assert_eq!(compare(&gone, &present, GRACE / 2), [], "once");
        let revoke = [change(&gone, ChangeKind::Revoke)];
        assert_eq!(compare(&gone, &present, GRACE), revoke);
        assert_eq!(compare(&gone, &present, GRACE), revoke, "the revocation failed");
        gone.revoked_at = Some(at(100));
        assert_eq!(compare(&gone, &present, GRACE * 3), []);
    }

    #[test]
    fn an_object_that_comes_back_has_the_whole_time_again() {
        let (start, mut absent) = (Instant::now(), AbsentKeys::default());
        let gone = key(2, "ApiKey team/gone");
        let keys = [gone.clone()];
        let mut compare = |present: &[&str], after: Duration| {
            absent.compare(&keys, &names(present), (at(100), start + after), GRACE)
        };
        assert_eq!(compare(&[], Duration::ZERO), [suspend(&gone)]);
        assert_eq!(compare(&["ApiKey team/gone"], GRACE / 2), []);
        assert_eq!(compare(&[], GRACE), [suspend(&gone)]);
    }

    #[test]
    fn keys_by_hand_are_left_alone_and_old_ones_of_an_object_stay_expired() {
        let mut absent = AbsentKeys::default();
        for by_hand in ["laptop", "ApiKey", "ApiKey of mine"].map(|name| key(1, name)) {
            assert!(!is_watched(&by_hand, None), "{by_hand:?}");
        }
        let [mut old, mut newest] = [key(2, "ApiKey team/gone"), key(3, "ApiKey team/gone")];
        old.expires_at = Some(at(50));
        newest.expires_at = Some(at(60));
        let is_of = |namespace| is_watched(&newest, namespace);
        assert!(is_of(None) && is_of(Some("team")) && !is_of(Some("another")));
        let keys = [old, newest.clone()];
        let now = Instant::now();
        assert_eq!(absent.compare(&keys, &names(&[]), (at(100), now), GRACE), []);
        assert_eq!(absent.next_revocation(GRACE, now), Some(now + GRACE));
        assert_eq!(absent.next_revocation(GRACE, now + GRACE), None);
        // The newest would be active again under a new object with the same Secret.
        let changes = absent.compare(&keys, &names(&[]), (at(100), now + GRACE), GRACE);
        assert_eq!(changes, [change(&newest, ChangeKind::Revoke)]);
    }
}
