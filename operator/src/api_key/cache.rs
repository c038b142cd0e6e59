//! Keys that were ready and are as they were left: until something about them changes or their time comes,
//! nobody is asked about them again. What changes in the store alone shows when their time comes.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use assay_crds::ApiKey;
use kube::{Resource, ResourceExt, runtime::reflector::ObjectRef};
use tokio::time::Instant;

use super::{
    Context,
    fetch::{self, TenantInForce},
    watches::Watched,
};
use crate::writer::FINALIZER;

/// What work on a key starts from, as far as it is known without asking anybody.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ObservedInputs {
    generation: Option<i64>,
    annotations: Option<BTreeMap<String, String>>,
    is_deleted: bool,
    is_kept: bool,
    /// How new its Secret is.
    pub(super) secret: Option<String>,
    /// What is in force about its tenant.
    pub(super) tenant: TenantInForce,
}

impl ObservedInputs {
    /// What is inputs now.
    pub(super) fn of(object: &ApiKey, watched: &Watched, context: &Context) -> Self {
        let namespace = object.namespace().unwrap_or_default();
        let secret = ObjectRef::new(&fetch::secret_name(object)).within(&namespace);
        let secret = watched.secrets.get(&secret);
        Self {
            generation: object.meta().generation,
            annotations: object.meta().annotations.clone(),
            is_deleted: object.meta().deletion_timestamp.is_some(),
            is_kept: object.finalizers().iter().any(|name| name == FINALIZER),
            secret: secret.and_then(|secret| secret.resource_version()),
            tenant: fetch::tenant(object, context),
        }
    }

    /// The same, once the operator keeps the object and its Secret is as new as that.
    pub(super) fn afterwards(self, secret: String) -> Self {
        Self { is_kept: true, secret: Some(secret), ..self }
    }
}

/// How each key was left, by its identity, and until when that is enough.
#[derive(Debug, Default)]
pub(super) struct ReconcileCache(Mutex<HashMap<String, (ObservedInputs, Instant)>>);

impl ReconcileCache {
    /// For how long a key can be left alone, where what is inputs of it is as it was left.
    pub(super) fn alone_for(
        &self,
        identity: &str,
        inputs: &ObservedInputs,
        now: Instant,
    ) -> Option<Duration> {
        let left = self.lock();
        let (as_left, until) = left.get(identity)?;
        (as_left == inputs).then(|| until.checked_duration_since(now)).flatten()
    }

    /// Takes note of how a key was left.
    pub(super) fn note(&self, identity: String, inputs: ObservedInputs, until: Instant) {
        self.lock().insert(identity, (inputs, until));
    }

    /// Takes note that a key is to be looked at in any case.
    pub(super) fn forget(&self, identity: &str) {
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
            is_kept: false,
            secret: None,
            tenant: TenantInForce {
                allowed: Some(vec!["team".parse().unwrap()]),
                back_until: None,
            },
        }
    }

    #[test]
    fn a_key_is_left_alone_until_its_time_comes() {
        let (left, now) = (ReconcileCache::default(), Instant::now());
        let minute = Duration::from_mins(1);
        assert_eq!(left.alone_for("a", &inputs(), now), None, "nobody worked on it");
        left.note("a".into(), inputs().afterwards("5".into()), now + minute);
        let inputs = ObservedInputs { is_kept: true, secret: Some("5".into()), ..inputs() };
        assert_eq!(left.alone_for("a", &inputs, now), Some(minute));
        assert_eq!(left.alone_for("a", &inputs, now + minute * 2), None, "its time came");
        assert_eq!(left.alone_for("b", &inputs, now), None, "another object");
        left.forget("a");
        assert_eq!(left.alone_for("a", &inputs, now), None);
    }

    #[test]
    fn whatever_changes_ends_that() {
        let (left, now) = (ReconcileCache::default(), Instant::now());
        let same = inputs().afterwards("5".into());
        left.note("a".into(), same.clone(), now + Duration::from_mins(1));
        let tenant = |allowed, back_until| {
            let tenant = TenantInForce { allowed, back_until };
            ObservedInputs { tenant, ..same.clone() }
        };
        let annotations = Some([("assay.dev/rotate".to_owned(), "x".to_owned())].into());
        let others = [
            ObservedInputs { generation: Some(2), ..same.clone() },
            ObservedInputs { annotations, ..same.clone() },
            ObservedInputs { is_deleted: true, ..same.clone() },
            ObservedInputs { is_kept: false, ..same.clone() },
            ObservedInputs { secret: Some("6".into()), ..same.clone() },
            ObservedInputs { secret: None, ..same.clone() },
            tenant(Some(vec![]), None),
            tenant(None, None),
            tenant(None, Some(Timestamp::UNIX_EPOCH)),
        ];
        for other in others {
            assert_eq!(left.alone_for("a", &other, now), None, "{other:?}");
        }
        assert!(left.alone_for("a", &same, now).is_some());
    }
}
