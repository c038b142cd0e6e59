//! Solicitation of what the subject received (`docs/model/score.md` S5.1, S5.3, S5.5).

use std::collections::{BTreeMap, BTreeSet};

use assay_engine::{
    evidence::Solicitation,
    ledger::ENTRIES_PER_TRANSACTION,
    policy::Role,
    utxo::{ScriptOwner, TransactionKind},
};
use num_bigint::BigUint;

use super::{amounts::small, ledger::Transaction, trace::DirectionTrace};

impl DirectionTrace<'_> {
    /// Solicitation of the income by a transaction.
    pub(super) fn solicitation(&self, transaction: &Transaction<'_>) -> Solicitation {
        let is_little = transaction.income(&self.case.subject) < self.case.rules.unsolicited_below;
        if self.is_dust(transaction) {
            Solicitation::Dust
        } else if self.is_unasked(transaction) && !self.is_moved(transaction) {
            if is_little { Solicitation::Unsolicited } else { Solicitation::Untouched }
        } else if self.is_repayment(transaction) {
            Solicitation::PaidBack
        } else {
            Solicitation::Solicited
        }
    }

    /// The clusters of the senders, if all are known and the subject's own cluster is not among them. `None` for a
    /// coinbase.
    fn senders(&self, transaction: &Transaction<'_>) -> Option<BTreeSet<ScriptOwner>> {
        let inputs = transaction.inputs(self.most_entries(transaction));
        if transaction.kind == TransactionKind::Coinbase || !inputs.whole {
            return None;
        }
        let senders: BTreeSet<ScriptOwner> =
            inputs.read.iter().map(|leg| self.cluster(leg.owner)).collect();
        (!senders.contains(&self.cluster(&self.case.subject))).then_some(senders)
    }

    /// The senders, if the transaction pays the subject at most the policy's amount of dust.
    fn senders_of_little(&self, transaction: &Transaction<'_>) -> Option<BTreeSet<ScriptOwner>> {
        let income = transaction.income(&self.case.subject);
        if income == 0 || income > self.case.rules.largest_dust {
            return None;
        }
        self.senders(transaction)
    }

    /// True if the transaction is dust: it pays at most the policy's amount, and its senders paid no more than 20 times
    /// that amount in such transactions.
    fn is_dust(&self, transaction: &Transaction<'_>) -> bool {
        let Some(senders) = self.senders_of_little(transaction) else { return false };
        let subject = &self.case.subject;
        senders.iter().all(|sender| {
            let incoming = self.incoming.iter().map(|(other, _)| *other);
            let little = incoming.filter(|other| {
                self.senders_of_little(other).is_some_and(|senders| senders.contains(sender))
            });
            let sum: u128 = little.map(|other| other.income(subject)).sum();
            sum <= 20 * self.case.rules.largest_dust
        })
    }

    /// True if the subject passed on any output of the transaction.
    fn is_moved(&self, transaction: &Transaction<'_>) -> bool {
        let own = self.own_outputs(transaction);
        own.iter().any(|leg| self.ledger.spender(&leg.output).is_some())
    }

    /// True if nobody asked for the transaction, as far as can be determined: the subject paid the owner of no input,
    /// neither before nor after.
    fn is_unasked(&self, transaction: &Transaction<'_>) -> bool {
        let Some(senders) = self.senders(transaction) else { return false };
        let (mut all_read, mut spent) = (true, 0);
        let mut paid = BTreeSet::new();
        for (transaction, most_entries) in &self.outgoing {
            let outputs = transaction.outputs(*most_entries);
            all_read &= outputs.whole;
            spent += transaction.spending(&self.case.subject);
            paid.extend(outputs.read.into_iter().map(|leg| self.cluster(leg.owner)));
        }
        all_read && spent == self.sent() && senders.is_disjoint(&paid)
    }

    /// The only sender of a transaction that is not joint.
    fn only_sender(&self, transaction: &Transaction<'_>) -> Option<ScriptOwner> {
        let mut senders = self.senders(transaction)?.into_iter();
        let only = senders.next()?;
        (transaction.kind == TransactionKind::Payment && senders.next().is_none()).then_some(only)
    }

    /// True if the transaction gives back what the subject sent: one owner alone, one of whose addresses in it harms
    /// payers, got at least as much before, less what it gave back before.
    fn is_repayment(&self, transaction: &Transaction<'_>) -> bool {
        let harms = |owner: &ScriptOwner| {
            let attribution = self.case.attribution(owner);
            let end = attribution.end.map(|end| end.category);
            let carried = attribution.carried.into_iter().map(|label| label.category);
            end.into_iter().chain(carried).any(|one| Role::HARMS_PAYERS.contains(&one))
        };
        let inputs = transaction.inputs(self.most_entries(transaction));
        let Some(sender) = self.only_sender(transaction) else { return false };
        if !inputs.read.iter().any(|leg| harms(leg.owner)) {
            return false;
        }
        // What was sent and what came, in the order of the chain; of one transaction, what came first.
        let mut dealings: BTreeMap<((u64, usize), u8), (bool, u128)> = BTreeMap::new();
        for (other, _) in &self.incoming {
            if self.only_sender(other).as_ref() == Some(&sender) {
                let income = other.income(&self.case.subject);
                let _ = dealings.insert((other.position, 0), (false, income));
            }
        }
        for (other, most_entries) in &self.outgoing {
            let amount = self.sent_to(&sender, other, *most_entries);
            let _ = dealings.insert((other.position, 1), (true, amount));
        }
        let mut owed = 0_u128;
        for ((position, _), (is_sent, amount)) in dealings {
            if is_sent {
                owed += amount;
            } else if position == transaction.position {
                return owed >= amount;
            } else {
                owed = owed.saturating_sub(amount);
            }
        }
        false
    }

    /// Amount that the subject sent to an owner by a transaction: whole outputs if its own cluster gave all inputs, else
    /// its part of them.
    fn sent_to(
        &self,
        receiver: &ScriptOwner,
        transaction: &Transaction<'_>,
        most_entries: usize,
    ) -> u128 {
        let subject = &self.case.subject;
        let own = self.cluster(subject);
        if *receiver == own {
            return 0;
        }
        let most = self.case.rules.entries_of_history.min(ENTRIES_PER_TRANSACTION);
        let inputs = transaction.inputs(usize::try_from(most).expect("a number of entries"));
        let is_own = transaction.kind == TransactionKind::Payment
            && inputs.whole
            && inputs.read.iter().all(|leg| self.cluster(leg.owner) == own);
        let outputs = transaction.outputs(most_entries).read.into_iter();
        let paid = outputs.filter(|leg| self.cluster(leg.owner) == *receiver);
        if is_own {
            return paid.map(|leg| leg.value).sum();
        }
        let fee = match transaction.kind {
            TransactionKind::Coinbase => 0,
            _ => transaction.total().saturating_sub(transaction.paid()),
        };
        let others = transaction.paid() - transaction.got_by(subject) + fee;
        let spending = BigUint::from(transaction.spending(subject));
        paid.filter(|_| others > 0).map(|leg| small(&spending * leg.value / others)).sum()
    }
}
