//! Everything, or every problem.

use std::sync::Arc;

use assay_engine::{
    chain::ChainId,
    policy::{MandatorySource, Policy, PolicyProblem, PolicySpec, TraceSpec},
};
use assay_tenancy::{
    Directory, FieldProblem, Problem, Resolved,
    directory::{Mandatory, Tenant},
    manifest::{Document, Kind, TraceCeiling},
};

/// Puts manifests together, with risk policies compiled by the engine.
///
/// # Errors
///
/// Every problem of every manifest.
pub fn resolve(documents: &[Document]) -> Result<Resolved<Policy>, Vec<Problem>> {
    let mut resolved =
        assay_tenancy::resolve(documents, |mut spec: PolicySpec, mandatory: &[Mandatory]| {
            for Mandatory { name, maximum_age_hours } in mandatory {
                let demand = spec.mandatory_sources.iter_mut().find(|wanted| wanted.name == *name);
                if let Some(wanted) = demand {
                    // The stricter of the two holds.
                    wanted.maximum_age_hours = wanted.maximum_age_hours.min(*maximum_age_hours);
                } else {
                    let (name, maximum_age_hours) = (name.clone(), *maximum_age_hours);
                    spec.mandatory_sources.push(MandatorySource { name, maximum_age_hours });
                }
            }
            Policy::compile(spec).map_err(|problems| {
                let field =
                    |problem: PolicyProblem| FieldProblem::invalid(problem.path, problem.message);
                problems.into_iter().map(field).collect()
            })
        })?;
    let problems = unreadable_chains(&resolved, documents);
    if !problems.is_empty() {
        return Err(problems);
    }
    keep_within_plans(&mut resolved.directory);
    Ok(resolved)
}

/// Chain sources of chains that cannot be read.
fn unreadable_chains(resolved: &Resolved<Policy>, documents: &[Document]) -> Vec<Problem> {
    let wrong = resolved.directory.chains.values().filter_map(|feed| {
        let message = match feed.spec.chain.parse::<ChainId>() {
            Err(error) => error.to_string(),
            Ok(chain) if !chain.info().has_coins() => {
                format!("{chain} is not read yet: Bitcoin and the chains like it are")
            }
            Ok(_) => return None,
        };
        let manifest = resolved.manifests.get(&(Kind::ChainSource, feed.name.clone()));
        Some(Problem {
            origin: manifest.map(|manifest| manifest.origin.clone()).unwrap_or_default(),
            manifest: Some(format!("ChainSource {}", feed.name)),
            field: FieldProblem::invalid("spec.chain", message),
        })
    });
    let mut problems: Vec<Problem> = wrong.collect();
    problems.sort_by_key(|problem| {
        documents.iter().position(|document| document.origin == problem.origin)
    });
    problems
}

/// Each tenant's policy with its trace kept within the ceiling of its plan.
fn keep_within_plans(directory: &mut Directory<Policy>) {
    for tenant in directory.tenants.values_mut() {
        let TraceCeiling { hops, addresses_per_hop, transfers_per_address } = tenant.plan.trace;
        let trace = tenant.policy.spec().trace;
        let ceiling = TraceSpec {
            hops: hops.unwrap_or(trace.hops),
            stop_below_share_millionths: trace.stop_below_share_millionths,
            addresses_per_hop: addresses_per_hop.unwrap_or(trace.addresses_per_hop),
            transfers_per_address: transfers_per_address.unwrap_or(trace.transfers_per_address),
        };
        if trace.within(ceiling) != trace {
            let policy = Arc::new(tenant.policy.within(ceiling));
            *tenant = Arc::new(Tenant { policy, ..Tenant::clone(tenant) });
        }
    }
}
