//! As much of what is wished as goes together; the rest stays as it was.

use std::collections::BTreeMap;

use assay_engine::policy::Policy;
use assay_tenancy::{
    FieldProblem, Name, Problem, Resolved,
    manifest::{API_VERSION, Document, Kind},
};
use serde_json::{Value, json};

use crate::resolve;

/// What manifests say, by kind and name.
pub type Specs = BTreeMap<(Kind, Name), Value>;
/// What manifests are to say; `None` where one is to go.
pub type Wishes = BTreeMap<(Kind, Name), Option<Value>>;

/// What is in force from now on, and which wishes are not.
#[derive(Debug)]
pub struct Settled {
    /// What is in force.
    pub specs: Specs,
    /// The same, put together.
    pub resolved: Resolved<Policy>,
    /// Wishes that are not in force, and why. What was in force before still is.
    pub refused: BTreeMap<(Kind, Name), Refusal>,
}

/// Why a wish is not in force.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The field, and what is wrong with it.
    pub problem: FieldProblem,
    /// What would no longer be right, where the wish by itself is; such as `Tenant acme`.
    pub breaks: Option<String>,
}

/// Brings as many wishes into force as go together with what is there. A wish that is wrong is not, nor
/// one that would make wrong what is there already.
///
/// # Errors
///
/// The problems of what is there, where it is wrong by itself and no wish mends it.
pub fn settle(stored: &Specs, wishes: &Wishes) -> Result<Settled, Vec<Problem>> {
    let mut open: BTreeMap<&(Kind, Name), Option<&Value>> = wishes
        .iter()
        .map(|(key, wish)| (key, wish.as_ref()))
        .filter(|(key, wish)| stored.get(*key) != *wish)
        .collect();
    let mut refused = BTreeMap::new();
    loop {
        let specs = overlay(stored, &open);
        let problems = match resolve(&documents(&specs)) {
            Ok(resolved) => return Ok(Settled { specs, resolved, refused }),
            Err(problems) => problems,
        };
        if open.is_empty() {
            return Err(problems);
        }
        let mut blamed = false;
        for problem in &problems {
            let wish = open.keys().copied().find(|key| origin(key) == problem.origin);
            if let Some(key) = wish {
                open.remove(key);
                let problem = problem.field.clone();
                refused.insert(key.clone(), Refusal { problem, breaks: None });
                blamed = true;
            }
        }
        if let (false, Some(problem)) = (blamed, problems.first()) {
            // What is wrong was right before. Without one wish in particular it still is; where not,
            // they are all refused.
            let culprit =
                open.keys().copied().find(|key| is_right_without(key, stored, &open, problem));
            let chosen = culprit.map_or_else(|| open.keys().copied().collect(), |key| vec![key]);
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

fn is_right_without(
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

fn overlay(stored: &Specs, wishes: &BTreeMap<&(Kind, Name), Option<&Value>>) -> Specs {
    let mut specs = stored.clone();
    for (key, wish) in wishes {
        match wish {
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

    fn wish((key, spec): ((Kind, Name), Value)) -> ((Kind, Name), Option<Value>) {
        (key, Some(spec))
    }

    /// What is refused: which, where, and what it would break.
    fn refusals(settled: &Settled) -> Vec<(String, &str, Option<&str>)> {
        let words = settled.refused.iter().map(|(key, refusal)| {
            (origin(key), refusal.problem.path.as_str(), refusal.breaks.as_deref())
        });
        words.collect()
    }

    #[test]
    fn what_is_right_is_in_force() {
        let settled = settle(&stored(), &Wishes::from([wish(plan(20)), wish(raised(50))])).unwrap();
        assert_eq!(refusals(&settled), []);
        assert_eq!(settled.specs[&key(Kind::Plan, "basic")], plan(20).1);
        let acme = &settled.resolved.directory.tenants["acme"];
        assert_eq!(acme.limits("2026-01-01T00:00:00Z".parse().unwrap())[0].requests, 50);
    }

    #[test]
    fn one_wrong_wish_holds_up_no_other_and_what_was_there_stays() {
        let wishes = Wishes::from([wish(plan(20)), wish(tenant("gold")), wish(raised(101))]);
        let settled = settle(&stored(), &wishes).unwrap();
        assert_eq!(
            refusals(&settled),
            [
                ("Tenant acme".into(), "spec.plan", None),
                ("RateLimit more".into(), "spec.limits[0].requests", None),
            ]
        );
        assert_eq!(settled.specs[&key(Kind::Plan, "basic")], plan(20).1);
        assert_eq!(settled.specs[&key(Kind::Tenant, "acme")], tenant("basic").1);
        assert!(!settled.specs.contains_key(&key(Kind::RateLimit, "more")));
    }

    #[test]
    fn a_wish_that_makes_wrong_what_is_there_is_the_one_that_is_wrong() {
        let settled = settle(&stored(), &Wishes::from([(key(Kind::Plan, "basic"), None)])).unwrap();
        assert_eq!(
            refusals(&settled),
            [("Plan basic".into(), "spec.plan", Some("Tenant acme"))],
            "what is used cannot go"
        );
        let both =
            Wishes::from([(key(Kind::Plan, "basic"), None), (key(Kind::Tenant, "acme"), None)]);
        let settled = settle(&stored(), &both).unwrap();
        assert_eq!((refusals(&settled), settled.specs.len()), (vec![], 1), "together they can");
    }

    #[test]
    fn what_is_wrong_by_itself_can_be_mended() {
        let mut broken = stored();
        broken.insert(key(Kind::Tenant, "acme"), json!({"plan": 3}));
        let problems = settle(&broken, &Wishes::from([wish(plan(20))])).unwrap_err();
        assert_eq!(problems[0].origin, "Tenant acme");
        let settled = settle(&broken, &Wishes::from([wish(tenant("basic"))])).unwrap();
        assert_eq!(refusals(&settled), []);
    }
}
