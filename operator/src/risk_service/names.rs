//! The names of the objects of a `RiskService`.

use assay_crds::RiskServiceSpec;

use crate::owned::{OwnedKind, digest};

/// The longest name of a `RiskService`. The names of the service's Jobs add characters, and a label holds 63
/// characters.
const MAX_LENGTH: usize = 40;

/// The problem with the name of a `RiskService` that its Service and other objects could not have. `None` if the name
/// is valid.
pub(super) fn problem(name: &str) -> Option<String> {
    let is_allowed = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    let starts_with_letter = name.bytes().next().is_some_and(|byte| byte.is_ascii_lowercase());
    if name.len() <= MAX_LENGTH && starts_with_letter && name.bytes().all(is_allowed) {
        return None;
    }
    Some(format!(
        "the name `{name}` cannot be the name of a Service: create a RiskService whose name has at \
         most {MAX_LENGTH} lowercase letters, digits and hyphens and starts with a letter"
    ))
}

/// The name of the `CronJob` that deletes expired records.
pub(super) fn purge(service: &str) -> String {
    format!("{service}-purge")
}

/// The name of the migration Job, which differs for each image and database.
pub(super) fn migration(service: &str, spec: &RiskServiceSpec, database_uid: &str) -> String {
    let secret = &spec.database_secret;
    let digest = digest(&[&spec.image, secret.name.as_str(), &secret.key, database_uid]);
    format!("{service}-migrate-{digest}")
}

/// The kinds and names of the objects that a `RiskService` may have. `migration` is the name of the
/// Job, if the database is known.
pub(super) fn all(service: &str, migration: Option<String>) -> Vec<(OwnedKind, String)> {
    let kinds = [
        OwnedKind::ConfigMap,
        OwnedKind::Service,
        OwnedKind::NetworkPolicy,
        OwnedKind::PodDisruptionBudget,
        OwnedKind::HorizontalPodAutoscaler,
        OwnedKind::Ingress,
        OwnedKind::HttpRoute,
        OwnedKind::Deployment,
    ];
    let mut names: Vec<_> = kinds.into_iter().map(|kind| (kind, service.to_owned())).collect();
    names.push((OwnedKind::CronJob, purge(service)));
    names.extend(migration.map(|name| (OwnedKind::Job, name)));
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_one_that_a_service_and_its_jobs_can_have() {
        assert_eq!(problem("api-2"), None);
        for wrong in ["2-api", "api.one", "-", &"a".repeat(41)] {
            assert!(problem(wrong).unwrap().contains(wrong));
        }
    }
}
