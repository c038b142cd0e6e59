//! The ready state of published objects.

use assay_manifests::Refusal;
use assay_tenancy::InvalidName;

use crate::{
    conditions::ReadyState,
    publish::{
        fetch::{ObjectKey, WatchedObject, is_deleted},
        validate::Validated,
    },
    reason::Reason,
};

/// The ready state of an object.
pub(super) fn ready_state(
    key: &ObjectKey,
    object: &WatchedObject,
    validated: &Validated,
) -> ReadyState {
    let refusal = match &validated.outcome {
        Err(problems) => {
            let words = problems.first().map(ToString::to_string).unwrap_or_default();
            let message = format!("the manifests in the store are invalid: {words}");
            return ReadyState::Stalled(Reason::StoreInconsistent, message);
        }
        Ok(_) => validated.refusal(key),
    };
    let Some(refusal) = refusal else {
        return ReadyState::Ready(Reason::Published, "the spec is in force".into());
    };
    let reason = Reason::of(refusal, is_deleted(object));
    let words = format!("{}: {}", refusal.problem().path, refusal.problem().message);
    let message = match refusal {
        Refusal::Invalid(_) => words,
        Refusal::BreaksDependent { dependent: (kind, name), .. } => {
            let other = format!("{} {name}", kind.as_str());
            if is_deleted(object) {
                format!(
                    "deleted, and kept while an object in force depends on it; {other}: {words}"
                )
            } else {
                format!("not in force: it would make {other} invalid: {words}")
            }
        }
    };
    ReadyState::Stalled(reason, message)
}

/// The state of an object whose name the store cannot hold.
pub(super) fn misnamed(problem: &InvalidName) -> ReadyState {
    ReadyState::Stalled(Reason::InvalidName, format!("metadata.name: {problem}"))
}
