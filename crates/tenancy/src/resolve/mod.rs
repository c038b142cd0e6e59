//! From all manifests to one directory, or to every problem at once.

mod chain_source;
mod intel_source;
mod plan;
mod problem;
mod rate_limit;
mod tenant;
#[cfg(test)]
mod tests;

use std::{collections::BTreeMap, sync::Arc};

use serde::de::DeserializeOwned;
use serde_json::Value;

pub(crate) use chain_source::LONGEST_FETCH_TIMEOUT;
pub(crate) use intel_source::LONGEST_AGE;
pub(crate) use plan::{
    LARGEST_FALLBACK_SHARE, LONGEST_CACHE, LONGEST_RETENTION, LONGEST_WINDOW, MOST_REQUESTS,
    MOST_SCREEN_ROWS,
};
pub use problem::{Cause, FieldProblem, Problem};

use crate::{
    Directory, Name,
    directory::Mandatory,
    manifest::{Document, Kind, Manifest, old_words},
};

/// A directory and the manifests it was made from.
#[derive(Debug)]
pub struct Resolved<P> {
    /// What the manifests say together.
    pub directory: Directory<P>,
    /// Every manifest, by kind and name.
    pub manifests: Manifests,
}

/// Manifests by kind and name.
pub type Manifests = BTreeMap<(Kind, Name), Manifest<Value>>;

/// Reads all manifests and puts them together.
///
/// `compile` turns what a risk policy says (`S`) into a policy ready for use (`P`), or names every
/// field that is wrong; what intel sources make mandatory is handed to it. Pure: a laptop's files and a cluster's objects go the same way.
///
/// # Errors
///
/// Every problem of every manifest, in the documents' order. Nothing is resolved then.
pub fn resolve<S: DeserializeOwned, P>(
    documents: &[Document],
    compile: impl Fn(S, &[Mandatory]) -> Result<P, Vec<FieldProblem>>,
) -> Result<Resolved<P>, Vec<Problem>> {
    let mut problems = Vec::new();
    let manifests = frames(documents, &mut problems);
    let mut directory = Directory::default();

    for manifest in read(&manifests, Kind::Plan, &mut problems) {
        let plan = plan::check(&manifest, &mut problems);
        directory.plans.insert(manifest.name, Arc::new(plan));
    }
    for manifest in read(&manifests, Kind::IntelSource, &mut problems) {
        if let Some(feed) = intel_source::check(&manifest, &mut problems) {
            directory.feeds.insert(manifest.name, Arc::new(feed));
        }
    }
    for manifest in read(&manifests, Kind::ChainSource, &mut problems) {
        chain_source::check(manifest, &mut directory.chains, &mut problems);
    }
    let mandatory: Vec<Mandatory> =
        directory.feeds.values().flat_map(|feed| intel_source::mandatory(feed)).collect();
    for manifest in read::<S>(&manifests, Kind::RiskPolicy, &mut problems) {
        let (frame, spec) = manifest.split();
        match compile(spec, &mandatory) {
            Ok(policy) => {
                directory.policies.insert(frame.name, Arc::new(policy));
            }
            Err(fields) => problems.extend(
                fields
                    .into_iter()
                    .map(|field| frame.problem(&format!("spec.{}", field.path), field.message)),
            ),
        }
    }
    let tenants = read(&manifests, Kind::Tenant, &mut problems);
    let rate_limits = read(&manifests, Kind::RateLimit, &mut problems);
    rate_limit::check(&rate_limits, &tenants, &directory, &mut problems);
    for manifest in &tenants {
        let tenant = tenant::check(manifest, &rate_limits, &directory, &manifests, &mut problems);
        if let Some(tenant) = tenant {
            directory.tenants.insert(tenant.name.clone(), Arc::new(tenant));
        }
    }
    for former in read(&manifests, Kind::FormerTenant, &mut problems) {
        // Who is a tenant again is no former one.
        if !manifests.contains_key(&(Kind::Tenant, former.name.clone())) {
            directory.former_tenants.insert(former.name, former.spec);
        }
    }

    if problems.is_empty() {
        return Ok(Resolved { directory, manifests });
    }
    problems.sort_by_key(|problem| {
        documents.iter().position(|document| document.origin == problem.origin)
    });
    Err(problems)
}

/// Every document's frame; a kind and name may appear once.
fn frames(documents: &[Document], problems: &mut Vec<Problem>) -> Manifests {
    let mut manifests = Manifests::new();
    for document in documents {
        match Manifest::read(document) {
            Err(problem) => problems.push(problem),
            Ok(manifest) => {
                let key = (manifest.kind, manifest.name.clone());
                if let Some(first) = manifests.get(&key) {
                    let message = format!("also defined in {}", first.origin);
                    problems.push(manifest.problem("metadata.name", message));
                } else {
                    manifests.insert(key, manifest);
                }
            }
        }
    }
    manifests
}

/// The content of every manifest of one kind that can be read.
fn read<T: DeserializeOwned>(
    manifests: &Manifests,
    wanted: Kind,
    problems: &mut Vec<Problem>,
) -> Vec<Manifest<T>> {
    let mut contents = Vec::new();
    for ((kind, _), manifest) in manifests {
        if *kind == wanted {
            let old_words = old_words(*kind, &manifest.spec);
            if !old_words.is_empty() {
                let problem = |field: FieldProblem| manifest.problem(&field.path, field.message);
                problems.extend(old_words.into_iter().map(problem));
                continue;
            }
            match manifest.typed() {
                Ok(content) => contents.push(content),
                Err(problem) => problems.push(problem),
            }
        }
    }
    contents
}
