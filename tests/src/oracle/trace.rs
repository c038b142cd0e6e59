//! The rules of `docs/model/trace.md` (T5 to T12), paragraph by paragraph, over a whole chain in memory, without regard
//! to speed.

use std::collections::{BTreeMap, BTreeSet};

use assay_engine::{
    evidence::{Direction, UnresolvedReason},
    ledger::ENTRIES_PER_TRANSACTION,
    utxo::{OutPoint, ScriptOwner, Txid},
};
use jiff::{Timestamp, ToSpan, tz::TimeZone};
use num_bigint::BigUint;

use super::{
    Case,
    amounts::{Precision, SCALE_BITS},
    drive::UnreadTransactions,
    flow::{Flow, Flows},
    ledger::{Ledger, Transaction},
    outstanding::Turnovers,
    parts::{End, Parts},
};

/// A location at which flows wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum FlowLocation {
    /// A transaction that was not looked up yet.
    Unseen(Txid),
    /// An output that was not looked up yet.
    Output(OutPoint),
    /// A transaction of the ledger, by its number.
    Transaction(usize),
}

/// Result of a trace in one direction.
#[derive(Debug)]
pub(super) struct TraceResult {
    pub(super) parts: Parts,
    /// True if all transactions and outputs that were looked up could be read.
    pub(super) complete: bool,
    /// Number of shares into which flows were split.
    pub(super) shares: u64,
    /// Number of transactions that money passed.
    pub(super) transactions: u32,
    /// Number of entries that are read of each of the subject's own transactions.
    pub(super) own_entries: OwnEntries,
    /// Turnovers with direct counterparties.
    pub(super) turnovers: Turnovers,
}

/// State of a trace in one direction.
pub(super) struct DirectionTrace<'a> {
    pub(super) case: &'a Case,
    pub(super) ledger: &'a Ledger<'a>,
    pub(super) direction: Direction,
    pub(super) precision: Precision,
    unread: UnreadTransactions,
    /// The subject's own transactions, each with the number of its inputs (or outputs) that are read.
    pub(super) incoming: Vec<(&'a Transaction<'a>, usize)>,
    pub(super) outgoing: Vec<(&'a Transaction<'a>, usize)>,
    /// The total amount of the direction.
    whole: BigUint,
    waiting: BTreeMap<FlowLocation, Flows>,
    /// The largest magnitude that was traced so far.
    level: u64,
    /// Transactions that money passed.
    passed: BTreeSet<Txid>,
    /// Number of entries of all transactions that money passed, each counted once.
    once: u64,
    /// Number of entries of all transactions that money passed, counted each time.
    each_time: u64,
    pub(super) parts: Parts,
    complete: bool,
    pub(super) shares: u64,
    /// Number of entries that are read of each of the subject's own transactions.
    pub(super) own_entries: OwnEntries,
}

/// Number of entries that are read of each of the subject's own transactions.
pub(super) type OwnEntries = BTreeMap<Txid, usize>;

/// Follows the money of a case in one direction.
pub(super) fn trace(
    case: &Case,
    ledger: &Ledger<'_>,
    direction: Direction,
    precision: Precision,
    unread: UnreadTransactions,
) -> TraceResult {
    let mut walk = DirectionTrace {
        case,
        ledger,
        direction,
        precision,
        unread,
        incoming: Vec::new(),
        outgoing: Vec::new(),
        whole: BigUint::ZERO,
        waiting: BTreeMap::new(),
        level: 0,
        passed: BTreeSet::new(),
        once: 0,
        each_time: 0,
        parts: Parts::default(),
        complete: true,
        shares: 0,
        own_entries: OwnEntries::new(),
    };
    walk.whole = BigUint::from(walk.total_received()) << SCALE_BITS;
    walk.incoming = walk.own_transactions(Direction::Source);
    walk.outgoing = walk.own_transactions(Direction::Destination);
    walk.begin();
    walk.pass_all();
    let transactions = u32::try_from(walk.passed.len()).expect("a number of transactions");
    let turnovers = walk.turnovers();
    let own_entries = walk.own_entries;
    TraceResult {
        parts: walk.parts,
        complete: walk.complete,
        shares: walk.shares,
        transactions,
        own_entries,
        turnovers,
    }
}

impl DirectionTrace<'_> {
    /// The cluster of an owner.
    pub(super) fn cluster(&self, owner: &ScriptOwner) -> ScriptOwner {
        self.ledger.clusters.get(owner).unwrap_or(owner).clone()
    }

    pub(super) fn is_recent(&self, time: Timestamp) -> bool {
        let first_day = self.case.today - 90.days();
        time >= first_day.to_zoned(TimeZone::UTC).expect("midnight").timestamp()
    }

    /// Queues a flow at the transaction to which its output leads.
    pub(super) fn queue_at_output(&mut self, output: &OutPoint, flow: Flow) {
        match self.direction {
            Direction::Source => self.queue_at_transaction(&output.txid, flow),
            Direction::Destination => {
                if !flow.mass.is_zero() {
                    self.waiting.entry(FlowLocation::Output(*output)).or_default().add(flow);
                }
            }
        }
    }

    /// Queues a flow at a transaction.
    pub(super) fn queue_at_transaction(&mut self, txid: &Txid, flow: Flow) {
        let Some(number) = self.ledger.number(txid) else {
            return self.end_waiting(End::Unresolved(UnresolvedReason::UnknownOrigin), flow);
        };
        if !flow.mass.is_zero() {
            // Where money waits already, it joins that money.
            let number = Some(FlowLocation::Transaction(number));
            let number = number.filter(|number| self.waiting.contains_key(number));
            let place = number.unwrap_or(FlowLocation::Unseen(*txid));
            self.waiting.entry(place).or_default().add(flow);
        }
    }

    /// Looks up the location of a flow: queues the flow at the transaction, or ends it.
    fn locate(&mut self, place: FlowLocation, flow: Flow) {
        let unresolved = |reason| End::Unresolved(reason);
        let (txid, number, nothing) = match place {
            FlowLocation::Unseen(txid) => {
                (txid, self.ledger.number(&txid), unresolved(UnresolvedReason::UnknownOrigin))
            }
            FlowLocation::Output(output) => {
                (output.txid, self.ledger.spender_number(&output), End::Unspent)
            }
            FlowLocation::Transaction(_) => unreachable!("it is in its place"),
        };
        if !self.unread.reads(&txid) {
            self.complete = false;
            self.end_waiting(unresolved(UnresolvedReason::TraceLimit), flow);
            return;
        }
        match number {
            Some(number) => {
                self.waiting.entry(FlowLocation::Transaction(number)).or_default().add(flow);
            }
            None => self.end_waiting(nothing, flow),
        }
    }

    /// Ends a waiting flow.
    fn end_waiting(&mut self, end: End, flow: Flow) {
        let is_direct = flow.hops <= 1 && flow.decayed.equals(&flow.mass);
        self.end_without_party(end, is_direct, flow);
    }

    /// floor(log2(whole / mass)).
    fn magnitude(&self, mass: &BigUint) -> u64 {
        magnitude(&self.whole, mass)
    }

    /// True if a fee's part of all money at a coinbase is large enough to be traced.
    pub(super) fn is_enough(&self, part: &BigUint, all: &BigUint) -> bool {
        let is_cut = |least| magnitude(all, part) >= least || self.magnitude(all) >= least;
        *part > BigUint::ZERO && !self.least_magnitude_of_cut().is_some_and(is_cut)
    }

    /// The smallest magnitude at which money may be cut.
    fn least_magnitude_of_cut(&self) -> Option<u64> {
        let share = u64::from(self.case.rules.stop_below_share_millionths);
        if share == 0 {
            return None;
        }
        (0..64).take_while(|power| share << power <= 1_000_000).last().or(Some(0))
    }

    fn pass_all(&mut self) {
        loop {
            let magnitudes: BTreeMap<FlowLocation, u64> = self
                .waiting
                .iter()
                .map(|(place, flows)| (*place, self.magnitude(&flows.mass())))
                .collect();
            let Some(least) = magnitudes.values().min().copied() else { return };
            self.level = self.level.max(least);
            if self.is_below_threshold() {
                for flow in std::mem::take(&mut self.waiting).into_values().flat_map(Flows::all) {
                    self.end_waiting(End::Unresolved(UnresolvedReason::BelowThreshold), flow);
                }
                return;
            }
            let places: Vec<FlowLocation> = magnitudes
                .into_iter()
                .filter(|(_, magnitude)| *magnitude <= self.level)
                .map(|(one, _)| one)
                .collect();
            let unseen: Vec<FlowLocation> = places
                .iter()
                .filter(|place| !matches!(place, FlowLocation::Transaction(_)))
                .copied()
                .collect();
            if unseen.is_empty() {
                self.pass_first(&places);
            }
            for place in unseen {
                let flows = self.waiting.remove(&place).expect("money waits there");
                for flow in flows.all() {
                    self.locate(place, flow);
                }
            }
        }
    }

    fn is_below_threshold(&self) -> bool {
        let waiting: BigUint = self.waiting.values().map(Flows::mass).sum();
        self.least_magnitude_of_cut().is_some_and(|least| self.level >= least)
            && waiting < BigUint::from(self.case.rules.stop_trace_below) << SCALE_BITS
            && waiting * 100_u32 <= self.whole
    }

    /// Passes all flows at the first of these transactions through it, unless the trace limit is reached.
    fn pass_first(&mut self, places: &[FlowLocation]) {
        let number = |place: &FlowLocation| match place {
            FlowLocation::Transaction(number) => *number,
            _ => unreachable!("all were looked at"),
        };
        let first = match self.direction {
            Direction::Source => places.iter().max_by_key(|place| number(place)),
            Direction::Destination => places.iter().min_by_key(|place| number(place)),
        };
        let transactions = &self.ledger.transactions;
        let first = first.expect("money waits somewhere");
        let flows = self.waiting.remove(first).expect("money waits there");
        let transaction = &transactions[number(first)];

        let flows = flows.with_few_labels();
        let most_entries = usize::try_from(ENTRIES_PER_TRANSACTION).expect("a number of entries");
        let entries = self.count(transaction, most_entries, &flows.mass());
        let budget = u64::from(self.case.rules.entries);
        let once = if self.passed.contains(&transaction.txid) { 0 } else { entries };
        let transactions =
            self.passed.len() + usize::from(!self.passed.contains(&transaction.txid));
        let transactions = u64::try_from(transactions).expect("a number of transactions");
        let splits = entries * u64::try_from(flows.kinds()).expect("a number of flows");
        if transactions > u64::from(self.case.rules.transactions)
            || self.once + once > budget
            || self.each_time + splits > 4 * budget
        {
            for flow in flows.all() {
                self.end_waiting(End::Unresolved(UnresolvedReason::TraceLimit), flow);
            }
            return;
        }
        self.passed.insert(transaction.txid);
        self.once += once;
        self.each_time += splits;
        self.pass(transaction, flows, most_entries);
    }
}

/// floor(log2(whole / mass)).
fn magnitude(whole: &BigUint, mass: &BigUint) -> u64 {
    // No mass has that many bits.
    let fits = (0..1024_u64).take_while(|power| (mass << power) <= *whole);
    fits.last().expect("no more than the whole")
}
