//! The greatest sums that were outstanding with direct counterparties (`docs/model/trace.md` T14.5).

use std::collections::{BTreeMap, BTreeSet};

use assay_engine::{evidence::Direction, taxonomy::Category, utxo::ScriptOwner};
use num_bigint::BigUint;

use super::{amounts::small, ledger::Transaction, trace::DirectionTrace};

/// All that moved in a direction with the parties of a category and name, and how much of it was outstanding at most.
pub(super) type Turnovers = BTreeMap<(Category, Option<String>), (u128, u128)>;

/// A party of a name, or the cluster of one without a name.
type Counterparty = (Category, Option<String>, Option<ScriptOwner>);

impl DirectionTrace<'_> {
    /// The turnovers of the direction.
    pub(super) fn turnovers(&self) -> Turnovers {
        let mut movements = Vec::new();
        for (side, own) in
            [(Direction::Source, &self.incoming), (Direction::Destination, &self.outgoing)]
        {
            for (transaction, most_entries) in own {
                for (party, amount) in self.moved(side, transaction, *most_entries) {
                    movements.push((transaction.position, side, party, amount));
                }
            }
        }
        movements.sort();
        let parties: BTreeSet<Counterparty> =
            movements.iter().map(|(_, _, party, _)| party.clone()).collect();
        let mut turnovers = Turnovers::new();
        for party in parties {
            let (mut all, mut most, mut ahead) = (0, 0, BigUint::ZERO);
            let mut behind = BigUint::ZERO;
            for (_, side, _, amount) in movements.iter().filter(|(_, _, with, _)| *with == party) {
                if *side == self.direction {
                    all += amount;
                    ahead += *amount;
                } else {
                    behind += *amount;
                }
                if ahead > behind {
                    most = most.max(small(&ahead - &behind));
                }
            }
            let (category, entity, _) = party;
            let known = turnovers.entry((category, entity)).or_default();
            known.0 += all;
            known.1 += most;
        }
        turnovers
    }

    /// Amounts that a transaction moved between the subject and attributed parties.
    fn moved(
        &self,
        side: Direction,
        transaction: &Transaction<'_>,
        most_entries: usize,
    ) -> BTreeMap<Counterparty, u128> {
        let subject = &self.case.subject;
        let (read, all, moved, own) = match side {
            Direction::Source => (
                transaction.inputs(most_entries).read,
                transaction.inputs(usize::MAX).read,
                transaction.income(subject),
                transaction.given_by(subject),
            ),
            Direction::Destination => (
                transaction.outputs(most_entries).read,
                transaction.outputs(usize::MAX).read,
                transaction.spending(subject),
                transaction.got_by(subject),
            ),
        };
        let others = transaction.total().max(transaction.paid()) - own;
        let chosen: BTreeSet<usize> = read.iter().map(|leg| leg.index).collect();
        let mut values: BTreeMap<Counterparty, u128> = BTreeMap::new();
        for leg in all {
            let is_read = chosen.contains(&leg.index) || self.is_listed(leg.owner);
            let end = self.party(leg.owner).filter(|_| is_read && leg.owner != subject);
            if let Some((category, entity)) = end {
                let cluster = entity.is_none().then(|| self.cluster(leg.owner));
                *values.entry((category, entity, cluster)).or_default() += leg.value;
            }
        }
        values.retain(|_, _| others > 0);
        let part = |value: u128| small(BigUint::from(moved) * value / others);
        values.into_iter().map(|(party, value)| (party, part(value))).collect()
    }

    /// Category and name of the party at which money of an owner ends.
    fn party(&self, owner: &ScriptOwner) -> Option<(Category, Option<String>)> {
        if let ScriptOwner::Pool(pool) = owner {
            return Some((Category::PrivacyProtocol, Some(pool.as_str().to_owned())));
        }
        let end = self.case.attribution(owner).end?;
        Some((end.category, end.entity.as_deref().map(str::to_owned)))
    }
}
