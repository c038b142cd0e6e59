//! Behavior patterns of a subject's owner, from a graph.

use assay_engine::{
    evidence::BehaviorFacts,
    patterns::{
        PatternRules, PatternSearch, PatternSubject,
        rules::{OTHER_ADDRESSES, TRANSFERS_OF_OTHERS},
    },
    reading::{OwnHistory, OwnerNumber},
    trace::{Attributions, ReadLimits},
    utxo::ScriptOwner,
};
use assay_graph::{GraphError, GraphView, ViewSource, run};

/// Rounds in which a search asks a view for what it has not read yet: as many as a cycle and a chain take.
const ROUNDS: u32 = 8;

/// An address of the owner whose behavior is searched.
#[derive(Clone, Copy, Debug)]
pub(super) struct BehaviorOf<'a> {
    pub(super) rules: PatternRules,
    /// The address.
    pub(super) script: &'a ScriptOwner,
    pub(super) owner: OwnerNumber,
    pub(super) history: &'a OwnHistory,
    /// Number of addresses of its cluster, itself included.
    pub(super) cluster_size: u64,
}

/// Searches the patterns of the subject's cluster: of its own transactions, and of those of the first other members.
pub(super) async fn behavior(
    view: &dyn GraphView,
    of: BehaviorOf<'_>,
    attributions: &dyn Attributions,
) -> Result<BehaviorFacts, GraphError> {
    let BehaviorOf { rules, script, owner, history, cluster_size } = of;
    let mut others = Vec::new();
    if cluster_size > 1 {
        let cluster = view.cluster(script, OTHER_ADDRESSES + 1).await?;
        let limits = ReadLimits { transfers: TRANSFERS_OF_OTHERS, entries: TRANSFERS_OF_OTHERS };
        for member in cluster.iter().flat_map(|cluster| &cluster.members) {
            if member.owner == *script {
                continue;
            }
            if let Some(other) = view.owner_number(&member.owner).await? {
                others.push(view.history(other, limits).await?);
            }
        }
    }
    let histories: Vec<&OwnHistory> = std::iter::once(history).chain(&others).collect();
    let cluster = view.read(|view| view.cluster_of(owner))?;
    let subject = PatternSubject { cluster, histories: &histories, addresses: cluster_size.max(1) };
    let mut search =
        view.read(|view| PatternSearch::begin(view, subject, rules, attributions, ROUNDS))?;
    run(&mut search, &mut ViewSource(view)).await?;
    Ok(search.finish())
}
