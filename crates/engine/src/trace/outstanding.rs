//! The greatest sums that were outstanding with direct counterparties (`docs/model/trace.md` T14.5): funds that go round
//! between the subject and one counterparty count once.

use std::{collections::BTreeMap, sync::Arc};

use super::{attribution::Attributions, subject::Subject};
use crate::{
    evidence::{Direction, FlowEnd, FlowPart},
    ledger::{OwnTransaction, OwnerNumber, mass::share},
    reading::{TransactionRead, ViewError},
    taxonomy::Category,
};

/// A direct counterparty: a category's party of a name, or the cluster of a party without a name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Counterparty {
    category: Category,
    entity: Option<Arc<str>>,
    cluster: Option<OwnerNumber>,
}

/// An amount that the subject received from a counterparty, or sent to it.
#[derive(Debug)]
struct Movement {
    position: u64,
    direction: Direction,
    with: Counterparty,
    amount: u128,
}

/// The direct dealings of a subject with attributed parties.
#[derive(Debug, Default)]
pub(super) struct Dealings(Vec<Movement>);

impl Dealings {
    /// Adds what one of the subject's own transactions, of which `read` has the other side, moved in a direction.
    pub(super) fn add(
        &mut self,
        subject: Subject<'_>,
        attributions: &dyn Attributions,
        (direction, own): (Direction, &OwnTransaction),
        read: &TransactionRead,
    ) -> Result<(), ViewError> {
        if subject.history.incoming.is_empty() || subject.history.outgoing.is_empty() {
            return Ok(());
        }
        let (amount, others) = match direction {
            Direction::Source => (own.income(own.inputs), own.inputs.saturating_sub(own.sent)),
            Direction::Destination => {
                let others = read.outputs.total.saturating_sub(own.received);
                (own.spending(own.inputs), others.saturating_add(read.fee()))
            }
        };
        let mut values: BTreeMap<Counterparty, u128> = BTreeMap::new();
        for entry in read.entries.iter().filter(|entry| entry.owner != subject.owner) {
            let attribution = attributions.of_owner(entry.owner, subject.view)?;
            let Some(end) = attribution.as_ref().and_then(|known| known.end.as_ref()) else {
                continue;
            };
            let cluster = match end.entity {
                Some(_) => None,
                None => Some(subject.view.cluster_of(entry.owner)?),
            };
            let (category, entity) = (end.category, end.entity.clone());
            *values.entry(Counterparty { category, entity, cluster }).or_default() +=
                u128::from(entry.value);
        }
        self.0.extend(values.into_iter().map(|(with, value)| Movement {
            position: read.position,
            direction,
            with,
            amount: share(amount, value, others),
        }));
        Ok(())
    }

    /// The turnovers of what the subject received and of what it sent.
    pub(super) fn turnovers(mut self) -> (Turnovers, Turnovers) {
        // Of one transaction, what came counts first.
        self.0.sort_by_key(|movement| (movement.position, movement.direction));
        let mut accounts: BTreeMap<Counterparty, Account> = BTreeMap::new();
        for Movement { direction, with, amount, .. } in self.0 {
            accounts.entry(with).or_default().add(direction, amount);
        }
        let (mut received, mut sent) = (Turnovers::default(), Turnovers::default());
        for (Counterparty { category, entity, .. }, account) in accounts {
            let of = (category, entity);
            received.0.entry(of.clone()).or_default().add(account.received);
            sent.0.entry(of).or_default().add(account.sent);
        }
        (received, sent)
    }
}

/// The dealings with one counterparty.
#[derive(Default)]
struct Account {
    /// Received less sent.
    balance: i128,
    received: Turnover,
    sent: Turnover,
}

impl Account {
    fn add(&mut self, direction: Direction, amount: u128) {
        let signed = i128::try_from(amount).unwrap_or(i128::MAX);
        let (turnover, outstanding) = match direction {
            Direction::Source => {
                self.balance = self.balance.saturating_add(signed);
                (&mut self.received, self.balance)
            }
            Direction::Destination => {
                self.balance = self.balance.saturating_sub(signed);
                (&mut self.sent, self.balance.saturating_neg())
            }
        };
        turnover.sum = turnover.sum.saturating_add(amount);
        let outstanding = u128::try_from(outstanding).unwrap_or_default();
        turnover.outstanding = turnover.outstanding.max(outstanding);
    }
}

/// All that moved in one direction, and the greatest part of it that was outstanding at any time.
#[derive(Clone, Copy, Debug, Default)]
struct Turnover {
    sum: u128,
    outstanding: u128,
}

impl Turnover {
    /// Adds the turnover with another counterparty.
    const fn add(&mut self, other: Self) {
        self.sum = self.sum.saturating_add(other.sum);
        self.outstanding = self.outstanding.saturating_add(other.outstanding);
    }
}

/// The turnovers of one direction by category and name.
#[derive(Debug, Default)]
pub(super) struct Turnovers(BTreeMap<(Category, Option<Arc<str>>), Turnover>);

impl Turnovers {
    /// Notes in the direct flow parts how much of their amounts was outstanding at most.
    pub(super) fn net(&self, parts: &mut [FlowPart]) {
        for part in parts.iter_mut().filter(|part| part.is_direct) {
            let FlowEnd::Attributed(category) = part.end else { continue };
            let turnover = self.0.get(&(category, part.entity.as_deref().map(Arc::from)));
            if let Some(Turnover { sum, outstanding }) = turnover
                && outstanding < sum
            {
                part.outstanding = Some(share(part.amount, *outstanding, *sum));
            }
        }
    }
}
