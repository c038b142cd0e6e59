//! The start of a trace: the subject's own transactions, without change (`docs/model/trace.md` T3, T4).

use std::collections::BTreeSet;

use assay_engine::{
    evidence::{Direction, Solicitation, UnresolvedReason},
    utxo::ScriptOwner,
};

use super::{
    amounts::Mass,
    flow::{Flow, Labels},
    ledger::{SideEntry, Transaction},
    parts::End,
    paths::Path,
    trace::DirectionTrace,
};

impl<'a> DirectionTrace<'a> {
    /// A flow of the subject's own money, in base units.
    fn money(&self, base_units: u128, recent: bool, solicitation: Solicitation) -> Flow {
        let mass = Mass::from_base_units(base_units, recent, self.precision);
        let path = Path { steps: Vec::new(), amount: mass.total() };
        Flow {
            cluster: Some(self.cluster(&self.case.subject)),
            left: false,
            solicitation,
            labels: Labels::new(),
            decayed: mass.clone(),
            mass,
            hops: 0,
            path,
        }
    }

    /// Number of the subject's largest outputs that a trace reads.
    fn largest(&self) -> usize {
        usize::try_from(self.case.rules.transfers_per_address).expect("a number of transfers")
    }

    /// The transactions by which the subject received (or sent) its largest outputs, and, if other transactions are
    /// left out, the transactions with a listed counterparty. Each transaction comes with the number of its largest
    /// inputs (or outputs) that a trace reads.
    pub(super) fn own_transactions(
        &self,
        direction: Direction,
    ) -> Vec<(&'a Transaction<'a>, usize)> {
        let (subject, ledger) = (&self.case.subject, self.ledger);
        let largest = |direction| match direction {
            Direction::Source => ledger.incoming(subject, self.largest()),
            Direction::Destination => ledger.outgoing(subject, self.largest()),
        };
        let with_room = |transactions: Vec<&'a Transaction<'a>>, direction| {
            let moved = |transaction: &Transaction<'_>| match direction {
                Direction::Source => transaction.got_by(subject),
                Direction::Destination => transaction.given_by(subject),
            };
            let count = |transaction: &Transaction<'_>| match direction {
                Direction::Source => transaction.inputs.len(),
                Direction::Destination => transaction.outputs.len(),
            };
            let all =
                usize::try_from(self.case.rules.entries_of_history).expect("a number of entries");
            let of_one = all.min(5_000);
            let mut order: Vec<usize> = (0..transactions.len()).collect();
            // Sorting keeps the order of equals.
            order.sort_by_key(|index| std::cmp::Reverse(moved(transactions[*index])));
            let (mut left, mut most_entries) = (all, vec![of_one; transactions.len()]);
            for index in order {
                let wanted = count(transactions[index]).min(of_one);
                if wanted > left {
                    most_entries[index] = left;
                }
                left = left.saturating_sub(wanted);
            }
            transactions.into_iter().zip(most_entries).collect::<Vec<_>>()
        };
        let is_whole = [Direction::Source, Direction::Destination].into_iter().all(|direction| {
            let own = with_room(largest(direction), direction);
            let all_read = own.iter().all(|(transaction, most_entries)| match direction {
                Direction::Source => transaction.inputs.len() <= *most_entries,
                Direction::Destination => transaction.outputs.len() <= *most_entries,
            });
            let moved = own.iter().map(|(transaction, _)| match direction {
                Direction::Source => transaction.income(subject),
                Direction::Destination => transaction.spending(subject),
            });
            let total = match direction {
                Direction::Source => self.received(),
                Direction::Destination => self.sent(),
            };
            all_read && moved.sum::<u128>() == total
        });
        if is_whole {
            return with_room(largest(direction), direction);
        }
        let chosen: BTreeSet<(u64, usize)> =
            largest(direction).iter().map(|transaction| transaction.position).collect();
        let is_dealing = |transaction: &Transaction<'_>| {
            let gave = |is_of: &dyn Fn(&ScriptOwner) -> bool| {
                transaction.inputs.iter().flat_map(|input| &input.spent).any(|it| is_of(&it.owner))
            };
            let got = |is_of: &dyn Fn(&ScriptOwner) -> bool| {
                transaction.outputs.iter().any(|output| is_of(&output.owner))
            };
            let own = |owner: &ScriptOwner| owner == subject;
            let listed = |owner: &ScriptOwner| self.is_listed(owner);
            match direction {
                Direction::Source => got(&own) && gave(&listed),
                Direction::Destination => gave(&own) && got(&listed),
            }
        };
        let all = ledger.transactions.iter();
        let own = all.filter(|transaction| {
            chosen.contains(&transaction.position) || is_dealing(transaction)
        });
        with_room(own.collect(), direction)
    }

    /// Number of the largest inputs that a trace reads of a transaction that pays the subject.
    pub(super) fn most_entries(&self, transaction: &Transaction<'_>) -> usize {
        let own = self.incoming.iter();
        let found = own.filter(|(other, _)| other.position == transaction.position);
        found.map(|(_, most_entries)| *most_entries).next().expect("a transaction of the subject")
    }

    /// True if a list in force names the owner.
    pub(super) fn is_listed(&self, owner: &ScriptOwner) -> bool {
        self.case.attribution(owner).end.is_some_and(|end| end.listed)
    }

    fn received(&self) -> u128 {
        let transactions = self.ledger.transactions.iter();
        transactions.map(|transaction| transaction.income(&self.case.subject)).sum()
    }

    pub(super) fn sent(&self) -> u128 {
        let transactions = self.ledger.transactions.iter();
        transactions.map(|transaction| transaction.spending(&self.case.subject)).sum()
    }

    /// Total that the subject received, including amounts before the first known block.
    pub(super) fn total_received(&self) -> u128 {
        self.received().max(self.sent())
    }

    /// Ends money that belongs to no traced transaction, at one hop.
    fn untraced(&mut self, base_units: u128, reason: UnresolvedReason) {
        let flow = Flow { hops: 1, ..self.money(base_units, false, Solicitation::Solicited) };
        self.end_without_party(End::Unresolved(reason), true, flow);
    }

    pub(super) fn begin(&mut self) {
        match self.direction {
            Direction::Source => self.pass_income(),
            Direction::Destination => self.pass_spending(),
        }
    }

    fn pass_income(&mut self) {
        let subject = &self.case.subject;
        let mut read = 0;
        for (transaction, most_entries) in self.incoming.clone() {
            self.own_entries.insert(transaction.txid, most_entries);
            let income = transaction.income(subject);
            read += income;
            let solicitation = self.solicitation(transaction);
            let flow = self.money(income, self.is_recent(transaction.time), solicitation);
            self.pass_own(transaction, flow, most_entries);
        }
        self.untraced(self.received() - read, UnresolvedReason::TraceLimit);
        self.untraced(self.total_received() - self.received(), UnresolvedReason::UnknownOrigin);
    }

    fn pass_spending(&mut self) {
        let subject = &self.case.subject;
        let mut read = 0;
        for (transaction, most_entries) in self.outgoing.clone() {
            self.own_entries.insert(transaction.txid, most_entries);
            let spending = transaction.spending(subject);
            read += spending;
            let flow =
                self.money(spending, self.is_recent(transaction.time), Solicitation::Solicited);
            self.pass_own(transaction, flow, most_entries);
        }
        self.untraced(self.sent() - read, UnresolvedReason::TraceLimit);

        let held = self.total_received() - self.sent();
        let mut lately = 0;
        for (transaction, _) in self.incoming.clone() {
            if self.is_recent(transaction.time) {
                lately += transaction.income(subject).min(self.unspent(transaction));
            }
        }
        let lately = lately.min(held);
        for (amount, recent) in [(held - lately, false), (lately, true)] {
            let flow = self.money(amount, recent, Solicitation::Solicited);
            self.end_without_party(End::Balance, true, flow);
        }
    }

    /// Amount that a transaction paid the subject and the subject did not pass on.
    fn unspent(&self, transaction: &Transaction<'_>) -> u128 {
        let own = self.own_outputs(transaction).into_iter();
        let unspent = own.filter(|leg| self.ledger.spender(&leg.output).is_none());
        unspent.map(|leg| leg.value).sum()
    }

    pub(super) fn own_outputs<'b>(&self, transaction: &Transaction<'b>) -> Vec<SideEntry<'b>> {
        let mut outputs = transaction.outputs(usize::MAX).read;
        outputs.retain(|leg| *leg.owner == self.case.subject);
        outputs
    }
}
