//! As many desired manifests as are consistent; the others stay as they were.

use std::collections::BTreeMap;

use assay_engine::policy::Policy;
use assay_tenancy::{
    FieldProblem, Name, Problem, Resolved,
    manifest::{API_VERSION, Document, Kind},
};
use serde_json::{Value, json};

use crate::resolve;

/// Specs of manifests, by kind and name.
pub type Specs = BTreeMap<(Kind, Name), Value>;
/// Desired specs of manifests, by kind and name; `None`: the manifest is to be removed.
pub type DesiredManifests = BTreeMap<(Kind, Name), Option<Value>>;

/// The manifests in force from now on, and the desired ones that are refused.
#[derive(Debug)]
pub struct Reconciled {
    /// The manifests in force.
    pub specs: Specs,
    /// The same, resolved.
    pub resolved: Resolved<Policy>,
    /// The refused changes, each with its reason. Their manifests stay as they were.
    pub refused: BTreeMap<(Kind, Name), Refusal>,
}

/// Why a desired manifest is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The problem of a field.
    pub problem: FieldProblem,
    /// The manifest that the change would make invalid, such as `Tenant acme`. `None`: the desired manifest
    /// itself is invalid.
    pub breaks: Option<String>,
}

/// Applies as many desired changes to the stored manifests as are consistent. A change is refused if the
/// desired manifest is invalid, or if it would make another manifest invalid.
///
/// # Errors
///
/// The problems of the stored manifests, if they are invalid and no change corrects them.
pub fn reconcile(stored: &Specs, desired: &DesiredManifests) -> Result<Reconciled, Vec<Problem>> {
    let mut open: BTreeMap<&(Kind, Name), Option<&Value>> = desired
        .iter()
        .map(|(key, spec)| (key, spec.as_ref()))
        .filter(|(key, spec)| stored.get(*key) != *spec)
        .collect();
    let mut refused = BTreeMap::new();
    loop {
        let specs = overlay(stored, &open);
        let problems = match resolve(&documents(&specs)) {
            Ok(resolved) => return Ok(Reconciled { specs, resolved, refused }),
            Err(problems) => problems,
        };
        if open.is_empty() {
            return Err(problems);
        }
        let mut found = false;
        for problem in &problems {
            let spec = open.keys().copied().find(|key| origin(key) == problem.origin);
            if let Some(key) = spec {
                open.remove(key);
                let problem = problem.field.clone();
                refused.insert(key.clone(), Refusal { problem, breaks: None });
                found = true;
            }
        }
        if let (false, Some(problem)) = (found, problems.first()) {
            // A change made another manifest invalid. If it is valid without one change in particular, that
            // one is refused, otherwise all are.
            let cause =
                open.keys().copied().find(|key| is_valid_without(key, stored, &open, problem));
            let chosen = cause.map_or_else(|| open.keys().copied().collect(), |key| vec![key]);
            for key in chosen {
                open.remove(key);
                let refusal = Refusal {
                    problem: problem.field.clone(),
                    breaks: Some(problem.origin.clone()),
                };
                refused.insert(key.clone(), refusal);
            }
        }
    }
}

fn is_valid_without(
    key: &(Kind, Name),
    stored: &Specs,
    open: &BTreeMap<&(Kind, Name), Option<&Value>>,
    problem: &Problem,
) -> bool {
    let mut others = open.clone();
    others.remove(key);
    let problems = resolve(&documents(&overlay(stored, &others))).err().unwrap_or_default();
    !problems.contains(problem)
}

fn overlay(stored: &Specs, desired: &BTreeMap<&(Kind, Name), Option<&Value>>) -> Specs {
    let mut specs = stored.clone();
    for (key, spec) in desired {
        match spec {
            Some(spec) => specs.insert((*key).clone(), (*spec).clone()),
            None => specs.remove(*key),
        };
    }
    specs
}

fn documents(specs: &Specs) -> Vec<Document> {
    specs
        .iter()
        .map(|(key, spec)| Document {
            origin: origin(key),
            content: json!({
                "apiVersion": API_VERSION,
                "kind": key.0.as_str(),
                "metadata": {"name": key.1},
                "spec": spec,
            }),
        })
        .collect()
}

/// How a problem names a manifest.
fn origin((kind, name): &(Kind, Name)) -> String {
    format!("{} {name}", kind.as_str())
}

#[cfg(test)]
mod tests {
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

    fn stored() -> Specs {
        let policy = (key(Kind::RiskPolicy, "default"), json!({}));
        Specs::from([plan(10), tenant("basic"), policy])
    }

    fn put((key, spec): ((Kind, Name), Value)) -> ((Kind, Name), Option<Value>) {
        (key, Some(spec))
    }

    /// The refused changes: the manifest, the field, and the manifest that it would make invalid.
    fn refusals(reconciled: &Reconciled) -> Vec<(String, &str, Option<&str>)> {
        let words = reconciled.refused.iter().map(|(key, refusal)| {
            (origin(key), refusal.problem.path.as_str(), refusal.breaks.as_deref())
        });
        words.collect()
    }

    #[test]
    fn valid_changes_are_in_force() {
        let reconciled =
            reconcile(&stored(), &DesiredManifests::from([put(plan(20)), put(raised(50))]))
                .unwrap();
        assert_eq!(refusals(&reconciled), []);
        assert_eq!(reconciled.specs[&key(Kind::Plan, "basic")], plan(20).1);
        let acme = &reconciled.resolved.directory.tenants["acme"];
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
        assert_eq!(reconciled.specs[&key(Kind::Plan, "basic")], plan(20).1);
        assert_eq!(reconciled.specs[&key(Kind::Tenant, "acme")], tenant("basic").1);
        assert!(!reconciled.specs.contains_key(&key(Kind::RateLimit, "more")));
    }

    #[test]
    fn a_change_that_makes_a_stored_manifest_invalid_is_refused() {
        let reconciled =
            reconcile(&stored(), &DesiredManifests::from([(key(Kind::Plan, "basic"), None)]))
                .unwrap();
        assert_eq!(
            refusals(&reconciled),
            [("Plan basic".into(), "spec.plan", Some("Tenant acme"))],
            "a plan in use cannot be removed"
        );
        let both = DesiredManifests::from([
            (key(Kind::Plan, "basic"), None),
            (key(Kind::Tenant, "acme"), None),
        ]);
        let reconciled = reconcile(&stored(), &both).unwrap();
        assert_eq!(
            (refusals(&reconciled), reconciled.specs.len()),
            (vec![], 1),
            "together they can"
        );
    }

    #[test]
    fn an_invalid_stored_manifest_can_be_corrected() {
        let mut broken = stored();
        broken.insert(key(Kind::Tenant, "acme"), json!({"plan": 3}));
        let problems = reconcile(&broken, &DesiredManifests::from([put(plan(20))])).unwrap_err();
        assert_eq!(problems[0].origin, "Tenant acme");
        let reconciled =
            reconcile(&broken, &DesiredManifests::from([put(tenant("basic"))])).unwrap();
        assert_eq!(refusals(&reconciled), []);
    }
}
