//! Answers that may be repeated: bounded by bytes, computed once however many ask at once.

use std::{mem::size_of, sync::Arc};

use assay_engine::{address::CanonicalAddress, assessment::Assessment};
use assay_tenancy::Name;
use jiff::{SignedDuration, Timestamp};
use quick_cache::{Weighter, sync::Cache};

use super::touched::Touched;

/// An assessment, when it was made, and its digest.
#[derive(Debug)]
pub struct Assessed {
    /// The assessment.
    pub assessment: Assessment,
    /// Its digest.
    pub digest: String,
    /// When it was made.
    pub assessed_at: Timestamp,
    /// The generation of the data it was made from.
    generation: u64,
    /// Its chain's newest block then, by its hash; `None` where the chain was not looked at.
    tip: Option<String>,
}

impl Assessed {
    /// Takes note of an assessment made at `assessed_at` from data of `generation`.
    #[must_use]
    pub fn new(assessment: Assessment, assessed_at: Timestamp, generation: u64) -> Self {
        let digest = assessment.digest();
        let tips = assessment.sources.iter().filter_map(|source| source.tip.as_ref());
        let tip = tips.map(|tip| tip.hash.clone()).next();
        Self { assessment, digest, assessed_at, generation, tip }
    }

    /// How old it is.
    #[must_use]
    pub fn age(&self, now: Timestamp) -> SignedDuration {
        now.duration_since(self.assessed_at).max(SignedDuration::ZERO)
    }
}

/// How an answer came about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CacheStatus {
    /// It is repeated.
    Hit,
    /// It is new: nothing was there that could be repeated.
    Miss,
    /// It is new: the caller asked for that.
    Bypass,
}

/// How fresh an answer must be to be repeated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Freshness {
    /// Longest time for which the plan lets an answer be repeated.
    pub lifetime: SignedDuration,
    /// Longest time that the caller accepts; zero asks for a new answer.
    pub caller_accepts: Option<SignedDuration>,
}

impl Freshness {
    /// Whether the caller wants a new answer whatever is there.
    fn wants_new(self) -> bool {
        self.caller_accepts.is_some_and(|accepts| accepts.is_zero())
    }

    fn allows(self, age: SignedDuration) -> bool {
        age < self.lifetime && self.caller_accepts.is_none_or(|accepts| age <= accepts)
    }
}

/// What an answer depends on besides the data.
///
/// The tenant is part of it although two tenants with one policy get equal answers: otherwise an answer's
/// age would tell one of them that the other asked.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct CacheKey {
    pub(super) tenant: Name,
    pub(super) policy_revision: String,
    /// Names the chains that are followed, and how.
    pub(super) chains_revision: String,
    pub(super) address: CanonicalAddress,
}

#[derive(Clone, Debug)]
struct ByBytes;

impl Weighter<CacheKey, Arc<Assessed>> for ByBytes {
    /// An estimate: the structures, and their texts at a typical length.
    fn weight(&self, _: &CacheKey, value: &Arc<Assessed>) -> u64 {
        let assessment = &value.assessment;
        let pieces = assessment.scoring_components.len()
            + assessment.sanctions.len()
            + assessment.labels.len()
            + assessment.exposure.len()
            + assessment.associated_wallets.len()
            + assessment.sources.len()
            + assessment.reasons.len();
        let bytes = size_of::<CacheKey>() + size_of::<Assessed>() + 512 + pieces * 640;
        u64::try_from(bytes).unwrap_or(u64::MAX)
    }
}

/// What is known now: an answer from other data is not repeated.
#[derive(Clone, Copy, Debug)]
pub(super) struct Data<'a> {
    /// How often lists and labels changed.
    pub(super) generation: u64,
    /// Whom the newest blocks touched.
    pub(super) touched: &'a Touched,
}

/// The cache of one process.
#[derive(Debug)]
pub(super) struct ResultCache {
    cache: Cache<CacheKey, Arc<Assessed>, ByBytes>,
}

impl ResultCache {
    pub(super) fn new(bytes: u64) -> Self {
        let typical = 4 * 1024;
        let items = usize::try_from(bytes / typical).unwrap_or(usize::MAX).max(16);
        Self { cache: Cache::with_weighter(items, bytes, ByBytes) }
    }

    /// An answer that may be repeated, or a new one. Of many who ask at once, one makes it.
    pub(super) async fn get<F: Future<Output = Assessed>>(
        &self,
        key: CacheKey,
        data: Data<'_>,
        freshness: Freshness,
        now: Timestamp,
        assess: impl Fn() -> F,
    ) -> (Arc<Assessed>, CacheStatus) {
        let repeatable = |known: &Assessed| {
            known.generation == data.generation
                && data.touched.holds(&key.address, known.tip.as_deref())
                && known.assessment.valid_until.is_none_or(|until| now < until)
                && freshness.allows(known.age(now))
        };
        if freshness.wants_new() {
            let assessed = Arc::new(assess().await);
            self.cache.insert(key, Arc::clone(&assessed));
            return (assessed, CacheStatus::Bypass);
        }
        loop {
            match self.cache.get_value_or_guard_async(&key).await {
                Ok(known) if repeatable(&known) => return (known, CacheStatus::Hit),
                Ok(stale) => {
                    self.cache.remove_if(&key, |current| Arc::ptr_eq(current, &stale));
                }
                Err(guard) => {
                    let assessed = Arc::new(assess().await);
                    // Where the placeholder was removed meanwhile, the next caller makes it again.
                    let _ = guard.insert(Arc::clone(&assessed));
                    return (assessed, CacheStatus::Miss);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use assay_engine::{chain::ChainId, policy::Policy};
    use assay_store::IntelSnapshot;

    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_second(1_763_640_000 + seconds).unwrap()
    }

    fn key(tenant: &str) -> CacheKey {
        let address = "1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa";
        CacheKey {
            tenant: tenant.parse().unwrap(),
            policy_revision: "p".into(),
            chains_revision: "c".into(),
            address: CanonicalAddress::parse(ChainId::BTC, address).unwrap(),
        }
    }

    fn assessed(generation: u64, now: Timestamp) -> Assessed {
        let address = key("a").address;
        let facts = IntelSnapshot::default().facts(&address);
        let assessment = assay_engine::assess(&address, &facts, &Policy::default(), now);
        Assessed::new(assessment, now, generation)
    }

    const PLAN: Freshness =
        Freshness { lifetime: SignedDuration::from_secs(300), caller_accepts: None };

    async fn status(
        cache: &ResultCache,
        tenant: &str,
        generation: u64,
        freshness: Freshness,
        now: Timestamp,
    ) -> CacheStatus {
        let touched = Touched::default();
        let data = Data { generation, touched: &touched };
        cache.get(key(tenant), data, freshness, now, async || assessed(generation, now)).await.1
    }

    #[tokio::test]
    async fn an_answer_is_repeated_within_its_lifetime_and_for_the_same_tenant() {
        let cache = ResultCache::new(1 << 20);
        assert_eq!(status(&cache, "a", 1, PLAN, at(0)).await, CacheStatus::Miss);
        assert_eq!(status(&cache, "a", 1, PLAN, at(299)).await, CacheStatus::Hit);
        assert_eq!(status(&cache, "b", 1, PLAN, at(299)).await, CacheStatus::Miss);
        assert_eq!(status(&cache, "a", 1, PLAN, at(300)).await, CacheStatus::Miss);
    }

    #[tokio::test]
    async fn changed_data_invalidates_at_once() {
        let cache = ResultCache::new(1 << 20);
        assert_eq!(status(&cache, "a", 1, PLAN, at(0)).await, CacheStatus::Miss);
        assert_eq!(status(&cache, "a", 2, PLAN, at(1)).await, CacheStatus::Miss);
        assert_eq!(status(&cache, "a", 2, PLAN, at(2)).await, CacheStatus::Hit);
    }

    #[tokio::test]
    async fn the_caller_may_ask_for_something_fresher() {
        let cache = ResultCache::new(1 << 20);
        let accepts = |seconds| Freshness {
            caller_accepts: Some(SignedDuration::from_secs(seconds)),
            ..PLAN
        };
        assert_eq!(status(&cache, "a", 1, PLAN, at(0)).await, CacheStatus::Miss);
        assert_eq!(status(&cache, "a", 1, accepts(10), at(10)).await, CacheStatus::Hit);
        assert_eq!(status(&cache, "a", 1, accepts(9), at(10)).await, CacheStatus::Miss);
        assert_eq!(status(&cache, "a", 1, accepts(0), at(11)).await, CacheStatus::Bypass);
        assert_eq!(status(&cache, "a", 1, PLAN, at(12)).await, CacheStatus::Hit);
    }

    #[tokio::test]
    async fn of_many_who_ask_at_once_one_makes_the_answer() {
        let cache = Arc::new(ResultCache::new(1 << 20));
        let made = Arc::new(AtomicUsize::new(0));
        let tasks: Vec<_> = (0..32)
            .map(|_| {
                let (cache, made) = (Arc::clone(&cache), Arc::clone(&made));
                tokio::spawn(async move {
                    let assess = async || {
                        made.fetch_add(1, Ordering::Relaxed);
                        assessed(1, at(0))
                    };
                    let touched = Touched::default();
                    let data = Data { generation: 1, touched: &touched };
                    cache.get(key("a"), data, PLAN, at(0), assess).await.0.digest.clone()
                })
            })
            .collect();
        let mut digests = std::collections::BTreeSet::new();
        for task in tasks {
            digests.insert(task.await.unwrap());
        }
        assert_eq!((made.load(Ordering::Relaxed), digests.len()), (1, 1));
    }
}
