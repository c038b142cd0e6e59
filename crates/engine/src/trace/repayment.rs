//! Repayments: funds that came back from a party that harms payers, such as a thief, to which the subject had sent at
//! least as much before (`docs/model/score.md` S5.5).

use rustc_hash::{FxHashMap, FxHashSet};

use super::{attribution::Attributions, subject::Subject};
use crate::{
    evidence::Direction,
    ledger::{OwnTransaction, OwnerNumber, TransactionNumber, mass::share},
    policy::Role,
    reading::{TransactionRead, ViewError},
    utxo::TransactionKind,
};

/// The repayments among a subject's incoming transactions, found when the first sender that harms payers appears.
#[derive(Default)]
pub(super) struct Repayments(Option<FxHashSet<TransactionNumber>>);

impl Repayments {
    /// True if an incoming transaction of the subject, read with its inputs, is a repayment.
    pub(super) fn contain(
        &mut self,
        subject: Subject<'_>,
        attributions: &dyn Attributions,
        incoming: &TransactionRead,
    ) -> Result<bool, ViewError> {
        if subject.history.outgoing.is_empty() || !harms(subject, attributions, incoming)? {
            return Ok(false);
        }
        let found = match &mut self.0 {
            Some(found) => found,
            unknown => unknown.insert(subject.repayments()?),
        };
        Ok(found.contains(&incoming.number))
    }
}

/// True if an address with an input has a label, or a listing, of a category that harms payers.
fn harms(
    subject: Subject<'_>,
    attributions: &dyn Attributions,
    incoming: &TransactionRead,
) -> Result<bool, ViewError> {
    for input in &incoming.entries {
        if let Some(attribution) = attributions.of_owner(input.owner, subject.view)? {
            let end = attribution.end.iter().map(|end| end.category);
            let mut categories = end.chain(attribution.carried.iter().map(|label| label.category));
            if categories.any(|category| Role::HARMS_PAYERS.contains(&category)) {
                return Ok(true);
            }
        }
    }
    Ok(false)
}

/// A payment between the subject and another cluster.
struct Dealing {
    position: u64,
    with: OwnerNumber,
    amount: u128,
    /// The incoming transaction; `None` if the subject paid.
    incoming: Option<TransactionNumber>,
}

impl Subject<'_> {
    /// The incoming transactions from one cluster alone, in no joint transaction, with which the cluster gave back at
    /// most what the subject had sent it before, less what it had given back already.
    fn repayments(self) -> Result<FxHashSet<TransactionNumber>, ViewError> {
        let mut dealings = Vec::new();
        let mut read = TransactionRead::default();
        let most = self.entries_of_each(&self.history.incoming, Direction::Source)?;
        for (own, most) in self.history.incoming.iter().zip(most) {
            self.view.read(own.number, Direction::Source, most, &mut read)?;
            let senders =
                self.other_senders(&read)?.filter(|_| read.kind == TransactionKind::Payment);
            let mut senders = senders.into_iter().flatten();
            if let (Some(with), None) = (senders.next(), senders.next()) {
                let (position, amount) = (read.position, own.income(own.inputs));
                dealings.push(Dealing { position, with, amount, incoming: Some(own.number) });
            }
        }
        let most = self.entries_of_each(&self.history.outgoing, Direction::Destination)?;
        for (own, most) in self.history.outgoing.iter().zip(most) {
            self.payments(own, most, &mut dealings)?;
        }
        // Of one transaction, the incoming funds come first.
        dealings.sort_by_key(|dealing| (dealing.position, dealing.incoming.is_none()));
        let mut sent: FxHashMap<OwnerNumber, u128> = FxHashMap::default();
        let mut found = FxHashSet::default();
        for Dealing { with, amount, incoming, .. } in dealings {
            let sent = sent.entry(with).or_default();
            if let Some(number) = incoming {
                if *sent >= amount {
                    found.insert(number);
                }
                *sent = sent.saturating_sub(amount);
            } else {
                *sent = sent.saturating_add(amount);
            }
        }
        Ok(found)
    }

    /// The payments of an outgoing transaction to other clusters: whole outputs if all inputs are the cluster's own,
    /// else the part that the subject paid.
    fn payments(
        self,
        own: &OwnTransaction,
        most: u32,
        dealings: &mut Vec<Dealing>,
    ) -> Result<(), ViewError> {
        let most_inputs = self.rules.read_limits().max_entries_per_transaction();
        let mut read = TransactionRead::default();
        self.view.read(own.number, Direction::Source, most_inputs, &mut read)?;
        let mut is_own = read.kind == TransactionKind::Payment && read.is_whole(Direction::Source);
        for input in &read.entries {
            is_own &= self.view.cluster_of(input.owner)? == self.cluster;
        }
        self.view.read(own.number, Direction::Destination, most, &mut read)?;
        let others = read.outputs.total.saturating_sub(own.received).saturating_add(read.fee());
        for output in &read.entries {
            let with = self.view.cluster_of(output.owner)?;
            if with != self.cluster {
                let value = u128::from(output.value);
                let amount =
                    if is_own { value } else { share(own.spending(own.inputs), value, others) };
                let position = read.position;
                dealings.push(Dealing { position, with, amount, incoming: None });
            }
        }
        Ok(())
    }
}
