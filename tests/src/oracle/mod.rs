//! Following money a second time: the rule of `docs/scoring.md`, section 3, in the plainest way there
//! is, over random small chains, to compare the engine's trace with.
//!
//! A [`Case`] is a chain and a question about it; [`Case::trace`] is the engine's answer, read from any
//! source that holds the chain, [`Case::expected`] the oracle's. Nothing here shares code with the
//! engine but the types of what goes in and what comes out.
//!
//! - `random`: choices that a seed decides
//! - `chain`, `case`: a random chain, and a question about it
//! - `drive`: the engine's trace over any source of flows
//! - `ledger`: a chain as the oracle looks at it
//! - `amounts`: how it counts
//! - `follow`, `carried`, `parts`, `paths`: the rule
//! - `exact`: how far whole units are from fractions

mod amounts;
mod carried;
mod case;
mod chain;
mod drive;
mod exact;
mod follow;
mod ledger;
mod parts;
mod paths;
mod random;

use assay_engine::evidence::{Direction, DirectionFlows, FlowFacts, FlowPart, Ledger as Flows};

pub use case::Case;
pub use exact::Deviation;

use amounts::Arithmetic;
use ledger::Ledger;

impl Case {
    /// What a trace must find.
    #[must_use]
    pub fn expected(&self) -> FlowFacts {
        let ledger = Ledger::new(&self.blocks);
        let flows = |direction| {
            let followed = follow::follow(self, &ledger, direction, Arithmetic::Units, None);
            DirectionFlows { parts: followed.parts.flows(self) }
        };
        let info = self.chain.info();
        FlowFacts {
            complete: true,
            ledgers: vec![Flows {
                unit: info.asset.to_owned(),
                decimals: info.decimals,
                source: flows(Direction::Source),
                destination: flows(Direction::Destination),
            }],
        }
    }

    /// Where a trace found something else than expected, part by part; `None` where it did not.
    #[must_use]
    pub fn difference(&self, found: &FlowFacts) -> Option<String> {
        let expected = self.expected();
        if *found == expected {
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
