//! Cache of compiled policies of questions.

use std::sync::{Arc, Mutex, PoisonError};

use assay_chain_protocol::message::TracingPolicy;
use assay_engine::policy::Policy;

use super::RefusalReason;
use crate::chains::messages::read::attributing;

/// Largest number of cached policies. An installation has few policies.
const CACHED: usize = 64;

/// Compiled policies by the tracing policies of questions, most recently used first.
#[derive(Debug, Default)]
pub(super) struct PolicyCache(Mutex<Vec<(TracingPolicy, Arc<Policy>)>>);

impl PolicyCache {
    /// Returns the compiled policy of a question.
    pub(super) fn policy_for(&self, asked: &TracingPolicy) -> Result<Arc<Policy>, RefusalReason> {
        let mut cached = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_same = |(known, _): &(TracingPolicy, _)| {
            known.severities == asked.severities && known.lists == asked.lists
        };
        if let Some(index) = cached.iter().position(is_same) {
            let found = cached.remove(index);
            let policy = Arc::clone(&found.1);
            cached.insert(0, found);
            return Ok(policy);
        }
        let policy = attributing(asked).map_err(|problems| {
            RefusalReason::Invalid(format!("the policy is not valid: {problems}"))
        })?;
        let policy = Arc::new(policy);
        cached.truncate(CACHED - 1);
        cached.insert(0, (asked.clone(), Arc::clone(&policy)));
        Ok(policy)
    }
}
