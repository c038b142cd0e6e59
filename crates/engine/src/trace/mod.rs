//! Traces of money: the origins and destinations of a subject's coins.
//!
//! The trace is a pure state machine. [`Trace::read_request`] returns the data to read, the caller
//! reads it in batches of any size and passes it to [`Trace::supply`]; when no data is requested
//! any more, [`Trace::finish`] returns the flows. The same decisions are therefore made over every
//! store, and no answer depends on the batches of reads.
//!
//! It proceeds level by level, one hop each. At each level equal states (an output, with the labels
//! on its path) are merged; endpoints are recognised first; then small flows are cut, the largest
//! addresses are followed within the budget, and the rest is unresolved, each part with its reason.
//! Amounts are split in integers by largest remainder, so that all parts always sum to the whole.
//!
//! - [`attribution`]: attribution of an address on a path
//! - [`mass`]: exact amounts and their division
//! - `subject`: the first level: the subject's own transactions, change taken out
//! - `level`: ends, cut, budget and the next hop
//! - `ends`: amounts by endpoint, with the largest paths

pub mod attribution;
mod ends;
mod level;
pub mod mass;
mod rules;
mod state;
mod subject;

use std::collections::{BTreeMap, BTreeSet};

use jiff::civil::Date;

pub use attribution::{AttributedEnd, Attribution};
pub use rules::{ReadLimits, TraceRules};

use crate::{
    chain::ChainId,
    evidence::{Direction, DirectionFlows, FlowFacts, Ledger, UnresolvedReason},
    utxo::{History, OutPoint, ScriptOwner, TransactionView, Txid},
};
use ends::Ends;
use level::Level;
use state::Paths;

/// Looks up the attribution of an owner: a listing or label that ends a trace, and weaker labels.
pub type Attribute<'a> = dyn Fn(&ScriptOwner) -> Attribution + Send + Sync + 'a;

/// The transactions that a trace needs next. Both lists are sorted and without duplicates.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReadRequest {
    /// Transactions to be read with their inputs.
    pub origins: Vec<Txid>,
    /// Outputs whose spending transactions are to be read with their outputs.
    pub destinations: Vec<OutPoint>,
}

impl ReadRequest {
    /// True if the request names nothing.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.origins.is_empty() && self.destinations.is_empty()
    }
}

/// The transactions of a [`ReadRequest`], by the requested identifier. A missing entry was not
/// read, because time ran out or the source failed; `None` is a transaction that the chain does not
/// have.
#[derive(Clone, Debug, Default)]
pub struct ReadResponse {
    /// Transactions with their inputs.
    pub origins: BTreeMap<Txid, Option<TransactionView>>,
    /// Spending transactions with their outputs, by the outputs that they spend.
    pub destinations: BTreeMap<OutPoint, Option<TransactionView>>,
}

/// A trace in progress.
#[expect(missing_debug_implementations, reason = "a closure has nothing to show")]
pub struct Trace<'a> {
    chain: ChainId,
    subject: ScriptOwner,
    rules: TraceRules,
    source: DirectionalTrace<'a>,
    destination: DirectionalTrace<'a>,
    complete: bool,
}

/// One direction of a trace.
struct DirectionalTrace<'a> {
    direction: Direction,
    level: Level,
    /// The direction's total in base units.
    whole: u128,
    ends: Ends,
    paths: Paths,
    attribute: &'a Attribute<'a>,
}

impl<'a> Trace<'a> {
    /// Begins a trace of `subject`, whose history was read within [`TraceRules::read_limits`]. `today`
    /// decides what the last 90 days are.
    #[must_use]
    pub fn new(
        chain: ChainId,
        subject: &ScriptOwner,
        history: &History,
        rules: TraceRules,
        today: Date,
        attribute: &'a Attribute<'a>,
    ) -> Self {
        let begun = subject::begin(subject, history, &rules, today);
        let directional = |direction, (level, ends, paths, whole)| DirectionalTrace {
            direction,
            level,
            whole,
            ends,
            paths,
            attribute,
        };
        let mut trace = Self {
            chain,
            subject: subject.clone(),
            rules,
            source: directional(Direction::Source, begun.source),
            destination: directional(Direction::Destination, begun.destination),
            complete: true,
        };
        trace.apply_rules();
        trace
    }

    /// The transactions to be read next; none when the trace is complete.
    #[must_use]
    pub fn read_request(&self) -> ReadRequest {
        let origins: BTreeSet<_> = self.source.level.outputs().map(|output| output.txid).collect();
        let destinations: BTreeSet<_> = self.destination.level.outputs().collect();
        ReadRequest {
            origins: origins.into_iter().collect(),
            destinations: destinations.into_iter().collect(),
        }
    }

    /// Follows the flows one level further, over the transactions of the last request.
    pub fn resume(&mut self, response: &ReadResponse) {
        let complete = self.source.expand(|output| response.origins.get(&output.txid))
            & self.destination.expand(|output| response.destinations.get(output));
        self.complete &= complete;
        self.apply_rules();
    }

    /// Applies the rules to the current level of both directions.
    fn apply_rules(&mut self) {
        for direction in [&mut self.source, &mut self.destination] {
            direction.apply_rules(&self.subject, &self.rules);
        }
    }

    /// The number of largest inputs or outputs to be read of each transaction in a direction: the more
    /// states are followed, the fewer.
    #[must_use]
    pub fn entries_per_transaction(&self, direction: Direction) -> u32 {
        let directional = match direction {
            Direction::Source => &self.source,
            Direction::Destination => &self.destination,
        };
        self.rules.read_limits().entries_per_transaction(directional.level.states.0.len())
    }

    /// The flows. Flows that are still open count as unresolved: time ran out.
    #[must_use]
    pub fn finish(mut self) -> FlowFacts {
        for direction in [&mut self.source, &mut self.destination] {
            if direction.end_open(UnresolvedReason::TraceLimit) {
                self.complete = false;
            }
        }
        let info = self.chain.info();
        let flows = |directional: DirectionalTrace<'_>| DirectionFlows {
            parts: directional.ends.into_parts(directional.whole, &directional.paths, self.chain),
        };
        FlowFacts {
            complete: self.complete,
            ledgers: vec![Ledger {
                unit: info.asset.to_owned(),
                decimals: info.decimals,
                source: flows(self.source),
                destination: flows(self.destination),
            }],
        }
    }
}
