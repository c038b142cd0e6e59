//! States of graphs that the server holds while other servers copy them.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use assay_address::ChainId;
use assay_graph::GraphCopy;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, SemaphorePermit};

/// Time for which a state is held after its last request.
const HELD_FOR: Duration = Duration::from_mins(5);
/// Time for which further servers that copy the graph get the same state.
const SHARED_FOR: Duration = Duration::from_hours(1);
/// Longest time for which a state is held: the graph's file grows in this time.
const AT_MOST: Duration = Duration::from_hours(48);
/// Largest number of parts that are read concurrently.
const PARTS: usize = 4;

/// Held states.
#[derive(Debug)]
pub(super) struct Copies {
    held: Mutex<Vec<HeldCopy>>,
    parts: Semaphore,
    /// Permit to compute a fingerprint, one at a time.
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
    /// Returns a held state by its name.
    pub(super) fn get(&self, chain: ChainId, name: &str) -> Option<Arc<GraphCopy>> {
        let mut held = self.lock();
        let found = held.iter_mut().find(|it| it.chain == chain && it.name == name)?;
        found.used_at = Instant::now();
        Some(Arc::clone(&found.copy))
    }

    /// Holds a state of a chain, and returns it with its name: the held state, unless it is old.
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

    /// Returns a permit to read a part; `None` if the largest number of parts is being read.
    pub(super) fn part_permit(&self) -> Option<SemaphorePermit<'_>> {
        self.parts.try_acquire().ok()
    }

    /// Returns a permit to compute a fingerprint; `None` while another one is being computed.
    pub(super) fn fingerprint_permit(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.fingerprints).try_acquire_owned().ok()
    }

    /// Releases states that no server requested lately.
    pub(super) fn release(&self) {
        drop(self.lock());
    }

    fn lock(&self) -> MutexGuard<'_, Vec<HeldCopy>> {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        held.retain(|it| {
            // A state that is being read is not released, however long the read takes.
            let is_used = it.used_at.elapsed() < HELD_FOR || Arc::strong_count(&it.copy) > 1;
            is_used && it.begun_at.elapsed() < AT_MOST
        });
        held
    }
}
