//! The transfers around an account: its own payments, payments of its payees and payments to its payers, two payments
//! further onward and one further back (`docs/model/patterns.md` P11, P14.8).

use std::collections::BTreeSet;

use jiff::Timestamp;

use super::{
    activity::OwnPayments,
    neighbors::{Moved, Neighbors},
    parties::Parties,
    worth::Worth,
};
use crate::{
    account::AssetNumber,
    evidence::Direction,
    ledger::{OwnerNumber, TransactionNumber},
    patterns::{
        activity::{Activity, OwnTransaction},
        rules::{
            AROUND_READS, AROUND_WITHIN, CYCLE_PERCENT, GATHER_PARTIES, MAX_STARTING_TRANSACTIONS,
        },
        transfers::{Transfer, fan::fan_windows},
    },
    policy::PatternRules,
};

/// Number of payments that are followed beyond the account's own, onward and back. With the account's two own payments,
/// cycles have up to [`LONGEST_CYCLE`](crate::patterns::rules::LONGEST_CYCLE) owners.
const LEVELS: [(Direction, usize); 2] = [(Direction::Destination, 3), (Direction::Source, 2)];

/// A payment that is followed onward or back.
#[derive(Clone, Copy)]
struct Step {
    /// The account that it leads to.
    to: OwnerNumber,
    at: (TransactionNumber, Timestamp, AssetNumber),
    amount: u128,
}

/// Reads the payments that are connected with the account's own, and returns all transfers that were read.
pub(super) fn transfers_around(
    (of, activity): (&OwnPayments<'_>, &Activity),
    neighbors: &mut Neighbors<'_>,
    rules: &PatternRules,
    parties: &mut Parties<'_>,
    worth: &mut Worth<'_>,
) -> Vec<Transfer> {
    let owner = of.owner;
    let mut transfers = Vec::new();
    let mut seen: BTreeSet<(TransactionNumber, OwnerNumber, OwnerNumber)> = BTreeSet::new();
    let mut add = |moved: &Moved| {
        let Moved { transaction, time, from, to, amount, .. } = *moved;
        if seen.insert((transaction, from, to)) {
            let position = transaction.0;
            transfers.push(Transfer {
                transaction,
                position,
                time,
                payer: from,
                payee: to,
                amount,
            });
        }
    };
    for (direction, levels) in LEVELS {
        // Each direction has its half, so that neither crowds out the other.
        neighbors.left = AROUND_READS as usize / 2;
        let (mut frontier, is_all) = starts((of, activity), direction, rules, parties);
        neighbors.is_whole &= is_all;
        for step in &frontier {
            let (transaction, time, asset) = step.at;
            let (from, to) = match direction {
                Direction::Destination => (owner, step.to),
                Direction::Source => (step.to, owner),
            };
            add(&Moved { transaction, time, from, to, asset, amount: step.amount });
        }
        let mut visited: BTreeSet<(TransactionNumber, OwnerNumber)> = BTreeSet::new();
        for level in 1..=levels {
            let mut next = Vec::new();
            for step in frontier {
                if neighbors.left == 0 {
                    neighbors.is_whole = false;
                    break;
                }
                for moved in neighbors.near(step.to, step.at, direction, worth) {
                    let (this, other) = match direction {
                        Direction::Destination => (moved.from, moved.to),
                        Direction::Source => (moved.to, moved.from),
                    };
                    let is_followed = this == step.to
                        && moved.amount > rules.dust
                        && !parties.kind(other).is_service();
                    if !is_followed {
                        continue;
                    }
                    add(&moved);
                    let is_next = level < levels
                        && other != owner
                        && is_like(moved.amount, step.amount)
                        && visited.insert((moved.transaction, other));
                    if is_next {
                        let at = (moved.transaction, moved.time, moved.asset);
                        next.push(Step { to: other, at, amount: moved.amount });
                    }
                }
            }
            frontier = next;
        }
    }
    transfers.sort_by_key(|transfer| transfer.position);
    transfers
}

/// True if two amounts may follow each other in a cycle.
fn is_like(one: u128, other: u128) -> bool {
    let least = |amount: u128| amount.saturating_mul(u128::from(CYCLE_PERCENT)) / 100;
    one >= least(other) && other >= least(one)
}

/// The account's payments from which the search starts, and true if these are all: the largest ones of those that may be
/// part of a cycle or of a scatter-gather.
fn starts(
    (of, activity): (&OwnPayments<'_>, &Activity),
    direction: Direction,
    rules: &PatternRules,
    parties: &mut Parties<'_>,
) -> (Vec<Step>, bool) {
    let of_all = activity.transfers(direction, rules.little);
    let all: Vec<_> =
        of_all.filter(|(.., party)| !parties.kind(party.owner).is_service()).collect();
    let spread = all.iter().map(|(_, time, party)| (*time, party.owner));
    let fewest = u32::try_from(GATHER_PARTIES).unwrap_or(u32::MAX);
    let has_many = !fan_windows(spread, AROUND_WITHIN.unsigned_abs(), fewest).is_empty();
    let transactions = &activity.transactions;
    let steps = all.into_iter().filter_map(|(index, time, party)| {
        let own = transactions.get(index)?;
        (has_many || may_come_back(transactions, index, direction)).then_some(Step {
            to: party.owner,
            at: (own.number, time, of.asset_with(own.number, party.owner)),
            amount: party.amount,
        })
    });
    let mut steps: Vec<Step> = steps.collect();
    steps.sort_by_key(|step| (std::cmp::Reverse(step.amount), step.at, step.to));
    let is_all = steps.len() <= MAX_STARTING_TRANSACTIONS;
    steps.truncate(MAX_STARTING_TRANSACTIONS);
    (steps, is_all)
}

/// True if the account is paid within the time of a cycle after a payment that it made, or made one before a payment to it.
fn may_come_back(transactions: &[OwnTransaction], index: usize, direction: Direction) -> bool {
    let Some(own) = transactions.get(index) else { return false };
    let is_near =
        |other: &&OwnTransaction| other.time.duration_since(own.time).abs() <= AROUND_WITHIN;
    match direction {
        Direction::Destination => {
            let later = transactions.get(index + 1..).unwrap_or_default().iter();
            later.take_while(is_near).any(|other| !other.payers.is_empty())
        }
        Direction::Source => {
            let earlier = transactions.get(..index).unwrap_or_default().iter().rev();
            earlier.take_while(is_near).any(|other| !other.payees.is_empty())
        }
    }
}
