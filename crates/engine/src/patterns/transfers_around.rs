//! The transfers around the owner: the owner's own payments, payments of the owner's payees and payments to the owner's
//! payers, two payments further in each direction (`docs/model/patterns.md` P11). The search follows the coins: a
//! payee's next payment is the payment that spends the output of the previous payment.

use std::rc::Rc;

use rustc_hash::FxHashSet;

use super::{
    activity::OwnReader,
    around::{Budget, NeighborReader, Payment},
    transfers::Transfer,
};
use crate::{
    evidence::Direction,
    ledger::{OwnerNumber, TransactionNumber},
    reading::{TransactionEntry, ViewError},
    utxo::TransactionKind,
};

/// Number of payments that are followed beyond the owner's own in each direction. With the owner's two own payments,
/// cycles have up to [`LONGEST_CYCLE`](super::rules::LONGEST_CYCLE) owners.
const LEVELS: usize = 2;
/// Most payers of a payment that are followed: more payers are a service, or many unrelated owners.
const MOST_PAYERS: usize = 5;

/// Reads the payments that are connected with the owner's payments, and returns all transfers that were read.
pub(super) fn transfers_around(
    (incoming, outgoing): (&[TransactionNumber], &[TransactionNumber]),
    reader: &OwnReader<'_>,
    around: &mut NeighborReader<'_>,
    budget: u32,
) -> Result<Vec<Transfer>, ViewError> {
    for (direction, seeds) in [(Direction::Destination, outgoing), (Direction::Source, incoming)] {
        // Each direction has its half, so that neither crowds out the other.
        let mut budget = Budget { left: budget / 2 };
        let mut frontier = Vec::new();
        for seed in seeds {
            frontier.extend(around.payment(*seed, &mut budget)?);
        }
        let mut seen: FxHashSet<TransactionNumber> = FxHashSet::default();
        for _ in 0..LEVELS {
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
        add_transfers(&payment, reader, around, &mut transfers)?;
    }
    transfers.sort_by_key(|transfer| transfer.position);
    Ok(transfers)
}

/// The outputs (or inputs) of other, unattributed owners that are followed from a payment.
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
            && !around.is_attributed(entry.owner)?
        {
            followed.push(*entry);
        }
    }
    Ok(followed)
}

/// Adds the transfers from each payer's cluster to each payee's, in proportion. Addresses at which traces end are left
/// out: a path through an exchange is not a cycle.
fn add_transfers(
    payment: &Payment,
    reader: &OwnReader<'_>,
    around: &NeighborReader<'_>,
    transfers: &mut Vec<Transfer>,
) -> Result<(), ViewError> {
    let sums = |entries: &mut dyn Iterator<Item = &TransactionEntry>| {
        let mut sums: Vec<(OwnerNumber, u128)> = Vec::new();
        for entry in entries {
            let owner = reader.view.cluster_of(entry.owner)?;
            if owner != reader.cluster && around.is_attributed(entry.owner)? {
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
        return Ok(());
    }
    let payers = sums(&mut payment.inputs.iter())?;
    if payers.len() > MOST_PAYERS {
        return Ok(());
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
                amount: super::activity::proportion(*received, *sent, payment.inputs_total),
            });
        }
    }
    Ok(())
}
