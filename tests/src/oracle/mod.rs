//! Following money a second time: the rule of `docs/scoring.md`, section 3, in the plainest way there
//! is, over random small chains, to compare the engine's trace with.
//!
//! - `random`: choices that a seed decides
//! - `chain`, `case`: a random chain, and a question about it
//! - `drive`: the engine's trace over any source of flows
//! - `ledger`: a chain as the oracle looks at it
//! - `amounts`: how it counts
//! - `follow`, `carried`, `parts`: the rule

mod amounts;
mod carried;
mod case;
mod chain;
mod drive;
mod follow;
mod ledger;
mod parts;
mod random;

use assay_engine::evidence::{Direction, DirectionFlows};

pub use case::Case;

use amounts::Arithmetic;
use ledger::Ledger;

/// What the flows of a case must be: source, then destination.
#[must_use]
pub fn flows(case: &Case) -> [DirectionFlows; 2] {
    let ledger = Ledger::new(&case.blocks);
    [Direction::Source, Direction::Destination].map(|direction| {
        let followed = follow::follow(case, &ledger, direction, Arithmetic::Units, None);
        DirectionFlows { parts: followed.parts.flows() }
    })
}
