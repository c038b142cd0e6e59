//! Peel chains (`docs/model/patterns.md` P9).

use std::{collections::BTreeMap, rc::Rc};

use rustc_hash::FxHashSet;

use super::{
    activity::Activity,
    around::{Budget, NeighborReader, Payment},
    finding::Finding,
    form::is_peel,
    own::seconds,
    own_reader::{OwnReader, proportion},
    rules::{MAX_FOLLOWED, MOST_PEEL_STEPS, PEEL_STEPS, PEEL_WITHIN, confidence},
};
use crate::{
    evidence::{Pattern, PatternDetails, PatternRole, UnscoredReason},
    ledger::TransactionNumber,
    reading::{TransactionEntry, ViewError},
    utxo::TransactionKind,
};

/// The two outputs of a peel step: the remainder and the peel. Outputs of up to `dust` do not count.
fn outputs_of_step(
    payment: &Payment,
    dust: u128,
) -> Option<(&TransactionEntry, &TransactionEntry)> {
    let mut paid = payment.outputs.iter().filter(|output| u128::from(output.value) > dust);
    let (Some(one), Some(other), None) = (paid.next(), paid.next(), paid.next()) else {
        return None;
    };
    let [input] = payment.inputs.as_slice() else { return None };
    let (rest, peel) = if one.value > other.value { (one, other) } else { (other, one) };
    let is_step = payment.kind == TransactionKind::Payment
        && payment.inputs_count == 1
        && is_peel(&[one.value, other.value])
        // What stays at the address that paid is change of an ordinary payment.
        && rest.owner != input.owner
        && peel.owner != input.owner;
    is_step.then_some((rest, peel))
}

/// A peel chain.
struct Chain {
    steps: Vec<Rc<Payment>>,
    /// The owner's transaction that spends the remainder of the last step, and the income from that transaction.
    end: Option<(TransactionNumber, u128)>,
}

/// True if the time between two transactions is at most the longest time between two steps of a peel chain.
fn is_soon(earlier: &Payment, later: &Payment) -> bool {
    later.time.duration_since(earlier.time) <= PEEL_WITHIN
}

/// The steps of the peel chain that contains `step`, in the order of the blockchain.
fn steps_around(
    step: Rc<Payment>,
    dust: u128,
    around: &mut NeighborReader<'_>,
    budget: &mut Budget,
) -> Result<Vec<Rc<Payment>>, ViewError> {
    let mut earlier = Vec::new();
    let mut first = Rc::clone(&step);
    while earlier.len() < MOST_PEEL_STEPS {
        let Some(input) = first.inputs.first().copied() else { break };
        let Some(before) = around.origin(&input, budget)? else { break };
        // Only what the step before left goes on in the chain.
        let is_left = is_what_is_left(&before, &input, dust);
        if !is_left || !is_soon(&before, &first) || around.is_attributed(input.owner)? {
            break;
        }
        first = Rc::clone(&before);
        earlier.push(before);
    }
    around.is_whole &= earlier.len() < MOST_PEEL_STEPS;
    let mut steps: Vec<Rc<Payment>> = earlier.into_iter().rev().collect();
    let mut last = Rc::clone(&step);
    steps.push(step);
    let mut later = 0;
    while let Some((rest, _)) = outputs_of_step(&last, dust) {
        let rest = *rest;
        if later == MOST_PEEL_STEPS {
            around.is_whole = false;
            break;
        }
        if around.is_attributed(rest.owner)? {
            break;
        }
        let Some(next) = around.spender(&rest, budget)? else { break };
        if outputs_of_step(&next, dust).is_none() || !is_soon(&last, &next) {
            break;
        }
        last = Rc::clone(&next);
        steps.push(next);
        later += 1;
    }
    Ok(steps)
}

/// True if an input spends the remainder of a step.
fn is_what_is_left(step: &Payment, input: &TransactionEntry, dust: u128) -> bool {
    outputs_of_step(step, dust)
        .is_some_and(|(rest, _)| (rest.owner, rest.value) == (input.owner, input.value))
}

/// Finds the peel chains that contain or end in the owner's transactions; also returns the numbers of their
/// transactions.
pub(super) fn peel_chains(
    activity: &Activity,
    seeds: &[TransactionNumber],
    reader: &OwnReader<'_>,
    around: &mut NeighborReader<'_>,
    budget: &mut Budget,
) -> Result<(Vec<Finding>, Vec<TransactionNumber>), ViewError> {
    let dust = reader.rules.dust;
    let mut chains: BTreeMap<u64, Chain> = BTreeMap::new();
    let mut seen: FxHashSet<TransactionNumber> = FxHashSet::default();
    for seed in seeds {
        let Some(own) = around.payment(*seed, budget)? else { continue };
        let mut found = Vec::new();
        if outputs_of_step(&own, dust).is_some() {
            found.push((own, None));
        } else {
            // What is left at the end of a chain may be spent by any transaction.
            let income = activity.income_of(*seed);
            for input in own.inputs.iter().take(if income > 0 { MAX_FOLLOWED } else { 0 }) {
                let origin = around.origin(input, budget)?;
                let step = origin.filter(|step| is_what_is_left(step, input, dust));
                let part = proportion(input.value.into(), income, own.inputs_total);
                found.extend(step.map(|step| (step, Some((*seed, part)))));
            }
        }
        for (step, end) in found {
            let payer = step.inputs.first().map(|input| input.owner);
            let Some(payer) = payer else { continue };
            if around.is_attributed(payer)? {
                continue;
            }
            if seen.contains(&step.number) {
                let has_step = |chain: &&mut Chain| {
                    chain.steps.iter().any(|known| known.number == step.number)
                };
                if let Some(known) = chains.values_mut().find(has_step) {
                    known.end = known.end.or(end);
                }
                continue;
            }
            let steps = steps_around(step, dust, around, budget)?;
            seen.extend(steps.iter().map(|step| step.number));
            if let Some(first) = steps.first().filter(|_| steps.len() >= PEEL_STEPS) {
                chains.insert(first.position, Chain { steps, end });
            }
        }
    }
    let new = |role, whole| Finding::new(Pattern::PeelChain, role, whole);
    let mut actor = new(PatternRole::Actor, activity.sent);
    let mut paid_into = new(PatternRole::Actor, activity.sent);
    let mut recipient = new(PatternRole::Recipient, activity.received);
    let mut numbers = Vec::new();
    for chain in chains.values() {
        numbers.extend(chain.steps.iter().map(|step| step.number));
        let roles = [&mut actor, &mut paid_into, &mut recipient];
        add(chain, activity, (reader, &*around), roles)?;
    }
    if actor.count == 0 {
        paid_into.unscored(UnscoredReason::PaidIntoOnly);
        actor = paid_into;
    }
    actor.whole = actor.whole.max(actor.amount);
    recipient.whole = recipient.whole.max(recipient.amount);
    Ok((vec![actor, recipient], numbers))
}

/// Adds a chain to the finding of the owner's role. An owner of only the first step merely paid into the chain: others
/// may have split the payment.
fn add(
    Chain { steps, end }: &Chain,
    activity: &Activity,
    (reader, around): (&OwnReader<'_>, &NeighborReader<'_>),
    [actor, paid_into, recipient]: [&mut Finding; 3],
) -> Result<(), ViewError> {
    let is_own = |entry: &TransactionEntry| {
        Ok::<_, ViewError>(reader.view.cluster_of(entry.owner)? == reader.cluster)
    };
    let (mut given, mut got) = (Vec::new(), end.map_or(0, |(_, income)| income));
    for (index, step) in steps.iter().enumerate() {
        if let Some(input) = step.inputs.first()
            && is_own(input)?
        {
            given.push((index, u128::from(input.value)));
        }
        let Some((rest, peel)) = outputs_of_step(step, reader.rules.dust) else { continue };
        let is_last = index + 1 == steps.len();
        for output in [Some(peel), is_last.then_some(rest)].into_iter().flatten() {
            if is_own(output)? {
                got += u128::from(output.value);
            }
        }
    }
    let (Some(first), Some(last)) = (steps.first(), steps.last()) else { return Ok(()) };
    let length = steps.len() as u64;
    let add = |finding: &mut Finding, amount| {
        if amount == 0 {
            return;
        }
        let details = PatternDetails {
            amount,
            length: Some(length),
            seconds: seconds(first.time, last.time),
            ..PatternDetails::default()
        };
        finding.occurs(confidence(length, PEEL_STEPS as u64, 20), details);
        for step in steps {
            let is_own = around.is_own(step.number);
            finding.show(step.position, (step.number, step.time), is_own);
        }
        if let Some(own) = end.and_then(|(number, _)| activity.transaction(number)) {
            finding.show_own(own);
        }
    };
    match given.as_slice() {
        [] => add(recipient, got),
        [(0, amount)] => {
            add(paid_into, *amount);
            add(recipient, got);
        }
        // The owner's own peels are payments to itself.
        [(_, amount), ..] => add(actor, *amount),
    }
    Ok(())
}
