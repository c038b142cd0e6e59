//! States of graphs that are held while other servers copy them.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use assay_address::ChainId;
use assay_graph::GraphCopy;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, SemaphorePermit};

/// Time for which a state is held after it was asked for last.
const HELD_FOR: Duration = Duration::from_mins(5);
/// Time for which the same state is given to further servers that want to copy the graph.
const SHARED_FOR: Duration = Duration::from_hours(1);
/// Longest time for which a state is held: meanwhile the graph's file grows.
const AT_MOST: Duration = Duration::from_hours(48);
/// Parts that are read at a time.
const PARTS: usize = 4;

/// The states that are held.
#[derive(Debug)]
pub(super) struct Copies {
    held: Mutex<Vec<HeldCopy>>,
    parts: Semaphore,
    /// The right to compute a fingerprint: one at a time.
    fingerprints: Arc<Semaphore>,
}

#[derive(Debug)]
struct HeldCopy {
    chain: ChainId,
    name: String,
    copy: Arc<GraphCopy>,
    begun_at: Instant,
    used_at: Instant,
}

impl Default for Copies {
    fn default() -> Self {
        let fingerprints = Arc::new(Semaphore::new(1));
        Self { held: Mutex::default(), parts: Semaphore::new(PARTS), fingerprints }
    }
}

impl Copies {
    /// A state by its name.
    pub(super) fn get(&self, chain: ChainId, name: &str) -> Option<Arc<GraphCopy>> {
        let mut held = self.lock();
        let found = held.iter_mut().find(|it| it.chain == chain && it.name == name)?;
        found.used_at = Instant::now();
        Some(Arc::clone(&found.copy))
    }

    /// Holds a state of a chain, with its name: one that is held already, unless that is old.
    pub(super) fn hold<E>(
        &self,
        chain: ChainId,
        new: impl FnOnce() -> Result<(String, GraphCopy), E>,
    ) -> Result<(String, Arc<GraphCopy>), E> {
        let mut held = self.lock();
        let now = Instant::now();
        let is_shared =
            |it: &&mut HeldCopy| it.chain == chain && now.duration_since(it.begun_at) < SHARED_FOR;
        if let Some(known) = held.iter_mut().find(is_shared) {
            known.used_at = now;
            return Ok((known.name.clone(), Arc::clone(&known.copy)));
        }
        let (name, copy) = new()?;
        let copy = Arc::new(copy);
        let shared = Arc::clone(&copy);
        held.push(HeldCopy { chain, name: name.clone(), copy, begun_at: now, used_at: now });
        Ok((name, shared))
    }

    /// The right to read a part; `None` if as many are being read as may be.
    pub(super) fn part_permit(&self) -> Option<SemaphorePermit<'_>> {
        self.parts.try_acquire().ok()
    }

    /// The right to compute a fingerprint; `None` while another one is being computed.
    pub(super) fn fingerprint_permit(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.fingerprints).try_acquire_owned().ok()
    }

    /// Releases states that nobody asked for lately.
    pub(super) fn release(&self) {
        drop(self.lock());
    }

    fn lock(&self) -> MutexGuard<'_, Vec<HeldCopy>> {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        held.retain(|it| {
            // One that is read just now is not over, however long that takes.
            let is_used = it.used_at.elapsed() < HELD_FOR || Arc::strong_count(&it.copy) > 1;
            is_used && it.begun_at.elapsed() < AT_MOST
        });
        held
    }
}
