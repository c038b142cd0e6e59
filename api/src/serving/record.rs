//! What was charged and answered: noted in memory, written every second, off the path of a check.
//!
//! A program that is killed loses at most what was noted since the last write; one that is stopped
//! writes all.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Mutex, MutexGuard, PoisonError},
};

use assay_engine::score::Verdict;
use assay_store::{
    Store, StoreError,
    usage::{Charged, KeptCheck, Operation, UsageCount},
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
#[derive(Debug, Default)]
pub struct Recorder {
    waiting: Mutex<Waiting>,
    /// Held while usage is on its way to the store.
    writing: RwLock<()>,
}

#[derive(Debug, Default)]
struct Waiting {
    usage: HashMap<Charged, u64>,
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
    /// Notes that one answer was charged, by its verdict.
    pub fn charge(&self, caller: &Caller, operation: Operation, verdict: Verdict, now: Timestamp) {
        let charged = Charged {
            tenant: caller.tenant.name.clone(),
            day: now.to_zoned(TimeZone::UTC).date(),
            key: caller.key.clone(),
            plan: caller.tenant.plan.name.clone(),
            operation,
            outcome: verdict.as_str().to_owned(),
        };
        self.add(charged, 1);
    }

    fn add(&self, charged: Charged, count: u64) {
        *self.lock().usage.entry(charged).or_default() += count;
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
        let of_tenant = waiting.usage.iter().filter(|(charged, _)| charged.tenant == *tenant);
        of_tenant
            .map(|(charged, count)| UsageCount { charged: charged.clone(), count: *count })
            .collect()
    }

    /// How much waits now.
    pub fn backlog(&self) -> Backlog {
        let waiting = self.lock();
        let answers = u64::try_from(waiting.checks.len()).unwrap_or(u64::MAX);
        Backlog { usage: waiting.usage.values().sum(), answers, lost: waiting.lost }
    }

    /// Writes what waits, and says how many answers were lost since it last went well. What could not be
    /// written waits on.
    ///
    /// # Errors
    ///
    /// Where the store fails.
    pub async fn write(&self, store: &dyn Store) -> Result<u64, StoreError> {
        let unsettled = self.writing.write().await;
        let usage = std::mem::take(&mut self.lock().usage);
        if !usage.is_empty() {
            let counts: Vec<UsageCount> =
                usage.into_iter().map(|(charged, count)| UsageCount { charged, count }).collect();
            if let Err(error) = store.add_usage(&counts).await {
                for UsageCount { charged, count } in counts {
                    self.add(charged, count);
                }
                return Err(error);
            }
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

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        // Every change is a single step, so that what a panicking holder left is sound.
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
