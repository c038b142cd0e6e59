//! Cache of answers: in the memory of each server, bounded by bytes, and in Redis for all servers. Concurrent requests
//! for the same answer are computed once.

mod serialized;
mod shared;

use std::{mem::size_of, sync::Arc, time::Duration};

use assay_address::{CanonicalAddress, ChainId};
use assay_engine::{
    facts::DifferingBranches,
    planned::{EarlierReceivers, PlannedWithdrawal},
    transfer::TransferQuery,
};
use assay_intel::IntelSnapshot;
use assay_tenancy::Name;
use jiff::{SignedDuration, Timestamp};
use quick_cache::{Weighter, sync::Cache};

pub use serialized::SerializedAssessment;
pub use shared::SharedAnswers;

use super::invalidated_addresses::InvalidatedAddresses;
use crate::chains::ChainReaders;
use shared::Claim;

/// Source of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CacheStatus {
    /// A cached answer.
    Hit,
    /// A new answer, because no cached one could be repeated.
    Miss,
    /// A new answer, because the caller asked for one.
    Bypass,
}

/// Largest lead of the clock of the server that made an answer. An answer from further in the future was made
/// before a clock was set back, so that its age is unknown.
const AHEAD: SignedDuration = SignedDuration::from_secs(60);

/// Limits of the age of an answer that is repeated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AgeLimits {
    /// Age limit of the plan.
    pub lifetime: SignedDuration,
    /// Age limit of the caller; zero asks for a new answer.
    pub caller_accepts: Option<SignedDuration>,
}

impl AgeLimits {
    /// True if the caller asks for a new answer.
    fn wants_new(self) -> bool {
        self.caller_accepts.is_some_and(|accepts| accepts.is_zero())
    }

    fn allows(self, known: &SerializedAssessment, now: Timestamp) -> bool {
        let age = known.age(now);
        known.assessed_at.duration_since(now) <= AHEAD
            && age < self.lifetime
            && self.caller_accepts.is_none_or(|accepts| age <= accepts)
    }
}

/// Key of a cached answer: everything that the answer depends on except the data.
///
/// The key has the tenant although two tenants with one policy get equal answers: otherwise the age of an answer would
/// disclose to one tenant that the other asked.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct CacheKey {
    pub(super) tenant: Name,
    pub(super) policy_revision: Arc<str>,
    /// Revision of the set of chains and of the sources by which they are read.
    pub(super) chains_revision: Arc<str>,
    /// True if lists and labels are stale.
    pub(super) intel_stale: bool,
    /// Difference between the branches of the servers of the subject's chain.
    pub(super) differing_branches: Option<DifferingBranches>,
    pub(super) subject: CheckSubject,
}

/// Subject of a check.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum CheckSubject {
    /// An address.
    Address(CanonicalAddress),
    /// One transfer.
    Transfer(Box<TransferQuery>),
    /// A withdrawal that is not sent yet.
    Planned(Box<PlannedSubject>),
}

/// Withdrawal that is not sent yet, with the receivers that look like its receiver: an answer is not repeated once
/// there are others.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct PlannedSubject {
    pub(super) withdrawal: PlannedWithdrawal,
    pub(super) earlier_receivers: EarlierReceivers,
}

impl CheckSubject {
    /// Returns the blockchain of the subject.
    pub(super) fn chain(&self) -> ChainId {
        match self {
            Self::Address(address) => address.chain(),
            Self::Transfer(query) => query.chain,
            Self::Planned(planned) => planned.withdrawal.to.chain(),
        }
    }
}

/// Bytes of an entry in the cache's own structures, and of the summary that the first check of the answer adds to it.
const OVERHEAD: usize = 256 + 768;

#[derive(Clone, Debug)]
struct BytesWeighter;

impl Weighter<CacheKey, Arc<SerializedAssessment>> for BytesWeighter {
    fn weight(&self, key: &CacheKey, value: &Arc<SerializedAssessment>) -> u64 {
        let texts =
            [&*value.text, &*value.address, &*value.digest, &*key.policy_revision].map(str::len);
        let boxed = match key.subject {
            CheckSubject::Address(_) => 0,
            CheckSubject::Transfer(_) => size_of::<TransferQuery>(),
            CheckSubject::Planned(_) => size_of::<PlannedSubject>(),
        };
        let bytes = size_of::<CacheKey>()
            + size_of::<SerializedAssessment>()
            + OVERHEAD
            + boxed
            + texts.iter().sum::<usize>();
        u64::try_from(bytes).unwrap_or(u64::MAX)
    }
}

/// State of the data now. An answer from another state is not repeated.
#[derive(Clone, Copy, Debug)]
pub(super) struct DataState<'a> {
    /// Generation of lists and labels.
    pub(super) generation: u64,
    /// Revision of the content of lists and labels.
    pub(super) revision: &'a str,
    /// Addresses in the latest blocks.
    pub(super) invalidated_addresses: &'a InvalidatedAddresses,
    /// Readers of chains, which have the present compositions (origin breakdowns).
    pub(super) chains: &'a ChainReaders,
}

impl<'a> DataState<'a> {
    pub(super) fn new(
        intel: &'a IntelSnapshot,
        invalidated_addresses: &'a InvalidatedAddresses,
        chains: &'a ChainReaders,
    ) -> Self {
        Self {
            generation: intel.generation(),
            revision: intel.data_revision(),
            invalidated_addresses,
            chains,
        }
    }

    /// True if an answer may be repeated now.
    fn allows(
        &self,
        known: &SerializedAssessment,
        subject: &CheckSubject,
        age_limits: AgeLimits,
        now: Timestamp,
    ) -> bool {
        let tip = known.tip.as_deref();
        known.generation == self.generation
            && match subject {
                CheckSubject::Address(address) => {
                    self.invalidated_addresses.is_valid(address, known.cluster_root.as_deref(), tip)
                }
                CheckSubject::Planned(planned) => {
                    let to = &planned.withdrawal.to;
                    self.invalidated_addresses.is_valid(to, known.cluster_root.as_deref(), tip)
                }
                // The confirmations of a transfer change with every block, and its receiver is not in the key.
                CheckSubject::Transfer(query) => {
                    self.invalidated_addresses.is_latest(query.chain, tip)
                }
            }
            && known.valid_until.is_none_or(|until| now < until)
            && known.outdated_compositions.as_ref().is_none_or(|used| {
                self.chains.composition_revision(subject.chain()).as_ref() == Some(used)
            })
            && age_limits.allows(known, now)
    }
}

/// Cache of one server, connected to the cache in Redis.
#[derive(Debug)]
pub(super) struct ResultCache {
    cache: Cache<CacheKey, Arc<SerializedAssessment>, BytesWeighter>,
    shared: Option<SharedAnswers>,
}

impl ResultCache {
    pub(super) fn new(bytes: u64, shared: Option<SharedAnswers>) -> Self {
        let typical = 4 * 1024;
        let items = usize::try_from(bytes / typical).unwrap_or(usize::MAX).max(16);
        Self { cache: Cache::with_weighter(items, bytes, BytesWeighter), shared }
    }

    /// Returns an answer in memory that may be repeated, without waiting.
    pub(super) fn find_in_memory(
        &self,
        key: &CacheKey,
        data: DataState<'_>,
        age_limits: AgeLimits,
        now: Timestamp,
    ) -> Option<Arc<SerializedAssessment>> {
        let known = self.cache.get(key).filter(|_| !age_limits.wants_new())?;
        data.allows(&known, &key.subject, age_limits, now).then_some(known)
    }

    /// Returns an answer that may be repeated, or a new one. Of concurrent requests, one computes the answer.
    ///
    /// # Errors
    ///
    /// Returns an error if a new answer cannot be computed. After an error, each waiting request computes its own
    /// answer.
    pub(super) async fn get<E, F: Future<Output = Result<SerializedAssessment, E>>>(
        &self,
        key: &CacheKey,
        data: DataState<'_>,
        age_limits: AgeLimits,
        now: Timestamp,
        assess: impl Fn() -> F,
    ) -> Result<(Arc<SerializedAssessment>, CacheStatus), E> {
        let repeatable =
            |known: &SerializedAssessment| data.allows(known, &key.subject, age_limits, now);
        if age_limits.wants_new() {
            let assessed = Arc::new(assess().await?);
            self.share(key, data, &assessed, None, age_limits, now).await;
            self.cache.insert(key.clone(), Arc::clone(&assessed));
            return Ok((assessed, CacheStatus::Bypass));
        }
        loop {
            match self.cache.get_value_or_guard_async(key).await {
                Ok(known) if repeatable(&known) => return Ok((known, CacheStatus::Hit)),
                Ok(stale) => {
                    self.cache.remove_if(key, |current| Arc::ptr_eq(current, &stale));
                }
                Err(guard) => {
                    let (assessed, status) = match self.shared_or_claim(key, data, repeatable).await
                    {
                        Ok(known) => (Arc::new(known), CacheStatus::Hit),
                        Err(claim) => {
                            let assessed = Arc::new(assess().await?);
                            self.share(key, data, &assessed, claim, age_limits, now).await;
                            (assessed, CacheStatus::Miss)
                        }
                    };
                    // If the placeholder was removed meanwhile, the next caller creates it again.
                    let _ = guard.insert(Arc::clone(&assessed));
                    return Ok((assessed, status));
                }
            }
        }
    }

    /// Returns an answer of another server. If no other server has the answer, this server computes the answer, with a
    /// claim to the answer if a claim was granted.
    async fn shared_or_claim(
        &self,
        key: &CacheKey,
        data: DataState<'_>,
        repeatable: impl Fn(&SerializedAssessment) -> bool,
    ) -> Result<SerializedAssessment, Option<Claim>> {
        let Some(shared) = &self.shared else { return Err(None) };
        shared.claim(key, data, repeatable).await
    }

    /// Stores an answer for other servers, for as long as it may be repeated, and releases the claim to it.
    async fn share(
        &self,
        key: &CacheKey,
        data: DataState<'_>,
        assessed: &SerializedAssessment,
        claim: Option<Claim>,
        age_limits: AgeLimits,
        now: Timestamp,
    ) {
        let Some(shared) = &self.shared else { return };
        let holds = assessed.valid_until.map(|until| until.duration_since(now));
        let lifetime = holds.map_or(age_limits.lifetime, |holds| holds.min(age_limits.lifetime));
        let lifetime = Duration::try_from(lifetime).unwrap_or_default();
        match claim {
            Some(claim) => shared.store_claimed(claim, assessed, lifetime).await,
            None => shared.store(key, data, assessed, lifetime).await,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{
        collections::{BTreeSet, HashSet},
        sync::atomic::{AtomicUsize, Ordering},
    };

    use assay_engine::{
        policy::Policy,
        transfer::{TransferDirection, TransferSelector},
        utxo::{OutputSelector, Txid},
    };
    use assay_redis::{RedisClient, RedisSettings};
    use assay_store::checks::CheckSummary;
    use assay_test_servers::redis::Redis;
    use tokio::task::yield_now;

    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_second(1_763_640_000 + seconds).unwrap()
    }

    fn key(tenant: &str) -> CacheKey {
        CacheKey {
            tenant: tenant.parse().unwrap(),
            policy_revision: "p".into(),
            chains_revision: "c".into(),
            intel_stale: false,
            differing_branches: None,
            subject: CheckSubject::Address(address()),
        }
    }

    fn address() -> CanonicalAddress {
        CanonicalAddress::parse(ChainId::BTC, "1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa").unwrap()
    }

    fn transfer(selector: OutputSelector, direction: TransferDirection) -> CacheKey {
        let txid = Txid::from_bytes([7; 32]);
        let selector = TransferSelector::Outputs(selector);
        let query = TransferQuery { chain: ChainId::BTC, txid, selector, direction };
        CacheKey { subject: CheckSubject::Transfer(Box::new(query)), ..key("a") }
    }

    fn assessed(generation: u64, now: Timestamp) -> SerializedAssessment {
        let address = address();
        let facts = IntelSnapshot::default().facts(&address);
        let assessment = assay_engine::assess(&address, &facts, &Policy::default(), now);
        SerializedAssessment::new(&assessment, now, generation).unwrap()
    }

    const PLAN: AgeLimits =
        AgeLimits { lifetime: SignedDuration::from_secs(300), caller_accepts: None };

    async fn status(
        cache: &ResultCache,
        tenant: &str,
        generation: u64,
        age_limits: AgeLimits,
        now: Timestamp,
    ) -> CacheStatus {
        let invalidated_addresses = InvalidatedAddresses::default();
        let data = DataState {
            generation,
            revision: "1-0",
            invalidated_addresses: &invalidated_addresses,
            chains: &ChainReaders::default(),
        };
        let assess = async || Ok::<_, ()>(assessed(generation, now));
        cache.get(&key(tenant), data, age_limits, now, assess).await.unwrap().1
    }

    #[test]
    fn an_assessment_is_found_as_its_text_is() {
        let assessed = assessed(1, at(0));
        let read = CheckSummary::of_answer(&assessed.text).map(Arc::new);
        assert_eq!(assessed.summary(), read.as_ref());
    }

    #[tokio::test]
    async fn an_answer_is_repeated_within_its_lifetime_and_for_the_same_tenant() {
        let cache = ResultCache::new(1 << 20, None);
        assert_eq!(status(&cache, "a", 1, PLAN, at(0)).await, CacheStatus::Miss);
        assert_eq!(status(&cache, "a", 1, PLAN, at(299)).await, CacheStatus::Hit);
        assert_eq!(status(&cache, "b", 1, PLAN, at(299)).await, CacheStatus::Miss);
        assert_eq!(status(&cache, "a", 1, PLAN, at(300)).await, CacheStatus::Miss);
    }

    #[tokio::test]
    async fn changed_data_invalidates_at_once() {
        let cache = ResultCache::new(1 << 20, None);
        assert_eq!(status(&cache, "a", 1, PLAN, at(0)).await, CacheStatus::Miss);
        assert_eq!(status(&cache, "a", 2, PLAN, at(1)).await, CacheStatus::Miss);
        assert_eq!(status(&cache, "a", 2, PLAN, at(2)).await, CacheStatus::Hit);
    }

    #[tokio::test]
    async fn the_caller_may_request_a_fresher_answer() {
        let cache = ResultCache::new(1 << 20, None);
        let accepts = |seconds| AgeLimits {
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
    async fn concurrent_requests_compute_an_answer_once() {
        let cache = Arc::new(ResultCache::new(1 << 20, None));
        let made = Arc::new(AtomicUsize::new(0));
        let tasks: Vec<_> = (0..32)
            .map(|_| {
                let (cache, made) = (Arc::clone(&cache), Arc::clone(&made));
                tokio::spawn(async move {
                    let assess = async || {
                        made.fetch_add(1, Ordering::Relaxed);
                        Ok::<_, ()>(assessed(1, at(0)))
                    };
                    let invalidated_addresses = InvalidatedAddresses::default();
                    let data = DataState {
                        generation: 1,
                        revision: "1-0",
                        invalidated_addresses: &invalidated_addresses,
                        chains: &ChainReaders::default(),
                    };
                    cache.get(&key("a"), data, PLAN, at(0), assess).await.unwrap().0.digest.clone()
                })
            })
            .collect();
        let mut digests = std::collections::BTreeSet::new();
        for task in tasks {
            digests.insert(task.await.unwrap());
        }
        assert_eq!((made.load(Ordering::Relaxed), digests.len()), (1, 1));
    }

    #[test]
    fn keys_of_transfers_differ_from_each_other_and_from_that_of_the_address() {
        let redis = RedisClient::new(RedisSettings::new("redis://127.0.0.1:1".parse().unwrap()));
        let shared = SharedAnswers::new(redis, "test".into());
        let invalidated_addresses = InvalidatedAddresses::default();
        let data = DataState {
            generation: 1,
            revision: "1-0",
            invalidated_addresses: &invalidated_addresses,
            chains: &ChainReaders::default(),
        };
        let keys = [
            key("a"),
            transfer(OutputSelector::Index(0), TransferDirection::Deposit),
            transfer(OutputSelector::Index(1), TransferDirection::Deposit),
            transfer(OutputSelector::Index(1), TransferDirection::Withdrawal),
            transfer(OutputSelector::Address(address()), TransferDirection::Withdrawal),
        ];
        let names: BTreeSet<String> = keys.iter().map(|key| shared.key(key, data)).collect();
        assert_eq!(names.len(), keys.len());
        let in_memory: HashSet<&CacheKey> = keys.iter().collect();
        assert_eq!(in_memory.len(), keys.len());
    }

    #[test]
    fn a_transfer_is_repeated_until_the_next_block() {
        let subject = transfer(OutputSelector::Index(0), TransferDirection::Deposit).subject;
        let mut invalidated_addresses = InvalidatedAddresses::default();
        invalidated_addresses.add_everything(ChainId::BTC, "10".into());
        let known = SerializedAssessment { tip: Some("10".into()), ..assessed(1, at(0)) };
        let allows = |invalidated_addresses: &InvalidatedAddresses| {
            let data = DataState {
                generation: 1,
                revision: "1-0",
                invalidated_addresses,
                chains: &ChainReaders::default(),
            };
            data.allows(&known, &subject, PLAN, at(1))
        };
        assert!(allows(&invalidated_addresses));
        // Even a block that pays nobody adds a confirmation.
        invalidated_addresses.add(ChainId::BTC, "11".into(), std::iter::empty());
        assert!(!allows(&invalidated_addresses));
    }

    #[test]
    fn an_answer_by_outdated_compositions_is_not_repeated_unless_they_are_the_present_ones() {
        let invalidated_addresses = InvalidatedAddresses::default();
        let data = DataState {
            generation: 1,
            revision: "1-0",
            invalidated_addresses: &invalidated_addresses,
            chains: &ChainReaders::default(),
        };
        let current = assessed(1, at(0));
        let outdated =
            SerializedAssessment { outdated_compositions: Some("r".into()), ..current.clone() };
        let subject = key("a").subject;
        assert!(data.allows(&current, &subject, PLAN, at(1)));
        assert!(!data.allows(&outdated, &subject, PLAN, at(1)));
    }

    #[tokio::test]
    async fn a_released_claim_yields_the_answer_that_it_produced() {
        // Given a server that found no answer,
        let redis = Redis::start();
        let link = RedisClient::new(RedisSettings::new(redis.url().parse().unwrap()));
        let shared = SharedAnswers::new(link, "test".into());
        let invalidated_addresses = InvalidatedAddresses::default();
        let data = DataState {
            generation: 1,
            revision: "1-0",
            invalidated_addresses: &invalidated_addresses,
            chains: &ChainReaders::default(),
        };
        assert_eq!(shared.find(&key("a"), data).await, None);
        // when another server stores the answer before the claim,
        let claim = shared.claim(&key("a"), data, |_| true).await.unwrap_err();
        let made = assessed(1, at(0));
        shared.store(&key("a"), data, &made, Duration::from_mins(1)).await;
        drop(claim);
        while !redis.cli(&["keys", "*:claim"]).is_empty() {
            yield_now().await;
        }
        // then the claim leads to that answer.
        assert_eq!(shared.claim(&key("a"), data, |_| true).await.unwrap(), made);
        assert!(matches!(shared.claim(&key("b"), data, |_| true).await, Err(Some(_))));
    }
}
