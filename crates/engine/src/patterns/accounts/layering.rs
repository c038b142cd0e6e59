//! Layering: successive accounts that only pass funds on (`docs/model/patterns.md` P10, P14.7).

use std::{cmp::Reverse, rc::Rc};

use super::{
    activity::OwnPayments,
    neighbors::{Moved, Neighbors},
    parties::{Parties, PartyKind},
    worth::Worth,
};
use crate::{
    evidence::{Direction, Pattern, PatternDetails, PatternRole, UnscoredReason},
    ledger::OwnerNumber,
    patterns::{
        activity::Activity,
        finding::Finding,
        own::seconds,
        rules::{
            CHAIN_READS, FEWEST_LAYERS, LAYER_PERCENT, LAYER_WITHIN, MAX_STARTING_TRANSACTIONS,
            MOST_LAYERS, confidence, is_percent_of,
        },
    },
    policy::PatternRules,
};

/// An account that only passes on, with the payment to it and the payment by it.
#[derive(Clone, Copy)]
struct Layer {
    owner: OwnerNumber,
    paid: Moved,
    passed: Moved,
}

/// The means of a search for layering.
pub(super) struct LayerReader<'r, 'a> {
    pub(super) neighbors: &'r mut Neighbors<'a>,
    pub(super) rules: &'r PatternRules,
    pub(super) parties: &'r mut Parties<'a>,
    pub(super) worth: &'r mut Worth<'a>,
}

impl LayerReader<'_, '_> {
    /// The two payments of an account that only passes on; `None` for any other account.
    fn layer(&mut self, owner: OwnerNumber) -> Option<Layer> {
        if self.parties.kind(owner) != PartyKind::Owner {
            return None;
        }
        let all: Rc<[Moved]> = self.neighbors.whole(owner, self.worth)?;
        // One payment may move several assets.
        let mut paid_out: Option<Moved> = None;
        for moved in all.iter().filter(|it| it.from == owner && it.amount > self.rules.dust) {
            match &mut paid_out {
                None => paid_out = Some(*moved),
                Some(passed)
                    if (passed.transaction, passed.to) == (moved.transaction, moved.to) =>
                {
                    passed.amount = passed.amount.saturating_add(moved.amount);
                }
                Some(_) => return None,
            }
        }
        let passed = paid_out?;
        let incoming = || all.iter().filter(|it| it.to == owner);
        let received = incoming().fold(0_u128, |sum, it| sum.saturating_add(it.amount));
        let mut paid = *incoming()
            .filter(|it| it.transaction < passed.transaction)
            .max_by_key(|it| (it.amount, Reverse(it.transaction)))?;
        let of_payment = incoming()
            .filter(|it| (it.transaction, it.from) == (paid.transaction, paid.from))
            .fold(0_u128, |sum, it| sum.saturating_add(it.amount));
        paid.amount = of_payment;
        let is_layer = passed.time.duration_since(paid.time) <= LAYER_WITHIN
            && is_percent_of(paid.amount, LAYER_PERCENT, received)
            && is_percent_of(passed.amount, LAYER_PERCENT, received);
        is_layer.then_some(Layer { owner, paid, passed })
    }

    /// The run of accounts from a neighbor on, onward or back, in the order in which they are met.
    fn run(&mut self, start: Moved, direction: Direction) -> Vec<Layer> {
        let mut run: Vec<Layer> = Vec::new();
        let mut last = start;
        while run.len() < MOST_LAYERS {
            let next = match direction {
                Direction::Destination => last.to,
                Direction::Source => last.from,
            };
            let Some(layer) = self.layer(next) else { break };
            let (meets, further) = match direction {
                Direction::Destination => (layer.paid, layer.passed),
                Direction::Source => (layer.passed, layer.paid),
            };
            let is_connected =
                (meets.transaction, meets.from, meets.to) == (last.transaction, last.from, last.to);
            if !is_connected || run.iter().any(|known| known.owner == layer.owner) {
                break;
            }
            run.push(layer);
            last = further;
        }
        self.neighbors.is_whole &= run.len() < MOST_LAYERS;
        run
    }
}

/// Finds the layering runs that end at the account, pass it, or begin at it. A run that begins at it is not scored, because
/// others may have carried the layering out.
pub(super) fn layering(
    (of, activity): (&OwnPayments<'_>, &Activity),
    reader: &mut LayerReader<'_, '_>,
) -> Vec<Finding> {
    let owner = of.owner;
    reader.neighbors.left = CHAIN_READS as usize;
    let new = |role, whole| Finding::new(Pattern::Layering, role, whole);
    let mut actor = new(PatternRole::Actor, activity.sent);
    let mut paid_into = new(PatternRole::Actor, activity.sent);
    let mut recipient = new(PatternRole::Recipient, activity.received);
    if let Some(own) = reader.layer(owner) {
        let mut run = reader.run(own.paid, Direction::Source);
        run.reverse();
        run.push(own);
        run.extend(reader.run(own.passed, Direction::Destination));
        add(&run, own.passed.amount, owner, &mut actor);
        return vec![actor];
    }
    for (start, income) in starts((of, activity), Direction::Source, reader) {
        let mut run = reader.run(start, Direction::Source);
        run.reverse();
        add(&run, income, owner, &mut recipient);
    }
    for (start, amount) in starts((of, activity), Direction::Destination, reader) {
        let run = reader.run(start, Direction::Destination);
        add(&run, amount, owner, &mut paid_into);
    }
    paid_into.unscored(UnscoredReason::PaidIntoOnly);
    vec![paid_into, recipient]
}

/// The largest payments of the account to others, or of others to it; none of little money.
fn starts(
    (of, activity): (&OwnPayments<'_>, &Activity),
    direction: Direction,
    reader: &mut LayerReader<'_, '_>,
) -> Vec<(Moved, u128)> {
    let owner = of.owner;
    let all = activity.transfers(direction, reader.rules.little);
    let starts = all.filter_map(|(index, time, party)| {
        let transaction = activity.transactions.get(index)?.number;
        let (from, to) = match direction {
            Direction::Destination => (owner, party.owner),
            Direction::Source => (party.owner, owner),
        };
        party.category.is_none().then(|| {
            let asset = of.asset_with(transaction, party.owner);
            (Moved { transaction, time, from, to, asset, amount: party.amount }, party.amount)
        })
    });
    let mut starts: Vec<(Moved, u128)> = starts.collect();
    starts
        .sort_by_key(|(moved, amount)| (Reverse(*amount), moved.transaction, moved.from, moved.to));
    reader.neighbors.is_whole &= starts.len() <= MAX_STARTING_TRANSACTIONS;
    starts.truncate(MAX_STARTING_TRANSACTIONS);
    starts
}

fn add(run: &[Layer], amount: u128, owner: OwnerNumber, into: &mut Finding) {
    let (Some(first), Some(last)) = (run.first(), run.last()) else { return };
    if run.len() < FEWEST_LAYERS {
        return;
    }
    let length = run.len() as u64;
    let details = PatternDetails {
        amount,
        length: Some(length),
        seconds: seconds(first.paid.time, last.passed.time),
        ..PatternDetails::default()
    };
    into.occurs(confidence(length, FEWEST_LAYERS as u64, 8), details);
    for moved in run.iter().flat_map(|layer| [layer.paid, layer.passed]) {
        let is_own = moved.from == owner || moved.to == owner;
        into.show(moved.transaction.0, (moved.transaction, moved.time), is_own);
    }
}
