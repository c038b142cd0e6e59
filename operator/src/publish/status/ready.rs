//! The ready state of published objects.

use assay_manifests::ManifestRefusal;
use assay_tenancy::{Cause, FieldProblem, InvalidManifestName, Name, manifest::Kind};

use crate::{
    conditions::ReadyState,
    instance,
    publish::{
        fetch::{NamedObjects, ObjectKey},
        validate::ValidatedManifests,
    },
    reason::ConditionReason,
    watched::{WatchedObject, is_deleted},
};

/// The ready state of an object. `foreign` are the objects of other installations.
pub(super) fn ready_state(
    key: &ObjectKey,
    object: &WatchedObject,
    validated: &ValidatedManifests,
    foreign: &NamedObjects,
) -> ReadyState {
    let refusal = match &validated.outcome {
        Err(problems) => {
            let words = problems.first().map(ToString::to_string).unwrap_or_default();
            let message = format!("the manifests in the store are invalid: {words}");
            return ReadyState::Stalled(ConditionReason::StoreInconsistent, message);
        }
        Ok(_) => validated.refusal(key),
    };
    let Some(refusal) = refusal else {
        return ReadyState::Ready(ConditionReason::Published, "the spec is in force".into());
    };
    let reason = ConditionReason::from_refusal(refusal, is_deleted(object));
    let words = format!("{}: {}", refusal.problem().path, refusal.problem().message);
    let message = match refusal {
        ManifestRefusal::Invalid(problem) => match foreign_reference(object, problem, foreign) {
            Some(reference) => format!("{words}; {reference}"),
            None => words,
        },
        ManifestRefusal::BreaksDependent { dependent: (kind, name), .. } => {
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

/// Describes the object of another installation that an object refers to. `None` if the reference names no such object.
fn foreign_reference(
    object: &WatchedObject,
    problem: &FieldProblem,
    foreign: &NamedObjects,
) -> Option<String> {
    let kind = match problem.cause {
        Cause::PlanNotFound => Kind::Plan,
        Cause::PolicyNotFound => Kind::RiskPolicy,
        Cause::TenantNotFound => Kind::Tenant,
        _ => return None,
    };
    let spec = object.spec.value();
    let field = problem.path.strip_prefix("spec.")?.replace('.', "/");
    let name: Name = spec.pointer(&format!("/{field}"))?.as_str()?.parse().ok()?;
    let owner = instance::owner_of(&**foreign.get(&(kind, name.clone()))?);
    Some(format!("{} `{name}` belongs to {owner}", kind.as_str()))
}

/// The state of an object whose name the store cannot hold.
pub(super) fn misnamed(problem: &InvalidManifestName) -> ReadyState {
    ReadyState::Stalled(ConditionReason::InvalidName, format!("metadata.name: {problem}"))
}
