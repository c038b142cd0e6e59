//! Reconciliation of stored manifests with desired manifests: consistent changes are applied, others are refused.

use std::{collections::BTreeMap, sync::Arc};

use assay_engine::policy::Policy;
use assay_tenancy::{Directory, FieldProblem, ManifestProblem, Name, manifest::Kind};

use crate::{Manifest, Manifests, resolve_manifests};

/// Desired manifests, by kind and name; `None`: the manifest is to be removed.
pub type DesiredManifests = BTreeMap<(Kind, Name), Option<Arc<Manifest>>>;

/// The manifests in force from now on, and the desired manifests that are refused.
#[derive(Debug)]
pub struct Reconciled {
    /// The manifests that are in force after the reconciliation.
    pub manifests: Manifests,
    /// The directory of the manifests in force.
    pub directory: Directory<Policy>,
    /// The refused changes of manifests, each with its reason. A refused change leaves the stored manifest as it was.
    pub refused: BTreeMap<(Kind, Name), ManifestRefusal>,
}

/// Reason why a change of a manifest is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ManifestRefusal {
    /// The desired manifest is invalid.
    Invalid(FieldProblem),
    /// The change would make another manifest invalid.
    BreaksDependent {
        /// The other manifest.
        dependent: (Kind, Name),
        /// The problem that the dependent manifest would have.
        problem: FieldProblem,
    },
}

impl ManifestRefusal {
    /// The problem of the desired manifest or of the dependent manifest.
    #[must_use]
    pub const fn problem(&self) -> &FieldProblem {
        match self {
            Self::Invalid(problem) | Self::BreaksDependent { problem, .. } => problem,
        }
    }
}

/// The changes that are not refused yet.
type Changes<'a> = BTreeMap<&'a (Kind, Name), Option<&'a Arc<Manifest>>>;

/// Applies as many desired changes to the stored manifests as are consistent. A change is refused if the
/// desired manifest is invalid, or if it would make another manifest invalid.
///
/// # Errors
///
/// Returns the problems of the stored manifests, if they are invalid and no change corrects them.
pub fn reconcile(
    stored: &Manifests,
    desired: &DesiredManifests,
) -> Result<Reconciled, Vec<ManifestProblem>> {
    let mut open: Changes<'_> = desired
        .iter()
        .map(|(key, manifest)| (key, manifest.as_ref()))
        .filter(|(key, manifest)| {
            let stored = stored.get(*key).map(|manifest| &manifest.source);
            stored != manifest.map(|manifest| &manifest.source)
        })
        .collect();
    let mut refused = BTreeMap::new();
    loop {
        let manifests = overlay(stored, &open);
        let problems = match resolve_manifests(&manifests) {
            Ok(directory) => return Ok(Reconciled { manifests, directory, refused }),
            Err(problems) => problems,
        };
        if open.is_empty() {
            return Err(problems);
        }
        if let Some((removal, refusal)) = needed_removal(stored, &open, &problems) {
            open.remove(&removal);
            refused.insert(removal, refusal);
            continue;
        }
        let mut found = false;
        for problem in &problems {
            let Some((key, _)) = problem.manifest.as_ref().and_then(|key| open.remove_entry(key))
            else {
                continue;
            };
            refused.insert(key.clone(), ManifestRefusal::Invalid(problem.field.clone()));
            found = true;
        }
        if found {
            continue;
        }
        let Some((dependent, problem)) = problems
            .iter()
            .find_map(|problem| problem.manifest.clone().map(|manifest| (manifest, problem)))
        else {
            return Err(problems);
        };
        // A change made another manifest invalid. If it is valid without one change in particular, that
        // one is refused, otherwise all are.
        let cause = open.keys().copied().find(|key| is_valid_without(key, stored, &open, problem));
        let chosen = cause.map_or_else(|| open.keys().copied().collect(), |key| vec![key]);
        for key in chosen {
            open.remove(key);
            let (dependent, problem) = (dependent.clone(), problem.field.clone());
            refused.insert(key.clone(), ManifestRefusal::BreaksDependent { dependent, problem });
        }
    }
}

/// The removal of a manifest that a changed one still needs, with its refusal. The removal waits, so that it keeps no other
/// change from taking effect.
fn needed_removal(
    stored: &Manifests,
    open: &Changes<'_>,
    problems: &[ManifestProblem],
) -> Option<((Kind, Name), ManifestRefusal)> {
    let of_changed = problems.iter().filter_map(|problem| {
        // A new manifest waits for nothing: it is refused, and the removal goes on.
        let manifest = problem.manifest.as_ref().filter(|key| stored.contains_key(*key))?;
        open.get(manifest)?.map(|_| (manifest, problem))
    });
    let removals = || open.iter().filter(|(_, change)| change.is_none()).map(|(key, _)| *key);
    let mut needed = of_changed.filter_map(|(dependent, problem)| {
        let removal = removals().find(|key| is_valid_without(key, stored, open, problem))?;
        let (dependent, problem) = (dependent.clone(), problem.field.clone());
        Some((removal.clone(), ManifestRefusal::BreaksDependent { dependent, problem }))
    });
    needed.next()
}

fn is_valid_without(
    key: &(Kind, Name),
    stored: &Manifests,
    open: &Changes<'_>,
    problem: &ManifestProblem,
) -> bool {
    let mut others = open.clone();
    others.remove(key);
    let problems = resolve_manifests(&overlay(stored, &others)).err().unwrap_or_default();
    !problems.contains(problem)
}

fn overlay(stored: &Manifests, changes: &Changes<'_>) -> Manifests {
    let mut manifests = stored.clone();
    for (key, manifest) in changes {
        match manifest {
            Some(manifest) => manifests.insert((*key).clone(), Arc::clone(manifest)),
            None => manifests.remove(*key),
        };
    }
    manifests
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn key(kind: Kind, name: &str) -> (Kind, Name) {
        (kind, name.parse().unwrap())
    }

    fn plan(requests: u64) -> ((Kind, Name), Value) {
        let limits = json!([
            {"name": "daily", "requests": requests, "window": "1d", "counts": "checks", "ceiling": 100},
        ]);
        let spec = json!({"displayName": "Basic", "apiAccess": true, "limits": limits});
        (key(Kind::Plan, "basic"), spec)
    }

    fn tenant(plan: &str) -> ((Kind, Name), Value) {
        let spec = json!({"displayName": "Acme", "plan": plan, "policy": "default"});
        (key(Kind::Tenant, "acme"), spec)
    }

    fn raised(requests: u64) -> ((Kind, Name), Value) {
        let limits = json!([{"name": "daily", "requests": requests}]);
        (key(Kind::RateLimit, "more"), json!({"target": {"plan": "basic"}, "limits": limits}))
    }

    fn parsed(((kind, name), spec): ((Kind, Name), Value)) -> ((Kind, Name), Arc<Manifest>) {
        let manifest = Manifest::parse_spec("a test".into(), kind, name, &spec);
        (manifest.key(), Arc::new(manifest))
    }

    fn stored() -> Manifests {
        let policy = (key(Kind::RiskPolicy, "default"), json!({}));
        [plan(10), tenant("basic"), policy].map(parsed).into()
    }

    /// The spec of a manifest in force, as it was written.
    fn source(reconciled: &Reconciled, key: &(Kind, Name)) -> Value {
        reconciled.manifests[key].source.value()
    }

    fn put(manifest: ((Kind, Name), Value)) -> ((Kind, Name), Option<Arc<Manifest>>) {
        let (key, manifest) = parsed(manifest);
        (key, Some(manifest))
    }

    fn label((kind, name): &(Kind, Name)) -> String {
        format!("{} {name}", kind.as_str())
    }

    /// The refused changes: the manifest, the field, and the manifest that the change would make invalid.
    fn refusals(reconciled: &Reconciled) -> Vec<(String, &str, Option<String>)> {
        let words = reconciled.refused.iter().map(|(key, refusal)| {
            let dependent = match refusal {
                ManifestRefusal::Invalid(_) => None,
                ManifestRefusal::BreaksDependent { dependent, .. } => Some(label(dependent)),
            };
            (label(key), refusal.problem().path.as_str(), dependent)
        });
        words.collect()
    }

    #[test]
    fn valid_changes_are_in_force() {
        let reconciled =
            reconcile(&stored(), &DesiredManifests::from([put(plan(20)), put(raised(50))]))
                .unwrap();
        assert_eq!(refusals(&reconciled), []);
        assert_eq!(source(&reconciled, &key(Kind::Plan, "basic")), plan(20).1);
        let acme = &reconciled.directory.tenants["acme"];
        assert_eq!(acme.limits("2026-01-01T00:00:00Z".parse().unwrap())[0].requests, 50);
    }

    #[test]
    fn an_invalid_change_delays_no_other_and_the_stored_manifest_stays() {
        let desired =
            DesiredManifests::from([put(plan(20)), put(tenant("gold")), put(raised(101))]);
        let reconciled = reconcile(&stored(), &desired).unwrap();
        assert_eq!(
            refusals(&reconciled),
            [
                ("Tenant acme".into(), "spec.plan", None),
                ("RateLimit more".into(), "spec.limits[0].requests", None),
            ]
        );
        assert_eq!(source(&reconciled, &key(Kind::Plan, "basic")), plan(20).1);
        assert_eq!(source(&reconciled, &key(Kind::Tenant, "acme")), tenant("basic").1);
        assert!(!reconciled.manifests.contains_key(&key(Kind::RateLimit, "more")));
    }

    #[test]
    fn a_change_that_makes_a_stored_manifest_invalid_is_refused() {
        let reconciled =
            reconcile(&stored(), &DesiredManifests::from([(key(Kind::Plan, "basic"), None)]))
                .unwrap();
        assert_eq!(
            refusals(&reconciled),
            [("Plan basic".into(), "spec.plan", Some("Tenant acme".into()))],
            "a plan in use cannot be removed"
        );
        let both = DesiredManifests::from([
            (key(Kind::Plan, "basic"), None),
            (key(Kind::Tenant, "acme"), None),
        ]);
        let reconciled = reconcile(&stored(), &both).unwrap();
        assert_eq!(
            (refusals(&reconciled), reconciled.manifests.len()),
            (vec![], 1),
            "together they can"
        );
    }

    #[test]
    fn a_removal_that_a_changed_manifest_still_needs_delays_no_change() {
        // Given a plan that is to be removed while its tenant is suspended,
        let (acme, mut spec) = tenant("basic");
        spec["suspended"] = json!(true);
        let removal = (key(Kind::Plan, "basic"), None);
        let desired = DesiredManifests::from([removal.clone(), put((acme.clone(), spec.clone()))]);
        let reconciled = reconcile(&stored(), &desired).unwrap();
        // then the tenant is suspended, and the plan stays until nobody needs it;
        assert_eq!(
            refusals(&reconciled),
            [("Plan basic".into(), "spec.plan", Some("Tenant acme".into()))]
        );
        assert_eq!(source(&reconciled, &acme), spec);
        // a new tenant keeps nothing from being removed;
        let (other, spec) = (key(Kind::Tenant, "other"), tenant("basic").1);
        let gone = (key(Kind::Tenant, "acme"), None);
        let desired = DesiredManifests::from([removal.clone(), gone, put((other.clone(), spec))]);
        let reconciled = reconcile(&stored(), &desired).unwrap();
        assert_eq!(refusals(&reconciled), [("Tenant other".into(), "spec.plan", None)]);
        // and a change that is wrong for another reason is refused for that one.
        let desired = DesiredManifests::from([removal, put(tenant("gold"))]);
        let reconciled = reconcile(&stored(), &desired).unwrap();
        assert_eq!(
            refusals(&reconciled),
            [
                ("Plan basic".into(), "spec.plan", Some("Tenant acme".into())),
                ("Tenant acme".into(), "spec.plan", None),
            ]
        );
    }

    #[test]
    fn an_invalid_stored_manifest_can_be_corrected() {
        let mut broken = stored();
        broken.extend([parsed((key(Kind::Tenant, "acme"), json!({"plan": 3})))]);
        let problems = reconcile(&broken, &DesiredManifests::from([put(plan(20))])).unwrap_err();
        assert_eq!(problems[0].manifest, Some(key(Kind::Tenant, "acme")));
        let reconciled =
            reconcile(&broken, &DesiredManifests::from([put(tenant("basic"))])).unwrap();
        assert_eq!(refusals(&reconciled), []);
    }
}
