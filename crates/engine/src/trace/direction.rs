//! One direction of a trace: follows funds from transaction to transaction in a fixed order until the funds end
//! (`docs/model/trace.md` T8 to T10).

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use super::{
    TraceRules,
    attribution::{Attributions, is_heard},
    ends::Ends,
    flow::{Flow, FlowKey, Flows},
    frontier::{Frontier, FrontierStep, Rank, magnitude},
    label_sets::LabelSet,
    passage::{Passage, Scratch},
    path::{PathTransaction, Paths},
    side::Side,
};
use crate::{
    evidence::{Direction, FlowEnd, Solicitation, UnresolvedReason},
    ledger::{ENTRIES_PER_TRANSACTION, Mass, OwnerNumber, TransactionNumber, mass::scaled},
    reading::{ChainView, LookupResult, ReadRequest, TransactionRead, ViewError, Waypoint},
    utxo::TransactionKind,
};

/// Fewest and most waypoints of one request; between these bounds, a request has the waypoints of one level. These
/// bounds do not change the result.
const REQUESTED_AT_ONCE: (usize, usize) = (128, 4_096);
/// Most splits of flows for each entry of the budget, which bounds the computing time of a trace.
const SPLITS_OF_ENTRY: u64 = 4;
/// Most flows at one transaction that differ in more than their owner and the labels that no rule hears.
const MOST_KINDS: u64 = 64;
/// At most this fraction (1/100) of a direction's funds may be cut off.
const CUT_ONE_IN: u128 = 100;

/// One direction of a trace.
pub(super) struct DirectionalTrace<'a> {
    pub(super) direction: Direction,
    pub(super) subject: OwnerNumber,
    /// Cluster of the subject.
    pub(super) cluster: OwnerNumber,
    pub(super) rules: TraceRules,
    pub(super) attributions: &'a dyn Attributions,
    /// Number of entries that are read of each of the subject's own transactions.
    pub(super) own_entries: FxHashMap<TransactionNumber, u32>,
    /// The total of the direction's funds in base units.
    pub(super) whole: u128,
    pub(super) frontier: Frontier,
    /// Transactions that funds have passed.
    passed: FxHashSet<TransactionNumber>,
    /// Number of these transactions that only funds passed that had left the subject's cluster before.
    passed_by_others: u64,
    pub(super) entries_read: u64,
    splits: u64,
    pub(super) ends: Ends,
    pub(super) paths: Paths,
    /// The transaction that was read last; `side` is the side over which funds are split.
    pub(super) read: TransactionRead,
    side: Side,
    pub(super) scratch: Scratch,
    /// False if a required read failed.
    pub(super) is_complete: bool,
}

/// State of a direction after [`DirectionalTrace::advance`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DirectionProgress {
    /// No funds wait to be followed.
    End,
    /// The next waypoints have not been read yet.
    Unread,
    /// The number of permitted steps is used up.
    Pause,
}

impl<'a> DirectionalTrace<'a> {
    pub(super) fn new(
        direction: Direction,
        (subject, cluster): (OwnerNumber, OwnerNumber),
        whole: u128,
        rules: TraceRules,
        attributions: &'a dyn Attributions,
    ) -> Self {
        Self {
            direction,
            subject,
            cluster,
            rules,
            attributions,
            own_entries: FxHashMap::default(),
            whole,
            frontier: Frontier::new(scaled(whole)),
            passed: FxHashSet::default(),
            passed_by_others: 0,
            entries_read: 0,
            splits: 0,
            ends: Ends::new(rules.paths_per_part),
            paths: Paths::default(),
            read: TransactionRead::default(),
            side: Side::default(),
            scratch: Scratch::default(),
            is_complete: true,
        }
    }

    /// Follows the funds as far as the view has data, over at most `steps` transactions.
    pub(super) fn advance(
        &mut self,
        view: &dyn ChainView,
        steps: &mut u32,
    ) -> Result<DirectionProgress, ViewError> {
        while let Some(next) = self.frontier.next() {
            if self.frontier.level >= self.rules.cut_magnitude() && self.rest_is_little() {
                self.end_waiting(view, UnresolvedReason::BelowThreshold)?;
                break;
            }
            match next {
                FrontierStep::LookupResult => {
                    // All of one level are looked up before money goes on, so that what comes together at a
                    // transaction goes on together.
                    let found: Option<Vec<_>> = self
                        .frontier
                        .unranked_of_level()
                        .map(|waypoint| match view.look_up(waypoint) {
                            Ok(LookupResult::Unread) => None,
                            found => Some(found.map(|found| (waypoint, found))),
                        })
                        .collect();
                    let Some(found) = found else { return Ok(DirectionProgress::Unread) };
                    for found in found {
                        let (waypoint, found) = found?;
                        self.go_on_from(waypoint, found);
                    }
                }
                FrontierStep::Pass(transaction) => {
                    if *steps == 0 {
                        return Ok(DirectionProgress::Pause);
                    }
                    *steps -= 1;
                    let flows = self.frontier.take(Waypoint::Transaction(transaction));
                    view.read(
                        transaction,
                        self.direction,
                        ENTRIES_PER_TRANSACTION,
                        &mut self.read,
                    )?;
                    self.expand(view, flows)?;
                }
            }
        }
        Ok(DirectionProgress::End)
    }

    /// Queues the funds at a waypoint by the position of the found transaction, or ends the trace of these funds.
    fn go_on_from(&mut self, waypoint: Waypoint, found: LookupResult) {
        let end = match (waypoint, found) {
            (_, LookupResult::Transaction { number, position }) => {
                let (to, rank) =
                    (Waypoint::Transaction(number), Rank::new(self.direction, position));
                for flow in self.frontier.take(waypoint) {
                    self.frontier.add(to, Some(rank), flow, &self.paths);
                }
                return;
            }
            (Waypoint::Output(_), LookupResult::Nothing) => FlowEnd::Unspent,
            (Waypoint::Transaction(_), LookupResult::Nothing) => {
                FlowEnd::Unresolved(UnresolvedReason::UnknownOrigin)
            }
            (_, LookupResult::Failed | LookupResult::Unread) => {
                self.is_complete = false;
                FlowEnd::Unresolved(UnresolvedReason::TraceLimit)
            }
        };
        self.end_at(waypoint, end);
    }

    /// True if all waiting funds may be cut off.
    fn rest_is_little(&self) -> bool {
        let rest = self.frontier.total;
        rest < scaled(self.rules.stop_trace_below)
            && rest.saturating_mul(CUT_ONE_IN) <= scaled(self.whole)
    }

    /// Adds the waypoints that this direction needs to a request. Funds at waypoints that were requested before and
    /// still have not been read end at these waypoints.
    pub(super) fn request(&mut self, request: &mut ReadRequest) {
        let before = request.transactions.len() + request.outputs.len();
        let (least, most) = REQUESTED_AT_ONCE;
        let count = self.frontier.unranked_of_level().take(most).count();
        self.frontier.ask(count.max(least), request);
        if request.transactions.len() + request.outputs.len() == before {
            let unread: Vec<Waypoint> = self.frontier.unranked_of_level().collect();
            for waypoint in unread {
                self.go_on_from(waypoint, LookupResult::Failed);
            }
        }
    }

    /// Ends the trace of all funds at a waypoint.
    fn end_at(&mut self, waypoint: Waypoint, end: FlowEnd) {
        for (key, flow) in self.frontier.take(waypoint) {
            self.end_waited(end, &key, &flow);
        }
    }

    /// Ends all waiting funds.
    fn end_waiting(
        &mut self,
        view: &dyn ChainView,
        reason: UnresolvedReason,
    ) -> Result<(), ViewError> {
        while let Some(waypoint) = self.frontier.any() {
            let flows = self.frontier.take(waypoint);
            self.stop_at(view, waypoint, reason, &flows)?;
        }
        Ok(())
    }

    pub(super) fn end_waited(&mut self, end: FlowEnd, key: &FlowKey, flow: &Flow) {
        let is_direct = flow.hops <= 1 && flow.decayed == flow.mass;
        self.ends.add_unattributed(end, (key, flow), is_direct);
    }

    /// Ends the remaining funds, because the time of the trace ran out.
    pub(super) fn stop(&mut self, view: &dyn ChainView) -> Result<(), ViewError> {
        if self.frontier.is_empty() {
            return Ok(());
        }
        self.is_complete = false;
        self.end_waiting(view, UnresolvedReason::TraceLimit)
    }

    /// Number of transactions that funds passed.
    pub(super) fn transactions_passed(&self) -> u32 {
        u32::try_from(self.passed.len()).unwrap_or(u32::MAX)
    }

    /// Adds an amount of the subject that belongs to no single transaction: its balance, and transactions that were not
    /// read.
    pub(super) fn aggregate(&mut self, end: FlowEnd, hops: u16, mass: Mass) {
        self.ends.aggregate(end, hops, mass);
    }

    /// Passes funds through one of the subject's own transactions. `own` is the subject's amount on this side (inputs
    /// or outputs), which is neither income nor spending.
    pub(super) fn begin(
        &mut self,
        view: &dyn ChainView,
        transaction: &TransactionRead,
        mass: Mass,
        solicitation: Solicitation,
        own: u128,
    ) -> Result<(), ViewError> {
        let key = FlowKey {
            owner: Some(self.cluster),
            has_left: false,
            solicitation,
            carried: LabelSet::EMPTY,
        };
        let flows = Flows::one(key, Flow::of(mass));
        let mut passage = Passage::of(transaction);
        // A deposit is judged as the depositor's money, who used the joint transaction.
        if passage.joint.is_some()
            && self.direction == Direction::Source
            && self.subject != OwnerNumber::NOBODY
        {
            let mut takes_part = own > 0;
            for input in &transaction.entries {
                takes_part |=
                    input.owner != self.subject && view.cluster_of(input.owner)? == self.cluster;
            }
            passage.is_of_others = !takes_part;
        }
        let mut side = std::mem::take(&mut self.side);
        self.fill(view, &mut side, transaction, Some((self.subject, own)), flows.total())?;
        let passed = self.pass(view, passage, &side, flows);
        self.side = side;
        passed
    }

    /// Reads the side (inputs or outputs) of a transaction over which this amount is split, without the entries of
    /// `own` and their total.
    fn fill(
        &self,
        view: &dyn ChainView,
        side: &mut Side,
        transaction: &TransactionRead,
        own: Option<(OwnerNumber, u128)>,
        amount: u128,
    ) -> Result<(), ViewError> {
        if self.direction == Direction::Source && transaction.kind == TransactionKind::Coinbase {
            // Of what is here, not of the whole: money that returns would make the whole as large as somebody likes.
            let least = self.rules.cut_magnitude();
            let all_is_little = self.frontier.magnitude(amount) >= least;
            let is_little = |part| all_is_little || part == 0 || magnitude(amount, part) >= least;
            side.fill_of_coinbase(transaction, amount, is_little);
            // A miner has many coinbases, each of them little.
            if all_is_little {
                return Ok(());
            }
        } else {
            side.fill(self.direction, transaction, own);
        }
        side.made_of = self.composition_of_rest(view, transaction, side)?;
        Ok(())
    }

    /// Passes funds through the transaction that was read, within the budget.
    fn expand(&mut self, view: &dyn ChainView, flows: Flows) -> Result<(), ViewError> {
        let flows = self.with_few_labels(flows);
        let mut side = std::mem::take(&mut self.side);
        self.fill(view, &mut side, &self.read, None, flows.total())?;
        let entries = side.count();
        let is_first = !self.passed.contains(&self.read.number);
        let read = if is_first { entries } else { 0 };
        // Flows are split over every entry, all owners' together.
        let splits = entries.saturating_mul(flows.kinds());
        let is_of_subject = flows.iter().any(|(key, _)| !key.has_left);
        // Others' transactions count by themselves, so that steps inside the subject's cluster use up nothing of them.
        let counted = if is_of_subject { self.passed.len() as u64 } else { self.passed_by_others };
        let counted = counted + u64::from(is_first);
        let budget = u64::from(self.rules.entries);
        let transactions = self.passed.len() as u64 + u64::from(is_first);
        let passed = if transactions > u64::from(self.rules.transactions)
            || self.entries_read + read > budget
            || self.splits + splits > SPLITS_OF_ENTRY * budget
        {
            let waypoint = Waypoint::Transaction(self.read.number);
            self.stop_at(view, waypoint, UnresolvedReason::TraceLimit, &flows)
        } else if self.may_stop_at(counted, is_of_subject)
            && let Some(composition) = view.composition(self.read.number)?
        {
            self.divide(Some(self.read.number), &composition, &flows);
            Ok(())
        } else {
            self.passed.insert(self.read.number);
            self.passed_by_others += u64::from(is_first && !is_of_subject);
            self.entries_read += read;
            self.splits += splits;
            let passage = Passage::of(&self.read);
            self.pass(view, passage, &side, flows)
        };
        self.side = side;
        passed
    }

    /// Flows with few different sets of labels: beyond [`MOST_KINDS`], labels that no rule hears are dropped, because
    /// anybody could file them and so multiply the work of a trace.
    fn with_few_labels(&mut self, flows: Flows) -> Flows {
        if flows.kinds() <= MOST_KINDS {
            return flows;
        }
        let mut few = Flows::default();
        for (key, flow) in flows {
            let labels = self.ends.labels.labels(key.carried);
            let heard = labels.iter().zip(&flow.carried).filter(|(label, _)| is_heard(label));
            let (labels, carried): (Vec<_>, Vec<_>) =
                heard.map(|(label, distance)| (label.clone(), *distance)).unzip();
            let key = FlowKey { carried: self.ends.labels.of(Arc::from(labels)), ..key };
            few.add(key, Flow { carried, ..flow }, &self.paths);
        }
        few
    }

    /// The rank of a transaction; `None` if the transaction's position is not known.
    pub(super) fn rank_of(
        &self,
        waypoint: Waypoint,
        view: &dyn ChainView,
    ) -> Result<Option<Rank>, ViewError> {
        if matches!(waypoint, Waypoint::Output(_)) || !self.frontier.is_new(waypoint) {
            return Ok(None);
        }
        Ok(match view.look_up(waypoint)? {
            LookupResult::Transaction { position, .. } => Some(Rank::new(self.direction, position)),
            LookupResult::Nothing | LookupResult::Failed | LookupResult::Unread => None,
        })
    }

    /// The transaction of a passage, as a step of a path.
    pub(super) const fn passed(passage: &Passage) -> PathTransaction {
        PathTransaction { transaction: passage.transaction, position: passage.position }
    }
}
