//! Layering: successive owners that only pass funds on (`docs/model/patterns.md` P10).

use std::{collections::BTreeMap, rc::Rc};

use rustc_hash::FxHashSet;

use super::{
    activity::Activity,
    around::{Budget, NeighborReader, Payment},
    finding::Finding,
    own::seconds,
    own_reader::OwnReader,
    rules::{
        FEWEST_LAYERS, LAYER_PERCENT, LAYER_WITHIN, MAX_FOLLOWED, MOST_LAYERS, confidence,
        is_percent_of,
    },
};
use crate::{
    evidence::{Pattern, PatternDetails, PatternRole, UnscoredReason},
    ledger::{OwnerNumber, TransactionNumber},
    reading::{TransactionEntry, ViewError},
    utxo::TransactionKind,
};

/// Amount that a payment pays to an owner, in base units.
fn amount_paid_to(payment: &Payment, owner: OwnerNumber) -> u128 {
    let own = payment.outputs.iter().filter(|output| output.owner == owner);
    own.map(|output| u128::from(output.value)).sum()
}

/// True if an unattributed owner received nearly all of its funds by `paid`, and soon passed nearly all of them on by
/// the owner's only payment `passed`.
fn only_passes_on(
    owner: OwnerNumber,
    (paid, passed): (&Payment, &Payment),
    dust: u128,
    around: &mut NeighborReader<'_>,
) -> Result<bool, ViewError> {
    let is_soon =
        passed.time.duration_since(paid.time) <= LAYER_WITHIN && paid.position < passed.position;
    if !is_soon
        || passed.kind != TransactionKind::Payment
        || passed.payer() != Some(owner)
        || around.is_attributed(owner)?
    {
        return Ok(false);
    }
    let Some(statistics) = around.view.statistics(owner)? else {
        around.has_activity_of_others = false;
        return Ok(false);
    };
    let largest = only_payee(passed, owner, dust).map_or(0, |(_, amount)| amount);
    // Others can send it more, such as dust; nobody else can pay for it.
    Ok(statistics.transactions_out == 1
        && is_percent_of(amount_paid_to(paid, owner), LAYER_PERCENT, statistics.received)
        && is_percent_of(largest, LAYER_PERCENT, statistics.received))
}

/// The only other owner that a payment pays more than dust, with the payment's largest output to that owner; `None` if
/// there are several such owners: a payment with change at a new address does not pass all funds on.
fn only_payee(
    payment: &Payment,
    payer: OwnerNumber,
    dust: u128,
) -> Option<(TransactionEntry, u128)> {
    let is_paid =
        |output: &&TransactionEntry| output.owner != payer && u128::from(output.value) > dust;
    let paid = payment.outputs.iter().filter(is_paid);
    let largest = *paid.clone().reduce(|best, it| if it.value > best.value { it } else { best })?;
    let is_only = paid.clone().all(|output| output.owner == largest.owner);
    is_only.then(|| (largest, amount_paid_to(payment, largest.owner)))
}

/// A run of successive owners with the payments between them.
#[derive(Clone, Debug, Default)]
struct Run {
    /// The owners that pass funds on, in order.
    owners: Vec<OwnerNumber>,
    /// The payments in order: the first pays the run's first owner, the last is paid by the run's last owner.
    payments: Vec<Rc<Payment>>,
}

/// Finds the run that ends with a payment to the subject's owner.
fn before(
    payment: Rc<Payment>,
    dust: u128,
    around: &mut NeighborReader<'_>,
    budget: &mut Budget,
) -> Result<Run, ViewError> {
    let mut run = Run { owners: vec![], payments: vec![payment] };
    while run.owners.len() < MOST_LAYERS {
        let Some(last) = run.payments.last().map(Rc::clone) else { break };
        // Dust among the inputs leads nowhere.
        let largest = last.inputs.iter().max_by_key(|input| input.value).copied();
        let (Some(payer), Some(input)) = (last.payer(), largest) else { break };
        let Some(paid) = around.origin(&input, budget)? else { break };
        if run.owners.contains(&payer) || !only_passes_on(payer, (&paid, &last), dust, around)? {
            break;
        }
        run.owners.push(payer);
        run.payments.push(paid);
    }
    around.is_whole &= run.owners.len() < MOST_LAYERS;
    run.owners.reverse();
    run.payments.reverse();
    Ok(run)
}

/// Finds the run that begins with a payment of the subject's owner to `first`.
fn after(
    payment: Rc<Payment>,
    first: TransactionEntry,
    dust: u128,
    around: &mut NeighborReader<'_>,
    budget: &mut Budget,
) -> Result<Run, ViewError> {
    let mut run = Run { owners: vec![], payments: vec![payment] };
    let mut output = first;
    while run.owners.len() < MOST_LAYERS {
        let Some(paid) = run.payments.last().map(Rc::clone) else { break };
        let Some(passed) = around.spender(&output, budget)? else { break };
        let owner = output.owner;
        if run.owners.contains(&owner) || !only_passes_on(owner, (&paid, &passed), dust, around)? {
            break;
        }
        let Some((next, _)) = only_payee(&passed, owner, dust) else { break };
        run.owners.push(owner);
        run.payments.push(passed);
        output = next;
    }
    around.is_whole &= run.owners.len() < MOST_LAYERS;
    Ok(run)
}

/// Finds the layering runs that pass through, end at or begin at the subject's owner. Runs that consist mostly of peel
/// chains, whose transactions are `in_chains`, are left out. A run that begins at the owner is not scored, because
/// others may have carried the layering out.
pub(super) fn layering(
    activity: &Activity,
    (incoming, outgoing): (&[TransactionNumber], &[TransactionNumber]),
    in_chains: &[TransactionNumber],
    reader: &OwnReader<'_>,
    around: &mut NeighborReader<'_>,
    budget: &mut Budget,
) -> Result<Vec<Finding>, ViewError> {
    let dust = reader.rules.dust;
    let in_chains: FxHashSet<TransactionNumber> = in_chains.iter().copied().collect();
    let new = |role, whole| Finding::new(Pattern::Layering, role, whole);
    let mut actor = new(PatternRole::Actor, activity.sent);
    let mut paid_into = new(PatternRole::Actor, activity.sent);
    let mut recipient = new(PatternRole::Recipient, activity.received);
    // Where the owner itself only passes funds on, the runs before and after it are one.
    let mut through: BTreeMap<TransactionNumber, Run> = BTreeMap::new();
    for number in incoming {
        let Some(paid) = around.payment(*number, budget)? else { continue };
        let run = before(Rc::clone(&paid), dust, around, budget)?;
        let own = paid.outputs.iter().find(|output| {
            reader.view.cluster_of(output.owner).is_ok_and(|it| it == reader.cluster)
        });
        if let Some(own) = own
            && let Some(passed) = around.spender(own, budget)?
            && only_passes_on(own.owner, (&paid, &passed), dust, around)?
        {
            let owners = [run.owners, vec![own.owner]].concat();
            through.insert(passed.number, Run { owners, ..run });
            continue;
        }
        add(&run, activity.income_of(*number), (&in_chains, &*around), &mut recipient);
    }
    for number in outgoing {
        let Some(payment) = around.payment(*number, budget)? else { continue };
        let earlier = through.remove(number);
        let mut outputs = Vec::new();
        for output in payment.paid().filter(|_| payment.kind == TransactionKind::Payment) {
            if reader.view.cluster_of(output.owner)? != reader.cluster {
                outputs.push(*output);
            }
        }
        outputs.sort_by_key(|output| (std::cmp::Reverse(output.value), output.index));
        outputs.truncate(if earlier.is_some() { 1 } else { MAX_FOLLOWED });
        for output in outputs {
            let later = after(Rc::clone(&payment), output, dust, around, budget)?;
            let amount = u128::from(output.value);
            match &earlier {
                Some(earlier) => {
                    let owners = [earlier.owners.clone(), later.owners].concat();
                    let payments = [earlier.payments.clone(), later.payments].concat();
                    add(&Run { owners, payments }, amount, (&in_chains, &*around), &mut actor);
                }
                None => add(&later, amount, (&in_chains, &*around), &mut paid_into),
            }
        }
    }
    for run in through.values() {
        add(run, run_amount(run), (&in_chains, &*around), &mut actor);
    }
    if actor.count == 0 {
        paid_into.unscored(UnscoredReason::PaidIntoOnly);
        actor = paid_into;
    }
    actor.whole = actor.whole.max(actor.amount);
    recipient.whole = recipient.whole.max(recipient.amount);
    Ok(vec![actor, recipient])
}

/// Amount of the last payment of a run, in base units.
fn run_amount(run: &Run) -> u128 {
    let (Some(owner), Some(payment)) = (run.owners.last(), run.payments.last()) else { return 0 };
    amount_paid_to(payment, *owner)
}

fn add(
    run: &Run,
    amount: u128,
    (in_chains, around): (&FxHashSet<TransactionNumber>, &NeighborReader<'_>),
    into: &mut Finding,
) {
    let peels = run.payments.iter().filter(|payment| in_chains.contains(&payment.number)).count();
    if run.owners.len() < FEWEST_LAYERS || peels * 2 > run.payments.len() {
        return;
    }
    let (Some(first), Some(last)) = (run.payments.first(), run.payments.last()) else { return };
    let length = run.owners.len() as u64;
    let details = PatternDetails {
        amount,
        length: Some(length),
        seconds: seconds(first.time, last.time),
        ..PatternDetails::default()
    };
    into.occurs(confidence(length, FEWEST_LAYERS as u64, 8), details);
    for payment in &run.payments {
        let is_own = around.is_own(payment.number);
        into.show(payment.position, (payment.number, payment.time), is_own);
    }
}
