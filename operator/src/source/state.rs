//! The condition about a source's workload.

use k8s_openapi::api::batch::v1::{CronJob, Job};
use kube::ResourceExt;

use super::{
    apply::AppliedWorkload,
    status::{Replicas, WORKING},
    task::{IdleReason, PauseReason},
};
use crate::{
    conditions::ConditionState,
    jobs::{failed_attempts, has_failed, has_running_job, is_unfinished, last_run_succeeded},
    reason::ConditionReason,
};

/// The condition of a source without a running workload.
pub(super) fn idle(idle: &IdleReason) -> ConditionState {
    state(false, idle.reason(), idle.to_string())
}

/// The state of a source's workload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct WorkloadState {
    /// The condition of the workload.
    pub(super) condition: ConditionState,
    /// The number of chain servers. `None` for an importer.
    pub(super) replicas: Option<Replicas>,
}

impl AppliedWorkload {
    /// The number of chain servers. `None` for an importer.
    pub(super) fn replicas(&self) -> Option<Replicas> {
        match self {
            Self::Importer { .. } => None,
            Self::ChainServers { stateful_set, .. } => {
                Some(Replicas::of_stateful_set(stateful_set))
            }
        }
    }

    /// Says whether Kubernetes has reported a status of the workload.
    pub(super) fn is_observed(&self) -> bool {
        match self {
            Self::Importer { .. } => true,
            Self::ChainServers { stateful_set, .. } => {
                let status = stateful_set.status.as_ref();
                status.is_some_and(|status| status.observed_generation.is_some())
            }
        }
    }

    /// The names of the objects that create the workload's pods and report a refusal by an event alone.
    pub(super) fn creators(&self) -> Vec<String> {
        match self {
            Self::Importer { cron_job, first_job } => {
                let active =
                    cron_job.status.iter().flat_map(|status| status.active.iter().flatten());
                let scheduled = active.filter_map(|job| job.name.clone());
                first_job.iter().map(|job| job.name_any()).chain(scheduled).collect()
            }
            Self::ChainServers { stateful_set, .. } => vec![stateful_set.name_any()],
        }
    }

    /// Says whether pods may report the cause of a failure.
    pub(super) fn needs_diagnosis(&self) -> bool {
        match self {
            Self::Importer { cron_job, first_job } => {
                !self.condition(None, None).holds
                    || has_running_job(cron_job)
                    || first_job.as_ref().is_some_and(|job| is_unfinished(job))
            }
            Self::ChainServers { stateful_set, resize_failure } => {
                let Replicas { desired, ready } = Replicas::of_stateful_set(stateful_set);
                ready < desired || resize_failure.is_some()
            }
        }
    }

    /// The condition of the workload. `diagnosis` describes its failing pods.
    pub(super) fn condition(
        &self,
        pause: Option<&PauseReason>,
        diagnosis: Option<&str>,
    ) -> ConditionState {
        let mut state = match self {
            Self::Importer { cron_job, first_job } => {
                importer_condition(cron_job, first_job.as_deref(), diagnosis.is_some())
            }
            Self::ChainServers { stateful_set, resize_failure } => {
                let replicas = Replicas::of_stateful_set(stateful_set);
                chain_servers_condition(replicas, pause, resize_failure.as_deref())
            }
        };
        state.add_detail(diagnosis);
        state
    }
}

fn importer_condition(
    cron_job: &CronJob,
    first_job: Option<&Job>,
    has_diagnosis: bool,
) -> ConditionState {
    let failed = first_job.filter(|job| has_failed(job) || failed_attempts(job) > 0);
    let cron_job_name = format!("CronJob `{}`", cron_job.name_any());
    let (object, problem) = match failed {
        Some(job) if has_failed(job) => {
            let problem = "failed; its schedule tries again".to_owned();
            (format!("Job `{}`", job.name_any()), Some(problem))
        }
        Some(job) => {
            let attempts = failed_attempts(job);
            let times = if attempts == 1 { "once".to_owned() } else { format!("{attempts} times") };
            let problem = format!("failed {times}, and tries again");
            (format!("Job `{}`", job.name_any()), Some(problem))
        }
        None if last_run_succeeded(cron_job) => (cron_job_name, None),
        None => (cron_job_name, Some("failed in its last run".to_owned())),
    };
    match problem {
        Some(problem) => {
            state(false, ConditionReason::WorkloadNotReady, format!("{object} {problem}"))
        }
        // A Job whose pod cannot start counts as active.
        None if has_diagnosis => state(
            false,
            ConditionReason::WorkloadNotReady,
            "a pod of the source does not run".to_owned(),
        ),
        None => state(true, ConditionReason::WorkloadReady, format!("{object} fetches the source")),
    }
}

fn chain_servers_condition(
    replicas: Replicas,
    pause: Option<&PauseReason>,
    resize_failure: Option<&str>,
) -> ConditionState {
    let Replicas { desired, ready } = replicas;
    let noun = if desired == 1 { "chain server" } else { "chain servers" };
    let counts = format!("{ready} of {desired} {noun} ready");
    let with = |more: &str| format!("{counts}; {more}");
    if let Some(PauseReason::CredentialsRefused(refusal)) = pause {
        let message = format!("{refusal}; {counts}: they answer from the blocks that they have");
        return state(false, ConditionReason::CredentialsNotAllowed, message);
    }
    match resize_failure {
        _ if ready == 0 => {
            let more = "until one is, checks on the chain lack its flows and are indeterminate";
            state(false, ConditionReason::NoServerReady, with(more))
        }
        Some(failure) => state(false, ConditionReason::VolumeNotResized, with(failure)),
        None if pause.is_some() => {
            let more = "following is suspended: they answer from the blocks that they have";
            state(false, ConditionReason::FollowingSuspended, with(more))
        }
        None if ready < desired => {
            let more = "a new one is ready once another one, or the source, has filled its volume";
            state(true, ConditionReason::SomeServersReady, with(more))
        }
        None => state(true, ConditionReason::ServersReady, counts),
    }
}

/// The condition of a source whose objects the API server refuses.
pub(super) fn refused(why: &str) -> ConditionState {
    state(
        false,
        ConditionReason::Invalid,
        format!("the API server refuses an object of the source: {why}"),
    )
}

fn state(holds: bool, reason: ConditionReason, message: String) -> ConditionState {
    ConditionState { kind: WORKING, holds, reason, message }
}

#[cfg(test)]
#[expect(clippy::needless_pass_by_value, reason = "fixtures read better without borrows")]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn object<K: serde::de::DeserializeOwned>(status: Value) -> K {
        let object = json!({"metadata": {"name": "x"}, "status": status});
        serde_json::from_value(object).unwrap()
    }

    fn importer(cron_job: Value, first_job: Option<Value>) -> AppliedWorkload {
        let first_job = first_job.map(|status| Box::new(object(status)));
        AppliedWorkload::Importer { cron_job: Box::new(object(cron_job)), first_job }
    }

    fn servers(desired: i32, ready: i32, resize_failure: Option<&str>) -> AppliedWorkload {
        let spec = json!({
            "replicas": desired, "serviceName": "x", "selector": {}, "template": {},
        });
        let object = json!({
            "metadata": {"name": "x"}, "spec": spec,
            "status": {"replicas": desired, "readyReplicas": ready},
        });
        AppliedWorkload::ChainServers {
            stateful_set: Box::new(serde_json::from_value(object).unwrap()),
            resize_failure: resize_failure.map(ToOwned::to_owned),
        }
    }

    fn reason(applied: &AppliedWorkload) -> ConditionReason {
        applied.condition(None, None).reason
    }

    #[test]
    fn an_importer_works_while_its_last_run_succeeded() {
        let [earlier, later] = ["2026-11-22T01:00:00Z", "2026-11-22T02:00:00Z"];
        let run = |started, succeeded| json!({"lastScheduleTime": started, "lastSuccessfulTime": succeeded});
        let of_schedule = |status| reason(&importer(status, None));
        assert_eq!(of_schedule(json!({})), ConditionReason::WorkloadReady);
        assert_eq!(of_schedule(run(earlier, later)), ConditionReason::WorkloadReady);
        assert_eq!(of_schedule(run(later, earlier)), ConditionReason::WorkloadNotReady);
        let mut running = run(later, earlier);
        running["active"] = json!([{"name": "x-1"}]);
        assert!(importer(running.clone(), None).needs_diagnosis());
        assert_eq!(of_schedule(running), ConditionReason::WorkloadReady);
        let failed = json!({"conditions": [{"type": "Failed", "status": "True"}]});
        let failed = importer(json!({}), Some(failed)).condition(None, None);
        assert_eq!(
            (failed.reason, &*failed.message),
            (ConditionReason::WorkloadNotReady, "Job `x` failed; its schedule tries again")
        );
        let retried = importer(json!({}), Some(json!({"active": 0, "failed": 3})));
        assert!(retried.needs_diagnosis());
        let retried = retried.condition(None, None);
        assert_eq!(
            (retried.holds, &*retried.message),
            (false, "Job `x` failed 3 times, and tries again")
        );
        let recovered = json!({"failed": 3, "succeeded": 1});
        assert!(importer(json!({}), Some(recovered)).condition(None, None).holds);
        assert!(importer(json!({}), Some(json!({"active": 1}))).needs_diagnosis());
        assert!(!importer(json!({}), Some(json!({"succeeded": 1}))).needs_diagnosis());
    }

    #[test]
    fn a_pod_that_does_not_start_makes_a_running_job_not_ready() {
        let state = importer(json!({}), None).condition(None, Some("pod `x`: ErrImagePull"));
        assert_eq!(state.reason, ConditionReason::WorkloadNotReady);
        assert_eq!(state.message, "a pod of the source does not run; pod `x`: ErrImagePull");
    }

    #[test]
    fn chain_servers_work_while_one_of_them_answers() {
        for (desired, ready, holds, reason, needs_diagnosis) in [
            (2, 2, true, ConditionReason::ServersReady, false),
            (2, 1, true, ConditionReason::SomeServersReady, true),
            (2, 0, false, ConditionReason::NoServerReady, true),
            (1, 2, true, ConditionReason::ServersReady, false),
        ] {
            let servers = servers(desired, ready, None);
            let state = servers.condition(None, None);
            assert_eq!((state.holds, state.reason), (holds, reason), "{ready} of {desired}");
            assert_eq!(servers.needs_diagnosis(), needs_diagnosis, "{ready} of {desired}");
            assert_eq!(servers.replicas().unwrap().desired, desired);
        }
        assert!(!servers(1, 1, None).is_observed(), "its controller has not looked at it");
        let detail = Some("pod `chain-x-1`: ErrImagePull");
        let said = servers(2, 1, None).condition(None, detail).message;
        assert_eq!(
            said,
            "1 of 2 chain servers ready; a new one is ready once another one, or the source, has \
             filled its volume; pod `chain-x-1`: ErrImagePull"
        );
    }

    #[test]
    fn suspended_chain_servers_and_volumes_that_do_not_grow_are_reported() {
        let suspended = servers(1, 1, None).condition(Some(&PauseReason::Suspended), None);
        assert_eq!(
            (suspended.holds, suspended.reason),
            (false, ConditionReason::FollowingSuspended)
        );
        let why = "PersistentVolumeClaim `data-chain-x-0` does not grow: no";
        let stuck = servers(1, 1, Some(why));
        assert!(stuck.needs_diagnosis(), "the claim is looked at again");
        let stuck = stuck.condition(Some(&PauseReason::Suspended), None);
        assert_eq!((stuck.holds, stuck.reason), (false, ConditionReason::VolumeNotResized));
        assert_eq!(stuck.message, format!("1 of 1 chain server ready; {why}"));
        assert_eq!(reason(&servers(1, 0, Some(why))), ConditionReason::NoServerReady);
    }
}
