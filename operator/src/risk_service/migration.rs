//! The progress of the database migration.

use k8s_openapi::api::{apps::v1::Deployment, batch::v1::Job};
use kube::ResourceExt;

use super::build::MIGRATED_BY;

/// The progress of a migration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Migration {
    /// The migration succeeded.
    Succeeded,
    /// The migration's Job does not exist yet.
    Pending,
    /// The migration's Job runs.
    Running,
    /// The migration's Job failed, with this message.
    Failed(String),
}

impl Migration {
    /// The progress of the migration of that name, from the annotation of the Deployment or from the migration's Job.
    pub(super) fn find(name: &str, deployment: Option<&Deployment>, job: Option<&Job>) -> Self {
        let before = deployment.and_then(|deployment| deployment.annotations().get(MIGRATED_BY));
        if before.is_some_and(|before| before == name) {
            return Self::Succeeded;
        }
        let Some(job) = job else { return Self::Pending };
        let conditions = job.status.as_ref().and_then(|status| status.conditions.as_ref());
        let find = |kind: &str| {
            let mut all = conditions.into_iter().flatten();
            all.find(|condition| condition.type_ == kind && condition.status == "True")
        };
        match (find("Complete"), find("Failed")) {
            (Some(_), _) => Self::Succeeded,
            (None, Some(failed)) => {
                let message = failed.message.clone().or_else(|| failed.reason.clone());
                Self::Failed(message.unwrap_or_default())
            }
            (None, None) => Self::Running,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_deployment_and_the_job_show_the_progress() {
        let job = |kind: &str| -> Job {
            let condition = json!({"type": kind, "status": "True", "message": "why"});
            serde_json::from_value(json!({"status": {"conditions": [condition]}})).unwrap()
        };
        let after = |migration: &str| -> Deployment {
            let annotations = json!({MIGRATED_BY: migration});
            serde_json::from_value(json!({"metadata": {"annotations": annotations}})).unwrap()
        };
        let of = |deployment: Option<Deployment>, job: Option<Job>| {
            Migration::find("m", deployment.as_ref(), job.as_ref())
        };
        assert_eq!(of(None, None), Migration::Pending);
        assert_eq!(of(Some(after("before")), None), Migration::Pending);
        assert_eq!(of(Some(after("m")), None), Migration::Succeeded, "its Job may be gone");
        assert_eq!(of(None, Some(job("Complete"))), Migration::Succeeded);
        assert_eq!(of(None, Some(job("Failed"))), Migration::Failed("why".into()));
        assert_eq!(of(None, Some(job("Suspended"))), Migration::Running);
    }
}
