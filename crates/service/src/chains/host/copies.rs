//! States of graphs that are held while other servers copy them.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use assay_engine::chain::ChainId;
use assay_graph::embedded::GraphCopy;

/// Time for which a state is held after it was asked for last.
const HELD_FOR: Duration = Duration::from_mins(5);
/// Most states that are held.
const MOST: usize = 2;

/// The states that are held.
#[derive(Debug, Default)]
pub(super) struct Copies(Mutex<Vec<Held>>);

#[derive(Debug)]
struct Held {
    chain: ChainId,
    name: String,
    copy: Arc<GraphCopy>,
    used_at: Instant,
}

impl Copies {
    /// A state by its name.
    pub(super) fn get(&self, chain: ChainId, name: &str) -> Option<Arc<GraphCopy>> {
        let mut held = self.lock();
        let found = held.iter_mut().find(|it| it.chain == chain && it.name == name)?;
        found.used_at = Instant::now();
        Some(Arc::clone(&found.copy))
    }

    /// Holds a state, unless as many are held as may be.
    pub(super) fn hold(
        &self,
        chain: ChainId,
        name: String,
        copy: GraphCopy,
    ) -> Option<Arc<GraphCopy>> {
        let mut held = self.lock();
        if held.len() >= MOST {
            return None;
        }
        let copy = Arc::new(copy);
        held.push(Held { chain, name, copy: Arc::clone(&copy), used_at: Instant::now() });
        Some(copy)
    }

    /// Releases states that nobody asked for lately.
    pub(super) fn release(&self) {
        drop(self.lock());
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Held>> {
        let mut held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // One that is read just now is not over, however long that takes.
        held.retain(|it| it.used_at.elapsed() < HELD_FOR || Arc::strong_count(&it.copy) > 1);
        held
    }
}
