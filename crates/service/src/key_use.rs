//! Times at which keys were last used: recorded in memory, and written in batches, so that no check waits.

use std::{
    collections::HashMap,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use assay_store::{ControlStore, StoreError};
use assay_tenancy::key::KeyId;
use jiff::Timestamp;

/// Uses that are not written yet.
#[derive(Debug, Default)]
pub struct KeyUse {
    used: Mutex<HashMap<KeyId, Timestamp>>,
    is_failing: AtomicBool,
}

impl KeyUse {
    /// Records a use of a key.
    pub fn note(&self, key: &KeyId, at: Timestamp) {
        let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        match used.get_mut(key) {
            Some(latest) => *latest = at.max(*latest),
            None => {
                used.insert(key.clone(), at);
            }
        }
    }

    /// Returns the last use of a key that is not written yet.
    pub fn unwritten(&self, key: &KeyId) -> Option<Timestamp> {
        let used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        used.get(key).copied()
    }

    /// Writes pending uses. Uses that cannot be written stay pending.
    ///
    /// # Errors
    ///
    /// Returns an error if the store fails.
    pub(crate) async fn write(&self, store: &dyn ControlStore) -> Result<(), StoreError> {
        let used = self.take();
        if used.is_empty() {
            return Ok(());
        }
        let written = store.record_key_use(&used).await;
        if written.is_err() {
            for (key, at) in &used {
                self.note(key, *at);
            }
        }
        self.is_failing.store(written.is_err(), Ordering::Relaxed);
        written
    }

    /// True if the last attempt to write uses failed.
    pub fn is_failing(&self) -> bool {
        self.is_failing.load(Ordering::Relaxed)
    }

    fn take(&self) -> Vec<(KeyId, Timestamp)> {
        let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        used.drain().collect()
    }
}
