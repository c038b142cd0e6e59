//! Traces of money: the origins and destinations of a subject's coins.
//!
//! A trace is a [query](crate::reading::Query): it reads a chain by numbers and says what it needs where the view has
//! not read something yet. The same decisions are therefore made over every source, and no answer depends on the
//! batches of reads.
//!
//! Money goes from transaction to transaction, those with the most of it first, of nearly equal ones in the
//! order of the chain, so that what flows together is followed together. A step to another owner is a hop
//! and decays it; a step within an owner's cluster is none. It ends at attributed parties, and where it comes back
//! to the subject's own address; what remains when the budget is used up, or too little to be followed, is
//! unresolved. Amounts are split in integers by largest remainder, so that all parts always sum to the whole.
//! `docs/model/trace.md` states the rules by numbers, which the modules cite.
//!
//! - [`attribution`]: attribution of an owner on a path
//! - `subject`: the subject's own transactions, change taken out
//! - `flow`, `label_sets`, `path`: money on its way
//! - `frontier`: the waypoints that are to be followed, in their order
//! - `direction`: the order, the budget, the cut
//! - `side`, `passage`, `pass`: the passage of money through a transaction
//! - `further`: origins beyond the transactions at which a trace stops
//! - `ends`: amounts by endpoint, with the largest paths
//! - `steps`: the steps of these paths, as they are shown
//! - `upper_bound`: what the flows of an owner weigh at most, without a trace

pub mod attribution;
mod direction;
mod ends;
mod flow;
mod frontier;
mod further;
mod label_sets;
mod pass;
mod passage;
mod path;
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
pub use upper_bound::{flows_at_most, is_bounded};

use crate::{
    evidence::{DirectionFlows, FlowFacts, Ledger},
    ledger::{OwnHistory, OwnerNumber},
    reading::{ChainView, LookupResult, Query, QueryProgress, ReadRequest, ViewError, Waypoint},
};
use assay_address::ChainId;
use direction::{DirectionProgress, DirectionalTrace};
use frontier::Rank;
use steps::StepReader;

/// Number of transactions that a direction passes before it pauses: some milliseconds.
const STEPS_AT_ONCE: u32 = 4_096;

/// A trace in progress.
#[expect(missing_debug_implementations, reason = "a closure has nothing to show")]
pub struct Trace<'a> {
    chain: ChainId,
    source: DirectionalTrace<'a>,
    destination: DirectionalTrace<'a>,
    /// The view's [`ChainView::moves`] up to which the order of what waits is right.
    moves: u64,
}

/// What a trace is to follow.
#[derive(Clone, Copy, Debug)]
pub struct TraceSubject<'s> {
    /// The chain.
    pub chain: ChainId,
    /// The subject.
    pub owner: OwnerNumber,
    /// Its history, read within [`TraceRules::read_limits`].
    pub history: &'s OwnHistory,
    /// The bounds.
    pub rules: TraceRules,
    /// The day that decides what the last 90 days are.
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
        let source = begin.source(attributions)?;
        let destination = begin.destination(attributions)?;
        Ok(Self { chain, source, destination, moves: view.moves() })
    }

    /// Puts what waits, and the paths so far, in the present order of the chain, if transactions moved in it since.
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
        for of in [&mut self.source, &mut self.destination] {
            let direction = of.direction;
            let rank = |number| Ok(position(number)?.map(|at| Rank::new(direction, at)));
            of.frontier.rank_anew(rank)?;
            of.paths.set_positions(position)?;
        }
        Ok(())
    }

    /// Number of inputs and outputs that were read of the transactions that money passed on the way.
    #[must_use]
    pub const fn entries(&self) -> u64 {
        self.source.entries_read + self.destination.entries_read
    }

    /// The flows. Flows that are still open count as unresolved: time ran out.
    ///
    /// # Errors
    ///
    /// Returns an error if the store behind the view fails.
    pub fn finish(mut self, view: &dyn ChainView) -> Result<FlowFacts, ViewError> {
        let info = self.chain.info();
        let mut complete = true;
        for direction in [&mut self.source, &mut self.destination] {
            direction.stop(view)?;
            direction.find_further(view)?;
            complete &= direction.is_complete;
        }
        let flows = |of: DirectionalTrace<'_>| {
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
            let parts = ends.into_parts(whole, passed, &paths, &mut steps)?;
            Ok::<_, ViewError>(DirectionFlows { parts, transactions: passed })
        };
        let (source, destination) = (flows(self.source)?, flows(self.destination)?);
        let unit = info.native().code.to_owned();
        let ledgers = vec![Ledger { unit, decimals: info.native().decimals, source, destination }];
        Ok(FlowFacts { complete, ledgers, compositions: None })
    }
}

impl Query for Trace<'_> {
    fn advance(&mut self, view: &dyn ChainView) -> Result<QueryProgress, ViewError> {
        self.follow_moves(view)?;
        let mut request = ReadRequest::default();
        let mut progress = QueryProgress::Complete;
        for direction in [&mut self.source, &mut self.destination] {
            match direction.advance(view, &mut STEPS_AT_ONCE.clone())? {
                DirectionProgress::End => {}
                DirectionProgress::Pause => progress = QueryProgress::Paused,
                DirectionProgress::Unread => {
                    direction.request(&mut request);
                    progress = QueryProgress::Paused;
                }
            }
        }
        Ok(if request.is_empty() { progress } else { QueryProgress::Reads(request) })
    }
}
