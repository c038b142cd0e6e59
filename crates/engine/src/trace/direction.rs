//! One direction of a trace: money goes from transaction to transaction, in one order, until it ends.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use super::{
    Attribute, Attribution, Clusters, ReadRequest, ReadResponse, TraceRules,
    ends::{EndedFlow, Ends},
    flow::{Flow, FlowKey, Flows},
    frontier::{Frontier, Place, Rank, Read},
    mass::{Mass, scaled},
    path::Paths,
    side::Side,
};
use crate::{
    evidence::{Direction, FlowEnd, Solicitation, UnresolvedReason},
    utxo::{ScriptOwner, TransactionKind, TransactionView, Txid},
};

/// Number of transactions of a request, at most.
const READ_AT_ONCE: usize = 128;
/// Number of transactions that may be read ahead in vain for each request. Along a chain of payments nothing is, so
/// that each request reads further ahead than the one before. Reading ahead changes no answer.
const READ_IN_VAIN: u64 = 4;
/// Number of transactions read ahead with one request, at most.
const MOST_READ_AHEAD: u64 = 1_024;
/// A trace splits flows at most so many times for each entry of its budget: a bound of its computing time.
const SPLITS_OF_ENTRY: u64 = 20;
/// One in so many parts of a direction's whole may be cut.
const CUT_ONE_IN: u128 = 100;

/// One direction of a trace.
pub(super) struct DirectionalTrace<'a> {
    pub(super) direction: Direction,
    pub(super) subject: ScriptOwner,
    pub(super) rules: TraceRules,
    pub(super) attribute: &'a Attribute<'a>,
    pub(super) attributions: HashMap<ScriptOwner, Arc<Attribution>>,
    /// The direction's total in base units.
    pub(super) whole: u128,
    pub(super) frontier: Frontier,
    requests: u64,
    /// Times that a place was read ahead although it had been read before.
    read_again: u64,
    /// Transactions that money has passed.
    passed: HashSet<Txid>,
    entries_read: u64,
    splits: u64,
    pub(super) ends: Ends,
    pub(super) paths: Paths,
    /// False if something was not read that should have been.
    pub(super) is_complete: bool,
}

impl<'a> DirectionalTrace<'a> {
    pub(super) fn new(
        direction: Direction,
        subject: &ScriptOwner,
        whole: u128,
        rules: TraceRules,
        attribute: &'a Attribute<'a>,
    ) -> Self {
        Self {
            direction,
            subject: subject.clone(),
            rules,
            attribute,
            attributions: HashMap::new(),
            whole,
            frontier: Frontier::new(scaled(whole)),
            requests: 0,
            read_again: 0,
            passed: HashSet::new(),
            entries_read: 0,
            splits: 0,
            ends: Ends::keeping(rules.paths_per_part),
            paths: Paths::default(),
            is_complete: true,
        }
    }

    /// Follows the money as far as what was read allows.
    pub(super) fn advance(&mut self, clusters: &Clusters) {
        while let Some(next) = self.frontier.next() {
            if next.level >= self.rules.cut_magnitude() && self.rest_is_little() {
                self.end_waiting(UnresolvedReason::BelowThreshold);
                return;
            }
            if next.rank.is_none() {
                // All of one level are looked at before money goes on, so that what comes together at a
                // transaction goes on together.
                let places = self.frontier.places_without_rank(next.level);
                if places.iter().any(|place| self.frontier.read(*place).is_none()) {
                    return;
                }
                for place in places {
                    self.look_at(place);
                }
            } else if let Some(Read::Known(transaction)) = self.frontier.read(next.place).cloned() {
                let flows = self.frontier.take(next.place);
                self.expand(&transaction, flows, clusters);
            } else {
                // Not reached: a place has a rank once its transaction is known.
                self.end_at(next.place, FlowEnd::Unresolved(UnresolvedReason::TraceLimit));
            }
        }
    }

    /// Gives the money at a place its rank, by the transaction that was read for it, or ends it.
    fn look_at(&mut self, place: Place) {
        let end = match (place, self.frontier.read(place).cloned()) {
            (Place::Output(_), Some(Read::Known(spender))) => return self.move_to(place, spender),
            (Place::Transaction(_), Some(Read::Known(transaction))) => {
                let rank = Rank::new(self.direction, transaction.height);
                return self.frontier.rank(place, rank);
            }
            (Place::Output(_), Some(Read::Unknown)) => FlowEnd::Unspent,
            (Place::Transaction(_), Some(Read::Unknown)) => {
                FlowEnd::Unresolved(UnresolvedReason::UnknownOrigin)
            }
            (_, Some(Read::Missing) | None) => {
                self.is_complete = false;
                FlowEnd::Unresolved(UnresolvedReason::TraceLimit)
            }
        };
        self.end_at(place, end);
    }

    /// True if all money that waits may be cut.
    fn rest_is_little(&self) -> bool {
        let rest = self.frontier.total;
        rest < scaled(self.rules.stop_trace_below)
            && rest.saturating_mul(CUT_ONE_IN) <= scaled(self.whole)
    }

    /// Adds what this direction waits for to a request.
    pub(super) fn request(&mut self, request: &mut ReadRequest) {
        let places: Vec<Place> = self.frontier.unread().take(READ_AT_ONCE).collect();
        if places.is_empty() {
            return;
        }
        let in_vain = self.frontier.read_in_vain() + self.read_again;
        let ahead = (READ_IN_VAIN * self.requests).saturating_sub(in_vain);
        let ahead = u32::try_from(ahead.min(MOST_READ_AHEAD)).unwrap_or(u32::MAX);
        self.requests += 1;
        match self.direction {
            Direction::Source => request.origins_ahead = ahead,
            Direction::Destination => request.destinations_ahead = ahead,
        }
        for place in places {
            match place {
                Place::Output(output) => request.destinations.push(output),
                Place::Transaction(txid) => request.origins.push(txid),
            }
        }
    }

    /// Takes over what was read for `request`, and beyond it.
    pub(super) fn supply(&mut self, request: &ReadRequest, response: &ReadResponse) {
        match self.direction {
            Direction::Source => {
                let asked = request.origins.iter().copied().map(Place::Transaction);
                let found = response.origins.iter();
                self.supply_places(
                    asked,
                    found.map(|(of, found)| (Place::Transaction(*of), found)),
                );
            }
            Direction::Destination => {
                let asked = request.destinations.iter().copied().map(Place::Output);
                let found = response.destinations.iter();
                self.supply_places(asked, found.map(|(of, found)| (Place::Output(*of), found)));
            }
        }
    }

    fn supply_places<'r>(
        &mut self,
        asked: impl Iterator<Item = Place>,
        found: impl Iterator<Item = (Place, &'r Option<Arc<TransactionView>>)>,
    ) {
        for (place, found) in found {
            if self.frontier.read(place).is_some() {
                self.read_again += 1;
            }
            self.frontier.supply(place, found.into());
        }
        // What was asked for and is not there is missing: what was read counts first.
        asked.for_each(|place| self.frontier.supply(place, Read::Missing));
    }

    /// Moves the money at an output to the transaction that spends it.
    fn move_to(&mut self, place: Place, spender: Arc<TransactionView>) {
        let transaction = Place::Transaction(spender.txid);
        let rank = Rank::new(self.direction, spender.height);
        for (key, flow) in self.frontier.take(place).0 {
            self.frontier.add(transaction, key, flow, &self.paths);
        }
        self.frontier.rank(transaction, rank);
        self.frontier.supply(transaction, Read::Known(spender));
    }

    /// Ends all money at a place.
    fn end_at(&mut self, place: Place, end: FlowEnd) {
        for (key, flow) in self.frontier.take(place).0 {
            self.end_waited(end, &key, &flow);
        }
    }

    /// Ends all money that waits.
    fn end_waiting(&mut self, reason: UnresolvedReason) {
        while let Some(next) = self.frontier.next() {
            self.end_at(next.place, FlowEnd::Unresolved(reason));
        }
    }

    fn end_waited(&mut self, end: FlowEnd, key: &FlowKey, flow: &Flow) {
        let is_direct = flow.hops <= 1 && flow.decayed == flow.mass;
        self.ends.plain(end, &EndedFlow { key, flow, is_direct });
    }

    /// Ends what is left, if anything: time ran out.
    pub(super) fn finish(mut self) -> (Ends, Paths, u128, bool) {
        if !self.frontier.is_empty() {
            self.is_complete = false;
            self.end_waiting(UnresolvedReason::TraceLimit);
        }
        (self.ends, self.paths, self.whole, self.is_complete)
    }

    /// Ends an amount of the subject without a single transaction: its balance, and what was not read.
    pub(super) fn aggregate(&mut self, end: FlowEnd, hops: u16, mass: Mass) {
        self.ends.aggregate(end, hops, mass);
    }

    /// Passes money through one of the subject's own transactions. `own` is what the subject itself has on
    /// this side of it, which is no income and no spending.
    pub(super) fn begin(
        &mut self,
        transaction: &TransactionView,
        mass: Mass,
        solicitation: Solicitation,
        own: u128,
        clusters: &Clusters,
    ) {
        let key = FlowKey {
            owner: Some(clusters.of(&self.subject).clone()),
            has_left: false,
            solicitation,
            carried: Arc::from([]),
        };
        let flows = Flows::one(key, Flow::of(mass));
        let side = self.side(transaction, Some((&self.subject, own)), &flows);
        self.pass(transaction, &side, flows, clusters);
    }

    /// Where these flows go on from a transaction, without the entries of `own` and their total.
    fn side<'t>(
        &self,
        transaction: &'t TransactionView,
        own: Option<(&ScriptOwner, u128)>,
        flows: &Flows,
    ) -> Side<'t> {
        if self.direction == Direction::Source && transaction.kind == TransactionKind::Coinbase {
            let least = self.rules.cut_magnitude();
            let is_little = |amount| amount == 0 || self.frontier.magnitude(amount) >= least;
            return Side::of_coinbase(transaction, flows.total(), is_little);
        }
        Side::new(self.direction, transaction, own)
    }

    /// Passes money through a transaction, within the budget.
    fn expand(&mut self, transaction: &TransactionView, flows: Flows, clusters: &Clusters) {
        let side = self.side(transaction, None, &flows);
        let entries = side.count();
        let is_first = !self.passed.contains(&transaction.txid);
        let read = if is_first { entries } else { 0 };
        // Every flow is split over every entry.
        let splits = entries.saturating_mul(flows.0.len() as u64);
        let budget = u64::from(self.rules.entries);
        if self.entries_read + read > budget || self.splits + splits > SPLITS_OF_ENTRY * budget {
            for (key, flow) in &flows.0 {
                self.end_waited(FlowEnd::Unresolved(UnresolvedReason::TraceLimit), key, flow);
            }
            return;
        }
        self.passed.insert(transaction.txid);
        self.entries_read += read;
        self.splits += splits;
        self.pass(transaction, &side, flows, clusters);
    }
}
