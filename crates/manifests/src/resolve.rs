//! The directory of all manifests, or every problem.

use std::sync::Arc;

use assay_address::{AddressRules, ChainId, LedgerKind};
use assay_engine::policy::{MandatorySource, Policy, PolicyProblem, PolicySpec, TraceSpec};
use assay_tenancy::{
    Directory, FieldProblem, ManifestProblem,
    directory::{RequiredSource, Tenant},
    manifest::{ChainProtocol, ChainSourceSpec, Document, Kind, TraceCeiling},
};

/// A manifest with the engine's risk policy.
pub type Manifest = assay_tenancy::manifest::ParsedManifest<PolicySpec>;
/// Manifests by kind and name.
pub type Manifests = assay_tenancy::ManifestMap<PolicySpec>;
/// All manifests and their directory.
pub type ResolvedManifests = assay_tenancy::Resolution<PolicySpec, Policy>;

/// Parses all manifests, and resolves them to one directory.
///
/// # Errors
///
/// Returns every problem of every manifest, in the documents' order.
pub fn resolve(documents: &[Document]) -> Result<ResolvedManifests, Vec<ManifestProblem>> {
    resolve_onto(&Manifests::new(), documents)
}

/// Parses documents, and resolves them together with manifests that were parsed before. A document replaces
/// the manifest of its kind and name.
///
/// # Errors
///
/// Returns every problem of every manifest: first of the earlier manifests, then in the documents' order.
pub fn resolve_onto(
    stored: &Manifests,
    documents: &[Document],
) -> Result<ResolvedManifests, Vec<ManifestProblem>> {
    let mut resolved = assay_tenancy::resolve_onto(stored, documents, compile)?;
    complete(&mut resolved.directory, &resolved.manifests).map_err(|mut problems| {
        problems.sort_by_key(|problem| {
            documents.iter().position(|document| document.origin == problem.origin)
        });
        problems
    })?;
    Ok(resolved)
}

/// Resolves manifests that were parsed before.
///
/// # Errors
///
/// Returns every problem of every manifest, by kind and name.
pub fn resolve_manifests(manifests: &Manifests) -> Result<Directory<Policy>, Vec<ManifestProblem>> {
    let mut directory = assay_tenancy::resolve_manifests(manifests, compile)?;
    complete(&mut directory, manifests)?;
    Ok(directory)
}

/// Compiles a risk policy, with the mandatory sources added.
fn compile(
    mut spec: PolicySpec,
    mandatory: &[RequiredSource],
) -> Result<Policy, Vec<FieldProblem>> {
    for RequiredSource { name, maximum_age_hours } in mandatory {
        let known = spec.mandatory_sources.iter_mut().find(|source| source.name == *name);
        if let Some(known) = known {
            // The stricter of the two applies.
            known.maximum_age_hours = known.maximum_age_hours.min(*maximum_age_hours);
        } else {
            let (name, maximum_age_hours) = (name.clone(), *maximum_age_hours);
            spec.mandatory_sources.push(MandatorySource { name, maximum_age_hours });
        }
    }
    Policy::compile(spec).map_err(|problems| {
        let field = |problem: PolicyProblem| FieldProblem::invalid(problem.path, problem.message);
        problems.into_iter().map(field).collect()
    })
}

/// Checks the chains, and limits traces to the ceilings of the plans.
fn complete(
    directory: &mut Directory<Policy>,
    manifests: &Manifests,
) -> Result<(), Vec<ManifestProblem>> {
    let problems = unreadable_chains(directory, manifests);
    if !problems.is_empty() {
        return Err(problems);
    }
    keep_within_plans(directory);
    Ok(())
}

/// The problems of chain sources whose chains cannot be read, by name.
fn unreadable_chains(directory: &Directory<Policy>, manifests: &Manifests) -> Vec<ManifestProblem> {
    let problems = directory.chains.values().filter_map(|feed| {
        let (field, message) = unreadable(&feed.spec)?;
        let manifest = manifests.get(&(Kind::ChainSource, feed.name.clone()))?;
        Some(manifest.problem(FieldProblem::invalid(field, message)))
    });
    let mut problems: Vec<ManifestProblem> = problems.collect();
    problems.sort_by(|one, other| one.manifest.cmp(&other.manifest));
    problems
}

/// The field and the reason for which a chain cannot be read from its source.
fn unreadable(spec: &ChainSourceSpec) -> Option<(&'static str, String)> {
    let chain: ChainId = match spec.chain.parse() {
        Ok(chain) => chain,
        Err(error) => return Some(("spec.chain", format!("{error}"))),
    };
    match (chain.info().ledger, spec.protocol) {
        (LedgerKind::ListsOnly, _) => Some((
            "spec.chain",
            format!("{chain} is not read yet: chains of the Bitcoin family and account chains are"),
        )),
        (LedgerKind::Account, ChainProtocol::Etherscan | ChainProtocol::Blockscout)
            if !matches!(chain.info().rules, AddressRules::Evm) =>
        {
            let message = format!(
                "`etherscan` and `blockscout` have chains with Ethereum's accounts only, not {chain}"
            );
            Some(("spec.protocol", message))
        }
        (LedgerKind::Utxo(_), protocol) if protocol.is_account_api() => Some((
            "spec.protocol",
            format!("{chain} has no accounts: its histories are read from `esplora`"),
        )),
        (LedgerKind::Account, ChainProtocol::Esplora) => {
            let message = format!(
                "{chain} is read from a node, `rpc`, or from files: write `transfers`, and their folder as the endpoint"
            );
            Some(("spec.protocol", message))
        }
        (LedgerKind::Utxo(_), ChainProtocol::Transfers) => Some((
            "spec.protocol",
            format!("{chain} has no files of transfers: write `rpc` or `esplora`"),
        )),
        (
            LedgerKind::Account,
            ChainProtocol::Rpc
            | ChainProtocol::Transfers
            | ChainProtocol::Etherscan
            | ChainProtocol::Blockscout
            | ChainProtocol::TronGrid,
        )
        | (LedgerKind::Utxo(_), _) => None,
    }
}

/// Limits the trace of each tenant's policy to the ceiling of the tenant's plan.
fn keep_within_plans(directory: &mut Directory<Policy>) {
    for tenant in directory.tenants.values_mut() {
        let TraceCeiling { hops, transactions, entries, transfers_per_address } = tenant.plan.trace;
        let trace = tenant.policy.spec().trace;
        let ceiling = TraceSpec {
            hops,
            stop_below_share_millionths: trace.stop_below_share_millionths,
            transactions: transactions.unwrap_or(trace.transactions),
            source_transactions: trace.source_transactions,
            entries: entries.unwrap_or(trace.entries),
            transfers_per_address: transfers_per_address.unwrap_or(trace.transfers_per_address),
        };
        if trace.within(ceiling) != trace {
            let policy = Arc::new(tenant.policy.within(ceiling));
            *tenant = Arc::new(Tenant { policy, ..Tenant::clone(tenant) });
        }
    }
}
