//! When keys were last used: noted in memory, written in batches, off the path of a check.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
};

use assay_tenancy::key::KeyId;
use jiff::Timestamp;

/// Uses that were not written yet.
#[derive(Debug, Default)]
pub struct KeyUse {
    used: Mutex<HashMap<KeyId, Timestamp>>,
}

impl KeyUse {
    /// Notes that a key was used.
    pub fn note(&self, key: &KeyId, at: Timestamp) {
        let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        match used.get_mut(key) {
            Some(latest) => *latest = at.max(*latest),
            None => {
                used.insert(key.clone(), at);
            }
        }
    }

    /// When a key was last used, where that is not written yet.
    pub fn unwritten(&self, key: &KeyId) -> Option<Timestamp> {
        let used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        used.get(key).copied()
    }

    /// What is to be written now; what then cannot be written is noted again.
    pub fn take(&self) -> Vec<(KeyId, Timestamp)> {
        let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        used.drain().collect()
    }
}
