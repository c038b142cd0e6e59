//! The subject's own transactions: change is no income.

use std::collections::BTreeSet;

use assay_engine::{
    evidence::{FlowEnd, UnresolvedReason},
    utxo::TransactionKind,
};

use super::{
    amounts::Money,
    follow::{Flow, Walk},
    ledger::{Leg, Transaction},
    paths::Path,
};

impl Walk<'_> {
    /// Money of the subject itself, in base units.
    pub(super) fn own(&self, base_units: u128, recent: bool, asked: bool) -> Flow {
        let money = Money::of(self.means.arithmetic.amount(base_units), recent);
        Flow { money, asked, carried: Vec::new(), path: Path::default() }
    }

    pub(super) fn begin_source(&mut self) {
        let subject = &self.case.subject;
        let mut read = 0;
        let transactions = self.ledger.incoming(subject, self.largest());
        let room = self.room(transactions.len());
        for transaction in transactions {
            let income = transaction.income(subject);
            read += income;
            let recent = self.is_recent(transaction.time);
            let flow = self.own(income, recent, !self.is_unasked(transaction));
            self.back_through(transaction, &flow, 0, room);
        }
        let beyond = self.own(self.received() - read, false, true);
        self.end(FlowEnd::Unresolved(UnresolvedReason::TraceLimit), 1, &beyond);
        let before = self.own(self.whole() - self.received(), false, true);
        self.end(FlowEnd::Unresolved(UnresolvedReason::UnknownOrigin), 1, &before);
    }

    pub(super) fn begin_destination(&mut self) {
        let subject = &self.case.subject;
        let mut read = 0;
        let transactions = self.ledger.outgoing(subject, self.largest());
        let room = self.room(transactions.len());
        for transaction in transactions {
            let spending = transaction.spending(subject);
            read += spending;
            let flow = self.own(spending, self.is_recent(transaction.time), true);
            self.on_through(transaction, &flow, 0, room);
        }
        let beyond = self.own(self.sent() - read, false, true);
        self.end(FlowEnd::Unresolved(UnresolvedReason::TraceLimit), 1, &beyond);

        let held = self.whole() - self.sent();
        let mut lately = 0;
        for transaction in self.ledger.incoming(subject, self.largest()) {
            if self.is_recent(transaction.time) {
                lately += transaction.income(subject).min(self.unspent(transaction));
            }
        }
        let lately = lately.min(held);
        for (amount, recent) in [(held - lately, false), (lately, true)] {
            let flow = self.own(amount, recent, true);
            self.end(FlowEnd::Unspent, 0, &flow);
        }
    }

    /// Amount that a transaction paid the subject and the subject did not pass on.
    pub(super) fn unspent(&self, transaction: &Transaction<'_>) -> u128 {
        let own = self.own_outputs(transaction).into_iter();
        let unspent = own.filter(|leg| self.ledger.spender(&leg.output).is_none());
        unspent.map(|leg| leg.value).sum()
    }

    pub(super) fn own_outputs<'b>(&self, transaction: &Transaction<'b>) -> Vec<Leg<'b>> {
        let mut outputs = transaction.outputs(usize::MAX).read;
        outputs.retain(|leg| *leg.owner == self.case.subject);
        outputs
    }

    /// True if the transaction is unsolicited, as far as can be determined: the subject never paid
    /// any of the senders, none of the amount was passed on, and it is small.
    pub(super) fn is_unasked(&self, transaction: &Transaction<'_>) -> bool {
        let subject = &self.case.subject;
        if transaction.kind == TransactionKind::Coinbase
            || transaction
                .inputs
                .iter()
                .flat_map(|input| &input.spent)
                .any(|coin| coin.owner == *subject)
        {
            return false;
        }
        let incoming = self.ledger.incoming(subject, self.largest());
        let inputs = transaction.inputs(self.room(incoming.len()));
        let outgoing = self.ledger.outgoing(subject, self.largest());
        let room = self.room(outgoing.len());
        let mut all_read = inputs.whole;
        let mut paid = BTreeSet::new();
        let mut spent = 0;
        for transaction in outgoing {
            let outputs = transaction.outputs(room);
            all_read &= outputs.whole;
            spent += transaction.spending(subject);
            paid.extend(outputs.read.into_iter().map(|leg| leg.owner));
        }
        all_read &= spent == self.sent();
        let knows = inputs.read.iter().any(|leg| paid.contains(leg.owner));
        let passed_on = self
            .own_outputs(transaction)
            .iter()
            .any(|leg| self.ledger.spender(&leg.output).is_some());
        all_read
            && !knows
            && !passed_on
            && transaction.income(subject) < self.case.rules.unsolicited_below
    }
}
