//! The content of the store, kept in memory between rounds.

use std::sync::Arc;

use assay_manifests::{Manifest, Manifests};
use assay_store::{
    Revisions, Store, StoreError,
    control::{KeyRecord, KeySet, ManifestRecord, ManifestSet},
};
use jiff::Timestamp;

use super::former;

/// The reads that a [`StoreCache`] needs.
pub(super) trait ReadControl {
    /// The change counters.
    fn revisions(&self) -> impl Future<Output = Result<Revisions, StoreError>> + Send;
    /// All manifests.
    fn manifests(&self) -> impl Future<Output = Result<ManifestSet, StoreError>> + Send;
    /// All keys.
    fn keys(&self) -> impl Future<Output = Result<KeySet, StoreError>> + Send;
}

/// The store that the operator writes to.
#[derive(Debug)]
pub(super) struct StoreReader(pub(super) Arc<dyn Store>);

impl ReadControl for StoreReader {
    async fn revisions(&self) -> Result<Revisions, StoreError> {
        self.0.revisions().await
    }

    async fn manifests(&self) -> Result<ManifestSet, StoreError> {
        self.0.manifests().await
    }

    async fn keys(&self) -> Result<KeySet, StoreError> {
        self.0.keys().await
    }
}

/// The manifests in the store.
#[derive(Debug)]
pub(super) struct StoredManifests {
    /// The revision of the manifests.
    pub(super) revision: u64,
    /// The manifests, parsed.
    pub(super) manifests: Manifests,
}

/// Cache of the manifests and keys in the store, read again only when their revision changes.
///
/// A restored backup can have the cached revision with other content. [`clear`](Self::clear) is therefore called after
/// each write, after each failed round, and at each resync, so that the operator notices a restored backup within a
/// resync interval. No write is computed from cached content: see [`plan`](Self::plan).
#[derive(Debug)]
pub(super) struct StoreCache<S> {
    store: S,
    manifests: Option<Arc<StoredManifests>>,
    keys: Option<KeySet>,
}

impl<S: ReadControl> StoreCache<S> {
    /// An empty cache of a store.
    pub(super) const fn new(store: S) -> Self {
        Self { store, manifests: None, keys: None }
    }

    /// Computes the plan of a round. `plan` gets the manifests, and the keys if a tenant has expired, and returns a
    /// plan, with true if the plan writes. A plan that writes and was computed from cached content is computed again
    /// from the store.
    pub(super) async fn plan<T>(
        &mut self,
        now: Timestamp,
        mut plan: impl FnMut(&StoredManifests, &[KeyRecord]) -> (T, bool),
    ) -> Result<(Arc<StoredManifests>, T), StoreError> {
        loop {
            let in_memory = self.manifests.clone();
            let stored = self.manifests().await?;
            let keys = if former::expired(&stored.manifests, now).is_empty() {
                // They take much memory and are seldom needed.
                self.keys = None;
                &[]
            } else {
                self.keys().await?
            };
            let (planned, needs_write) = plan(&stored, keys);
            let is_copy = in_memory.is_some_and(|copy| Arc::ptr_eq(&copy, &stored));
            if !(needs_write && is_copy) {
                return Ok((stored, planned));
            }
            self.clear();
        }
    }

    /// The manifests in the store.
    async fn manifests(&mut self) -> Result<Arc<StoredManifests>, StoreError> {
        let revision = self.store.revisions().await?.manifests;
        if let Some(known) = self.manifests.as_ref().filter(|known| known.revision == revision) {
            return Ok(Arc::clone(known));
        }
        let ManifestSet { revision, manifests } = self.store.manifests().await?;
        let parse = |record: ManifestRecord| {
            let mut manifest: Manifest = record.parse();
            // As of objects: a message is the same before and after the object is stored.
            manifest.origin = format!("{} {}", manifest.kind.as_str(), manifest.name);
            (manifest.key(), Arc::new(manifest))
        };
        let manifests = manifests.into_iter().map(parse).collect();
        let read = Arc::new(StoredManifests { revision, manifests });
        self.manifests = Some(Arc::clone(&read));
        Ok(read)
    }

    /// The keys in the store.
    async fn keys(&mut self) -> Result<&[KeyRecord], StoreError> {
        let revision = self.store.revisions().await?.keys;
        let read = match self.keys.take().filter(|known| known.revision == revision) {
            Some(known) => known,
            None => self.store.keys().await?,
        };
        Ok(&self.keys.insert(read).keys)
    }

    /// Empties the cache: the next round reads the store.
    pub(super) fn clear(&mut self) {
        self.manifests = None;
        self.keys = None;
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Mutex, PoisonError};

    use assay_tenancy::manifest::Kind;
    use serde_json::json;

    use super::*;

    /// The content of a store, and the number of reads.
    #[derive(Clone, Debug)]
    struct Content {
        revisions: Revisions,
        manifests: Vec<ManifestRecord>,
        manifest_reads: u32,
        key_reads: u32,
    }

    /// A store that counts its reads.
    #[derive(Debug)]
    struct CountingStore(Mutex<Content>);

    impl CountingStore {
        fn new() -> Self {
            Self(Mutex::new(Content {
                revisions: Revisions { intel: 0, control: 2, manifests: 1, keys: 1 },
                manifests: vec![policy("a")],
                manifest_reads: 0,
                key_reads: 0,
            }))
        }

        /// Changes the content, and returns it.
        fn with(&self, change: impl FnOnce(&mut Content)) -> Content {
            let mut content = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            change(&mut content);
            content.clone()
        }

        /// The number of reads of manifests and of keys.
        fn reads(&self) -> (u32, u32) {
            let Content { manifest_reads, key_reads, .. } = self.with(|_| {});
            (manifest_reads, key_reads)
        }
    }

    impl ReadControl for CountingStore {
        async fn revisions(&self) -> Result<Revisions, StoreError> {
            Ok(self.with(|_| {}).revisions)
        }

        async fn manifests(&self) -> Result<ManifestSet, StoreError> {
            let Content { revisions, manifests, .. } =
                self.with(|content| content.manifest_reads += 1);
            Ok(ManifestSet { revision: revisions.manifests, manifests })
        }

        async fn keys(&self) -> Result<KeySet, StoreError> {
            let content = self.with(|content| content.key_reads += 1);
            Ok(KeySet { revision: content.revisions.keys, keys: vec![] })
        }
    }

    fn policy(name: &str) -> ManifestRecord {
        let name = name.parse().unwrap();
        ManifestRecord { kind: Kind::RiskPolicy, name, spec: json!({}) }
    }

    #[tokio::test]
    async fn an_idle_round_reads_revisions_only() {
        let mut cache = StoreCache::new(CountingStore::new());
        for _ in 0..5 {
            assert_eq!(cache.manifests().await.unwrap().manifests.len(), 1);
            cache.keys().await.unwrap();
        }
        assert_eq!(cache.store.reads(), (1, 1));
    }

    #[tokio::test]
    async fn a_change_of_one_part_reads_that_part_only() {
        let mut cache = StoreCache::new(CountingStore::new());
        cache.manifests().await.unwrap();
        cache.keys().await.unwrap();
        cache.store.with(|content| content.revisions.keys += 1);
        cache.manifests().await.unwrap();
        cache.keys().await.unwrap();
        assert_eq!(cache.store.reads(), (1, 2), "a key was added");
        cache.store.with(|content| {
            content.manifests.push(policy("b"));
            content.revisions.manifests += 1;
        });
        assert_eq!(cache.manifests().await.unwrap().manifests.len(), 2);
        cache.keys().await.unwrap();
        assert_eq!(cache.store.reads(), (2, 2), "a manifest was added");
    }

    #[tokio::test]
    async fn a_write_never_rests_on_a_copy() {
        let count = |stored: &StoredManifests| stored.manifests.len();
        let mut cache = StoreCache::new(CountingStore::new());
        cache.manifests().await.unwrap();
        // Given a restored backup with the revision that is in memory...
        cache.store.with(|content| content.manifests.push(policy("b")));
        let now = Timestamp::UNIX_EPOCH;
        let idle = cache.plan(now, |stored, _| (count(stored), false)).await.unwrap();
        assert_eq!((idle.1, cache.store.reads()), (1, (1, 0)));
        // ...then a plan that writes is made from its content, and read once.
        let written = cache.plan(now, |stored, _| (count(stored), true)).await.unwrap();
        assert_eq!((written.1, written.0.manifests.len(), cache.store.reads()), (2, 2, (2, 0)));
        cache.store.with(|content| content.revisions.manifests += 1);
        cache.plan(now, |stored, _| (count(stored), true)).await.unwrap();
        assert_eq!(cache.store.reads(), (3, 0), "what was just read is no copy");
    }

    #[tokio::test]
    async fn an_older_revision_is_read_too() {
        let mut cache = StoreCache::new(CountingStore::new());
        cache.manifests().await.unwrap();
        cache.store.with(|content| {
            content.manifests.clear();
            content.revisions.manifests = 0;
        });
        let restored = cache.manifests().await.unwrap();
        assert_eq!((restored.revision, restored.manifests.len()), (0, 0), "a restored backup");
    }

    #[tokio::test]
    async fn other_content_of_the_same_revision_is_read_once_cleared() {
        let mut cache = StoreCache::new(CountingStore::new());
        cache.manifests().await.unwrap();
        cache.store.with(|content| content.manifests.push(policy("b")));
        assert_eq!(cache.manifests().await.unwrap().manifests.len(), 1);
        cache.clear();
        assert_eq!(cache.manifests().await.unwrap().manifests.len(), 2);
    }
}
