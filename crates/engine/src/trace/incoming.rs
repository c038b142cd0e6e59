//! The subject's incoming transactions, and what shows whether it asked for their funds
//! (`docs/model/score.md` S5.1, S5.3).

use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::FxHashSet;

use super::subject::{Subject, recent_since};
use crate::{
    evidence::{Direction, Solicitation},
    ledger::{OwnTransaction, OwnerNumber, TransactionNumber},
    reading::{TransactionRead, ViewError},
    utxo::TransactionKind,
};

/// Largest sum of one sender's dust, as a multiple of the largest dust payment.
const DUST_PAYMENTS_OF_ONE_SENDER: u128 = 20;

/// An incoming transaction.
pub(super) struct IncomingTransaction {
    pub(super) own: OwnTransaction,
    /// Number of the largest inputs that are read.
    pub(super) most: u32,
    pub(super) income: u128,
    pub(super) is_recent: bool,
    pub(super) solicitation: Solicitation,
}

impl Subject<'_> {
    /// The incoming transactions, each with its solicitation as far as the senders show it.
    pub(super) fn incoming(self) -> Result<Vec<IncomingTransaction>, ViewError> {
        let Self { view, owner, history, rules, today, .. } = self;
        let since = recent_since(today);
        let most = self.entries_of_each(&history.incoming, Direction::Source)?;
        let mut payees: Option<Payees> = None;
        let mut small: Vec<SmallPayment> = Vec::new();
        let mut read = TransactionRead::default();
        let mut all = Vec::with_capacity(history.incoming.len());
        for (own, most) in history.incoming.iter().zip(most) {
            let income = own.income(own.inputs);
            let is_little = (1..=rules.largest_dust).contains(&income);
            // Who asks about a deposit asked for it.
            let is_untouched = income > 0 && !own.is_passed_on && owner != OwnerNumber::NOBODY;
            let mut solicitation = Solicitation::Solicited;
            if is_little || is_untouched {
                view.read(own.number, Direction::Source, most, &mut read)?;
                if let Some(senders) = self.other_senders(&read)? {
                    if is_untouched {
                        let payees = match &mut payees {
                            Some(known) => known,
                            unknown => unknown.insert(self.payees()?),
                        };
                        if payees.all && !senders.iter().any(|it| payees.known.contains(it)) {
                            solicitation = if income < rules.unsolicited_below {
                                Solicitation::Unsolicited
                            } else {
                                Solicitation::Untouched
                            };
                        }
                    }
                    if is_little {
                        small.push(SmallPayment { number: own.number, income, senders });
                    }
                }
            }
            let is_recent = own.time >= since;
            all.push(IncomingTransaction { own: *own, most, income, is_recent, solicitation });
        }
        let dust = dust(&small, rules.largest_dust);
        for incoming in &mut all {
            if dust.contains(&incoming.own.number) {
                incoming.solicitation = Solicitation::Dust;
            }
        }
        Ok(all)
    }

    /// The clusters of a transaction's senders; `None` if a sender is not known, if the subject's own cluster is among
    /// them, or if the coins are newly mined.
    pub(super) fn other_senders(
        self,
        read: &TransactionRead,
    ) -> Result<Option<BTreeSet<OwnerNumber>>, ViewError> {
        if read.kind == TransactionKind::Coinbase || !read.is_whole(Direction::Source) {
            return Ok(None);
        }
        let clusters = read.entries.iter().map(|input| self.view.cluster_of(input.owner));
        let senders = clusters.collect::<Result<BTreeSet<_>, ViewError>>()?;
        // The subject took part in a transaction that it signed, even with an input without value.
        Ok((!senders.contains(&self.cluster)).then_some(senders))
    }

    /// The clusters that the subject paid in the transactions that are read.
    fn payees(self) -> Result<Payees, ViewError> {
        let Self { view, history, .. } = self;
        let most = self.entries_of_each(&history.outgoing, Direction::Destination)?;
        let mut payees = Payees { known: FxHashSet::default(), all: true };
        let (mut spent, mut read) = (0, TransactionRead::default());
        for (own, most) in history.outgoing.iter().zip(most) {
            view.read(own.number, Direction::Destination, most, &mut read)?;
            spent += own.spending(own.inputs);
            payees.all &= read.is_whole(Direction::Destination);
            for output in &read.entries {
                payees.known.insert(view.cluster_of(output.owner)?);
            }
        }
        payees.all &= spent >= history.statistics.sent;
        Ok(payees)
    }
}

/// The owners that the subject paid.
struct Payees {
    /// Their clusters.
    known: FxHashSet<OwnerNumber>,
    /// True if all payments of the subject are known.
    all: bool,
}

/// A payment of a negligible amount.
struct SmallPayment {
    number: TransactionNumber,
    income: u128,
    /// The clusters of the payment's senders.
    senders: BTreeSet<OwnerNumber>,
}

/// The transactions whose income is dust: negligible amounts from senders whose such payments to the subject are small
/// in sum. Payments with incomplete data are not dust.
fn dust(small: &[SmallPayment], largest: u128) -> FxHashSet<TransactionNumber> {
    let mut sums: BTreeMap<OwnerNumber, u128> = BTreeMap::new();
    for SmallPayment { income, senders, .. } in small {
        for sender in senders {
            *sums.entry(*sender).or_default() += income;
        }
    }
    let most = largest.saturating_mul(DUST_PAYMENTS_OF_ONE_SENDER);
    let is_little = |sender: &OwnerNumber| sums.get(sender).is_some_and(|sum| *sum <= most);
    let dust = small.iter().filter(|small| small.senders.iter().all(is_little));
    dust.map(|small| small.number).collect()
}
