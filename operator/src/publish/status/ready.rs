//! Whether the spec of an object is in force.

use assay_tenancy::InvalidName;

use crate::{
    conditions::ReadyState,
    publish::{
        fetch::{ObjectKey, WatchedObject, is_deleted},
        validate::Validated,
    },
    reason::Reason,
};

/// Whether the spec of an object is in force, and why not.
pub(super) fn ready_state(
    key: &ObjectKey,
    object: &WatchedObject,
    validated: &Validated,
) -> ReadyState {
    let refusal = match &validated.outcome {
        Err(problems) => {
            let words = problems.first().map(ToString::to_string).unwrap_or_default();
            let message = format!("the store holds what is wrong by itself: {words}");
            return ReadyState::Stalled(Reason::StoreInconsistent, message);
        }
        Ok(_) => validated.refusal(key),
    };
    let Some(refusal) = refusal else {
        return ReadyState::Ready(Reason::Published, "what it says is in force".into());
    };
    let reason = Reason::of(refusal, is_deleted(object));
    let words = format!("{}: {}", refusal.problem.path, refusal.problem.message);
    ReadyState::Stalled(
        reason,
        match (&refusal.breaks, is_deleted(object)) {
            (Some(other), true) => format!("kept until nothing needs it; {other}: {words}"),
            (Some(other), false) => format!("not in force: it would break {other}: {words}"),
            (None, _) => words,
        },
    )
}

/// The state of an object whose name the store cannot hold.
pub(super) fn misnamed(problem: &InvalidName) -> ReadyState {
    ReadyState::Stalled(Reason::InvalidName, format!("metadata.name: {problem}"))
}
