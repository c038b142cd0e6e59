//! The status of a `RiskService`.

use assay_crds::{
    RiskService,
    status::{RiskServiceStatus, Status as _},
};
use jiff::Timestamp;
use k8s_openapi::api::apps::v1::Deployment;
use kube::Resource;

use super::{
    Context,
    apply::AppliedService,
    build::PURGE,
    demand::RequiredReplicas,
    fetch::Inputs,
    state::{AUTOSCALED, RETENTION_KEPT, autoscaling, purge, ready_state, refused_pods},
    validate::{CHAINS_CONFIGURED, ValidatedService},
};
use crate::{
    conditions::{ConditionState, READY, ReadyState, condition, conditions, reason_of},
    pod_diagnostics::{self, JOB_NAME, SuspectPods},
    reason::ConditionReason,
    shared::ReconcileError,
};

/// The condition type: `maxReplicas` covers what tenants' limits require.
const LIMITS_COVERED: &str = "LimitsCovered";

/// The types of the conditions other than `Ready` and `Stalled`.
const OTHERS: [&str; 4] = [LIMITS_COVERED, AUTOSCALED, RETENTION_KEPT, CHAINS_CONFIGURED];

/// The inputs of a status.
#[derive(Debug)]
pub(super) struct StatusInputs {
    /// The state of the service.
    pub(super) ready_state: ReadyState,
    /// The Deployment, if it exists.
    deployment: Option<Deployment>,
    /// The replicas that tenants' limits require, if they are known.
    required_replicas: Option<RequiredReplicas>,
    /// The other conditions that are known.
    conditions: Vec<ConditionState>,
}

impl StatusInputs {
    /// Collects the inputs after the objects were applied, with a diagnosis of failing pods.
    pub(super) async fn collect(
        service: &ValidatedService,
        applied: AppliedService,
        context: &Context,
    ) -> Result<Self, kube::Error> {
        let owner = &service.owner;
        let diagnose = async |pods: Option<SuspectPods>| match pods {
            Some(pods) => {
                let client = &context.shared.client;
                pod_diagnostics::diagnose(client, owner.namespace(), &pods).await
            }
            None => Ok(None),
        };
        let ready_state = ready_state(&service.pods.image, service.min_replicas, &applied);
        let suspects = suspect_pods(&ready_state, service);
        let is_rollout = suspects.as_ref().is_some_and(|suspects| suspects.creators.is_empty());
        let refused = || applied.deployment.as_ref().filter(|_| is_rollout).and_then(refused_pods);
        let diagnosis = diagnose(suspects).await?.or_else(refused);
        let ready_state = ready_state.with_detail(diagnosis.as_deref());
        let mut purge = applied.purge.as_ref().map(purge);
        if let Some(state) = purge.as_mut().filter(|state| !state.holds) {
            let labels = owner.with_component(PURGE).pod_query();
            let pods = SuspectPods { labels, ..SuspectPods::default() };
            state.add_detail(diagnose(Some(pods)).await?.as_deref());
        }
        let required_replicas = service.required_replicas.clone();
        let limits_covered = required_replicas.as_ref().map(limits_covered);
        let chains = service.chains_configured.clone();
        let conditions = [limits_covered, autoscaling(&applied.autoscaler), purge, chains];
        let conditions = conditions.into_iter().flatten().collect();
        Ok(Self { ready_state, deployment: applied.deployment, required_replicas, conditions })
    }

    /// The inputs of an invalid service, for which nothing was applied.
    pub(super) fn of_invalid_service(
        ready_state: ReadyState,
        inputs: &Inputs,
    ) -> Result<Self, ReconcileError> {
        let deployment = inputs.live.owned(&inputs.owner)?;
        Ok(Self { ready_state, deployment, required_replicas: None, conditions: vec![] })
    }
}

/// The condition that `maxReplicas` covers the required replicas.
fn limits_covered(required: &RequiredReplicas) -> ConditionState {
    let RequiredReplicas { is_sufficient, explanation, .. } = required;
    let reason = if *is_sufficient {
        ConditionReason::EnoughReplicas
    } else {
        ConditionReason::TooFewReplicas
    };
    let message = explanation.clone();
    ConditionState { kind: LIMITS_COVERED, holds: *is_sufficient, reason, message }
}

/// The pods because of which the service may not be ready. `None` if pods are not the cause.
fn suspect_pods(ready_state: &ReadyState, service: &ValidatedService) -> Option<SuspectPods> {
    let (labels, creators) = match ready_state.reason() {
        ConditionReason::MigrationFailed | ConditionReason::Migrating => {
            (format!("{JOB_NAME}={}", service.migration), vec![service.migration.clone()])
        }
        // A Deployment reports the pods that it cannot create itself.
        ConditionReason::RolloutFailed | ConditionReason::RollingOut => {
            (service.owner.pod_query(), vec![])
        }
        _ => return None,
    };
    Some(SuspectPods { labels, creators, must_be_ready: false })
}

/// The status of a service. Values that are unknown now keep their last state.
fn status(
    object: &RiskService,
    inputs: &StatusInputs,
    before: &RiskServiceStatus,
    now: Timestamp,
) -> RiskServiceStatus {
    let StatusInputs { ready_state, deployment, required_replicas, conditions: known } = inputs;
    let spec = deployment.as_ref().and_then(|deployment| deployment.spec.as_ref());
    let counts = deployment.as_ref().and_then(|deployment| deployment.status.as_ref());
    let version = ready_state.is_ready().then(|| version(&object.spec.image).to_owned());
    let required = required_replicas.as_ref();
    let explanation = required.map(|required| required.explanation.clone());
    let mut status = RiskServiceStatus {
        replicas: spec.and_then(|spec| spec.replicas),
        ready_replicas: counts.and_then(|counts| counts.ready_replicas),
        required_replicas: required.map(|required| required.replicas).or(before.required_replicas),
        required_replicas_reason: explanation.or_else(|| before.required_replicas_reason.clone()),
        version: version.or_else(|| before.version.clone()),
        ..RiskServiceStatus::default()
    };
    let generation = object.meta().generation;
    let mut all = conditions(ready_state, before.conditions(), generation, now);
    for kind in OTHERS {
        let old = before.conditions().iter().find(|known| known.type_ == kind);
        let state = known.iter().find(|state| state.kind == kind);
        let new = state.map(|state| condition(state, before.conditions(), generation, now));
        all.extend(new.or_else(|| old.cloned()));
    }
    status.set(generation, all);
    status
}

/// The version in an image's name: the digest, or else the tag.
fn version(image: &str) -> &str {
    if let Some((_, digest)) = image.split_once('@') {
        return digest;
    }
    let last = image.rsplit('/').next().unwrap_or(image);
    last.split_once(':').map_or("latest", |(_, tag)| tag)
}

/// Writes the status if it changed, and an event if its reason changed.
pub(super) async fn write(
    object: &RiskService,
    inputs: &StatusInputs,
    context: &Context,
    now: Timestamp,
) -> Result<(), ReconcileError> {
    let before = context.written.current(object);
    let status = status(object, inputs, &before, now);
    if !context.written.write(object, &before, status, &context.shared).await? {
        return Ok(());
    }
    let ready_state = &inputs.ready_state;
    let reason = ready_state.reason().as_str();
    if reason_of(READY, before.conditions()) != Some(reason) {
        let is_warning = matches!(ready_state, ReadyState::Stalled(..));
        let note = ready_state.message().to_owned();
        context
            .shared
            .writer
            .event(&object.object_ref(&()), is_warning, reason, "Reconcile", note)
            .await;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_is_the_tag_or_digest_of_the_image() {
        for (image, wanted) in [
            ("registry.example:5000/assay:1.2.3", "1.2.3"),
            ("registry.example:5000/assay", "latest"),
            ("assay@sha256:ab", "sha256:ab"),
            ("assay:1@sha256:ab", "sha256:ab"),
        ] {
            assert_eq!(version(image), wanted);
        }
    }
}
