//! Peel chains (`docs/model/patterns.md` P9).

use std::{collections::BTreeMap, rc::Rc};

use super::{
    activity::{Activity, OwnReader},
    around::{Around, Budget, Payment},
    finding::Finding,
    form::peeled,
    rules::{MOST_PEEL_STEPS, PEEL_STEPS, PEEL_WITHIN, confidence},
};
use crate::{
    evidence::{Pattern, PatternDetails, PatternRole},
    reading::{Entry, TransactionNumber, ViewError},
    utxo::TransactionKind,
};

/// The two outputs of a peel step: what is left, and what was split off.
fn outputs_of_step(payment: &Payment) -> Option<(&Entry, &Entry)> {
    let mut paid = payment.paid();
    let (Some(one), Some(other), None) = (paid.next(), paid.next(), paid.next()) else {
        return None;
    };
    let [input] = payment.inputs.as_slice() else { return None };
    let (rest, peel) = if one.value > other.value { (one, other) } else { (other, one) };
    let is_step = payment.kind == TransactionKind::Payment
        && payment.inputs_count == 1
        && peeled(&[one.value, other.value])
        // What stays at the address that paid is change of an ordinary payment.
        && rest.owner != input.owner
        && peel.owner != input.owner;
    is_step.then_some((rest, peel))
}

/// A peel chain.
struct Chain {
    steps: Vec<Rc<Payment>>,
    /// Income of the owner from payments that spend what the chain left, in base units.
    end: u128,
}

/// True if both are within the time from one step to the next.
fn is_soon(earlier: &Payment, later: &Payment) -> bool {
    later.time.duration_since(earlier.time) <= PEEL_WITHIN
}

/// The chain that a step is part of, in the order of the chain.
fn chain_of(
    step: Rc<Payment>,
    around: &mut Around<'_>,
    budget: &mut Budget,
) -> Result<Vec<Rc<Payment>>, ViewError> {
    let mut earlier = Vec::new();
    let mut first = Rc::clone(&step);
    while earlier.len() < MOST_PEEL_STEPS {
        let Some(input) = first.inputs.first().copied() else { break };
        let Some(before) = around.origin(&input, budget)? else { break };
        // Only what the step before left goes on in the chain.
        let is_left = outputs_of_step(&before)
            .is_some_and(|(rest, _)| (rest.owner, rest.value) == (input.owner, input.value));
        if !is_left || !is_soon(&before, &first) || around.is_attributed(input.owner)? {
            break;
        }
        first = Rc::clone(&before);
        earlier.push(before);
    }
    let mut chain: Vec<Rc<Payment>> = earlier.into_iter().rev().collect();
    let mut last = Rc::clone(&step);
    chain.push(step);
    for _ in 0..MOST_PEEL_STEPS {
        let Some((rest, _)) = outputs_of_step(&last) else { break };
        let rest = *rest;
        if around.is_attributed(rest.owner)? {
            break;
        }
        let Some(next) = around.spender(&rest, budget)? else { break };
        if outputs_of_step(&next).is_none() || !is_soon(&last, &next) {
            break;
        }
        last = Rc::clone(&next);
        chain.push(next);
    }
    Ok(chain)
}

/// The peel chains that the owner's transactions are part of, or end in; also the numbers of their transactions.
pub(super) fn peel_chains(
    activity: &Activity,
    seeds: &[TransactionNumber],
    reader: &OwnReader<'_>,
    around: &mut Around<'_>,
    budget: &mut Budget,
) -> Result<(Vec<Finding>, Vec<TransactionNumber>), ViewError> {
    let mut chains: BTreeMap<u64, Chain> = BTreeMap::new();
    for seed in seeds {
        let Some(own) = around.payment(*seed, budget)? else { continue };
        let (mut steps, mut end) = (Vec::new(), 0);
        if outputs_of_step(&own).is_some() {
            steps.push(own);
        } else {
            let at = activity.transactions.iter().find(|it| it.number == *seed);
            end = at.map_or(0, |own| own.income);
            // What is left at the end of a chain may be spent by any transaction.
            for input in own.inputs.iter().take(3) {
                steps.extend(around.origin(input, budget)?);
            }
        }
        for step in steps {
            if outputs_of_step(&step).is_none() {
                continue;
            }
            let has_step =
                |chain: &&mut Chain| chain.steps.iter().any(|it| it.number == step.number);
            if let Some(known) = chains.values_mut().find(has_step) {
                known.end += end;
                continue;
            }
            let payer = step.inputs.first().map(|input| input.owner);
            if payer.is_none_or(|payer| around.is_attributed(payer).unwrap_or(true)) {
                continue;
            }
            let steps = chain_of(step, around, budget)?;
            if let Some(first) = steps.first().filter(|_| steps.len() >= PEEL_STEPS) {
                chains.insert(first.position, Chain { steps, end });
            }
        }
    }
    let mut actor = Finding::new(Pattern::PeelChain, PatternRole::Actor, activity.sent);
    let mut recipient = Finding::new(Pattern::PeelChain, PatternRole::Recipient, activity.received);
    let mut numbers = Vec::new();
    for chain in chains.values() {
        numbers.extend(chain.steps.iter().map(|step| step.number));
        add(chain, reader, &mut actor, &mut recipient)?;
    }
    actor.whole = actor.whole.max(actor.amount);
    recipient.whole = recipient.whole.max(recipient.amount);
    Ok((vec![actor, recipient], numbers))
}

/// Adds a chain to the finding of the owner's role in it.
fn add(
    Chain { steps: chain, end }: &Chain,
    reader: &OwnReader<'_>,
    actor: &mut Finding,
    recipient: &mut Finding,
) -> Result<(), ViewError> {
    let is_own =
        |entry: &Entry| Ok::<_, ViewError>(reader.view.cluster_of(entry.owner)? == reader.cluster);
    let (mut given, mut got) = (0_u128, *end);
    for (index, step) in chain.iter().enumerate() {
        if let Some(input) = step.inputs.first()
            && given == 0
            && is_own(input)?
        {
            given = input.value.into();
        }
        let Some((rest, peel)) = outputs_of_step(step) else { continue };
        let is_last = index + 1 == chain.len();
        for output in [Some(peel), is_last.then_some(rest)].into_iter().flatten() {
            if is_own(output)? {
                got += u128::from(output.value);
            }
        }
    }
    let (Some(first), Some(last)) = (chain.first(), chain.last()) else { return Ok(()) };
    let (finding, amount) = if given > 0 { (actor, given) } else { (recipient, got) };
    if amount == 0 {
        return Ok(());
    }
    let length = chain.len() as u64;
    finding.occurs(confidence(length, PEEL_STEPS as u64, 20), amount);
    finding.detail(&PatternDetails {
        length: Some(length),
        seconds: u64::try_from(last.time.duration_since(first.time).as_secs()).ok(),
        ..PatternDetails::default()
    });
    for step in chain {
        finding.show(step.position, step.number, step.time);
    }
    Ok(())
}
