//! A second implementation of the trace, for comparison with the engine: the rules of `docs/model/trace.md` in the
//! simplest form, over random small chains.
//!
//! A [`Case`] is a chain with a question; [`Case::trace`] is the engine's answer, read from any source of the chain,
//! and [`Case::expected`] the oracle's. The oracle shares only the types of its input and output with the engine.
//!
//! - `case`: a random chain, and a question about it
//! - `drive`: the engine's trace over any source
//! - `ledger`: the oracle's view of a chain; clusters of owners are the graph's
//! - `amounts`: the oracle's arithmetic
//! - `begin`, `solicitation`, `outstanding`, `trace`, `pass`, `flow`, `parts`, `paths`: the rules of a trace
//! - `exact`: the difference between whole units and fractions

mod amounts;
mod begin;
mod case;
mod drive;
mod exact;
mod flow;
mod ledger;
mod outstanding;
mod parts;
mod pass;
mod paths;
mod solicitation;
mod trace;

use assay_engine::evidence::{Direction, DirectionFlows, FlowFacts, FlowPart, Ledger as Flows};

pub use case::Case;
pub use drive::{UnreadTransactions, concatenated_chains};
pub use exact::Deviation;

use amounts::Precision;
use ledger::Ledger;

impl Case {
    /// The flows that the engine must find.
    #[must_use]
    pub fn expected(&self) -> FlowFacts {
        self.expected_with_unread(UnreadTransactions::default())
    }

    /// The flows that the engine must find if it cannot read the transactions that [`UnreadTransactions`]
    /// selects.
    #[must_use]
    pub fn expected_with_unread(&self, unread: UnreadTransactions) -> FlowFacts {
        let ledger = Ledger::new(&self.blocks, self.clusters());
        let mut complete = true;
        let mut flows = |direction| {
            let traced = trace::trace(self, &ledger, direction, Precision::Units, unread);
            complete &= traced.complete;
            DirectionFlows {
                parts: traced.parts.flows(
                    self,
                    &ledger,
                    (direction, &traced.own_entries),
                    &traced.turnovers,
                ),
                transactions: traced.transactions,
            }
        };
        let (source, destination) = (flows(Direction::Source), flows(Direction::Destination));
        let info = self.chain.info();
        let unit = info.native().code.to_owned();
        let held = DirectionFlows::default();
        let ledgers = vec![Flows {
            unit,
            decimals: info.native().decimals,
            left_out_decimals: 0,
            source,
            destination,
            held,
            of_accounts: false,
        }];
        FlowFacts { complete, ledgers, ..FlowFacts::default() }
    }

    /// Differences between found and expected flows, part by part; `None` if there are none.
    #[must_use]
    pub fn difference(&self, found: &FlowFacts, expected: &FlowFacts) -> Option<String> {
        if found == expected {
            return None;
        }
        let mut lines = vec![format!(
            "seed {}: {} transactions, {:?}",
            self.seed,
            self.blocks.iter().map(|block| block.transactions.len()).sum::<usize>(),
            self.rules
        )];
        for (found, expected) in found.ledgers.iter().zip(&expected.ledgers) {
            for direction in [Direction::Source, Direction::Destination] {
                let found = &found.direction(direction).parts;
                let expected = &expected.direction(direction).parts;
                let only = |these: &[FlowPart], others: &[FlowPart], who| {
                    let these = these.iter().filter(|part| !others.contains(part));
                    these.map(|part| format!("{direction:?}, {who}: {part:?}")).collect::<Vec<_>>()
                };
                lines.extend(only(found, expected, "found"));
                lines.extend(only(expected, found, "expected"));
            }
        }
        Some(lines.join("\n"))
    }
}
