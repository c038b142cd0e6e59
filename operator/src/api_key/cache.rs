//! The cache of reconciliations: a ready key is not reconciled again until one of its inputs changes or its next
//! reconciliation is due. While a reconciliation is skipped, changes of the key's Secret or of the store go unnoticed.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use assay_crds::ApiKey;
use kube::Resource;
use tokio::time::Instant;

use super::tenant::TenantState;
use crate::{in_force::ConfigurationInForce, writer::has_finalizer};

/// The inputs of a reconciliation that need no request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ObservedInputs {
    generation: Option<i64>,
    annotations: Option<BTreeMap<String, String>>,
    is_deleted: bool,
    has_finalizer: bool,
    /// The tenant.
    pub(super) tenant: TenantState,
}

impl ObservedInputs {
    /// The current inputs of an object.
    pub(super) fn observe(object: &ApiKey, in_force: &ConfigurationInForce) -> Self {
        Self {
            generation: object.meta().generation,
            annotations: object.meta().annotations.clone(),
            is_deleted: object.meta().deletion_timestamp.is_some(),
            has_finalizer: has_finalizer(object),
            tenant: TenantState::find(&object.spec.tenant, in_force),
        }
    }

    /// The inputs without the finalizer, which a reconciliation removes.
    pub(super) fn without_finalizer(self) -> Self {
        Self { has_finalizer: false, ..self }
    }
}

/// The inputs of the last reconciliation of each object, by UID, and the time until which its result is
/// valid.
#[derive(Debug, Default)]
pub(super) struct ReconcileCache(Mutex<HashMap<String, (ObservedInputs, Instant)>>);

impl ReconcileCache {
    /// The remaining validity of the last result, if its inputs were the same.
    pub(super) fn valid_for(
        &self,
        identity: &str,
        inputs: &ObservedInputs,
        now: Instant,
    ) -> Option<Duration> {
        let cache = self.lock();
        let (reconciled, until) = cache.get(identity)?;
        (reconciled == inputs).then(|| until.checked_duration_since(now)).flatten()
    }

    /// Stores the inputs of a reconciliation.
    pub(super) fn insert(&self, identity: String, inputs: ObservedInputs, until: Instant) {
        self.lock().insert(identity, (inputs, until));
    }

    /// Removes an object: its next reconciliation is not skipped.
    pub(super) fn remove(&self, identity: &str) {
        self.lock().remove(identity);
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, (ObservedInputs, Instant)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::*;

    fn inputs() -> ObservedInputs {
        ObservedInputs {
            generation: Some(1),
            annotations: None,
            is_deleted: false,
            has_finalizer: true,
            tenant: TenantState::InForce(vec!["team".parse().unwrap()]),
        }
    }

    #[test]
    fn a_result_is_valid_until_its_time() {
        let (cache, now) = (ReconcileCache::default(), Instant::now());
        let minute = Duration::from_mins(1);
        assert_eq!(cache.valid_for("a", &inputs(), now), None, "it was not reconciled");
        cache.insert("a".into(), inputs().without_finalizer(), now + minute);
        let inputs = ObservedInputs { has_finalizer: false, ..inputs() };
        assert_eq!(cache.valid_for("a", &inputs, now), Some(minute));
        assert_eq!(cache.valid_for("a", &inputs, now + minute * 2), None, "it expired");
        assert_eq!(cache.valid_for("b", &inputs, now), None, "another object");
        cache.remove("a");
        assert_eq!(cache.valid_for("a", &inputs, now), None);
    }

    #[test]
    fn a_change_of_any_input_invalidates_a_result() {
        let (cache, now) = (ReconcileCache::default(), Instant::now());
        let same = inputs().without_finalizer();
        cache.insert("a".into(), same.clone(), now + Duration::from_mins(1));
        let tenant = |tenant| ObservedInputs { tenant, ..same.clone() };
        let annotations = Some([("assay.dev/rotate".to_owned(), "x".to_owned())].into());
        let others = [
            ObservedInputs { generation: Some(2), ..same.clone() },
            ObservedInputs { annotations, ..same.clone() },
            ObservedInputs { is_deleted: true, ..same.clone() },
            ObservedInputs { has_finalizer: true, ..same.clone() },
            tenant(TenantState::InForce(vec![])),
            tenant(TenantState::Missing),
            tenant(TenantState::Foreign("the instance `b`".into())),
            tenant(TenantState::Deleted { restorable_until: Timestamp::UNIX_EPOCH }),
        ];
        for other in others {
            assert_eq!(cache.valid_for("a", &other, now), None, "{other:?}");
        }
        assert!(cache.valid_for("a", &same, now).is_some());
    }
}
