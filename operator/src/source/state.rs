//! The state of a source's workload, as a condition.

use kube::ResourceExt;

use super::{build::Workload, task::Idle};
use crate::{
    conditions::ConditionState,
    jobs::{has_failed, has_running_job, is_running, last_run_succeeded},
    reason::Reason,
};

/// The condition type: the workload of a source exists and works.
pub(crate) const WORKING: &str = "Working";

/// The condition of a source without a workload that runs.
pub(super) fn idle(idle: &Idle) -> ConditionState {
    state(false, idle.reason(), idle.to_string())
}

/// The condition of a workload. `diagnosis` describes its failing pods.
pub(super) fn of_workload(workload: &Workload, diagnosis: Option<&str>) -> ConditionState {
    let (object, problem) = match workload {
        Workload::Importer { cron_job, first_job } => {
            let failed = first_job.as_ref().filter(|job| has_failed(job));
            let cron_job_name = format!("CronJob `{}`", cron_job.name_any());
            match failed {
                Some(job) => (format!("Job `{}`", job.name_any()), Some("failed")),
                None if last_run_succeeded(cron_job) => (cron_job_name, None),
                None => (cron_job_name, Some("failed in its last run")),
            }
        }
        Workload::Follower(deployment) => {
            let status = deployment.status.as_ref();
            let available = status.and_then(|status| status.available_replicas).unwrap_or(0);
            let name = format!("Deployment `{}`", deployment.name_any());
            (name, (available == 0).then_some("has no available pod"))
        }
    };
    let mut state = match (problem, diagnosis) {
        (Some(problem), _) => state(false, Reason::WorkloadNotReady, format!("{object} {problem}")),
        // A Job whose pod cannot start counts as active.
        (None, Some(_)) => {
            state(false, Reason::WorkloadNotReady, "a pod of the source does not run".to_owned())
        }
        (None, None) => state(true, Reason::WorkloadReady, format!("{object} fetches the source")),
    };
    state.add_detail(diagnosis);
    state
}

/// Says whether a Job of the workload runs at the moment.
pub(super) fn has_running_jobs(workload: &Workload) -> bool {
    match workload {
        Workload::Importer { cron_job, first_job } => {
            has_running_job(cron_job) || first_job.as_ref().is_some_and(|job| is_running(job))
        }
        Workload::Follower(_) => false,
    }
}

fn state(holds: bool, reason: Reason, message: String) -> ConditionState {
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

    fn importer(cron_job: Value, first_job: Option<Value>) -> Workload {
        let first_job = first_job.map(|status| Box::new(object(status)));
        Workload::Importer { cron_job: Box::new(object(cron_job)), first_job }
    }

    fn reason(workload: &Workload) -> Reason {
        of_workload(workload, None).reason
    }

    #[test]
    fn an_importer_works_while_its_last_run_succeeded() {
        let [earlier, later] = ["2026-11-22T01:00:00Z", "2026-11-22T02:00:00Z"];
        let run = |started, succeeded| json!({"lastScheduleTime": started, "lastSuccessfulTime": succeeded});
        let of_schedule = |status| reason(&importer(status, None));
        assert_eq!(of_schedule(json!({})), Reason::WorkloadReady);
        assert_eq!(of_schedule(run(earlier, later)), Reason::WorkloadReady);
        assert_eq!(of_schedule(run(later, earlier)), Reason::WorkloadNotReady);
        let mut running = run(later, earlier);
        running["active"] = json!([{"name": "x-1"}]);
        assert!(has_running_jobs(&importer(running.clone(), None)));
        assert_eq!(of_schedule(running), Reason::WorkloadReady);
        let failed = json!({"conditions": [{"type": "Failed", "status": "True"}]});
        let failed = of_workload(&importer(json!({}), Some(failed)), None);
        assert_eq!((failed.reason, &*failed.message), (Reason::WorkloadNotReady, "Job `x` failed"));
        assert!(has_running_jobs(&importer(json!({}), Some(json!({"active": 1})))));
        assert!(!has_running_jobs(&importer(json!({}), Some(json!({"succeeded": 1})))));
    }

    #[test]
    fn a_follower_works_while_its_pod_is_available() {
        let follower = |available: i32| {
            Workload::Follower(Box::new(object(json!({"availableReplicas": available}))))
        };
        assert_eq!(reason(&follower(1)), Reason::WorkloadReady);
        assert_eq!(reason(&follower(0)), Reason::WorkloadNotReady);
    }

    #[test]
    fn a_pod_that_does_not_start_makes_a_running_job_not_ready() {
        let state = of_workload(&importer(json!({}), None), Some("pod `x`: ErrImagePull"));
        assert_eq!(state.reason, Reason::WorkloadNotReady);
        assert_eq!(state.message, "a pod of the source does not run; pod `x`: ErrImagePull");
    }
}
