//! The policies of questions, ready for use: those that were asked by last.

use std::sync::{Arc, Mutex, PoisonError};

use assay_chain_protocol::message::TracingPolicy;
use assay_engine::policy::Policy;

use super::Refused;
use crate::chains::messages::read::attributing;

/// Number of policies that are kept. An installation has few.
const KEPT: usize = 64;

/// Policies by what questions say of them, the one that was used last first.
#[derive(Debug, Default)]
pub(super) struct Policies(Mutex<Vec<(TracingPolicy, Arc<Policy>)>>);

impl Policies {
    /// The policy of a question.
    pub(super) fn of(&self, asked: &TracingPolicy) -> Result<Arc<Policy>, Refused> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_same = |(known, _): &(TracingPolicy, _)| {
            known.severities == asked.severities && known.lists == asked.lists
        };
        if let Some(index) = kept.iter().position(is_same) {
            let found = kept.remove(index);
            let policy = Arc::clone(&found.1);
            kept.insert(0, found);
            return Ok(policy);
        }
        let policy = attributing(asked)
            .map_err(|problems| Refused::Invalid(format!("the policy is not valid: {problems}")))?;
        let policy = Arc::new(policy);
        kept.truncate(KEPT - 1);
        kept.insert(0, (asked.clone(), Arc::clone(&policy)));
        Ok(policy)
    }
}
