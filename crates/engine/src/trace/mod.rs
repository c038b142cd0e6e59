//! Following money: where a subject's coins came from, and where they went.
//!
//! The trace is a pure state machine. It says what it wants to read ([`Trace::wants`]), somebody reads
//! it in whatever batches are good for the store, and hands it back ([`Trace::supply`]); when it wants
//! nothing more, [`Trace::finish`] gives the flows. So the same decisions are made over every store, and
//! no answer depends on how reads were batched.
//!
//! It goes level by level, one hop each. At each level equal states (an output, with what was seen on
//! the way) are one; ends are recognised first; then small flows are cut, the largest addresses are
//! followed within the budget, and the rest is unresolved, each part with its reason. Amounts are split
//! in integers by largest remainder, so that all parts always sum to the whole.
//!
//! - [`attribution`]: what is known of an address on the way
//! - [`mass`]: exact amounts and how they are split
//! - `subject`: the first level: the subject's own transactions, change taken out
//! - `level`: ends, cut, budget and the next hop
//! - `ends`: what ended where, with the largest paths

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
pub use rules::{Reading, TraceRules};

use crate::{
    chain::ChainId,
    evidence::{Direction, DirectionFlows, FlowFacts, Ledger, UnresolvedReason},
    utxo::{History, OutPoint, ScriptOwner, TransactionView, Txid},
};
use ends::Ends;
use level::Level;
use state::Paths;

/// Names what is known of owners: a listing or label that ends a trace, and weaker labels.
pub type Attribute<'a> = dyn Fn(&ScriptOwner) -> Attribution + Send + Sync + 'a;

/// What a trace wants to read next. Both lists are sorted and name nothing twice.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wants {
    /// Transactions, with their inputs.
    pub origins: Vec<Txid>,
    /// Outputs whose spending transactions are wanted, with their outputs.
    pub destinations: Vec<OutPoint>,
}

impl Wants {
    /// Whether nothing is wanted.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.origins.is_empty() && self.destinations.is_empty()
    }
}

/// What was read, under what was wanted. What is missing was not read: time was over, or a source
/// failed; what is `None` is not there.
#[derive(Clone, Debug, Default)]
pub struct Supply {
    /// Transactions with their inputs.
    pub origins: BTreeMap<Txid, Option<TransactionView>>,
    /// Spending transactions with their outputs, by what they spend.
    pub destinations: BTreeMap<OutPoint, Option<TransactionView>>,
}

/// A trace under way.
#[expect(missing_debug_implementations, reason = "a closure has nothing to show")]
pub struct Trace<'a> {
    chain: ChainId,
    subject: ScriptOwner,
    rules: TraceRules,
    source: Way<'a>,
    destination: Way<'a>,
    complete: bool,
}

/// One direction of a trace.
struct Way<'a> {
    direction: Direction,
    level: Level,
    /// What this direction's money is worth in all, in base units.
    whole: u128,
    ends: Ends,
    paths: Paths,
    attribute: &'a Attribute<'a>,
}

impl<'a> Trace<'a> {
    /// Begins a trace of `subject`, whose history was read within [`TraceRules::reading`]. `today`
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
        let way = |direction, (level, ends, paths, whole)| Way {
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
            source: way(Direction::Source, begun.source),
            destination: way(Direction::Destination, begun.destination),
            complete: true,
        };
        trace.settle();
        trace
    }

    /// What is to be read next; nothing where the trace is at its end.
    #[must_use]
    pub fn wants(&self) -> Wants {
        let origins: BTreeSet<_> = self.source.level.outputs().map(|output| output.txid).collect();
        let destinations: BTreeSet<_> = self.destination.level.outputs().collect();
        Wants {
            origins: origins.into_iter().collect(),
            destinations: destinations.into_iter().collect(),
        }
    }

    /// Goes on with what was wanted.
    pub fn supply(&mut self, supply: &Supply) {
        let complete = self.source.expand(|output| supply.origins.get(&output.txid))
            & self.destination.expand(|output| supply.destinations.get(output));
        self.complete &= complete;
        self.settle();
    }

    /// Recognises ends, cuts, and keeps within the budget.
    fn settle(&mut self) {
        for way in [&mut self.source, &mut self.destination] {
            way.settle(&self.subject, &self.rules);
        }
    }

    /// The most legs that are to be read now of each transaction in a direction: the fewer, the more
    /// states are followed.
    #[must_use]
    pub fn legs(&self, direction: Direction) -> u32 {
        let way = match direction {
            Direction::Source => &self.source,
            Direction::Destination => &self.destination,
        };
        self.rules.reading().legs_of_each(way.level.states.0.len())
    }

    /// The flows; what is still open counts as unresolved, because there was no time for it.
    #[must_use]
    pub fn finish(mut self) -> FlowFacts {
        for way in [&mut self.source, &mut self.destination] {
            if way.give_up(UnresolvedReason::Budget) {
                self.complete = false;
            }
        }
        let info = self.chain.info();
        let flows = |way: Way<'_>| DirectionFlows {
            parts: way.ends.into_parts(way.whole, &way.paths, self.chain),
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
