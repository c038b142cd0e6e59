//! What is told of a running API.

use assay_crds::{
    RiskService,
    status::{RiskServiceStatus, Status as _},
};
use jiff::Timestamp;
use k8s_openapi::api::{
    apps::v1::Deployment, autoscaling::v2::HorizontalPodAutoscaler, batch::v1::CronJob,
};
use kube::{Api, Resource, ResourceExt};

use super::{
    Context, ServiceError,
    apply::Applied,
    build::{Migration, migration_name, version},
    demand::Floor,
    fetch::Fetched,
};
use crate::{
    conditions::{ConditionState, ReadyState, condition, conditions, ready_reason},
    jobs::went_well,
    pod_diagnostics::JOB_NAME,
    reason::Reason,
};

/// Whether there may be as many replicas as tenants' limits ask for.
const LIMITS_COVERED: &str = "LimitsCovered";
/// Whether there are more replicas when they have much to do.
const AUTOSCALED: &str = "Autoscaled";
/// Whether what is older than plans keep it is forgotten.
const RETENTION_KEPT: &str = "RetentionKept";

/// What is to be told.
#[derive(Debug)]
pub(super) struct News {
    pub(super) ready_state: ReadyState,
    /// What there is; `None` where nothing was done.
    pub(super) deployment: Option<Deployment>,
    /// What tenants' limits ask for, where that is known.
    pub(super) floor: Option<Floor>,
    /// How adding replicas goes, where that is known.
    pub(super) autoscaling: Option<ConditionState>,
    /// How forgetting goes, where that is known.
    pub(super) purge: Option<ConditionState>,
}

/// How adding replicas goes: whether it is known how much they have to do.
pub(super) fn autoscaling(autoscaler: Option<&HorizontalPodAutoscaler>) -> Option<ConditionState> {
    let status = autoscaler?.status.as_ref()?;
    let mut conditions = status.conditions.iter().flatten();
    let active = conditions.find(|condition| condition.type_ == "ScalingActive")?;
    let wanted = autoscaler?.spec.as_ref().and_then(|spec| spec.metrics.as_ref());
    let known = status.current_metrics.iter().flatten().filter(|metric| !metric.type_.is_empty());
    let (wanted, known) = (wanted.map_or(0, Vec::len), known.count());
    let fact = |holds, reason, message| ConditionState { kind: AUTOSCALED, holds, reason, message };
    Some(if active.status != "True" {
        let why = active.message.as_deref().unwrap_or_default();
        let message = format!("the autoscaler does not know how much replicas have to do: {why}");
        fact(false, Reason::LoadUnknown, message)
    } else if known < wanted {
        // The autoscaler says that it works as long as it knows any of them.
        let message = format!(
            "of {wanted} figures by which replicas are added, the autoscaler knows {known}: requests under \
             way need a metrics adapter"
        );
        fact(false, Reason::LoadUnknown, message)
    } else {
        fact(true, Reason::LoadKnown, "replicas are added when they have much to do".to_owned())
    })
}

/// How forgetting goes.
pub(super) fn purge(job: Option<CronJob>) -> Option<ConditionState> {
    let name = job.as_ref()?.name_any();
    let (holds, reason, message) = if went_well(job) {
        let message = format!("CronJob `{name}` forgets what is older than plans keep it");
        (true, Reason::PurgeWell, message)
    } else {
        let message = format!(
            "the last run of CronJob `{name}` failed, and what is older than plans keep it is still there"
        );
        (false, Reason::PurgeFailed, message)
    };
    Some(ConditionState { kind: RETENTION_KEPT, holds, reason, message })
}

/// The labels of the pods that may say why it does not go on; `None` where all is well.
pub(super) fn doubtful_pods(ready_state: &ReadyState, fetched: &Fetched) -> Option<String> {
    match ready_state.reason() {
        Reason::MigrationFailed | Reason::Migrating => {
            let job = migration_name(fetched)?;
            Some(format!("{JOB_NAME}={job}"))
        }
        Reason::RolloutFailed | Reason::RollingOut => Some(fetched.parent.pods()),
        _ => None,
    }
}

/// How it stands with an API whose objects are as they are to be.
pub(super) fn ready_state(image: &str, fewest: i32, applied: &Applied) -> ReadyState {
    let counts = Counts::of(applied.deployment.as_ref());
    let serving = if counts.available > 0 { "; what served before goes on serving" } else { "" };
    match &applied.migration {
        Migration::Failed(why) => {
            let message = format!(
                "the migration for `{image}` failed{serving}: {why}; delete the Job to try again, or name \
                 another image"
            );
            return ReadyState::Stalled(Reason::MigrationFailed, message);
        }
        Migration::Due | Migration::Running => {
            let message = format!("the database is made ready for `{image}`{serving}");
            return ReadyState::Waiting(Reason::Migrating, message);
        }
        Migration::Done => {}
    }
    if let Some(why) = counts.failed {
        let message = format!("`{image}` does not come up{serving}: {why}");
        return ReadyState::Stalled(Reason::RolloutFailed, message);
    }
    if applied.lacks_gateways {
        let message = "the cluster knows no HTTPRoute: install the Gateway API, or name an ingress";
        return ReadyState::Stalled(Reason::GatewayApiMissing, message.into());
    }
    let Counts { replicas, updated, available, is_observed, .. } = counts;
    let wanted = replicas.max(fewest);
    if !is_observed || updated < wanted || available < wanted || counts.total > wanted {
        let message =
            format!("{updated} of {wanted} replicas run `{image}`, {available} replicas answer");
        return ReadyState::Waiting(Reason::RollingOut, message);
    }
    ReadyState::Ready(Reason::ServiceReady, format!("{available} replicas of `{image}` answer"))
}

/// What a Deployment says of its pods.
#[derive(Debug, Default)]
struct Counts {
    /// How many there are to be.
    replicas: i32,
    /// How many there are, old and new.
    total: i32,
    /// How many of them are as the Deployment says now.
    updated: i32,
    /// How many answer.
    available: i32,
    /// Whether this is about what the Deployment says now.
    is_observed: bool,
    /// Why it is not expected to get any further.
    failed: Option<String>,
}

impl Counts {
    fn of(deployment: Option<&Deployment>) -> Self {
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

/// The status that says so.
fn status(
    object: &RiskService,
    news: &News,
    before: &RiskServiceStatus,
    now: Timestamp,
) -> RiskServiceStatus {
    let counts = news.deployment.as_ref().and_then(|deployment| deployment.status.as_ref());
    let runs = news.ready_state.is_ready().then(|| version(&object.spec.image).to_owned());
    let mut status = RiskServiceStatus {
        replicas: news
            .deployment
            .as_ref()
            .and_then(|deployment| deployment.spec.as_ref()?.replicas),
        ready_replicas: counts.and_then(|counts| counts.ready_replicas),
        // What is not known now is as it was told last.
        replica_floor: news.floor.as_ref().map(|floor| floor.replicas).or(before.replica_floor),
        replica_floor_because: news
            .floor
            .as_ref()
            .map(|floor| floor.words.clone())
            .or_else(|| before.replica_floor_because.clone()),
        version: runs.or_else(|| before.version.clone()),
        ..RiskServiceStatus::default()
    };
    let generation = object.meta().generation;
    let mut all = conditions(&news.ready_state, before.conditions(), generation, now);
    let covered = news.floor.as_ref().map(|floor| ConditionState {
        kind: LIMITS_COVERED,
        holds: floor.is_enough,
        reason: if floor.is_enough { Reason::EnoughReplicas } else { Reason::TooFewReplicas },
        message: floor.words.clone(),
    });
    for (kind, fact) in [
        (LIMITS_COVERED, covered),
        (AUTOSCALED, news.autoscaling.clone()),
        (RETENTION_KEPT, news.purge.clone()),
    ] {
        let told = before.conditions().iter().find(|known| known.type_ == kind);
        let now = fact.map(|fact| condition(&fact, before.conditions(), generation, now));
        all.extend(now.or_else(|| told.cloned()));
    }
    status.set(generation, all);
    status
}

/// Tells how it stands, where that is news.
pub(super) async fn tell(
    object: &RiskService,
    news: &News,
    context: &Context,
    now: Timestamp,
) -> Result<(), ServiceError> {
    let uid = object.uid().unwrap_or_default();
    let told = context.told().get(&uid).cloned();
    let before = told.or_else(|| object.status.clone()).unwrap_or_default();
    let status = status(object, news, &before, now);
    if before == status {
        return Ok(());
    }
    let namespace = object.namespace().unwrap_or_default();
    let api: Api<RiskService> = Api::namespaced(context.client.0.clone(), &namespace);
    match context.writer.status(&api, object, &(), &status).await {
        Err(error) if !error.is_not_found() => return Err(error.into()),
        _ => {}
    }
    context.told().insert(uid, status);
    let reason = news.ready_state.reason().as_str();
    if ready_reason(before.conditions()) != Some(reason) {
        let is_warning = matches!(news.ready_state, ReadyState::Stalled(..));
        let note = news.ready_state.message().to_owned();
        context.writer.event(&object.object_ref(&()), is_warning, reason, "Service", note).await;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn applied(migration: Migration, deployment: Value) -> Applied {
        let deployment = Some(serde_json::from_value(deployment).unwrap());
        Applied {
            migration,
            deployment,
            purge: None,
            autoscaler: None,
            lacks_gateways: false,
            is_change: false,
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

    fn said(applied: &Applied, fewest: i32) -> (Reason, String) {
        let ready_state = ready_state("assay:2", fewest, applied);
        (ready_state.reason(), ready_state.message().to_owned())
    }

    #[test]
    fn it_is_ready_once_every_replica_runs_the_image_and_no_other_is_left() {
        let (reason, message) = said(&applied(Migration::Done, deployment(2, 2, 2)), 2);
        assert_eq!((reason, &*message), (Reason::ServiceReady, "2 replicas of `assay:2` answer"));
        for (updated, total, available, fewest) in
            [(1, 3, 2, 2), (2, 3, 3, 2), (2, 2, 1, 2), (2, 2, 2, 3)]
        {
            let applied = applied(Migration::Done, deployment(updated, total, available));
            assert_eq!(said(&applied, fewest).0, Reason::RollingOut);
        }
        let mut unseen = deployment(2, 2, 2);
        unseen["metadata"]["generation"] = 3.into();
        assert_eq!(said(&applied(Migration::Done, unseen), 2).0, Reason::RollingOut);
    }

    #[test]
    fn an_image_that_does_not_come_up_or_whose_migration_fails_leaves_what_serves() {
        let mut stuck = deployment(1, 3, 2);
        stuck["status"]["conditions"] =
            json!([{"type": "Progressing", "status": "False", "message": "timed out"}]);
        let (reason, message) = said(&applied(Migration::Done, stuck), 2);
        assert_eq!(reason, Reason::RolloutFailed);
        let words = "`assay:2` does not come up; what served before goes on serving: timed out";
        assert_eq!(message, words);
        let failed = applied(Migration::Failed("no rights".into()), deployment(2, 2, 2));
        let (reason, message) = said(&failed, 2);
        assert_eq!(reason, Reason::MigrationFailed);
        assert!(message.starts_with(
            "the migration for `assay:2` failed; what served before goes on serving: no rights"
        ));
        let first =
            Applied { deployment: None, ..applied(Migration::Running, deployment(0, 0, 0)) };
        let words = "the database is made ready for `assay:2`".to_owned();
        assert_eq!(said(&first, 2), (Reason::Migrating, words));
    }

    #[test]
    fn the_version_is_that_of_the_image_that_answers() {
        for (image, wanted) in [
            ("registry.example:5000/assay:1.2.3", "1.2.3"),
            ("registry.example:5000/assay", "latest"),
            ("assay@sha256:ab", "sha256:ab"),
            ("assay:1@sha256:ab", "sha256:ab"),
        ] {
            assert_eq!(version(image), wanted);
        }
    }

    #[test]
    fn what_keeps_the_autoscaler_from_knowing_the_load_is_told() {
        let fact = |active: &str, message: &str, wanted: usize| {
            let condition = json!({"type": "ScalingActive", "status": active, "message": message});
            let known = json!({"type": "Resource", "resource": {"name": "cpu", "current": {}}});
            let unknown = json!({"type": ""});
            let status = json!({"conditions": [condition], "currentMetrics": [known, unknown]});
            let metrics = vec![json!({"type": "Resource"}); wanted];
            let spec = json!({"maxReplicas": 3, "scaleTargetRef": {"kind": "", "name": ""}, "metrics": metrics});
            let autoscaler = json!({"metadata": {"name": "api"}, "spec": spec, "status": status});
            autoscaling(Some(&serde_json::from_value(autoscaler).unwrap())).unwrap()
        };
        assert_eq!(fact("True", "", 1).reason, Reason::LoadKnown);
        assert_eq!(fact("True", "", 2).reason, Reason::LoadUnknown, "no adapter tells the other");
        let unknown = fact("False", "no metrics known", 1);
        assert_eq!((unknown.holds, unknown.reason), (false, Reason::LoadUnknown));
        assert!(unknown.message.ends_with(": no metrics known"), "{}", unknown.message);
        assert_eq!(autoscaling(None), None);
    }

    #[test]
    fn a_purge_that_failed_is_told_of_until_one_goes_well() {
        let fact = |status: Value| {
            let job = json!({"metadata": {"name": "api-purge"}, "status": status});
            let fact = purge(serde_json::from_value(job).unwrap()).unwrap();
            (fact.holds, fact.reason)
        };
        let [earlier, later] = ["2026-11-22T01:00:00Z", "2026-11-22T02:00:00Z"];
        let run =
            |begun, succeeded| json!({"lastScheduleTime": begun, "lastSuccessfulTime": succeeded});
        assert_eq!(fact(json!({})), (true, Reason::PurgeWell));
        assert_eq!(fact(run(later, earlier)), (false, Reason::PurgeFailed));
        assert_eq!(fact(run(earlier, later)), (true, Reason::PurgeWell));
        assert_eq!(purge(None), None, "nothing is known of it");
    }
}
