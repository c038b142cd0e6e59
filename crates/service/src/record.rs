//! Charges and kept answers: recorded in memory, and written twice a second, so that no check waits. Charges do not
//! wait for answers.
//!
//! A killed program loses at most the records since the last write; a program that is stopped writes all.

use std::{
    collections::{HashMap, VecDeque},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use assay_engine::score::Verdict;
use assay_store::{
    StoreError, UsageStore,
    checks::{CheckQuery, FoundCheck},
    usage::{ChargeKey, KeptCheck, Operation, UsageBatch, UsageCount},
};
use assay_tenancy::Name;
use jiff::{Timestamp, tz::Offset};
use tokio::sync::{RwLock, RwLockReadGuard};

use super::Caller;

/// Largest number of pending answers, of a few kilobytes each. If the store fails for longer, later answers
/// are given and charged, but cannot be read again.
const MOST_WAITING: usize = 10_000;
/// Largest number of answers per transaction.
const BATCH: usize = 500;

/// Records that are not written yet.
#[derive(Debug)]
pub struct Recorder {
    /// Identifier of this program in the store.
    writer: u128,
    waiting: Mutex<UnwrittenRecords>,
    /// Lock that is held while charges are being written.
    writing: RwLock<()>,
    /// True if the last attempt to write charges failed.
    charges_fail: AtomicBool,
    /// True if the last attempt to write answers failed.
    answers_fail: AtomicBool,
}

#[derive(Debug, Default)]
struct UnwrittenRecords {
    usage: HashMap<ChargeKey, u64>,
    /// Batch that is being written. The batch is sent again unchanged until the store confirms the batch, because the
    /// confirmation may be lost.
    sent: Option<UsageBatch>,
    /// Number of batches so far.
    batches: u64,
    checks: VecDeque<KeptCheck>,
    /// Answers that are being written, which precede `checks`: they are pending until the store has them.
    sent_checks: Arc<Vec<KeptCheck>>,
    /// Number of answers dropped so far, and the number of dropped answers that were reported.
    lost: u64,
    lost_told: u64,
}

impl UnwrittenRecords {
    /// Returns all pending answers, the oldest first.
    fn answers(&self) -> impl Iterator<Item = &KeptCheck> {
        self.sent_checks.iter().chain(&self.checks)
    }

    fn pending_answers(&self) -> usize {
        self.sent_checks.len() + self.checks.len()
    }
}

/// Numbers of pending and dropped records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Backlog {
    /// Pending charges.
    pub usage: u64,
    /// Pending answers.
    pub answers: u64,
    /// Answers dropped since the program started, because too many were pending.
    pub lost: u64,
}

impl Recorder {
    /// Returns a recorder with a random identifier, `writer`.
    #[must_use]
    pub fn new(writer: u128) -> Self {
        Self {
            writer,
            waiting: Mutex::default(),
            writing: RwLock::default(),
            charges_fail: AtomicBool::default(),
            answers_fail: AtomicBool::default(),
        }
    }

    /// Records the charge of one answer, by its verdict, on the day of `now` by the store's clock. Answers of the sandbox
    /// are not charged.
    pub fn charge(&self, caller: &Caller, operation: Operation, verdict: Verdict, now: Timestamp) {
        self.record(charge(caller, operation, verdict, now), None);
    }

    /// Records the charge of one check as [`charge`](Self::charge) does, and its answer, if it is kept.
    pub fn record_check(
        &self,
        caller: &Caller,
        verdict: Verdict,
        now: Timestamp,
        kept: Option<KeptCheck>,
    ) {
        self.record(charge(caller, Operation::Check, verdict, now), kept);
    }

    /// Adds a charge and an answer to keep.
    pub(crate) fn record(&self, charged: Option<ChargeKey>, kept: Option<KeptCheck>) {
        let mut waiting = self.lock();
        if let Some(charged) = charged {
            *waiting.usage.entry(charged).or_default() += 1;
        }
        let Some(check) = kept else { return };
        if waiting.pending_answers() < MOST_WAITING {
            waiting.checks.push_back(check);
        } else {
            waiting.lost += 1;
        }
    }

    /// Returns a tenant's answer that is still pending.
    pub fn unwritten_check(&self, tenant: &Name, id: &str) -> Option<KeptCheck> {
        let waiting = self.lock();
        waiting.answers().find(|check| check.id == id && check.tenant == *tenant).cloned()
    }

    /// Returns a tenant's answers that are still pending and that a search finds.
    pub fn unwritten_checks(&self, tenant: &Name, query: &CheckQuery) -> Vec<FoundCheck> {
        let waiting = self.lock();
        let own = waiting.answers().filter(|check| check.tenant == *tenant);
        own.filter_map(|check| check.found_by(query)).collect()
    }

    /// Returns a guard: while the guard is held, every charge is either in the store or pending.
    pub async fn pause_writes(&self) -> RwLockReadGuard<'_, ()> {
        self.writing.read().await
    }

    /// Returns the pending charges of a tenant.
    pub fn unwritten_usage(&self, tenant: &Name) -> Vec<UsageCount> {
        let waiting = self.lock();
        let sent = waiting.sent.iter().flat_map(|batch| &batch.counts).cloned();
        let rest = waiting.usage.iter();
        let rest =
            rest.map(|(charged, count)| UsageCount { charged: charged.clone(), count: *count });
        sent.chain(rest).filter(|count| count.charged.tenant == *tenant).collect()
    }

    /// Returns the numbers of pending and dropped records.
    pub fn backlog(&self) -> Backlog {
        let waiting = self.lock();
        let answers = u64::try_from(waiting.pending_answers()).unwrap_or(u64::MAX);
        let sent = waiting.sent.iter().flat_map(|batch| &batch.counts).map(|count| count.count);
        let usage = waiting.usage.values().copied().chain(sent).sum();
        Backlog { usage, answers, lost: waiting.lost }
    }

    /// True if the last attempt to write charges or answers failed.
    pub fn is_failing(&self) -> bool {
        [&self.charges_fail, &self.answers_fail].iter().any(|fails| fails.load(Ordering::Relaxed))
    }

    /// Writes pending charges. Charges that cannot be written stay pending.
    ///
    /// # Errors
    ///
    /// Returns an error if the store fails.
    pub async fn write_charges(
        &self,
        store: &dyn UsageStore,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let written = self.try_write_charges(store, now).await;
        self.charges_fail.store(written.is_err(), Ordering::Relaxed);
        written
    }

    async fn try_write_charges(
        &self,
        store: &dyn UsageStore,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let _unsettled = self.writing.write().await;
        // The batch that was sent before, if any, and the records since then.
        for _ in 0..2 {
            let Some(batch) = self.next_batch(now) else { break };
            store.add_usage(&batch).await?;
            self.lock().sent = None;
        }
        Ok(())
    }

    /// Writes pending answers, and returns the number of answers dropped since the last success. Answers that cannot be
    /// written stay pending.
    ///
    /// # Errors
    ///
    /// Returns an error if the store fails.
    pub async fn write_answers(&self, store: &dyn UsageStore) -> Result<u64, StoreError> {
        let written = self.try_write_answers(store).await;
        self.answers_fail.store(written.is_err(), Ordering::Relaxed);
        written
    }

    async fn try_write_answers(&self, store: &dyn UsageStore) -> Result<u64, StoreError> {
        let mut left = self.lock().pending_answers();
        while left > 0 {
            let batch = self.next_answers();
            if batch.is_empty() {
                break;
            }
            store.keep_checks(&batch).await?;
            // Answers are removed after they are stored, so that they can be looked up at any time.
            self.lock().sent_checks = Arc::default();
            left = left.saturating_sub(batch.len());
        }
        let mut waiting = self.lock();
        let lost = waiting.lost - waiting.lost_told;
        waiting.lost_told = waiting.lost;
        Ok(lost)
    }

    /// Returns the answers to write.
    fn next_answers(&self) -> Arc<Vec<KeptCheck>> {
        let mut waiting = self.lock();
        if waiting.sent_checks.is_empty() {
            let most = BATCH.min(waiting.checks.len());
            let batch = waiting.checks.drain(..most).collect();
            waiting.sent_checks = Arc::new(batch);
        }
        Arc::clone(&waiting.sent_checks)
    }

    /// Returns the batch to send.
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

    fn lock(&self) -> MutexGuard<'_, UnwrittenRecords> {
        // Every change is a single step, so that the state after a panic is consistent.
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the charge of one answer; `None` for an answer of the sandbox.
fn charge(
    caller: &Caller,
    operation: Operation,
    verdict: Verdict,
    now: Timestamp,
) -> Option<ChargeKey> {
    (!caller.is_sandbox()).then(|| ChargeKey {
        tenant: caller.tenant.name.clone(),
        day: Offset::UTC.to_datetime(now).date(),
        key: caller.key.clone(),
        plan: caller.tenant.plan.name.clone(),
        operation,
        verdict: verdict.as_str().into(),
    })
}
