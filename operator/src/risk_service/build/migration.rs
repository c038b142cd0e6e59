//! The migration: a Job that must have gone well before the server gets an image or a database.

use k8s_openapi::api::batch::v1::Job;
use kube::{ResourceExt, api::DynamicObject};
use serde_json::json;

use super::MIGRATION;
use crate::{
    jobs::once,
    owned::{OwnedKind, OwnedObject, Owner, hash},
    pod::{DATA, Pod, Restart, SecretFile},
    risk_service::{
        fetch::{Fetched, Held},
        validate::Valid,
    },
};

/// Noted on a Deployment: the migration before it.
pub(super) const MIGRATED_BY: &str = "assay.dev/migrated-by";
/// How long each try waits for a database that cannot be reached: a new one begins together with it.
const WAIT: &str = "2m";
/// Longest time for all tries, in seconds.
const LONGEST: u32 = 3600;

/// How far the migration is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::risk_service) enum Migration {
    /// The database is as the image needs it.
    Done,
    /// It is to begin.
    Due,
    /// It runs.
    Running,
    /// It failed, and why.
    Failed(String),
}

/// What the migration is called: one for each image and database. `None` while there is no database.
pub(in crate::risk_service) fn name(fetched: &Fetched) -> Option<String> {
    let Held::There { uid, .. } = &fetched.database else { return None };
    Some(named(fetched, uid))
}

fn named(fetched: &Fetched, database: &str) -> String {
    let spec = &fetched.object.spec;
    let key = &spec.database_secret;
    let hash = hash(&[&spec.image, key.name.as_str(), &key.key, database]);
    format!("{}-migrate-{hash}", fetched.name())
}

pub(super) fn job(valid: &Valid<'_>) -> OwnedObject {
    let fetched = valid.fetched;
    let spec = &fetched.object.spec;
    // Not among the server's pods, which are chosen by their labels.
    let Owner { reference, namespace, .. } = &fetched.parent;
    let parent = Owner::new(reference.clone(), namespace, &fetched.name(), MIGRATION);
    let database = SecretFile::new("database", &spec.database_secret);
    let pod = Pod {
        image: &spec.image,
        pull_secrets: &spec.image_pull_secrets,
        arguments: vec![
            "migrate".into(),
            format!("--data-dir={DATA}"),
            format!("--database-url-file={}", database.path()),
            format!("--wait={WAIT}"),
        ],
        secrets: vec![database],
        config_map: None,
        egress: &spec.egress,
        telemetry: &spec.telemetry,
        restart: Restart::Never,
        grace_seconds: 30,
        requests: ["50m", "64Mi"],
    };
    let content = json!({"spec": once(&pod, &parent, LONGEST)});
    let name = named(fetched, valid.database_uid);
    OwnedObject::new(&parent, OwnedKind::Job, &name, &[], content)
}

/// How far the migration of that name is, by the Deployment that came after it or by the Job.
pub(in crate::risk_service) fn migration(
    name: &str,
    deployment: Option<&DynamicObject>,
    job: Option<&DynamicObject>,
) -> Migration {
    let noted = deployment.and_then(|deployment| deployment.annotations().get(MIGRATED_BY));
    if noted.is_some_and(|noted| noted == name) {
        return Migration::Done;
    }
    let Some(job) = job else { return Migration::Due };
    let job: Option<Job> = job.clone().try_parse().ok();
    let conditions = job.and_then(|job| job.status?.conditions).unwrap_or_default();
    let holds = |kind: &str| {
        conditions.iter().find(|condition| condition.type_ == kind && condition.status == "True")
    };
    match (holds("Complete"), holds("Failed")) {
        (Some(_), _) => Migration::Done,
        (None, Some(failed)) => {
            let words = failed.message.clone().or_else(|| failed.reason.clone());
            Migration::Failed(words.unwrap_or_default())
        }
        (None, None) => Migration::Running,
    }
}

/// The version that an image's name tells: its tag, or its digest.
pub(in crate::risk_service) fn version(image: &str) -> &str {
    if let Some((_, digest)) = image.split_once('@') {
        return digest;
    }
    let last = image.rsplit('/').next().unwrap_or(image);
    last.split_once(':').map_or("latest", |(_, tag)| tag)
}
