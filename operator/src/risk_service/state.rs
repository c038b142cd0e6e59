//! The states of a service, its autoscaler and its purge, derived from the applied objects.

use k8s_openapi::api::{
    apps::v1::Deployment, autoscaling::v2::HorizontalPodAutoscaler, batch::v1::CronJob,
};
use kube::ResourceExt;

use super::{apply::AppliedService, migration::Migration};
use crate::{
    conditions::{ConditionState, ReadyState},
    jobs::last_run_succeeded,
    pod_diagnostics::refused_pod,
    reason::ConditionReason,
};

/// The condition type: the autoscaler has its metrics.
pub(super) const AUTOSCALED: &str = "Autoscaled";
/// The condition type: expired records are purged.
pub(super) const RETENTION_KEPT: &str = "RetentionKept";

/// The condition of the autoscaler. `None` until the autoscaler has reported its state.
pub(super) fn autoscaling(autoscaler: &HorizontalPodAutoscaler) -> Option<ConditionState> {
    let status = autoscaler.status.as_ref()?;
    let mut conditions = status.conditions.iter().flatten();
    let active = conditions.find(|condition| condition.type_ == "ScalingActive")?;
    let wanted = autoscaler.spec.as_ref().and_then(|spec| spec.metrics.as_ref());
    let known = status.current_metrics.iter().flatten().filter(|metric| !metric.type_.is_empty());
    let (wanted, known) = (wanted.map_or(0, Vec::len), known.count());
    let state =
        |holds, reason, message| ConditionState { kind: AUTOSCALED, holds, reason, message };
    Some(if active.status != "True" {
        let why = active.message.as_deref().unwrap_or_default();
        let message = format!("the autoscaler has no metrics: {why}");
        state(false, ConditionReason::MetricsUnavailable, message)
    } else if known < wanted {
        // The autoscaler reports success as long as it has any of its metrics.
        let message = format!(
            "the autoscaler has {known} of {wanted} metrics: `requestsInFlight` needs a metrics adapter \
             that serves `assay_http_requests_in_flight`"
        );
        state(false, ConditionReason::MetricsUnavailable, message)
    } else {
        state(
            true,
            ConditionReason::MetricsAvailable,
            "the autoscaler has all its metrics".to_owned(),
        )
    })
}

/// The condition of the purge.
pub(super) fn purge(cron_job: &CronJob) -> ConditionState {
    let name = cron_job.name_any();
    let (holds, reason, message) = if last_run_succeeded(cron_job) {
        let message = format!("CronJob `{name}` deletes expired records");
        (true, ConditionReason::PurgeSucceeded, message)
    } else {
        let message =
            format!("CronJob `{name}` failed in its last run: expired records are still there");
        (false, ConditionReason::PurgeFailed, message)
    };
    ConditionState { kind: RETENTION_KEPT, holds, reason, message }
}

/// The state of a service whose objects were applied.
pub(super) fn ready_state(image: &str, min_replicas: i32, applied: &AppliedService) -> ReadyState {
    let counts = PodCounts::of_deployment(applied.deployment.as_ref());
    let serving = if counts.available > 0 { "; earlier replicas keep serving" } else { "" };
    match &applied.migration {
        Migration::Failed(why) => {
            let message = format!(
                "the migration for `{image}` failed{serving}: {why}; delete the Job to try again, or \
                 set another image"
            );
            return ReadyState::Stalled(ConditionReason::MigrationFailed, message);
        }
        Migration::Pending | Migration::Running => {
            let message = format!("the database is being migrated for `{image}`{serving}");
            return ReadyState::Waiting(ConditionReason::Migrating, message);
        }
        Migration::Succeeded => {}
    }
    if let Some(why) = counts.failed {
        let message = format!("`{image}` does not become ready{serving}: {why}");
        return ReadyState::Stalled(ConditionReason::RolloutFailed, message);
    }
    if applied.lacks_gateway_api {
        let message =
            "the cluster has no kind HTTPRoute: install the Gateway API, or name an ingress";
        return ReadyState::Stalled(ConditionReason::GatewayApiMissing, message.into());
    }
    let PodCounts { replicas, updated, available, is_observed, .. } = counts;
    let desired = replicas.max(min_replicas);
    if !is_observed || updated < desired || available < desired || counts.total > desired {
        let message =
            format!("{updated} of {desired} replicas run `{image}`, {available} available");
        return ReadyState::Waiting(ConditionReason::RollingOut, message);
    }
    let noun = if available == 1 { "replica" } else { "replicas" };
    ReadyState::Ready(
        ConditionReason::ServiceReady,
        format!("{available} {noun} of `{image}` available"),
    )
}

/// The state of a service of which the API server refuses an object.
pub(super) fn refused(why: &str) -> ReadyState {
    let message = format!("the API server refuses an object of the service: {why}");
    ReadyState::Stalled(ConditionReason::Invalid, message)
}

/// Describes why Kubernetes creates no pods of a Deployment, such as a used-up quota.
pub(super) fn refused_pods(deployment: &Deployment) -> Option<String> {
    let mut conditions =
        deployment.status.iter().flat_map(|status| status.conditions.iter().flatten());
    let refused =
        conditions.find(|known| known.type_ == "ReplicaFailure" && known.status == "True")?;
    Some(refused_pod(&deployment.name_any(), refused.message.as_deref()?))
}

/// The numbers of pods in the status of a Deployment.
#[derive(Debug, Default)]
struct PodCounts {
    /// The number of pods that the Deployment asks for.
    replicas: i32,
    /// The number of existing pods of all revisions.
    total: i32,
    /// The number of pods of the newest revision of the Deployment.
    updated: i32,
    /// The number of available pods.
    available: i32,
    /// True if the status describes the newest generation of the spec.
    is_observed: bool,
    /// The message of a rollout that stopped.
    failed: Option<String>,
}

impl PodCounts {
    fn of_deployment(deployment: Option<&Deployment>) -> Self {
        let Some(deployment) = deployment else { return Self::default() };
        let replicas = deployment.spec.as_ref().and_then(|spec| spec.replicas).unwrap_or(1);
        let Some(status) = &deployment.status else { return Self { replicas, ..Self::default() } };
        let is_observed = status.observed_generation >= deployment.metadata.generation;
        let failed = status
            .conditions
            .iter()
            .flatten()
            .find(|condition| condition.type_ == "Progressing" && condition.status == "False");
        Self {
            replicas,
            total: status.replicas.unwrap_or(0),
            updated: status.updated_replicas.unwrap_or(0),
            available: status.available_replicas.unwrap_or(0),
            is_observed,
            failed: failed
                .filter(|_| is_observed)
                .map(|failed| failed.message.clone().unwrap_or_default()),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn applied(migration: Migration, deployment: Value) -> AppliedService {
        let deployment = Some(serde_json::from_value(deployment).unwrap());
        AppliedService {
            migration,
            deployment,
            purge: None,
            autoscaler: HorizontalPodAutoscaler::default(),
            lacks_gateway_api: false,
            has_changed: false,
        }
    }

    fn deployment(updated: i32, total: i32, available: i32) -> Value {
        json!({
            "metadata": {"generation": 2},
            "spec": {"replicas": 2, "selector": {}, "template": {}},
            "status": {
                "observedGeneration": 2, "replicas": total, "updatedReplicas": updated,
                "availableReplicas": available,
            },
        })
    }

    fn reported(applied: &AppliedService, min_replicas: i32) -> (ConditionReason, String) {
        let ready_state = ready_state("assay:2", min_replicas, applied);
        (ready_state.reason(), ready_state.message().to_owned())
    }

    #[test]
    fn a_service_is_ready_once_all_replicas_run_the_image() {
        let (reason, message) = reported(&applied(Migration::Succeeded, deployment(2, 2, 2)), 2);
        assert_eq!(
            (reason, &*message),
            (ConditionReason::ServiceReady, "2 replicas of `assay:2` available")
        );
        for (updated, total, available, min_replicas) in
            [(1, 3, 2, 2), (2, 3, 3, 2), (2, 2, 1, 2), (2, 2, 2, 3)]
        {
            let applied = applied(Migration::Succeeded, deployment(updated, total, available));
            assert_eq!(reported(&applied, min_replicas).0, ConditionReason::RollingOut);
        }
        let mut unseen = deployment(2, 2, 2);
        unseen["metadata"]["generation"] = 3.into();
        assert_eq!(
            reported(&applied(Migration::Succeeded, unseen), 2).0,
            ConditionReason::RollingOut
        );
    }

    #[test]
    fn a_failed_image_or_migration_leaves_earlier_replicas_serving() {
        let mut stuck = deployment(1, 3, 2);
        stuck["status"]["conditions"] =
            json!([{"type": "Progressing", "status": "False", "message": "timed out"}]);
        let (reason, message) = reported(&applied(Migration::Succeeded, stuck), 2);
        assert_eq!(reason, ConditionReason::RolloutFailed);
        let words = "`assay:2` does not become ready; earlier replicas keep serving: timed out";
        assert_eq!(message, words);
        let failed = applied(Migration::Failed("no rights".into()), deployment(2, 2, 2));
        let (reason, message) = reported(&failed, 2);
        assert_eq!(reason, ConditionReason::MigrationFailed);
        assert!(message.starts_with(
            "the migration for `assay:2` failed; earlier replicas keep serving: no rights"
        ));
        let first =
            AppliedService { deployment: None, ..applied(Migration::Running, deployment(0, 0, 0)) };
        let words = "the database is being migrated for `assay:2`".to_owned();
        assert_eq!(reported(&first, 2), (ConditionReason::Migrating, words));
    }

    #[test]
    fn an_autoscaler_without_metrics_is_reported() {
        let state = |active: &str, message: &str, wanted: usize| {
            let condition = json!({"type": "ScalingActive", "status": active, "message": message});
            let known = json!({"type": "Resource", "resource": {"name": "cpu", "current": {}}});
            let unknown = json!({"type": ""});
            let status = json!({"conditions": [condition], "currentMetrics": [known, unknown]});
            let metrics = vec![json!({"type": "Resource"}); wanted];
            let spec = json!({"maxReplicas": 3, "scaleTargetRef": {"kind": "", "name": ""}, "metrics": metrics});
            let autoscaler = json!({"metadata": {"name": "api"}, "spec": spec, "status": status});
            autoscaling(&serde_json::from_value(autoscaler).unwrap()).unwrap()
        };
        assert_eq!(state("True", "", 1).reason, ConditionReason::MetricsAvailable);
        assert_eq!(
            state("True", "", 2).reason,
            ConditionReason::MetricsUnavailable,
            "no adapter has the other"
        );
        let unknown = state("False", "no metrics known", 1);
        assert_eq!((unknown.holds, unknown.reason), (false, ConditionReason::MetricsUnavailable));
        assert!(unknown.message.ends_with(": no metrics known"), "{}", unknown.message);
        assert_eq!(autoscaling(&HorizontalPodAutoscaler::default()), None);
    }

    #[test]
    fn a_purge_that_failed_is_reported_until_one_succeeds() {
        let state = |status: Value| {
            let job = json!({"metadata": {"name": "api-purge"}, "status": status});
            let state = purge(&serde_json::from_value(job).unwrap());
            (state.holds, state.reason)
        };
        let [earlier, later] = ["2026-11-22T01:00:00Z", "2026-11-22T02:00:00Z"];
        let run =
            |begun, succeeded| json!({"lastScheduleTime": begun, "lastSuccessfulTime": succeeded});
        assert_eq!(state(json!({})), (true, ConditionReason::PurgeSucceeded));
        assert_eq!(state(run(later, earlier)), (false, ConditionReason::PurgeFailed));
        assert_eq!(state(run(earlier, later)), (true, ConditionReason::PurgeSucceeded));
    }
}
