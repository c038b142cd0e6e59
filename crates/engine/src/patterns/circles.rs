//! Cycles and scatter-gathers that the owner takes part in (`docs/model/patterns.md` P11, P12).

use std::collections::BTreeSet;

use super::{
    activity::Activity,
    finding::Finding,
    own::seconds,
    rules::{
        AROUND_WITHIN, CYCLE_PERCENT, GATHER_PARTIES, LONGEST_CYCLE, MAX_VISITED_TRANSFERS,
        SCATTERED_PERCENT, SHORTEST_CYCLE, confidence, is_percent_of,
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
    ledger::OwnerNumber,
};

/// The cycles and scatter-gathers of an owner, and true if the search was complete.
pub(super) fn cycles_and_scatter_gathers(
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
    let scattered = scatter_gathers_from(&graph, owner, &rules, MAX_VISITED_TRANSFERS);
    let gathered = scatter_gathers_to(&graph, owner, &rules, MAX_VISITED_TRANSFERS);
    let mut paid = Finding::new(Pattern::ScatterGather, PatternRole::Actor, activity.sent);
    let mut counted = BTreeSet::new();
    for found in &scattered.found {
        add_scatter_gather(&graph, found, owner, &mut counted, &mut paid);
    }
    let mut was_paid =
        Finding::new(Pattern::ScatterGather, PatternRole::Recipient, activity.received);
    for found in &gathered.found {
        add_scatter_gather(&graph, found, owner, &mut counted, &mut was_paid);
    }
    let is_complete = all_cycles && scattered.is_complete && gathered.is_complete;
    (vec![cycle, paid, was_paid], is_complete)
}

fn cycles(activity: &Activity, owner: OwnerNumber, graph: &TransferGraph) -> (Finding, bool) {
    let rules = CycleRules {
        within: AROUND_WITHIN.unsigned_abs(),
        longest: LONGEST_CYCLE,
        least_kept: CYCLE_PERCENT,
    };
    let found = cycles_through(graph, owner, &rules, MAX_VISITED_TRANSFERS);
    let mut finding = Finding::new(Pattern::Cycle, PatternRole::Actor, activity.received);
    let is_long = |length: usize| length >= SHORTEST_CYCLE;
    let mut counted = BTreeSet::new();
    for cycle in found.cycles.iter().filter(|cycle| is_long(cycle.transfers.len())) {
        let transfers: Vec<(u32, &Transfer)> = cycle
            .transfers
            .iter()
            .filter_map(|index| Some((*index, graph.transfer(*index)?)))
            .collect();
        let own = transfers.iter().find(|(_, transfer)| transfer.payee == owner);
        let Some((own, transfer)) = own else { continue };
        let length = Some(transfers.len() as u64);
        let details = PatternDetails { amount: transfer.amount, length, ..span(&transfers) };
        finding.occurs(80, details);
        if !counted.insert(*own) {
            // Another cycle came back by the same payment.
            finding.amount -= transfer.amount;
        }
        show(&transfers, owner, &mut finding);
    }
    (finding, found.is_complete)
}

fn add_scatter_gather(
    graph: &TransferGraph,
    found: &ScatterGather,
    owner: OwnerNumber,
    counted: &mut BTreeSet<u32>,
    into: &mut Finding,
) {
    let of = |index: u32| Some((index, graph.transfer(index)?));
    let paid: Vec<(u32, &Transfer)> =
        found.intermediaries.iter().filter_map(|it| of(it.paid)).collect();
    let pays: Vec<(u32, &Transfer)> =
        found.intermediaries.iter().filter_map(|it| of(it.pays)).collect();
    let sum = |transfers: &[(u32, &Transfer)]| -> u128 {
        transfers.iter().map(|(_, transfer)| transfer.amount).sum()
    };
    if !is_percent_of(sum(&pays), SCATTERED_PERCENT, sum(&paid)) {
        return;
    }
    let own = if found.payer == owner { &paid } else { &pays };
    let amount = sum(own);
    let again: u128 = own
        .iter()
        .filter(|(index, _)| !counted.insert(*index))
        .map(|(_, transfer)| transfer.amount)
        .sum();
    let all = [paid.as_slice(), pays.as_slice()].concat();
    let parties = found.intermediaries.len() as u64;
    let details = PatternDetails { amount, parties: Some(parties), ..span(&all) };
    into.occurs(confidence(parties, GATHER_PARTIES, 15), details);
    into.amount -= again;
    show(&all, owner, into);
}

/// The duration of an occurrence.
fn span(transfers: &[(u32, &Transfer)]) -> PatternDetails {
    let times = || transfers.iter().map(|(_, transfer)| transfer.time);
    let span = times().min().zip(times().max());
    let seconds = span.and_then(|(first, last)| seconds(first, last));
    PatternDetails { seconds, ..PatternDetails::default() }
}

/// Adds the transactions of an occurrence to a finding.
fn show(transfers: &[(u32, &Transfer)], owner: OwnerNumber, into: &mut Finding) {
    for (_, transfer) in transfers {
        let is_own = transfer.payer == owner || transfer.payee == owner;
        into.show(transfer.position, (transfer.transaction, transfer.time), is_own);
    }
}
