//! What was charged and answered: noted in memory, written twice a second, off the path of a check.
//!
//! A program that is killed loses at most what was noted since the last write; one that is stopped
//! writes all.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Mutex, MutexGuard, PoisonError},
};

use assay_engine::score::Verdict;
use assay_store::{
    StoreError, UsageStore,
    usage::{Charged, KeptCheck, Operation, UsageBatch, UsageCount},
};
use assay_tenancy::Name;
use jiff::{Timestamp, tz::TimeZone};
use tokio::sync::{RwLock, RwLockReadGuard};

use super::Caller;

/// Most answers that wait to be written, of a few kilobytes each. Where the store takes none for so
/// long, later answers are still given and counted, and cannot be looked up.
const MOST_WAITING: usize = 10_000;
/// Answers that one transaction writes.
const BATCH: usize = 500;

/// What was not written yet.
#[derive(Debug)]
pub struct Recorder {
    /// Names this program to the store.
    writer: u128,
    waiting: Mutex<Waiting>,
    /// Held while usage is on its way to the store.
    writing: RwLock<()>,
}

#[derive(Debug, Default)]
struct Waiting {
    usage: HashMap<Charged, u64>,
    /// What is on its way to the store. It is sent again, and unchanged, until the store says that it has
    /// it: an answer may be lost.
    sent: Option<UsageBatch>,
    /// How many batches there were.
    batches: u64,
    checks: VecDeque<KeptCheck>,
    /// Answers that could not be kept, ever, and those of them that were told.
    lost: u64,
    lost_told: u64,
}

/// How much waits to be written, and what never will be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Backlog {
    /// Answers that were charged.
    pub usage: u64,
    /// Answers that are to be kept.
    pub answers: u64,
    /// Answers that were not kept since the program began: too many waited.
    pub lost: u64,
}

impl Recorder {
    /// A recorder that the store knows as `writer`, drawn for its life.
    #[must_use]
    pub fn new(writer: u128) -> Self {
        Self { writer, waiting: Mutex::default(), writing: RwLock::default() }
    }

    /// Notes that one answer was charged, by its verdict.
    pub fn charge(&self, caller: &Caller, operation: Operation, verdict: Verdict, now: Timestamp) {
        let charged = Charged {
            tenant: caller.tenant.name.clone(),
            day: now.to_zoned(TimeZone::UTC).date(),
            key: caller.key.clone(),
            plan: caller.tenant.plan.name.clone(),
            operation,
            verdict: verdict.as_str().to_owned(),
        };
        *self.lock().usage.entry(charged).or_default() += 1;
    }

    /// Notes an answer that is to be kept.
    pub fn keep(&self, check: KeptCheck) {
        let mut waiting = self.lock();
        if waiting.checks.len() < MOST_WAITING {
            waiting.checks.push_back(check);
        } else {
            waiting.lost += 1;
        }
    }

    /// A tenant's answer that waits to be written.
    pub fn waiting(&self, tenant: &Name, id: &str) -> Option<KeptCheck> {
        let waiting = self.lock();
        waiting.checks.iter().find(|check| check.id == id && check.tenant == *tenant).cloned()
    }

    /// While this is held, all that was charged is either in the store or waits to be written.
    pub async fn settled(&self) -> RwLockReadGuard<'_, ()> {
        self.writing.read().await
    }

    /// What was charged to a tenant and waits to be written.
    pub fn unwritten_usage(&self, tenant: &Name) -> Vec<UsageCount> {
        let waiting = self.lock();
        let sent = waiting.sent.iter().flat_map(|batch| &batch.counts).cloned();
        let rest = waiting.usage.iter();
        let rest =
            rest.map(|(charged, count)| UsageCount { charged: charged.clone(), count: *count });
        sent.chain(rest).filter(|count| count.charged.tenant == *tenant).collect()
    }

    /// How much waits now.
    pub fn backlog(&self) -> Backlog {
        let waiting = self.lock();
        let answers = u64::try_from(waiting.checks.len()).unwrap_or(u64::MAX);
        let sent = waiting.sent.iter().flat_map(|batch| &batch.counts).map(|count| count.count);
        let usage = waiting.usage.values().copied().chain(sent).sum();
        Backlog { usage, answers, lost: waiting.lost }
    }

    /// Writes what waits, and says how many answers were lost since it last went well. What could not be
    /// written waits on.
    ///
    /// # Errors
    ///
    /// Where the store fails.
    pub async fn write(&self, store: &dyn UsageStore, now: Timestamp) -> Result<u64, StoreError> {
        let unsettled = self.writing.write().await;
        // What was sent before, if anything, and what came since.
        for _ in 0..2 {
            let Some(batch) = self.next_batch(now) else { break };
            store.add_usage(&batch).await?;
            self.lock().sent = None;
        }
        drop(unsettled);
        loop {
            let batch: Vec<KeptCheck> = self.lock().checks.iter().take(BATCH).cloned().collect();
            if batch.is_empty() {
                let mut waiting = self.lock();
                let lost = waiting.lost - waiting.lost_told;
                waiting.lost_told = waiting.lost;
                return Ok(lost);
            }
            store.keep_checks(&batch).await?;
            // They are removed only now, so that they can be looked up all the time.
            self.lock().checks.drain(..batch.len());
        }
    }

    /// What is to be sent.
    fn next_batch(&self, now: Timestamp) -> Option<UsageBatch> {
        let mut waiting = self.lock();
        if waiting.sent.is_none() && !waiting.usage.is_empty() {
            waiting.batches += 1;
            let number = waiting.batches;
            let usage = std::mem::take(&mut waiting.usage).into_iter();
            let counts = usage.map(|(charged, count)| UsageCount { charged, count }).collect();
            waiting.sent = Some(UsageBatch { writer: self.writer, number, made_at: now, counts });
        }
        waiting.sent.clone()
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        // Every change is a single step, so that what a panicking holder left is sound.
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
