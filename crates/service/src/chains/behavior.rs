//! Search of behavior patterns of a subject's owner in a graph.

use assay_engine::{
    evidence::BehaviorFacts,
    ledger::{OwnHistory, OwnerNumber, ReadLimits},
    patterns::{
        PatternSearch, PatternSubject,
        rules::{MAX_CLUSTER_ADDRESSES, OWN_TRANSACTIONS, TRANSFERS_OF_OTHERS},
    },
    policy::PatternRules,
    trace::Attributions,
    utxo::ScriptOwner,
};
use assay_graph::{GraphError, GraphView, ViewSource, run_query};

/// Largest number of rounds in which a search requests further data of a view. The longest cycle and the longest chain
/// take as many rounds.
const ROUNDS: u32 = 8;

/// Subject of a pattern search: an address with its cluster.
#[derive(Clone, Copy, Debug)]
pub struct BehaviorSubject<'a> {
    /// The rules.
    pub rules: PatternRules,
    /// The address.
    pub script: &'a ScriptOwner,
    /// Number of the address's owner.
    pub owner: OwnerNumber,
    /// History of the address.
    pub history: &'a OwnHistory,
    /// Number of addresses in the cluster, the subject included.
    pub cluster_size: u64,
    /// Largest number of transactions that a pattern names.
    pub shown: usize,
}

/// Searches patterns in the transactions of the subject and of the first other members of its cluster.
///
/// # Errors
///
/// Returns an error if the store fails.
pub async fn behavior(
    view: &dyn GraphView,
    of: BehaviorSubject<'_>,
    attributions: &dyn Attributions,
) -> Result<BehaviorFacts, GraphError> {
    let BehaviorSubject { rules, script, owner, history, cluster_size, shown } = of;
    let (mut others, mut transactions) = (Vec::new(), 0);
    if cluster_size > 1 {
        let cluster = view.cluster(script, MAX_CLUSTER_ADDRESSES + 1).await?;
        let limits = ReadLimits { transfers: TRANSFERS_OF_OTHERS, entries: TRANSFERS_OF_OTHERS };
        for member in cluster.iter().flat_map(|cluster| &cluster.members) {
            if member.owner == *script {
                continue;
            }
            let Some(other) = view.owner_number(&member.owner).await? else { continue };
            let read = view.history(other, limits).await?;
            transactions += read.incoming.len() + read.outgoing.len();
            others.push(read);
            // The search reads at most this many transactions.
            if transactions >= OWN_TRANSACTIONS {
                break;
            }
        }
    }
    let histories: Vec<&OwnHistory> = std::iter::once(history).chain(&others).collect();
    let cluster = view.read(|view| view.cluster_of(owner))?;
    let subject =
        PatternSubject { cluster, histories: &histories, addresses: cluster_size.max(1), shown };
    let mut search =
        view.read(|view| PatternSearch::begin(view, subject, rules, attributions, ROUNDS))?;
    run_query(&mut search, &mut ViewSource(view)).await?;
    Ok(search.finish())
}
