//! Resolving all manifests to one directory, or to every problem.

mod chain_source;
mod intel_source;
mod plan;
mod pods;
mod problem;
mod rate_limit;
mod tenant;
#[cfg(test)]
mod tests;

use std::{
    collections::{BTreeMap, btree_map::Entry},
    sync::Arc,
};

use serde::de::DeserializeOwned;

pub use pods::{PodsProblem, pods_problems};
pub use problem::{Cause, FieldProblem, ManifestProblem};

use crate::{
    Directory, Name,
    directory::RequiredSource,
    manifest::{
        ChainSourceSpec, Document, FormerTenantSpec, IntelSourceSpec, Kind, ManifestSpec,
        ParsedManifest, PlanSpec, RateLimitSpec, TenantSpec,
    },
};

/// All manifests and their directory.
#[derive(Debug)]
pub struct Resolution<R, P> {
    /// The directory.
    pub directory: Directory<P>,
    /// Every manifest, by kind and name.
    pub manifests: ManifestMap<R>,
}

/// Manifests by kind and name.
pub type ManifestMap<R> = BTreeMap<(Kind, Name), Arc<ParsedManifest<R>>>;

/// Parses all manifests, and resolves them to one directory.
///
/// `compile` turns the spec of a risk policy (`R`) into a policy ready for use (`P`), or returns every field that is
/// wrong; `compile` also receives the sources that are mandatory. The function is pure, and resolves the files of a
/// laptop and the objects of a cluster alike.
///
/// # Errors
///
/// Returns every problem of every manifest, in the documents' order.
pub fn resolve<R: Clone + DeserializeOwned, P>(
    documents: &[Document],
    compile: impl Fn(R, &[RequiredSource]) -> Result<P, Vec<FieldProblem>>,
) -> Result<Resolution<R, P>, Vec<ManifestProblem>> {
    resolve_onto(&ManifestMap::new(), documents, compile)
}

/// Parses documents, and resolves them together with manifests that were parsed before. A document replaces
/// the manifest of its kind and name.
///
/// # Errors
///
/// Returns every problem of every manifest: first of the earlier manifests, then in the documents' order.
pub fn resolve_onto<R: Clone + DeserializeOwned, P>(
    stored: &ManifestMap<R>,
    documents: &[Document],
    compile: impl Fn(R, &[RequiredSource]) -> Result<P, Vec<FieldProblem>>,
) -> Result<Resolution<R, P>, Vec<ManifestProblem>> {
    let mut problems = Vec::new();
    let mut manifests = stored.clone();
    manifests.extend(parse(documents, &mut problems));
    let directory = combine(&manifests, compile, &mut problems);
    if problems.is_empty() {
        return Ok(Resolution { directory, manifests });
    }
    problems.sort_by_key(|problem| {
        documents.iter().position(|document| document.origin == problem.origin)
    });
    Err(problems)
}

/// Resolves manifests that were parsed before.
///
/// # Errors
///
/// Returns every problem of every manifest, by kind and name.
pub fn resolve_manifests<R: Clone, P>(
    manifests: &ManifestMap<R>,
    compile: impl Fn(R, &[RequiredSource]) -> Result<P, Vec<FieldProblem>>,
) -> Result<Directory<P>, Vec<ManifestProblem>> {
    let mut problems = Vec::new();
    let directory = combine(manifests, compile, &mut problems);
    if problems.is_empty() {
        return Ok(directory);
    }
    problems.sort_by(|one, other| one.manifest.cmp(&other.manifest));
    Err(problems)
}

/// Parses all documents; a kind and name may appear once.
fn parse<R: DeserializeOwned>(
    documents: &[Document],
    problems: &mut Vec<ManifestProblem>,
) -> ManifestMap<R> {
    let mut manifests = ManifestMap::new();
    for document in documents {
        match ParsedManifest::parse(document) {
            Err(problem) => problems.push(problem),
            Ok(manifest) => match manifests.entry(manifest.key()) {
                Entry::Occupied(first) => {
                    let message = format!("also defined in {}", first.get().origin);
                    let field = FieldProblem::invalid("metadata.name", message);
                    problems.push(manifest.problem(field));
                }
                Entry::Vacant(entry) => {
                    entry.insert(Arc::new(manifest));
                }
            },
        }
    }
    manifests
}

/// The directory of the valid manifests, and the problems of the invalid manifests.
fn combine<R: Clone, P>(
    manifests: &ManifestMap<R>,
    compile: impl Fn(R, &[RequiredSource]) -> Result<P, Vec<FieldProblem>>,
    problems: &mut Vec<ManifestProblem>,
) -> Directory<P> {
    let mut directory = Directory::default();
    let valid = ValidManifests::collect(manifests, problems);
    for plan in &valid.plans {
        let checked = plan::check(plan, problems);
        directory.plans.insert(plan.name.clone(), Arc::new(checked));
    }
    for source in &valid.intel_sources {
        if let Some(feed) = intel_source::check(source, problems) {
            directory.feeds.insert(source.name.clone(), Arc::new(feed));
        }
    }
    for source in &valid.chain_sources {
        chain_source::check(source, &mut directory.chains, problems);
    }
    let mandatory: Vec<RequiredSource> =
        directory.feeds.values().flat_map(|feed| intel_source::mandatory(feed)).collect();
    for policy in &valid.risk_policies {
        match compile(policy.spec.clone(), &mandatory) {
            Ok(compiled) => {
                directory.policies.insert(policy.name.clone(), Arc::new(compiled));
            }
            Err(fields) => problems.extend(
                fields
                    .into_iter()
                    .map(|field| policy.problem(&format!("spec.{}", field.path), field.message)),
            ),
        }
    }
    rate_limit::check(&valid.rate_limits, &valid.tenants, &directory, problems);
    for tenant in &valid.tenants {
        let tenant = tenant::check(tenant, &valid.rate_limits, &directory, manifests, problems);
        if let Some(tenant) = tenant {
            directory.tenants.insert(tenant.name.clone(), Arc::new(tenant));
        }
    }
    for former in &valid.former_tenants {
        // A restored tenant is no former tenant.
        if !manifests.contains_key(&(Kind::Tenant, former.name.clone())) {
            directory.former_tenants.insert(former.name.clone(), *former.spec);
        }
    }
    directory
}

/// A manifest whose spec is valid without regard to other manifests.
#[derive(Debug)]
struct ValidManifest<'a, T> {
    kind: Kind,
    name: &'a Name,
    origin: &'a str,
    spec: &'a T,
}

impl<T> ValidManifest<'_, T> {
    /// A problem of this manifest.
    fn problem(&self, path: &str, message: impl Into<String>) -> ManifestProblem {
        ManifestProblem {
            origin: self.origin.to_owned(),
            manifest: Some((self.kind, self.name.clone())),
            field: FieldProblem::invalid(path, message),
        }
    }
}

/// The manifests whose specs are valid, by kind.
struct ValidManifests<'a, R> {
    plans: Vec<ValidManifest<'a, PlanSpec>>,
    intel_sources: Vec<ValidManifest<'a, IntelSourceSpec>>,
    chain_sources: Vec<ValidManifest<'a, ChainSourceSpec>>,
    risk_policies: Vec<ValidManifest<'a, R>>,
    tenants: Vec<ValidManifest<'a, TenantSpec>>,
    rate_limits: Vec<ValidManifest<'a, RateLimitSpec>>,
    former_tenants: Vec<ValidManifest<'a, FormerTenantSpec>>,
}

impl<'a, R> ValidManifests<'a, R> {
    fn collect(manifests: &'a ManifestMap<R>, problems: &mut Vec<ManifestProblem>) -> Self {
        let mut valid = Self {
            plans: Vec::new(),
            intel_sources: Vec::new(),
            chain_sources: Vec::new(),
            risk_policies: Vec::new(),
            tenants: Vec::new(),
            rate_limits: Vec::new(),
            former_tenants: Vec::new(),
        };
        for manifest in manifests.values() {
            match &manifest.spec {
                Ok(ManifestSpec::Plan(spec)) => valid.plans.push(valid_manifest(manifest, spec)),
                Ok(ManifestSpec::IntelSource(spec)) => {
                    valid.intel_sources.push(valid_manifest(manifest, spec));
                }
                Ok(ManifestSpec::ChainSource(spec)) => {
                    valid.chain_sources.push(valid_manifest(manifest, spec));
                }
                Ok(ManifestSpec::RiskPolicy(spec)) => {
                    valid.risk_policies.push(valid_manifest(manifest, spec));
                }
                Ok(ManifestSpec::Tenant(spec)) => {
                    valid.tenants.push(valid_manifest(manifest, spec));
                }
                Ok(ManifestSpec::RateLimit(spec)) => {
                    valid.rate_limits.push(valid_manifest(manifest, spec));
                }
                Ok(ManifestSpec::FormerTenant(spec)) => {
                    valid.former_tenants.push(valid_manifest(manifest, spec));
                }
                Err(fields) => {
                    problems.extend(fields.iter().map(|field| manifest.problem(field.clone())));
                }
            }
        }
        valid
    }
}

fn valid_manifest<'a, R, T>(manifest: &'a ParsedManifest<R>, spec: &'a T) -> ValidManifest<'a, T> {
    ValidManifest { kind: manifest.kind, name: &manifest.name, origin: &manifest.origin, spec }
}
