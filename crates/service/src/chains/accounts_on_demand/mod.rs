//! Histories of single accounts of a chain, fetched on demand: a team without a node gets an answer from the API of an explorer.
//!
//! The lists of the subject are read first, then those of its payers, the most unread money per request first, at any depth. The
//! transfers that were read become a graph in memory, which is assessed like a recorded chain: money of payers that were not read has
//! no known origin. Reading ends when the verdict would be the same whatever the unread money is (`docs/model/accounts.md` D).
//!
//! - `lists`: lists that were read, and what they tell for certain
//! - `gathered`: the graph in memory
//! - `masses`: unread money by payer
//! - `plan`: the order of requests
//! - `stored`, `fetch`: pages from the store, and from the API within limits
//! - `freezes`: freezes by issuers of tokens
//! - `reached`: accounts that severe money reached
//! - `draws`, `secret`, `walk`: random dollars that are walked back to unread payers
//! - `background`: reading with requests of its own, beside the checks
//! - `facts`: the facts about a subject by what was read

mod background;
mod draws;
mod facts;
mod fetch;
mod freezes;
mod gathered;
mod lists;
mod masses;
mod plan;
mod reached;
mod secret;
mod stored;
#[cfg(test)]
mod tests;
mod walk;

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use assay_address::{CanonicalAddress, ChainId};
use assay_chain::histories::accounts::{AccountHistorySource, ApiTip};
use assay_engine::{
    account::{AccountAddress, AccountView, MOST_PAYMENTS},
    evidence::{ReadingStop, Tip, Unavailable},
    histories_suffice, is_decided_by_lists,
    timeline::Timeline,
};
use assay_intel::IntelSnapshot;
use assay_store::FetchedStore;
use assay_telemetry::stage;
use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp, civil::Date};
use tokio::time::Instant;
use tracing::Instrument;

use self::{
    facts::{Read, facts_of},
    fetch::{Answer, PageFetcher, Question},
    freezes::KnownFreezes,
    gathered::gather,
    lists::ReadLists,
    reached::ReachedAccounts,
    stored::StoredPages,
};
use super::{
    accounts::NamedAccounts,
    reader::ChainReader,
    subject::{ReadError, SubjectData, TraceRequest},
    transfer::{TransferError, TransferRead, TransferReadRequest},
};
use crate::large::beside_others_if;

/// Most requests to the API in one check.
const REQUESTS_OF_CHECK: u32 = 20;
/// Most requests that an answer rests on, those of earlier checks and of background work included.
pub(super) const MOST_REQUESTS: u32 = 50;
/// Number of requests from which on payers are drawn at random: the last two fifths of all.
const DRAWS_FROM: u32 = MOST_REQUESTS * 3 / 5;
/// Most requests for payers that were drawn at once: few, so that a dollar is walked back over several accounts.
const DRAWN_AT_ONCE: usize = 4;
/// Most requests for the subject's own lists at once.
const OWN_AT_ONCE: usize = 6;
/// Time after which the API is asked for a newer block.
const TIP_AGE: SignedDuration = SignedDuration::from_secs(30);
/// Longest age of the newest rows of a list.
const NEWEST_AGE: SignedDuration = SignedDuration::from_secs(30);
/// Longest age of stored pages that a timeline shows.
const TIMELINE_AGE: SignedDuration = SignedDuration::from_hours(24);
/// Time limit of a check whose verdict rests on lists and labels alone.
const DECIDED_BOUND: Duration = Duration::from_millis(250);

/// Reader of an account chain that fetches histories on demand.
#[derive(Debug)]
pub struct AccountsOnDemand {
    chain: ChainId,
    store: Arc<dyn FetchedStore>,
    source: Arc<dyn AccountHistorySource>,
    bound: Duration,
    tip: Mutex<Option<(ApiTip, Timestamp)>>,
    named: Mutex<Option<Arc<NamedAccounts>>>,
    freezes: Mutex<KnownFreezes>,
    reached: Mutex<ReachedAccounts>,
    /// Held while freezes are read.
    reading_freezes: tokio::sync::Mutex<()>,
    /// Held while the lists of severe parties are read.
    reading_reached: tokio::sync::Mutex<()>,
}

impl AccountsOnDemand {
    /// Returns a reader of `chain` from an API, for at most `bound` in one check.
    #[must_use]
    pub fn new(
        chain: ChainId,
        store: Arc<dyn FetchedStore>,
        source: Arc<dyn AccountHistorySource>,
        bound: Duration,
    ) -> Self {
        Self {
            chain,
            store,
            source,
            bound,
            tip: Mutex::default(),
            named: Mutex::default(),
            freezes: Mutex::default(),
            reached: Mutex::default(),
            reading_freezes: tokio::sync::Mutex::default(),
            reading_reached: tokio::sync::Mutex::default(),
        }
    }

    /// Reads the histories of a subject and its payers as far as a time bound and a number of pages allow.
    ///
    /// # Errors
    ///
    /// Returns an error if the store fails.
    pub async fn read_within(
        &self,
        request: TraceRequest<'_>,
        bound: Duration,
        most_requests: u32,
    ) -> Result<SubjectData, ReadError> {
        let stage = stage!("ask_source", chain = self.chain.info().id);
        self.read_until(request, Instant::now() + bound, most_requests).instrument(stage).await
    }

    async fn read_until(
        &self,
        request: TraceRequest<'_>,
        deadline: Instant,
        most_requests: u32,
    ) -> Result<SubjectData, ReadError> {
        let TraceRequest { subject, intel, now, .. } = request;
        let Some(account) = AccountAddress::of(subject) else {
            return Ok(SubjectData::unavailable(Unavailable::Unreadable));
        };
        let Some((tip, reported_at)) = self.newest(deadline, now).await else {
            return Ok(SubjectData::unavailable(Unavailable::Unreadable));
        };
        let named = self.named(intel, intel.day(now));
        let mut fetcher = self.fetcher(deadline, (tip.height, now), most_requests);
        let mut lists = ReadLists::default();
        let freezes = self.known_freezes((tip.height, now)).await?;
        let reached = self.reached.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let reached = reached.with_parties_of(&named.ends);
        loop {
            let background = (&*named, &freezes, &reached);
            let draws = self.draws(lists.requests(), account, (intel.day(now), now)).await?;
            let stopped = fetcher.stopped;
            let read = Read { draws, ..self.read(&lists, (tip, reported_at), background, stopped) };
            let (data, next) = beside_others_if(true, || {
                let found = facts_of(request, account, &read);
                let facts = found.data.clone().added_to(super::listed_facts(intel, subject));
                let is_enough = histories_suffice(subject, &facts, request.policy, now);
                let mut next = balances(account, &read, &found);
                if !is_enough {
                    next.extend(self.next(account, &read, &found));
                }
                (found.data, next)
            });
            if next.is_empty() {
                return Ok(data);
            }
            let answers = match fetcher.stopped {
                Some(_) => Vec::new(),
                None => fetcher.answers(next).await?,
            };
            if answers.is_empty() {
                let read = Read { stopped: fetcher.stopped, continues: true, ..read };
                let found = beside_others_if(true, || facts_of(request, account, &read));
                return Ok(found.data);
            }
            for answer in answers {
                match answer {
                    Answer::Page(request, known) => lists.add(&request, known.page, known.tip),
                    Answer::Code(account, has_code) => lists.add_code(account, has_code),
                    Answer::Balance(account, asset, of) => lists.add_balance(account, asset, of),
                    Answer::Freezes(..) => {}
                }
            }
        }
    }

    fn fetcher(
        &self,
        deadline: Instant,
        (tip, now): (u64, Timestamp),
        most_requests: u32,
    ) -> PageFetcher<'_> {
        let seconds = self.chain.info().longest_tip_age_seconds();
        let stored = StoredPages {
            store: &*self.store,
            chain: self.chain,
            api: self.source.name(),
            now,
            longest_age: SignedDuration::from_secs(seconds),
            newest_age: NEWEST_AGE,
        };
        let source = &self.source;
        PageFetcher { source, stored, deadline, left: most_requests, tip, stopped: None }
    }

    fn read<'a>(
        &'a self,
        lists: &'a ReadLists,
        tip: (ApiTip, Timestamp),
        (named, freezes, reached): (&'a NamedAccounts, &'a KnownFreezes, &'a ReachedAccounts),
        stopped: Option<ReadingStop>,
    ) -> Read<'a> {
        let abilities = self.source.abilities();
        Read {
            chain: self.chain,
            api: self.source.name(),
            abilities,
            lists,
            tip,
            named,
            freezes,
            reached,
            draws: None,
            stopped,
            continues: false,
        }
    }

    /// The next requests: the subject's own lists with half of all pages, then those of its payers.
    fn next(
        &self,
        subject: AccountAddress,
        read: &Read<'_>,
        found: &facts::SubjectFacts,
    ) -> Vec<Question> {
        let (lists, internal) = (read.lists, read.abilities.internal_transfers);
        let made = lists.requests();
        let left = usize::try_from(MOST_REQUESTS.saturating_sub(made)).unwrap_or(0);
        let own = plan::of_subject(subject, lists, (self.chain, internal));
        if !own.is_empty() && made < REQUESTS_OF_CHECK / 2 {
            let code = lists.asks_for_code(subject).then_some(Question::Code(subject));
            let own = code.into_iter().chain(own.into_iter().map(Question::Page));
            return own.take(left.min(OWN_AT_ONCE)).collect();
        }
        let most = DRAWN_AT_ONCE.min(left);
        let drawn = plan::about_drawn(&found.drawn, &found.masses, lists, (internal, most));
        if !drawn.is_empty() {
            return drawn;
        }
        let most = plan::round_size(made).min(left);
        plan::next(&found.masses, lists, (internal, read.reached), most)
    }

    /// Returns the newest block and the time at which the API reported it, or the last known one if the API does not answer.
    async fn newest(&self, deadline: Instant, now: Timestamp) -> Option<(ApiTip, Timestamp)> {
        let known = *self.tip.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, at)) = known
            && now.duration_since(at) < TIP_AGE
        {
            return known;
        }
        let source = Arc::clone(&self.source);
        let asked = assay_telemetry::request::run_on_thread(move || source.tip());
        let answer = tokio::time::timeout_at(deadline, asked).await.ok()?.ok()?;
        match answer {
            Ok(tip) => {
                let newest = Some((tip, now));
                *self.tip.lock().unwrap_or_else(PoisonError::into_inner) = newest;
                newest
            }
            Err(error) => {
                tracing::warn!(%error, "failed to ask for the newest block");
                known
            }
        }
    }

    /// The accounts that lists and labels name on a day.
    fn named(&self, intel: &IntelSnapshot, today: Date) -> Arc<NamedAccounts> {
        let mut kept = self.named.lock().unwrap_or_else(PoisonError::into_inner);
        let is_present = |named: &&Arc<NamedAccounts>| {
            (named.generation, named.today) == (intel.generation(), today)
        };
        if let Some(named) = kept.as_ref().filter(is_present) {
            return Arc::clone(named);
        }
        let found = beside_others_if(true, || NamedAccounts::of(self.chain, intel, today));
        Arc::clone(kept.insert(Arc::new(found)))
    }
}

/// The questions for balances of a subject whose lists were read whole.
fn balances(
    subject: AccountAddress,
    read: &Read<'_>,
    found: &facts::SubjectFacts,
) -> Vec<Question> {
    let internal = read.abilities.internal_transfers;
    let is_read = plan::of_subject(subject, read.lists, (read.chain, internal)).is_empty();
    let assets = found.assets.iter().filter(|_| is_read);
    let asked = assets.filter(|asset| read.lists.asks_for_balance(subject, **asset));
    asked.map(|asset| Question::Balance(subject, *asset)).collect()
}

#[async_trait]
impl ChainReader for AccountsOnDemand {
    /// Reads as far as the time limit of the source allows. A failing source is no error: the answer rests on stored pages.
    async fn trace(&self, request: TraceRequest<'_>) -> Result<SubjectData, ReadError> {
        let TraceRequest { subject, policy, intel, now, .. } = request;
        let listed = super::listed_facts(intel, subject);
        let is_decided = is_decided_by_lists(subject, &listed, policy, now);
        let bound = if is_decided { self.bound.min(DECIDED_BOUND) } else { self.bound };
        self.read_within(request, bound, REQUESTS_OF_CHECK).await
    }

    async fn transfer(
        &self,
        _request: TransferReadRequest<'_>,
    ) -> Result<TransferRead, TransferError> {
        Err(TransferError::NotFollowed(self.chain))
    }

    async fn timeline(
        &self,
        subject: &CanonicalAddress,
        intel: &IntelSnapshot,
        now: Timestamp,
    ) -> Result<Option<Timeline>, ReadError> {
        let Some(account) = AccountAddress::of(subject) else { return Ok(None) };
        let known = *self.tip.lock().unwrap_or_else(PoisonError::into_inner);
        let Some((tip, _)) = known else { return Ok(None) };
        let internal = self.source.abilities().internal_transfers;
        // Without a request left, pages come from the store alone.
        let mut fetcher = self.fetcher(Instant::now(), (tip.height, now), 0);
        (fetcher.stored.newest_age, fetcher.stored.longest_age) = (TIMELINE_AGE, TIMELINE_AGE);
        let mut lists = ReadLists::default();
        for _ in 0..MOST_REQUESTS {
            let own = plan::of_subject(account, &lists, (self.chain, internal));
            let found = fetcher.answers(own.into_iter().map(Question::Page).collect()).await?;
            if found.is_empty() {
                break;
            }
            for answer in found {
                if let Answer::Page(request, known) = answer {
                    lists.add(&request, known.page, known.tip);
                }
            }
        }
        let named = self.named(intel, intel.day(now));
        let (freezes, ends) = (KnownFreezes::default(), named.ends.iter());
        let timeline = beside_others_if(true, || {
            let background = (internal, &freezes);
            let of = (self.chain, account);
            let view = gather(of, &lists, background, (ends, intel.prices().as_ref()));
            let owner = view.owner(account)?;
            Some(Timeline::of_payments(&view, owner, &view.history(owner, MOST_PAYMENTS)))
        });
        Ok(timeline)
    }

    async fn latest_block(&self) -> Result<Option<Tip>, ReadError> {
        Ok(None)
    }
}
