//! Times at which keys were last used: recorded in memory, and written in batches, so that no check waits.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
};

use assay_tenancy::key::KeyId;
use jiff::Timestamp;

/// Uses that are not written yet.
#[derive(Debug, Default)]
pub struct KeyUse {
    used: Mutex<HashMap<KeyId, Timestamp>>,
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

    /// Takes all uses for writing. The caller records the uses that cannot be written again.
    pub fn take(&self) -> Vec<(KeyId, Timestamp)> {
        let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        used.drain().collect()
    }
}
