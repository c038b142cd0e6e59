//! Cycles and scatter-gathers of the owner among the transfers around it (`docs/model/patterns.md` P11, P12).

use super::{
    activity::Activity,
    finding::Finding,
    rules::{
        AROUND_WITHIN, GATHER_PARTIES, KEPT_PERCENT, LONGEST_CYCLE, SHORTEST_CYCLE, VISITS,
        confidence,
    },
    transfers::{
        Transfer, TransferGraph,
        cycle::{CycleRules, cycles_through},
        scatter_gather::{
            ScatterGather, ScatterGatherRules, scatter_gathers_from, scatter_gathers_to,
        },
    },
};
use crate::{
    evidence::{Pattern, PatternDetails, PatternRole},
    reading::OwnerNumber,
};

/// The cycles and scatter-gathers of an owner, and true if the search left nothing out.
pub(super) fn circles(
    activity: &Activity,
    owner: OwnerNumber,
    transfers: Vec<Transfer>,
) -> (Vec<Finding>, bool) {
    let graph = TransferGraph::new(transfers);
    let (cycle, all_cycles) = cycles(activity, owner, &graph);
    let rules = ScatterGatherRules {
        within: AROUND_WITHIN.unsigned_abs(),
        fewest: u32::try_from(GATHER_PARTIES).unwrap_or(u32::MAX),
    };
    let scattered = scatter_gathers_from(&graph, owner, &rules, VISITS);
    let gathered = scatter_gathers_to(&graph, owner, &rules, VISITS);
    let mut paid = Finding::new(Pattern::ScatterGather, PatternRole::Actor, activity.sent);
    for found in &scattered.found {
        add_scatter_gather(&graph, found, true, &mut paid);
    }
    let mut was_paid =
        Finding::new(Pattern::ScatterGather, PatternRole::Recipient, activity.received);
    for found in &gathered.found {
        add_scatter_gather(&graph, found, false, &mut was_paid);
    }
    let is_complete = all_cycles && scattered.is_complete && gathered.is_complete;
    (vec![cycle, paid, was_paid], is_complete)
}

fn cycles(activity: &Activity, owner: OwnerNumber, graph: &TransferGraph) -> (Finding, bool) {
    let rules = CycleRules {
        within: AROUND_WITHIN.unsigned_abs(),
        longest: LONGEST_CYCLE,
        least_kept: KEPT_PERCENT,
    };
    let found = cycles_through(graph, owner, &rules, VISITS);
    let mut finding = Finding::new(Pattern::Cycle, PatternRole::Actor, activity.sent);
    let is_long = |length: usize| length >= SHORTEST_CYCLE;
    for cycle in found.cycles.iter().filter(|cycle| is_long(cycle.transfers.len())) {
        let transfers: Vec<&Transfer> =
            cycle.transfers.iter().filter_map(|index| graph.transfer(*index)).collect();
        let own = transfers.iter().find(|transfer| transfer.payer == owner);
        let amount = own.map_or(0, |transfer| transfer.amount);
        finding.occurs(80, amount);
        show(&transfers, &mut finding, |details| details.length = Some(transfers.len() as u64));
    }
    // Cycles may share a payment.
    finding.amount = finding.amount.min(finding.whole);
    (finding, found.is_complete)
}

fn add_scatter_gather(
    graph: &TransferGraph,
    found: &ScatterGather,
    is_payer: bool,
    into: &mut Finding,
) {
    let transfers: Vec<&Transfer> = found
        .intermediaries
        .iter()
        .flat_map(|it| [it.paid, it.pays])
        .filter_map(|index| graph.transfer(index))
        .collect();
    let own = found.intermediaries.iter().map(|it| if is_payer { it.paid } else { it.pays });
    let amount =
        own.filter_map(|index| graph.transfer(index)).map(|transfer| transfer.amount).sum();
    let parties = found.intermediaries.len() as u64;
    into.occurs(confidence(parties, GATHER_PARTIES, 15), amount);
    show(&transfers, into, |details| details.parties = Some(parties));
}

/// Notes the transactions of an occurrence, its duration, and more details.
fn show(transfers: &[&Transfer], into: &mut Finding, more: impl FnOnce(&mut PatternDetails)) {
    for transfer in transfers {
        into.show(transfer.position, transfer.transaction, transfer.time);
    }
    let times = || transfers.iter().map(|transfer| transfer.time);
    let mut details = PatternDetails::default();
    if let (Some(first), Some(last)) = (times().min(), times().max()) {
        details.seconds = u64::try_from(last.duration_since(first).as_secs()).ok();
    }
    more(&mut details);
    into.detail(&details);
}
