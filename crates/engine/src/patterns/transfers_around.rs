//! The transfers around the owner: the owner's own payments, payments of the owner's payees and payments to the owner's
//! payers, two payments further in each direction (`docs/model/patterns.md` P11). The search follows the coins: a
//! payee's next payment is the payment that spends the output of the previous payment.

use std::rc::Rc;

use jiff::Timestamp;
use rustc_hash::FxHashSet;

use super::{
    activity::Activity,
    around::{Budget, NeighborReader, Payment},
    own_reader::{OwnReader, proportion},
    rules::AROUND_WITHIN,
    transfers::Transfer,
};
use crate::{
    evidence::Direction,
    ledger::{OwnerNumber, TransactionNumber},
    reading::{TransactionEntry, ViewError},
    utxo::TransactionKind,
};

/// Number of payments that are followed beyond the owner's own, onward and back. With the owner's two own payments,
/// cycles have up to [`LONGEST_CYCLE`](super::rules::LONGEST_CYCLE) owners.
const LEVELS: [(Direction, usize); 2] = [(Direction::Destination, 3), (Direction::Source, 2)];
/// Most payers of a payment that are followed: more payers are a service, or many unrelated owners.
const MOST_PAYERS: usize = 5;

/// Reads the payments that are connected with the owner's payments, and returns all transfers that were read.
///
/// If funds may come back to the owner in time, the search is not whole once other payments than the ones that were
/// read may lead further: another member of a ring may see them, and find a cycle that this search does not.
pub(super) fn transfers_around(
    (incoming, outgoing): (&[TransactionNumber], &[TransactionNumber]),
    (reader, activity): (&OwnReader<'_>, &Activity),
    around: &mut NeighborReader<'_>,
    budget: u32,
) -> Result<Vec<Transfer>, ViewError> {
    let may_come_back = may_come_back(activity);
    for (direction, levels) in LEVELS {
        let seeds = match direction {
            Direction::Destination => outgoing,
            Direction::Source => incoming,
        };
        // Each direction has its half, so that neither crowds out the other.
        let mut budget = Budget { left: budget / 2 };
        let mut frontier = Vec::new();
        for seed in seeds {
            frontier.extend(around.payment(*seed, &mut budget)?);
        }
        let mut seen: FxHashSet<TransactionNumber> = FxHashSet::default();
        for _ in 0..levels {
            let mut next = Vec::new();
            for payment in frontier {
                if budget.left == 0 {
                    around.is_whole = false;
                    break;
                }
                for entry in followed(&payment, direction, reader, around)? {
                    let found = match direction {
                        Direction::Destination => around.spender(&entry, &mut budget)?,
                        Direction::Source => around.origin(&entry, &mut budget)?,
                    };
                    if may_come_back
                        && !is_only_way(&payment, &entry, direction, found.as_deref(), around)?
                    {
                        around.is_whole = false;
                    }
                    let is_new = |found: &Rc<Payment>| {
                        !around.is_own(found.number) && seen.insert(found.number)
                    };
                    next.extend(found.filter(is_new));
                }
            }
            frontier = next;
        }
    }
    let payments: Vec<Rc<Payment>> = around.payments().map(Rc::clone).collect();
    let mut transfers = Vec::new();
    for payment in payments {
        let is_all = add_transfers(&payment, reader, around, &mut transfers)?;
        around.is_whole &= is_all || !may_come_back;
    }
    transfers.sort_by_key(|transfer| transfer.position);
    Ok(transfers)
}

/// True if the owner pays and is paid by others within the time of a cycle.
fn may_come_back(activity: &Activity) -> bool {
    let (mut paid, mut was_paid) = (None, None);
    let is_near = |time: Timestamp, other: Option<Timestamp>| {
        other.is_some_and(|other| time.duration_since(other).abs() <= AROUND_WITHIN)
    };
    activity.transactions.iter().any(|own| {
        let (pays, is_paid) = (!own.payees.is_empty(), !own.payers.is_empty());
        let is_found = pays && is_near(own.time, was_paid) || is_paid && is_near(own.time, paid);
        paid = if pays { Some(own.time) } else { paid };
        was_paid = if is_paid { Some(own.time) } else { was_paid };
        is_found
    })
}

/// True if the funds of an entry of a payment can only have gone on (or come) by the payment that was found: the entry's
/// owner is a single address without other payments.
fn is_only_way(
    payment: &Payment,
    entry: &TransactionEntry,
    direction: Direction,
    found: Option<&Payment>,
    around: &NeighborReader<'_>,
) -> Result<bool, ViewError> {
    let Some(statistics) = around.view.statistics(entry.owner)? else { return Ok(false) };
    let is_payer = |payment: &Payment| payment.payer() == Some(entry.owner);
    Ok(match direction {
        Direction::Destination => match statistics.transactions_out {
            0 => true,
            1 => found.is_some_and(is_payer),
            _ => false,
        },
        Direction::Source => {
            let mut origins: Vec<_> = payment.inputs.iter().map(|input| input.leads_to).collect();
            origins.sort_unstable();
            origins.dedup();
            statistics.transactions_out == 1
                && is_payer(payment)
                && statistics.transactions_in <= origins.len() as u64
        }
    })
}

/// The outputs (or inputs) of other owners, no services, that are followed from a payment.
fn followed(
    payment: &Payment,
    direction: Direction,
    reader: &OwnReader<'_>,
    around: &NeighborReader<'_>,
) -> Result<Vec<TransactionEntry>, ViewError> {
    let mut followed = Vec::new();
    if payment.kind != TransactionKind::Payment {
        return Ok(followed);
    }
    let entries = match direction {
        Direction::Destination => &payment.outputs,
        Direction::Source => &payment.inputs,
    };
    for entry in entries.iter().filter(|entry| u128::from(entry.value) > reader.rules.dust) {
        if reader.view.cluster_of(entry.owner)? != reader.cluster
            && !around.is_service(entry.owner)?
        {
            followed.push(*entry);
        }
    }
    Ok(followed)
}

/// Adds the transfers from each payer's cluster to each payee's, in proportion, and returns true if all were added.
/// Services are left out, also the owner itself: a path through an exchange is not a cycle.
fn add_transfers(
    payment: &Payment,
    reader: &OwnReader<'_>,
    around: &NeighborReader<'_>,
    transfers: &mut Vec<Transfer>,
) -> Result<bool, ViewError> {
    let sums = |entries: &mut dyn Iterator<Item = &TransactionEntry>| {
        let mut sums: Vec<(OwnerNumber, u128)> = Vec::new();
        for entry in entries {
            let owner = reader.view.cluster_of(entry.owner)?;
            if around.is_service(entry.owner)? {
                continue;
            }
            match sums.iter_mut().find(|(known, _)| *known == owner) {
                Some((_, sum)) => *sum += u128::from(entry.value),
                None => sums.push((owner, entry.value.into())),
            }
        }
        Ok::<_, ViewError>(sums)
    };
    if payment.kind != TransactionKind::Payment {
        return Ok(true);
    }
    let payers = sums(&mut payment.inputs.iter())?;
    if payers.len() > MOST_PAYERS {
        return Ok(false);
    }
    let paid = sums(&mut payment.paid())?;
    for (payer, sent) in &payers {
        for (payee, received) in paid.iter().filter(|(payee, _)| payee != payer) {
            transfers.push(Transfer {
                transaction: payment.number,
                position: payment.position,
                time: payment.time,
                payer: *payer,
                payee: *payee,
                amount: proportion(*received, *sent, payment.inputs_total),
            });
        }
    }
    Ok(payment.has_all_entries)
}
