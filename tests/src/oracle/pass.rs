//! The passage of money through a transaction (`docs/model/trace.md` T6, T7).

use std::{cmp::Reverse, collections::BTreeSet};

use assay_engine::{
    evidence::{CarriedLabel, Direction, Tier, UnresolvedReason},
    taxonomy::Category,
    utxo::{ScriptOwner, TransactionKind, Txid},
};
use jiff::tz::TimeZone;
use num_bigint::BigUint;

use super::{
    flow::{Flow, Flows},
    ledger::{SideEntry, Transaction},
    parts::{End, MoveTime, Party},
    trace::DirectionTrace,
};

/// The inputs or outputs over which money is split.
pub(super) struct SplitEntries<'b> {
    /// The entries that were read, in their order.
    read: Vec<SideEntry<'b>>,
    /// Transactions whose fees are traced, with the fees.
    fees: Vec<(Txid, u128)>,
    /// Endpoints of money in this step, with values.
    rest: [(End, u128); 2],
    /// True for a transaction that pays the subject and of which no input that was read is its owner's.
    of_others: bool,
}

impl DirectionTrace<'_> {
    /// The `most_entries` largest inputs or outputs of a transaction; with `others`, without those of the subject.
    fn entries<'b>(
        &self,
        transaction: &Transaction<'b>,
        most_entries: usize,
        others: bool,
    ) -> SplitEntries<'b> {
        let subject = &self.case.subject;
        let (side, total, own) = match self.direction {
            Direction::Source => (
                transaction.inputs(most_entries),
                transaction.total(),
                transaction.given_by(subject),
            ),
            Direction::Destination => {
                (transaction.outputs(most_entries), transaction.paid(), transaction.got_by(subject))
            }
        };
        let (mut read, mut total) = (side.read, total);
        if others {
            // Of the subject's own transactions, what is a listed party's is read whatever its size.
            let all = match self.direction {
                Direction::Source => transaction.inputs(usize::MAX),
                Direction::Destination => transaction.outputs(usize::MAX),
            };
            let is_read: BTreeSet<usize> = read.iter().map(|leg| leg.index).collect();
            let more = all.read.into_iter().filter(|leg| !is_read.contains(&leg.index));
            read.extend(more.filter(|leg| self.is_listed(leg.owner)));
            read.sort_by_key(|leg| leg.index);
            read.retain(|leg| leg.owner != subject);
            total -= own;
        }
        let of_read: u128 = read.iter().map(|leg| leg.value).sum();
        let limit = End::Unresolved(UnresolvedReason::TraceLimit);
        let rest = match self.direction {
            Direction::Source => {
                let unknown = transaction.unknown();
                let origin = End::Unresolved(UnresolvedReason::UnknownOrigin);
                [(origin, unknown), (limit, total - unknown - of_read)]
            }
            Direction::Destination => {
                [(limit, total - of_read), (End::Fee, transaction.total() - transaction.paid())]
            }
        };
        SplitEntries { read, fees: Vec::new(), rest, of_others: false }
    }

    /// The origins of a coinbase, over which the money `mass` is split.
    fn origins_of_coinbase<'b>(
        &self,
        coinbase: &Transaction<'_>,
        mass: &BigUint,
    ) -> SplitEntries<'b> {
        let block = self.ledger.transactions.iter().filter(|other| other.height == coinbase.height);
        let fees = block.map(|payer| (payer.txid, payer.total() - payer.paid()));
        let mut fees: Vec<(Txid, u128)> = fees.filter(|(_, fee)| *fee > 0).collect();
        // Sorting keeps the order of equals.
        fees.sort_by_key(|(_, fee)| Reverse(*fee));
        let sum = |fees: &[(Txid, u128)]| fees.iter().map(|(_, fee)| fee).sum::<u128>();
        let of_fees = sum(&fees);
        let mut mined = coinbase.paid().saturating_sub(of_fees);
        if mined + of_fees == 0 {
            mined = 1;
        }
        let all = mined + of_fees;
        let (followed, little): (Vec<_>, Vec<_>) =
            fees.into_iter().partition(|(_, fee)| self.is_enough(&(mass * *fee / all), mass));
        let below = End::Unresolved(UnresolvedReason::BelowThreshold);
        let rest = [(below, sum(&little)), (End::Mining, mined)];
        SplitEntries { read: Vec::new(), fees: followed, rest, of_others: false }
    }

    fn is_of_coinbase(&self, transaction: &Transaction<'_>) -> bool {
        self.direction == Direction::Source && transaction.kind == TransactionKind::Coinbase
    }

    /// Number of inputs or outputs that are read of a transaction, or of a coinbase's fees that are traced.
    pub(super) fn count(
        &self,
        transaction: &Transaction<'_>,
        most_entries: usize,
        mass: &BigUint,
    ) -> u64 {
        let count = match self.direction {
            Direction::Source if self.is_of_coinbase(transaction) => {
                self.origins_of_coinbase(transaction, mass).fees.len()
            }
            Direction::Source => transaction.inputs(most_entries).read.len(),
            Direction::Destination => transaction.outputs(most_entries).read.len(),
        };
        u64::try_from(count).expect("a number of entries")
    }

    /// Passes income or spending through the subject's own transaction.
    pub(super) fn pass_own(
        &mut self,
        transaction: &Transaction<'_>,
        flow: Flow,
        most_entries: usize,
    ) {
        let mut flows = Flows::default();
        flows.add(flow);
        self.pass_over(transaction, flows, (most_entries, true));
    }

    /// Passes flows through a transaction.
    pub(super) fn pass(
        &mut self,
        transaction: &Transaction<'_>,
        flows: Flows,
        most_entries: usize,
    ) {
        self.pass_over(transaction, flows, (most_entries, false));
    }

    fn pass_over(
        &mut self,
        transaction: &Transaction<'_>,
        flows: Flows,
        (most_entries, others): (usize, bool),
    ) {
        let mut entries = if self.is_of_coinbase(transaction) {
            self.origins_of_coinbase(transaction, &flows.mass())
        } else {
            self.entries(transaction, most_entries, others)
        };
        let present: BTreeSet<ScriptOwner> =
            entries.read.iter().map(|leg| self.cluster(leg.owner)).collect();
        let subject = &self.case.subject;
        entries.of_others = others
            && self.direction == Direction::Source
            && transaction.given_by(subject) == 0
            && !present.contains(&self.cluster(subject));
        // T6.1
        let (mut together, mut staying) = (Flows::default(), Flows::default());
        for mut flow in flows.all() {
            if flow.cluster.as_ref().is_some_and(|cluster| present.contains(cluster)) {
                staying.add(flow.clone());
            }
            flow.cluster = None;
            together.add(flow);
        }
        for flow in together.all() {
            self.pass_flow(transaction, (&flow, &staying), &entries);
        }
    }

    fn pass_flow(
        &mut self,
        transaction: &Transaction<'_>,
        (flow, staying): (&Flow, &Flows),
        entries: &SplitEntries<'_>,
    ) {
        // T6.2 to T6.4
        let values = entries.read.iter().map(|leg| leg.value);
        let values = values.chain(entries.fees.iter().map(|(_, fee)| *fee));
        let weights: Vec<u128> =
            values.chain(entries.rest.iter().map(|(_, value)| *value)).collect();
        let mut parts = flow.split(&weights);
        self.shares += weights.len() as u64;
        let mut others = parts.split_off(entries.read.len());
        let sum: u128 = weights.iter().sum();
        for (leg, mut part) in entries.read.iter().zip(parts) {
            let mut of_owner = entries.read.iter().filter(|other| other.owner == leg.owner);
            let first = of_owner.next().expect("the entry itself").index;
            let to = (leg, first, entries.of_others);
            if let Some(of_cluster) = staying.of_cluster(flow, &self.cluster(leg.owner)) {
                let stays = of_cluster.stays(&mut part, leg.value, sum);
                self.shares += 1;
                self.pass_to(transaction, flow, to, stays);
            }
            self.pass_to(transaction, flow, to, part);
        }
        let ended = others.split_off(entries.fees.len());
        for ((payer, _), mut part) in entries.fees.iter().zip(others) {
            part.path.step(transaction, None);
            self.hop(&mut part);
            part.cluster = None;
            if self.is_at_limit(&part) {
                self.end_without_party(
                    End::Unresolved(UnresolvedReason::DepthLimit),
                    !flow.left,
                    part,
                );
            } else {
                self.queue_at_transaction(payer, part);
            }
        }
        for ((end, _), mut part) in entries.rest.iter().zip(ended) {
            part.path.step(transaction, None);
            self.hop(&mut part);
            self.join(transaction, entries.of_others, &mut part);
            self.end_without_party(*end, !flow.left, part);
        }
    }

    /// Passes a part of a flow to an input or output.
    fn pass_to(
        &mut self,
        transaction: &Transaction<'_>,
        flow: &Flow,
        (leg, first, of_others): (&SideEntry<'_>, usize, bool),
        mut part: Flow,
    ) {
        part.path.step(transaction, Some((leg.owner, first)));
        // T6.5
        let cluster = Some(self.cluster(leg.owner));
        if part.cluster != cluster {
            self.hop(&mut part);
            part.cluster = cluster;
        }
        // T6.6
        self.join(transaction, of_others, &mut part);
        // T7.1, T7.2
        let is_direct = !flow.left;
        if let ScriptOwner::Pool(pool) = leg.owner {
            let pool = Party::pool(pool.as_str());
            self.end_at_party(pool, (MoveTime::NotListed, None), is_direct, part);
            return;
        }
        if *leg.owner == self.case.subject {
            self.end_without_party(End::Returned, is_direct, part);
            return;
        }
        if self.direction == Direction::Destination && is_nobody(leg.owner) {
            self.end_without_party(End::Destroyed, is_direct, part);
            return;
        }
        let known = self.case.attribution(leg.owner);
        part.add_labels(known.carried);
        if let Some(end) = known.end {
            let moved = match (end.listed, end.listed_on) {
                (false, _) => (MoveTime::NotListed, None),
                (true, None) => (MoveTime::Undated, None),
                (true, Some(day)) => {
                    let listed = day.to_zoned(TimeZone::UTC).expect("midnight").timestamp();
                    if transaction.time < listed {
                        let seconds = listed.as_second() - transaction.time.as_second();
                        let days = u32::try_from((seconds + 86_399) / 86_400);
                        (MoveTime::Before, Some(days.expect("a number of days")))
                    } else {
                        (MoveTime::Since, None)
                    }
                }
            };
            self.end_at_party(Party::from(end), moved, is_direct, part);
            return;
        }
        // T7.3
        if self.is_at_limit(&part) {
            self.end_without_party(End::Unresolved(UnresolvedReason::DepthLimit), is_direct, part);
            return;
        }
        // T7.4
        self.queue_at_output(&leg.output, part);
    }

    fn is_at_limit(&self, part: &Flow) -> bool {
        self.case.rules.hops.is_some_and(|most| part.hops >= most)
    }

    /// Moves a part one hop further.
    fn hop(&self, part: &mut Flow) {
        part.hops += 1;
        if part.left {
            part.decayed = part.decayed.times(self.case.rules.decay);
        }
        part.left = true;
    }

    /// Adds the label of a joint transaction to a part that passes through it, one hop further away if only others take
    /// part in it.
    fn join(&self, transaction: &Transaction<'_>, of_others: bool, part: &mut Flow) {
        if let TransactionKind::Coinjoin(kind) = transaction.kind {
            let mut here = part.contact();
            if of_others {
                here.hops += 1;
                here.decayed = here.decayed.times(self.case.rules.decay);
            }
            let joint = CarriedLabel {
                tier: Tier::Heuristic,
                category: Category::Coinjoin,
                confidence: kind.confidence(),
                severity: self.case.rules.coinjoin_severity,
                entity: None,
                coinjoin: Some(kind),
            };
            part.add_labels_at(&here, vec![joint]);
        }
    }
}

/// True if no input can spend the owner's outputs.
pub(super) const fn is_nobody(owner: &ScriptOwner) -> bool {
    matches!(owner, ScriptOwner::Unspendable(_))
}
