//! Traces of funds: the origins and destinations of a subject's coins.
//!
//! A trace is a [query](crate::reading::Query): it reads a chain by numbers and requests data that the view has not
//! read yet. The decisions of a trace are therefore the same over every source, and the answer does not depend on the
//! batches of reads.
//!
//! A trace follows funds from transaction to transaction: largest amounts first, nearly equal ones in the order of the
//! chain, so that funds that merge are followed together. A step to another owner is a hop and decays the funds; a step
//! within an owner's cluster is not a hop. Funds end at attributed parties, and at the subject's own address if the
//! funds return to that address. Funds that remain when the budget is used up, or that are too little to be followed,
//! are unresolved. Amounts are split in integers by largest remainder, so that all parts always sum to the whole.
//! `docs/model/trace.md` numbers the rules, which the modules cite.
//!
//! - [`attribution`]: attribution of an owner on a path
//! - `subject`: the subject's own transactions, net of change
//! - `incoming`, `repayment`: solicitation of what the subject received
//! - `flow`, `label_sets`, `path`: flows with their labels and paths
//! - `frontier`: the queue of waypoints (points at which funds wait to be followed)
//! - `direction`: one direction of a trace, with its budget and cut-off
//! - `side`, `passage`, `pass`: the passage of funds through a transaction
//! - `further`: origins beyond the transactions at which a trace stops
//! - `outstanding`: what goes round between the subject and one counterparty
//! - `ends`: amounts by endpoint, with the largest paths
//! - `held`: the origins of the coins that the subject still holds
//! - `steps`: the steps of these paths, as an answer shows them
//! - `upper_bound`: the largest possible weight of an owner's flows, without a trace

pub mod attribution;
mod direction;
mod ends;
mod flow;
mod frontier;
mod further;
mod held;
mod incoming;
mod label_sets;
mod outstanding;
mod pass;
mod passage;
mod path;
mod repayment;
mod rules;
mod side;
mod steps;
mod subject;
#[cfg(test)]
mod tests;
mod upper_bound;

use jiff::civil::Date;

pub use attribution::{AttributedEnd, Attribution, Attributions, AttributionsByScript};
pub use rules::TraceRules;
pub use subject::recent_since;
pub use upper_bound::{flows_at_most, is_bounded};

use crate::{
    evidence::{DirectionFlows, FlowFacts, Ledger},
    ledger::{OwnHistory, OwnerNumber},
    reading::{ChainView, LookupResult, Query, QueryProgress, ReadRequest, ViewError, Waypoint},
};
use assay_address::ChainId;
use direction::{DirectionProgress, DirectionalTrace};
use frontier::Rank;
use held::HeldCoins;
use outstanding::{Dealings, Turnovers};
use steps::StepReader;

/// Number of transactions that a direction passes before the direction pauses, after some milliseconds.
const STEPS_AT_ONCE: u32 = 4_096;

/// A trace in progress.
#[expect(missing_debug_implementations, reason = "a closure has nothing to show")]
pub struct Trace<'a> {
    chain: ChainId,
    source: DirectionalTrace<'a>,
    destination: DirectionalTrace<'a>,
    /// Turnovers with direct counterparties, of what the subject received and of what it sent.
    turnovers: (Turnovers, Turnovers),
    held: HeldCoins<'a>,
    attributions: &'a dyn Attributions,
    /// Value of the view's [`ChainView::moves`] for which the frontier is sorted.
    moves: u64,
}

/// The subject and the limits of a trace.
#[derive(Clone, Copy, Debug)]
pub struct TraceSubject<'s> {
    /// The chain.
    pub chain: ChainId,
    /// The subject.
    pub owner: OwnerNumber,
    /// History of the subject, read within [`TraceRules::read_limits`].
    pub history: &'s OwnHistory,
    /// Limits of the trace.
    pub rules: TraceRules,
    /// Last day of the recent period of 90 days.
    pub today: Date,
}

impl<'a> Trace<'a> {
    /// Begins a trace.
    ///
    /// # Errors
    ///
    /// Returns an error if the store behind the view fails.
    pub fn begin(
        view: &dyn ChainView,
        subject: TraceSubject<'_>,
        attributions: &'a dyn Attributions,
    ) -> Result<Self, ViewError> {
        let TraceSubject { chain, owner, history, rules, today } = subject;
        let cluster = if owner == OwnerNumber::NOBODY { owner } else { view.cluster_of(owner)? };
        let begin = subject::Subject { view, owner, cluster, history, rules, today };
        let mut dealings = Dealings::default();
        let source = begin.source(attributions, &mut dealings)?;
        let destination = begin.destination(attributions, &mut dealings)?;
        let turnovers = dealings.turnovers();
        let held = HeldCoins::of(history);
        Ok(Self { chain, source, destination, turnovers, held, attributions, moves: view.moves() })
    }

    /// Sorts the frontier and the paths again if transactions got other positions in the chain.
    fn follow_moves(&mut self, view: &dyn ChainView) -> Result<(), ViewError> {
        let moves = view.moves();
        if std::mem::replace(&mut self.moves, moves) == moves {
            return Ok(());
        }
        let position = |number| match view.look_up(Waypoint::Transaction(number))? {
            LookupResult::Transaction { position, .. } => Ok(Some(position)),
            LookupResult::Nothing | LookupResult::Failed | LookupResult::Unread => {
                Ok::<_, ViewError>(None)
            }
        };
        let held = self.held.trace.as_mut();
        for of in [&mut self.source, &mut self.destination].into_iter().chain(held) {
            let direction = of.direction;
            let rank = |number| Ok(position(number)?.map(|at| Rank::new(direction, at)));
            of.frontier.rank_anew(rank)?;
            of.paths.set_positions(position)?;
        }
        Ok(())
    }

    /// Number of inputs and outputs that were read of the transactions that funds passed.
    #[must_use]
    pub const fn entries(&self) -> u64 {
        let held = match &self.held.trace {
            Some(held) => held.entries_read,
            None => 0,
        };
        self.source.entries_read + self.destination.entries_read + held
    }

    /// Finishes the trace and returns the flows. Funds that are still waiting are unresolved, because time ran out.
    ///
    /// # Errors
    ///
    /// Returns an error if the store behind the view fails.
    pub fn finish(mut self, view: &dyn ChainView) -> Result<FlowFacts, ViewError> {
        let info = self.chain.info();
        let mut complete = true;
        let held = self.held.trace.as_mut();
        for direction in [&mut self.source, &mut self.destination].into_iter().chain(held) {
            direction.stop(view)?;
            direction.find_further(view)?;
            complete &= direction.is_complete;
        }
        let flows = |of: DirectionalTrace<'_>, turnovers: &Turnovers| {
            let passed = of.transactions_passed();
            let DirectionalTrace {
                ends,
                paths,
                whole,
                direction,
                subject,
                attributions,
                own_entries,
                ..
            } = of;
            let mut steps =
                StepReader::new(self.chain, direction, subject, view, attributions, own_entries);
            let mut parts = ends.into_parts(whole, passed, &paths, &mut steps)?;
            turnovers.net(&mut parts);
            Ok::<_, ViewError>(DirectionFlows { parts, transactions: passed })
        };
        let (received, sent) = self.turnovers;
        let (source, destination) =
            (flows(self.source, &received)?, flows(self.destination, &sent)?);
        let held = self.held.trace.map(|held| flows(held, &Turnovers::default())).transpose()?;
        let held = held.unwrap_or_default();
        let unit = info.native().code.to_owned();
        let ledgers = vec![Ledger {
            unit,
            decimals: info.native().decimals,
            left_out_decimals: 0,
            source,
            destination,
            held,
            of_accounts: false,
        }];
        Ok(FlowFacts { complete, ledgers, ..FlowFacts::default() })
    }
}

impl Query for Trace<'_> {
    fn advance(&mut self, view: &dyn ChainView) -> Result<QueryProgress, ViewError> {
        self.follow_moves(view)?;
        let mut request = ReadRequest::default();
        let mut progress = QueryProgress::Complete;
        let held = self.held.trace.as_mut();
        for direction in [&mut self.source, &mut self.destination].into_iter().chain(held) {
            match direction.advance(view, &mut STEPS_AT_ONCE.clone())? {
                DirectionProgress::End => {}
                DirectionProgress::Pause => progress = QueryProgress::Paused,
                DirectionProgress::Unread => {
                    direction.request(&mut request);
                    progress = QueryProgress::Paused;
                }
            }
        }
        if !request.is_empty() {
            return Ok(QueryProgress::Reads(request));
        }
        if progress == QueryProgress::Complete && self.held.trace.is_none() {
            self.held.begin(view, &self.source, self.attributions)?;
            if self.held.trace.is_some() {
                return Ok(QueryProgress::Paused);
            }
        }
        Ok(progress)
    }
}
